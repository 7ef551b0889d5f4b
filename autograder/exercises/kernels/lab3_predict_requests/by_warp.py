import math


def vec4_load_requests(rows, n):
    total = 0
    for pass_number in range(2):
        quads = n // 4
        total += rows * math.ceil(quads / 32)
    return total
