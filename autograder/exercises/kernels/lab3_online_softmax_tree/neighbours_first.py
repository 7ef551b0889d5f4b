from math import exp, inf, isnan

import numpy as np
from numba import cuda


@cuda.jit
def online_softmax_tree(X, Y):
    state = cuda.shared.array((2, 256), dtype=np.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    state[0, t] = -inf
    state[1, t] = 0
    col = t
    while col < n:
        x = X[row, col]
        if x > state[0, t]:
            state[1, t] = state[1, t] * exp(state[0, t] - x) + 1
            state[0, t] = x
        elif x > -inf or isnan(x):
            state[1, t] += exp(x - state[0, t])
        col += 256
    step = 1
    while step < 256:
        cuda.syncthreads()
        if t % (2 * step) == 0:
            m1 = state[0, t]
            m2 = state[0, t + step]
            if m1 < m2:
                state[0, t] = m2
                state[1, t] = state[1, t] * exp(m1 - m2) + state[1, t + step]
            elif m1 == m2:
                state[1, t] += state[1, t + step]
            else:
                state[1, t] += state[1, t + step] * exp(m2 - m1)
        step *= 2
    cuda.syncthreads()
    for col in range(t, n, 256):
        Y[row, col] = exp(X[row, col] - state[0, 0]) / state[1, 0]
