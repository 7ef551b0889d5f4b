BYTES = 4


def three_pass_bytes(rows, n):
    total = 0
    for _ in range(3):
        total += rows * n * BYTES
    store = BYTES * rows * n
    return int(total + store)
