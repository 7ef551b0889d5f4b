"""The new tile's terms are taken from the maximum before the tile; only the old d is corrected."""

import math

import numba
from numba import cuda

TILE = 256


@cuda.jit
def online_softmax_tiled(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    red = cuda.shared.array(TILE, numba.float32)
    m = X[row, 0]
    d = numba.float32(0.0)
    for start in range(0, n, TILE):
        x = numba.float32(-math.inf)
        if start + t < n:
            x = X[row, start + t]
        red[t] = x
        cuda.syncthreads()
        half = TILE // 2
        while half > 0:
            if t < half:
                red[t] = max(red[t + half], red[t])
            cuda.syncthreads()
            half //= 2
        m_new = max(red[0], m)
        cuda.syncthreads()  # all have read red[0] before the next tile
        base = m_new
        if m_new == -math.inf:  # nothing but -inf so far: -inf - -inf is nan
            base = numba.float32(0.0)
        d = d * math.exp(m - base)
        d += math.exp(x - m)
        m = m_new
    red[t] = d
    cuda.syncthreads()
    half = TILE // 2
    while half > 0:
        if t < half:
            red[t] = red[t] + red[t + half]
        cuda.syncthreads()
        half //= 2
    d = red[0]
    for j in range(t, n, TILE):
        Y[row, j] = math.exp(X[row, j] - m) / d
