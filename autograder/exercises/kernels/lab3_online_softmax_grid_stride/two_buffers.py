from math import exp, inf

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    if m1 < m2:
        return m2, d1 * exp(m1 - m2) + d2
    if m1 == m2:
        return m1, d1 + d2
    return m1, d1 + d2 * exp(m2 - m1)


@cuda.jit
def online_softmax_grid_stride(X, Y):
    # Rows take the buffers in turn: whoever writes one again has met a barrier since it was read.
    ms = cuda.shared.array((2, 256), np.float32)
    ds = cuda.shared.array((2, 256), np.float32)
    t = cuda.threadIdx.x
    n = X.shape[1]
    turn = 0
    row = cuda.blockIdx.x
    while row < X.shape[0]:
        m = np.float32(-inf)
        d = np.float32(0.0)
        for col in range(t, n, 256):
            m, d = merge(m, d, X[row, col], np.float32(1.0))
        ms[turn, t] = m
        ds[turn, t] = d
        for half in (128, 64, 32, 16, 8, 4, 2, 1):
            cuda.syncthreads()
            if t < half:
                m, d = merge(m, d, ms[turn, t + half], ds[turn, t + half])
                ms[turn, t] = m
                ds[turn, t] = d
        cuda.syncthreads()
        for col in range(t, n, 256):
            Y[row, col] = exp(X[row, col] - ms[turn, 0]) / ds[turn, 0]
        turn = 1 - turn
        row += cuda.gridDim.x
