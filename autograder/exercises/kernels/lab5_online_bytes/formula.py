def online_bytes(n, d, query_tile):
    blocks = (n + query_tile - 1) // query_tile
    return 4 * (2 * n * d + 2 * n * d * blocks)
