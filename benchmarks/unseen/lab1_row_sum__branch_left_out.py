"""Both halves of the tree add: `if tid < step` was left out, so every thread adds its neighbour modulo the buffer."""

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
        col += THREADS
    buf[tid] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        buf[tid] += buf[(tid + step) % THREADS]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        out[row] = buf[0]
