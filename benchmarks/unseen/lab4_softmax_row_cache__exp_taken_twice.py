"""The cache already holds exp(x - m), and exp(cache - m) is taken once more in the write."""

import math

import numba
from numba import cuda


@cuda.jit(device=True)
def block_max(value, red):
    t = cuda.threadIdx.x
    offset = 16
    while offset > 0:
        value = max(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, offset))
        offset //= 2
    if t % 32 == 0:
        red[t // 32] = value
    cuda.syncthreads()
    for w in range(8):
        value = max(value, red[w])
    return value


@cuda.jit(device=True)
def block_sum(value, red):
    t = cuda.threadIdx.x
    offset = 16
    while offset > 0:
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    if t % 32 == 0:
        red[t // 32] = value
    cuda.syncthreads()
    total = numba.float32(0.0)
    for w in range(8):
        total += red[w]
    return total


@cuda.jit
def softmax_row_cache(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    cache = cuda.shared.array(4096, numba.float32)
    red_a = cuda.shared.array(8, numba.float32)
    red_b = cuda.shared.array(8, numba.float32)
    local_max = numba.float32(-math.inf)
    for j in range(t, n, 256):
        cache[j] = X[row, j]
        local_max = max(cache[j], local_max)
    m = block_max(local_max, red_a)
    local_sum = numba.float32(0.0)
    for j in range(t, n, 256):
        cache[j] = math.exp(cache[j] - m)
        local_sum += cache[j]
    d = block_sum(local_sum, red_b)
    for j in range(t, n, 256):
        Y[row, j] = math.exp(cache[j] - m) / d
