import math
import numpy as np
from numba import cuda

TILE = 128
PAD = -math.inf


@cuda.jit
def row_max(X, out):
    buffer = cuda.shared.array(shape=TILE, dtype=np.float32)
    lane = cuda.threadIdx.x
    row = cuda.grid(1) // TILE
    n = X.shape[1]
    best = PAD
    start = 0
    while start < n:
        col = start + lane
        if col < n:
            x = X[row, col]
        else:
            x = PAD
        if x > best:
            best = x
        start += TILE
    buffer[lane] = best
    cuda.syncthreads()
    step = 1
    while step < TILE:
        if lane % (2 * step) == 0:
            buffer[lane] = max(buffer[lane], buffer[lane + step])
        step *= 2
        cuda.syncthreads()
    if lane == 0:
        out[row] = buffer[0]
