import math

import numba
from numba import cuda

NEG_INF = float("-inf")


@cuda.jit(device=True)
def base_of(m):
    return m if m > NEG_INF else numba.float32(0.0)


@cuda.jit(device=True)
def fold(pairs, t, other):
    m = max(pairs[t, 0], pairs[other, 0])
    base = base_of(m)
    pairs[t, 1] = pairs[t, 1] * math.exp(pairs[t, 0] - base) + pairs[other, 1] * math.exp(pairs[other, 0] - base)
    pairs[t, 0] = m


@cuda.jit
def online_softmax_tree(X, Y):
    pairs = cuda.shared.array(shape=(256, 2), dtype=numba.float32)
    t = cuda.threadIdx.x
    x = X[cuda.blockIdx.x]
    y = Y[cuda.blockIdx.x]
    m = numba.float32(NEG_INF)
    d = numba.float32(0.0)
    for col in range(t, x.shape[0], cuda.blockDim.x):
        value = x[col]
        m_new = max(m, value)
        base = base_of(m_new)
        d = d * math.exp(m - base) + math.exp(value - base)
        m = m_new
    pairs[t, 0], pairs[t, 1] = m, d
    cuda.syncthreads()
    for half in (128, 64, 32):
        if t < half:
            fold(pairs, t, t + half)
        cuda.syncthreads()
    # Thirty-two states are left, and they belong to one warp: the warp's own barrier is enough.
    if t < 32:
        for half in (16, 8, 4, 2, 1):
            if t < half:
                fold(pairs, t, t + half)
            cuda.syncwarp()
    cuda.syncthreads()
    scale = numba.float32(1.0) / pairs[0, 1]
    for col in range(t, x.shape[0], cuda.blockDim.x):
        y[col] = math.exp(x[col] - pairs[0, 0]) * scale
