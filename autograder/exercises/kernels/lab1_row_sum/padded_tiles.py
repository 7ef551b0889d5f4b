import numpy as np
from numba import cuda

TILE = 128


@cuda.jit
def row_sum(X, out):
    buffer = cuda.shared.array(shape=(TILE,), dtype=np.float32)
    lane = cuda.threadIdx.x
    row = cuda.blockIdx.x
    rows, n = X.shape
    if row >= rows:
        return
    total = 0.0
    start = 0
    while start < n:
        x = X[row, start + lane] if start + lane < n else 0.0
        total = total + x
        start += TILE
    buffer[lane] = total
    cuda.syncthreads()
    step = 1
    while step < TILE:
        if lane % (2 * step) == 0:
            buffer[lane] = buffer[lane] + buffer[lane + step]
        cuda.syncthreads()
        step *= 2
    if lane == 0:
        out[row] = buffer[0]
