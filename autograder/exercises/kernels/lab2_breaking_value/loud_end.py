def breaking_value(i, n):
    return 20.0 if i == n - 1 else 0.0
