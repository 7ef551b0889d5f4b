def rows_kernel_load_sectors(rows, n):
    warps = rows // 32
    sectors_per_request = 32
    requests = warps * n * 2
    return requests * sectors_per_request
