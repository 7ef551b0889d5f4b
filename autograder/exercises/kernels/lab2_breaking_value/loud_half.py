def breaking_value(i, n):
    if i < n // 2:
        return -5
    return 5
