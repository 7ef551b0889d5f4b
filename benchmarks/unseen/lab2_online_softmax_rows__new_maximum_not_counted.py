"""When a new maximum comes, d is rescaled but the new element's 1 is not added."""

import math

import numba
from numba import cuda


@cuda.jit
def online_softmax_rows(X, Y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < X.shape[0]:
        m = numba.float32(X[i, 0])
        d = numba.float32(1.0)
        for k in range(1, X.shape[1]):
            v = X[i, k]
            if v > m:
                d = d * math.exp(m - v)
                m = v
            elif v > -math.inf:
                d += math.exp(v - m)
            elif v != v:
                d += v
        for k in range(X.shape[1]):
            Y[i, k] = math.exp(X[i, k] - m) / d
