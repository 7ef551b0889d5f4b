import math

import numba
from numba import cuda

THREADS = 256


@cuda.jit(device=True)
def tree(pairs, t):
    half = THREADS // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            top = max(pairs[0, t], pairs[0, t + half])
            base = top if top > -math.inf else numba.float32(0.0)
            left = pairs[1, t] * math.exp(pairs[0, t] - base)
            right = pairs[1, t + half] * math.exp(pairs[0, t + half] - base)
            pairs[1, t] = left + right
            pairs[0, t] = top
        half //= 2
    cuda.syncthreads()
    return pairs[0, 0], pairs[1, 0]


@cuda.jit
def online_softmax_grid_stride(X, Y):
    pairs = cuda.shared.array(shape=(2, THREADS), dtype=numba.float32)
    t = cuda.threadIdx.x
    for row in range(cuda.blockIdx.x, X.shape[0], cuda.gridDim.x):
        x = X[row]
        y = Y[row]
        cuda.syncthreads()
        pairs[0, t] = -math.inf
        pairs[1, t] = 0.0
        for col in range(t, x.size, THREADS):
            value = x[col]
            top = max(pairs[0, t], value)
            base = top if top > -math.inf else numba.float32(0.0)
            pairs[1, t] = pairs[1, t] * math.exp(pairs[0, t] - base) + math.exp(value - base)
            pairs[0, t] = top
        m, d = tree(pairs, t)
        for col in range(t, x.size, THREADS):
            y[col] = math.exp(x[col] - m) / d
