"""Pass 2 parks exp(x - m) in Y and pass 3 divides Y in place, which costs Y twice more."""

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
    mine = numba.float32(-math.inf)
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
        e = math.exp(X[row, j] - m)
        Y[row, j] = e
        acc += e
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
    for j in range(t, n, BLOCK):
        Y[row, j] = Y[row, j] / d
