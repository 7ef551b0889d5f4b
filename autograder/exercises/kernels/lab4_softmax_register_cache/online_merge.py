import math

import numpy as np
from numba import cuda

NEG_INF = float("-inf")


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    base = m if m > NEG_INF else np.float32(0.0)
    return m, d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)


@cuda.jit
def softmax_register_cache(X, Y):
    values = cuda.local.array(shape=32, dtype=np.float32)
    ms = cuda.shared.array(shape=256, dtype=np.float32)
    ds = cuda.shared.array(shape=256, dtype=np.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    m = np.float32(NEG_INF)
    d = np.float32(0.0)
    k = 0
    for j in range(t, n, 256):
        x = X[row, j]
        values[k] = x
        m, d = merge(m, d, x, np.float32(1.0))
        k += 1
    ms[t], ds[t] = m, d
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            m, d = merge(ms[t], ds[t], ms[t + half], ds[t + half])
            ms[t], ds[t] = m, d
        cuda.syncthreads()
        half //= 2
    m = ms[0]
    scale = np.float32(1.0) / ds[0]
    k = 0
    for j in range(t, n, 256):
        Y[row, j] = math.exp(values[k] - m) * scale
        k += 1
