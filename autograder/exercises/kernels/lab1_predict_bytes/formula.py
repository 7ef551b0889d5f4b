def three_pass_bytes(rows, n):
    reads, writes, size = 3, 1, 4
    return (reads + writes) * rows * n * size
