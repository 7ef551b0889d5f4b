def naive_bytes(n, d):
    return 20 * n * n + 16 * n * d
