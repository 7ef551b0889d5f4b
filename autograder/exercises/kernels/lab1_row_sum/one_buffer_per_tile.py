import numpy as np
from numba import cuda, float32


@cuda.jit(fastmath=True)
def row_sum(X, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    total = np.float32(0.0)
    for start in range(0, n, 128):
        if start + t < n:
            tile[t] = X[row, start + t]
        else:
            tile[t] = 0
        cuda.syncthreads()
        half = 64
        while half:
            if t < half:
                tile[t] += tile[t + half]
            cuda.syncthreads()
            half >>= 1
        total += tile[0]
        cuda.syncthreads()
    if t == 0:
        out[row] = total
