def breaking_value(i, n):
    return 20 if i == n - 3 else 0
