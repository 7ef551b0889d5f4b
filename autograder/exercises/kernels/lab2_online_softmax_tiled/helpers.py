import math

import numpy as np
from numba import cuda

TILE = 256
NEG_INF = float("-inf")


@cuda.jit(device=True)
def block_max(buffer, t):
    step = TILE // 2
    while step > 0:
        cuda.syncthreads()
        if t < step:
            buffer[t] = max(buffer[t], buffer[t + step])
        step //= 2
    cuda.syncthreads()
    return buffer[0]


@cuda.jit(device=True)
def block_sum(buffer, t):
    step = TILE // 2
    while step > 0:
        cuda.syncthreads()
        if t < step:
            buffer[t] = buffer[t] + buffer[t + step]
        step //= 2
    cuda.syncthreads()
    return buffer[0]


@cuda.jit
def online_softmax_tiled(X, Y):
    maxima = cuda.shared.array(shape=TILE, dtype=np.float32)
    sums = cuda.shared.array(shape=TILE, dtype=np.float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    m = np.float32(NEG_INF)
    d = np.float32(0.0)
    tiles = (n + TILE - 1) // TILE
    tile = 0
    while tile < tiles:
        col = tile * TILE + t
        x = X[row, col] if col < n else np.float32(NEG_INF)
        maxima[t] = x
        m_new = max(m, block_max(maxima, t))
        base = m_new if m_new > NEG_INF else np.float32(0.0)
        sums[t] = math.exp(x - base)
        d = d * math.exp(m - base) + block_sum(sums, t)
        m = m_new
        tile += 1
        cuda.syncthreads()
    scale = 1.0 / d
    col = t
    while col < n:
        Y[row, col] = math.exp(X[row, col] - m) * scale
        col += TILE
