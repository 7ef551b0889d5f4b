"""A typo: = for +=, so each thread keeps the last of its columns."""

import numba
from numba import cuda

THREADS = 128


@cuda.jit
def row_sum(X, out):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    red = cuda.shared.array(THREADS, numba.float32)
    total = numba.float32(0.0)
    for j in range(t, X.shape[1], THREADS):
        total = X[row, j]
    red[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] = red[t] + red[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[row] = red[0]
