def breaking_value(i, n):
    return i / 100
