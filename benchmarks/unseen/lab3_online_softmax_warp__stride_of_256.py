"""The columns are walked in steps of 256 whatever the block's size."""

import math

import numba
from numba import cuda

FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    ref = m
    if m == -math.inf:  # both empty: -inf - -inf would be nan
        ref = numba.float32(0.0)
    return m, d1 * math.exp(m1 - ref) + d2 * math.exp(m2 - ref)


@cuda.jit(device=True)
def warp_merge(m, d):
    off = 16
    while off > 0:
        om = cuda.shfl_xor_sync(FULL, m, off)
        od = cuda.shfl_xor_sync(FULL, d, off)
        m, d = merge(m, d, om, od)
        off //= 2
    return m, d


@cuda.jit
def online_softmax_warp(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    lane = t % 32
    warp = t // 32
    warps = cuda.blockDim.x // 32
    wm = cuda.shared.array(32, numba.float32)
    wd = cuda.shared.array(32, numba.float32)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for j in range(t, X.shape[1], 256):
        m, d = merge(m, d, X[row, j], numba.float32(1.0))
    m, d = warp_merge(m, d)
    if lane == 0:
        wm[warp] = m
        wd[warp] = d
    cuda.syncthreads()
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    if lane < warps:
        m = wm[lane]
        d = wd[lane]
    m, d = warp_merge(m, d)
    for j in range(t, X.shape[1], cuda.blockDim.x):
        Y[row, j] = math.exp(X[row, j] - m) / d
