import math

import numba
from numba import cuda

FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_max(value):
    for offset in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(FULL, value, offset))
    return value


@cuda.jit(device=True)
def warp_sum(value):
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, offset)
    return value


@cuda.jit(device=True)
def rescaled(m, d, top):
    return d * math.exp(m - (top if top > -math.inf else numba.float32(0.0)))


@cuda.jit
def online_softmax_warp(X, Y):
    maxima = cuda.shared.array(32, numba.float32)
    sums = cuda.shared.array(32, numba.float32)
    x = X[cuda.blockIdx.x]
    y = Y[cuda.blockIdx.x]
    t = cuda.threadIdx.x
    lane = t & 31
    if t < 32:
        maxima[t] = -math.inf
        sums[t] = 0.0
    cuda.syncthreads()
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for col in range(t, x.size, cuda.blockDim.x):
        value = x[col]
        top = max(m, value)
        d = rescaled(m, d, top) + rescaled(value, numba.float32(1.0), top)
        m = top
    top = warp_max(m)
    d = warp_sum(rescaled(m, d, top))
    if lane == 0:
        maxima[t // 32] = top
        sums[t // 32] = d
    cuda.syncthreads()
    top = warp_max(maxima[lane])
    d = warp_sum(rescaled(maxima[lane], sums[lane], top))
    for col in range(t, x.size, cuda.blockDim.x):
        y[col] = math.exp(x[col] - top) / d
