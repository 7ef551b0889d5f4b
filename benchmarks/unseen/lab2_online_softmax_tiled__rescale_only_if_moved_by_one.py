"""To save work the factor is applied only when the maximum moved by more than 1."""

import math

import numba
from numba import cuda

TILE = 256


@cuda.jit
def online_softmax_tiled(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    buf = cuda.shared.array(TILE, numba.float32)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for start in range(0, n, TILE):
        col = start + t
        x = numba.float32(-math.inf)
        if col < n:
            x = X[row, col]
        buf[t] = x
        cuda.syncthreads()
        half = TILE // 2
        while half > 0:
            if t < half:
                buf[t] = max(buf[t + half], buf[t])
            cuda.syncthreads()
            half //= 2
        m_new = max(buf[0], m)
        cuda.syncthreads()
        if m_new != -math.inf:
            if m_new - m > 1.0:
                d = d * math.exp(m - m_new)
            d = d + math.exp(x - m_new)
        m = m_new
    buf[t] = d
    cuda.syncthreads()
    half = TILE // 2
    while half > 0:
        if t < half:
            buf[t] = buf[t] + buf[t + half]
        cuda.syncthreads()
        half //= 2
    total = buf[0]
    for col in range(t, n, TILE):
        Y[row, col] = math.exp(X[row, col] - m) / total
