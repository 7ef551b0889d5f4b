import math

import numpy as np
from numba import cuda


@cuda.jit
def online_softmax_tree(X, Y):
    red = cuda.shared.array(256, np.float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    m = np.float32(-math.inf)
    d = np.float32(0.0)
    for col in range(t, n, 256):
        x = X[row, col]
        if x > m:
            d = d * math.exp(m - x)
            m = x
        if x != -math.inf:
            d += math.exp(x - m)

    # The maximum of all threads first, in the one buffer that there is.
    red[t] = m
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half])
        cuda.syncthreads()
        half //= 2
    top = red[0]
    cuda.syncthreads()

    # Then the sum: with the maximum known, each thread brings its own d to it once.
    red[t] = d * math.exp(m - top) if d != 0.0 else np.float32(0.0)
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    total = red[0]
    for col in range(t, n, 256):
        Y[row, col] = math.exp(X[row, col] - top) / total
