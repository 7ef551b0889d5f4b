"""The tree runs from 1 up to 64 with the threads of a tree that runs down."""

import math

import numba
from numba import cuda

THREADS = 128


@cuda.jit
def row_max(X, out):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    red = cuda.shared.array(THREADS, numba.float32)
    best = numba.float32(-math.inf)
    for j in range(t, X.shape[1], THREADS):
        best = max(X[row, j], best)
    red[t] = best
    cuda.syncthreads()
    half = 1
    while half < THREADS:
        if t < half:
            red[t] = max(red[t + half], red[t])
        cuda.syncthreads()
        half *= 2
    if t == 0:
        out[row] = red[0]
