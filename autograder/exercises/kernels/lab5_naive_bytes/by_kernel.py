def naive_bytes(n, d):
    scores = 2 * n * d + n * n  # reads Q and K, writes S
    softmax = (2 + 1) * n * n  # online: reads S twice, writes P
    output = n * n + 2 * n * d  # reads P and V, writes O
    return 4 * (scores + softmax + output)
