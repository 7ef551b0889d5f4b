def rows_kernel_load_sectors(rows, n):
    return 2 * rows * n
