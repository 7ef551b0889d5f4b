"""Each thread walks a chunk of neighbouring columns, as one would on a CPU: right, but not coalesced."""

import math

import numba
from numba import cuda


@cuda.jit
def row_max(X, out):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    red = cuda.shared.array(128, numba.float32)
    n = X.shape[1]
    per = (n + 127) // 128
    m = numba.float32(-math.inf)
    for k in range(per):
        c = t * per + k
        if c < n:
            m = max(X[row, c], m)
    red[t] = m
    cuda.syncthreads()
    s = 64
    while s >= 1:
        if t < s:
            red[t] = max(red[t + s], red[t])
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = red[0]
