def breaking_value(i, n):
    return 20 if i == n - 1 else 0
