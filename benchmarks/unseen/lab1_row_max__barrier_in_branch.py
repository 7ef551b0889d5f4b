"""The barrier of the tree stands inside `if t < half`."""

import math

import numba
from numba import cuda

THREADS = 128


@cuda.jit
def row_max(X, out):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    red = cuda.shared.array(THREADS, numba.float32)
    n = X.shape[1]
    biggest = numba.float32(-math.inf)
    for j in range(t, n, THREADS):
        biggest = max(X[row, j], biggest)
    red[t] = biggest
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] = max(red[t + half], red[t])
            cuda.syncthreads()
        half = half // 2
    if t == 0:
        out[row] = red[0]
