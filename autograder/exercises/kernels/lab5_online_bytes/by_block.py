import math


def online_bytes(n, d, query_tile):
    total = 0
    total += n * d  # Q
    total += math.ceil(n / query_tile) * (n * d + n * d)  # K and V, by every block
    total += n * d  # O
    return 4 * total
