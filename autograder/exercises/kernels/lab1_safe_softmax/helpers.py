import math

import numba
from numba import cuda

THREADS = 256


@cuda.jit(device=True)
def block_max(buffer, t, value):
    buffer[t] = value
    cuda.syncthreads()
    half = THREADS >> 1
    while half:
        if t < half:
            buffer[t] = max(buffer[t], buffer[t + half])
        cuda.syncthreads()
        half >>= 1
    result = buffer[0]
    cuda.syncthreads()
    return result


@cuda.jit(device=True)
def block_sum(buffer, t, value):
    buffer[t] = value
    cuda.syncthreads()
    half = THREADS >> 1
    while half:
        if t < half:
            buffer[t] += buffer[t + half]
        cuda.syncthreads()
        half >>= 1
    result = buffer[0]
    cuda.syncthreads()
    return result


@cuda.jit("void(float32[:, ::1], float32[:, ::1])", fastmath=True)
def safe_softmax(X, Y):
    buffer = cuda.shared.array(THREADS, numba.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    best = numba.float32(-math.inf)
    col = t
    while col < n:
        best = max(best, X[row, col])
        col += THREADS
    m = block_max(buffer, t, best)
    total = numba.float32(0)
    col = t
    while col < n:
        total += math.exp(X[row, col] - m)
        col += THREADS
    d = block_sum(buffer, t, total)
    col = t
    while col < n:
        Y[row, col] = math.exp(X[row, col] - m) / d
        col += THREADS
