import math

from numba import cuda, float32


@cuda.jit
def online_softmax_warp(X, Y):
    ms = cuda.shared.array(32, float32)
    ds = cuda.shared.array(32, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    m = float32(-math.inf)
    d = float32(0.0)
    for col in range(t, n, cuda.blockDim.x):
        x = X[row, col]
        if x > m:
            d = d * math.exp(m - x) + float32(1.0)
            m = x
        elif x != -math.inf:
            d += math.exp(x - m)
    step = 1
    while step < 32:
        m2 = cuda.shfl_down_sync(0xFFFFFFFF, m, step)
        d2 = cuda.shfl_down_sync(0xFFFFFFFF, d, step)
        top = max(m, m2)
        base = float32(0.0) if math.isinf(top) else top
        d = d * math.exp(m - base) + d2 * math.exp(m2 - base)
        m = top
        step *= 2
    # Lane 0 is the one that has heard of all the others.
    m = cuda.shfl_sync(0xFFFFFFFF, m, 0)
    d = cuda.shfl_sync(0xFFFFFFFF, d, 0)
    if t % cuda.warpsize == 0:
        ms[t // cuda.warpsize] = m
        ds[t // cuda.warpsize] = d
    cuda.syncthreads()
    m = ms[0]
    for warp in range(1, cuda.blockDim.x // 32):
        m = max(m, ms[warp])
    d = float32(0.0)
    for warp in range(cuda.blockDim.x // 32):
        d += ds[warp] * math.exp(ms[warp] - m)
    for col in range(t, n, cuda.blockDim.x):
        Y[row, col] = math.exp(X[row, col] - m) / d
