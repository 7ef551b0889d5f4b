"""e is typed in as 2.718, so every power is a little off."""

import math

import numba
from numba import cuda


@cuda.jit
def online_softmax_rows(X, Y):
    r = cuda.grid(1)
    rows, n = X.shape
    if r >= rows:
        return
    E = numba.float32(2.718)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for j in range(n):
        x = X[r, j]
        m_new = max(x, m)
        if m_new != -math.inf:  # nothing but -inf so far: -inf - -inf is nan
            d = d * E ** (m - m_new) + E ** (x - m_new)
            m = m_new
    for j in range(n):
        Y[r, j] = E ** (X[r, j] - m) / d
