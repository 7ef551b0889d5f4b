from math import exp, inf

import numpy as np
from numba import cuda


@cuda.jit
def softmax_row_cache(X, Y):
    cache = cuda.shared.array(shape=4096, dtype=np.float32)
    red = cuda.shared.array(shape=256, dtype=np.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    chunk = (n + 255) // 256
    length = chunk * 256
    col = t
    while col < length:
        if col < n:
            cache[col] = X[row, col]
        else:
            cache[col] = -inf
        col += 256
    cuda.syncthreads()

    best = np.float32(-inf)
    for i in range(chunk):
        best = max(best, cache[t * chunk + i])
    red[t] = best
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            red[t] = max(red[t], red[t + step])
        cuda.syncthreads()
        step //= 2
    m = red[0]
    cuda.syncthreads()

    total = np.float32(0.0)
    for i in range(chunk):
        e = exp(cache[t * chunk + i] - m)
        cache[t * chunk + i] = e
        total += e
    red[t] = total
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            red[t] += red[t + step]
        cuda.syncthreads()
        step //= 2
    scale = np.float32(1.0) / red[0]
    col = t
    while col < n:
        Y[row, col] = cache[col] * scale
        col += 256
