def vec4_load_requests(rows, n):
    lanes, floats, reads = 32, 4, 2
    return reads * rows * n // (lanes * floats)
