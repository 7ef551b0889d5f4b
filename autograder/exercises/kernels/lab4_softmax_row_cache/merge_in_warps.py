import math

import numpy as np
from numba import cuda

NEG_INF = float("-inf")
FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    base = m if m > NEG_INF else np.float32(0.0)
    return m, d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)


@cuda.jit(device=True)
def merge_warp(m, d):
    lanes = 16
    while lanes > 0:
        m_other = cuda.shfl_xor_sync(FULL, m, lanes)
        d_other = cuda.shfl_xor_sync(FULL, d, lanes)
        m, d = merge(m, d, m_other, d_other)
        lanes //= 2
    return m, d


@cuda.jit
def softmax_row_cache(X, Y):
    row_kept = cuda.shared.array(4096, np.float32)
    warp_m = cuda.shared.array(8, np.float32)
    warp_d = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    m = np.float32(NEG_INF)
    d = np.float32(0.0)
    for j in range(t, n, 256):
        x = X[row, j]
        row_kept[j] = x
        if x > m:
            d = d * math.exp(m - x) + np.float32(1.0)
            m = x
        elif x != NEG_INF:
            d += math.exp(x - m)
    m, d = merge_warp(m, d)
    if t % 32 == 0:
        warp_m[t // 32] = m
        warp_d[t // 32] = d
    cuda.syncthreads()
    lane = t % 32
    m = np.float32(NEG_INF)
    d = np.float32(0.0)
    if lane < 8:
        m = warp_m[lane]
        d = warp_d[lane]
    m, d = merge_warp(m, d)
    for j in range(t, n, 256):
        Y[row, j] = math.exp(row_kept[j] - m) / d
