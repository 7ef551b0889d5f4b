"""Stride and start do not fit: the threads step by 256, the block size of another exercise."""

import numba
from numba import cuda

THREADS = 128


@cuda.jit
def row_sum(X, out):
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    buf = cuda.shared.array(THREADS, numba.float32)
    total = numba.float32(0.0)
    col = tid
    while col < X.shape[1]:
        total += X[row, col]
        col += 256
    buf[tid] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if tid < step:
            buf[tid] += buf[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        out[row] = buf[0]
