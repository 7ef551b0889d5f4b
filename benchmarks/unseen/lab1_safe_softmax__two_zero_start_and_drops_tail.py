"""Two mistakes: the maximum starts at 0, and the last pass writes whole tiles only."""

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

    # pass 1
    mine = numba.float32(0.0)
    for j in range(t, n, BLOCK):
        mine = max(X[row, j], mine)
    red[t] = mine
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            red[t] = max(red[t + half], red[t])
        cuda.syncthreads()
        half //= 2
    m = red[0]
    cuda.syncthreads()

    # pass 2
    acc = numba.float32(0.0)
    for j in range(t, n, BLOCK):
        acc += math.exp(X[row, j] - m)
    red[t] = acc
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    d = red[0]

    # pass 3
    for tile in range(n // BLOCK):
        j = tile * BLOCK + t
        Y[row, j] = math.exp(X[row, j] - m) / d
