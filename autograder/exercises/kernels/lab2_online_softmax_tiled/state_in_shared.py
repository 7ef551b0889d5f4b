from math import exp, inf

import numba
from numba import cuda


@cuda.jit
def online_softmax_tiled(X, Y):
    tile = cuda.shared.array(256, dtype=numba.float32)
    state = cuda.shared.array(2, dtype=numba.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    if t == 0:
        state[0] = -inf
        state[1] = 0
    for first in range(0, n, 256):
        if first + t < n:
            tile[t] = X[row, first + t]
        cuda.syncthreads()
        if t == 0:
            width = min(256, n - first)
            m = state[0]
            for i in range(width):
                m = max(m, tile[i])
            if m != -inf:
                d = state[1] * exp(state[0] - m)
                for i in range(width):
                    d += exp(tile[i] - m)
                state[1] = d
            state[0] = m
        cuda.syncthreads()
    for col in range(t, n, 256):
        Y[row, col] = exp(X[row, col] - state[0]) / state[1]
