from math import exp, inf

import numpy as np
from numba import cuda

ALL = -1


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    if m1 < m2:
        return m2, d1 * exp(m1 - m2) + d2
    if m1 == m2:
        return m1, d1 + d2
    return m1, d1 + d2 * exp(m2 - m1)


@cuda.jit
def online_softmax_warp(X, Y):
    state = cuda.shared.array((32, 2), np.float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    lane = cuda.laneid
    warp = t >> 5
    warps = cuda.blockDim.x >> 5
    m = np.float32(-inf)
    d = np.float32(0)
    col = t
    while col < X.shape[1]:
        m, d = merge(m, d, X[row, col], np.float32(1))
        col += cuda.blockDim.x
    for offset in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_down_sync(ALL, m, offset)
        d2 = cuda.shfl_down_sync(ALL, d, offset)
        m, d = merge(m, d, m2, d2)
    if lane == 0:
        state[warp, 0] = m
        state[warp, 1] = d
    cuda.syncthreads()
    if warp == 0:
        m = state[lane, 0] if lane < warps else np.float32(-inf)
        d = state[lane, 1] if lane < warps else np.float32(0)
        for offset in (16, 8, 4, 2, 1):
            m2 = cuda.shfl_down_sync(ALL, m, offset)
            d2 = cuda.shfl_down_sync(ALL, d, offset)
            m, d = merge(m, d, m2, d2)
        if lane == 0:
            state[0, 0] = m
            state[0, 1] = d
    cuda.syncthreads()
    m = state[0, 0]
    d = state[0, 1]
    for col in range(t, X.shape[1], cuda.blockDim.x):
        Y[row, col] = exp(X[row, col] - m) / d
