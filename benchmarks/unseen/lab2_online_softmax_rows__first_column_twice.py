"""The state starts from the first column (its value, and 1), and the loop takes that column again."""

import math

import numba
from numba import cuda


@cuda.jit
def online_softmax_rows(X, Y):
    row = cuda.grid(1)
    if row < X.shape[0]:
        m = X[row, 0]
        d = numba.float32(1.0)
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
