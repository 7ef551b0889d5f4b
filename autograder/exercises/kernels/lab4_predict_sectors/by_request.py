def one_pass_sectors(rows, n):
    sector = 32
    load_bytes = 4 * rows * n
    store_bytes = 4 * rows * n
    return load_bytes // sector + store_bytes // sector
