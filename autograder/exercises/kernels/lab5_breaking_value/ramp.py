def breaking_value(i, n):
    return 0.25 * i
