"""After the tree each thread takes the maximum from its own place of the buffer, not from place 0."""

import math

import numba
from numba import cuda

BLOCK = 256


@cuda.jit
def safe_softmax(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    red = cuda.shared.array(BLOCK, numba.float32)
    m = numba.float32(-math.inf)
    for j in range(t, n, BLOCK):
        m = max(X[row, j], m)
    red[t] = m
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            red[t] = max(red[t + half], red[t])
        cuda.syncthreads()
        half //= 2
    m = red[t]
    cuda.syncthreads()  # all have read m before red is used again
    d = numba.float32(0.0)
    for j in range(t, n, BLOCK):
        d += math.exp(X[row, j] - m)
    red[t] = d
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            red[t] = red[t] + red[t + half]
        cuda.syncthreads()
        half //= 2
    d = red[0]
    for j in range(t, n, BLOCK):
        Y[row, j] = math.exp(X[row, j] - m) / d
