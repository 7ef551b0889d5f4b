"""The shares of d are summed over the block in every tile and the block's sum is added to each share again."""

import math

import numba
from numba import cuda

B = 256


@cuda.jit(device=True)
def block_reduce_max(v, s):
    i = cuda.threadIdx.x
    s[i] = v
    cuda.syncthreads()
    k = 128
    while k > 0:
        if i < k:
            s[i] = max(s[i + k], s[i])
        cuda.syncthreads()
        k >>= 1
    r = s[0]
    cuda.syncthreads()
    return r


@cuda.jit(device=True)
def block_reduce_sum(v, s):
    i = cuda.threadIdx.x
    s[i] = v
    cuda.syncthreads()
    k = 128
    while k > 0:
        if i < k:
            s[i] = s[i] + s[i + k]
        cuda.syncthreads()
        k >>= 1
    r = s[0]
    cuda.syncthreads()
    return r


@cuda.jit
def online_softmax_tiled(X, Y):
    s = cuda.shared.array(B, numba.float32)
    i = cuda.threadIdx.x
    r = cuda.blockIdx.x
    run_max = numba.float32(-math.inf)
    run_sum = numba.float32(0.0)
    for lo in range(0, X.shape[1], B):
        v = numba.float32(-math.inf)
        if lo + i < X.shape[1]:
            v = X[r, lo + i]
        new_max = max(block_reduce_max(v, s), run_max)
        if new_max == -math.inf:
            continue
        run_sum = run_sum * math.exp(run_max - new_max)
        run_sum = run_sum + math.exp(v - new_max)
        run_sum = block_reduce_sum(run_sum, s)
        run_max = new_max
    for c in range(i, X.shape[1], B):
        Y[r, c] = math.exp(X[r, c] - run_max) / run_sum
