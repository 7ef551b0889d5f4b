"""The row is the thread's number in its block: the blocks after the first do the first rows again."""

import math

import numba
from numba import cuda


@cuda.jit
def online_softmax_rows(X, Y):
    row = cuda.threadIdx.x
    if row < X.shape[0]:
        m = numba.float32(-math.inf)
        d = numba.float32(0.0)
        for j in range(X.shape[1]):
            x = X[row, j]
            m_new = max(x, m)
            base = m_new
            if m_new == -math.inf:  # nothing but -inf so far: -inf - -inf is nan
                base = numba.float32(0.0)
            d = d * math.exp(m - base) + math.exp(x - base)
            m = m_new
        for j in range(X.shape[1]):
            Y[row, j] = math.exp(X[row, j] - m) / d
