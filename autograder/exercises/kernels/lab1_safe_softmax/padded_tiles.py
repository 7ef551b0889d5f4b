from math import exp, inf

import numpy as np
from numba import cuda

TILE = 256


@cuda.jit
def safe_softmax(X, Y):
    maxima = cuda.shared.array(shape=TILE, dtype=np.float32)
    sums = cuda.shared.array(shape=TILE, dtype=np.float32)
    lane = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    tiles = (n + TILE - 1) // TILE

    m = -inf
    for tile in range(tiles):
        col = tile * TILE + lane
        x = -inf
        if col < n:
            x = X[row, col]
        if x > m:
            m = x
    maxima[lane] = m
    cuda.syncthreads()
    step = TILE // 2
    while step >= 1:
        if lane < step and maxima[lane + step] > maxima[lane]:
            maxima[lane] = maxima[lane + step]
        cuda.syncthreads()
        step = step // 2

    d = 0.0
    for tile in range(tiles):
        col = tile * TILE + lane
        if col < n:
            d += exp(X[row, col] - maxima[0])
    sums[lane] = d
    cuda.syncthreads()
    step = TILE // 2
    while step >= 1:
        if lane < step:
            sums[lane] = sums[lane] + sums[lane + step]
        cuda.syncthreads()
        step = step // 2

    scale = 1.0 / sums[0]
    for tile in range(tiles):
        col = tile * TILE + lane
        if col < n:
            Y[row, col] = exp(X[row, col] - maxima[0]) * scale
