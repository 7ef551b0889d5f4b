def one_pass_sectors(rows, n):
    return 2 * rows * n // 8
