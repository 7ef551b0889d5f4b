"""The loop over rows was forgotten: each block does one row."""

import math

import numba
from numba import cuda

THREADS = 256


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    base = m
    if m == -math.inf:  # both empty: -inf - -inf is nan
        base = numba.float32(0.0)
    return m, d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)


@cuda.jit
def online_softmax_grid_stride(X, Y):
    t = cuda.threadIdx.x
    n = X.shape[1]
    ms = cuda.shared.array(THREADS, numba.float32)
    ds = cuda.shared.array(THREADS, numba.float32)
    row = cuda.blockIdx.x
    if row < X.shape[0]:
        m = numba.float32(-math.inf)
        d = numba.float32(0.0)
        for j in range(t, n, THREADS):
            m, d = merge(m, d, X[row, j], numba.float32(1.0))
        ms[t] = m
        ds[t] = d
        cuda.syncthreads()
        half = THREADS // 2
        while half > 0:
            if t < half:
                ms[t], ds[t] = merge(ms[t], ds[t], ms[t + half], ds[t + half])
            cuda.syncthreads()
            half //= 2
        m = ms[0]
        d = ds[0]
        for j in range(t, n, THREADS):
            Y[row, j] = math.exp(X[row, j] - m) / d
        cuda.syncthreads()  # the next row uses ms and ds again
