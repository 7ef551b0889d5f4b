"""The second level joins the warps' maxima; d is only brought to the common maximum, and stays the warp's own."""

import math

import numba
from numba import cuda

FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    base = m
    if m == -math.inf:  # both empty: -inf - -inf is nan
        base = numba.float32(0.0)
    return m, d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)


@cuda.jit(device=True)
def warp_merge(m, d):
    offset = 16
    while offset > 0:
        m2 = cuda.shfl_xor_sync(FULL, m, offset)
        d2 = cuda.shfl_xor_sync(FULL, d, offset)
        m, d = merge(m, d, m2, d2)
        offset //= 2
    return m, d


@cuda.jit
def online_softmax_warp(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    threads = cuda.blockDim.x
    lane = t % 32
    warp = t // 32
    n = X.shape[1]
    ms = cuda.shared.array(32, numba.float32)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for j in range(t, n, threads):
        m, d = merge(m, d, X[row, j], numba.float32(1.0))
    m, d = warp_merge(m, d)
    if lane == 0:
        ms[warp] = m
    cuda.syncthreads()
    m_all = m
    for w in range(threads // 32):
        m_all = max(ms[w], m_all)
    if m_all != -math.inf:  # -inf - -inf is nan
        d *= math.exp(m - m_all)
    m = m_all
    for j in range(t, n, threads):
        Y[row, j] = math.exp(X[row, j] - m) / d
