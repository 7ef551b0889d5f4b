"""The tree stops at half > 1, so red[1] is never folded onto red[0]."""

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
    while half > 1:
        if t < half:
            red[t] = max(red[t + half], red[t])
        cuda.syncthreads()
        half = half // 2
    if t == 0:
        out[row] = red[0]
