from math import exp, inf, isinf

import numba
from numba import cuda


@cuda.jit(device=True)
def update(m, d, x):
    """One step of the recurrence, from (m, d) and x."""
    m_new = m if m >= x else x
    if isinf(m_new):
        return m_new, d
    return m_new, d * exp(m - m_new) + exp(x - m_new)


@cuda.jit("(float32[:, ::1], float32[:, ::1])", fastmath=False)
def online_softmax_rows(X, Y):
    rows, n = X.shape
    row = cuda.grid(1)
    stride = cuda.gridsize(1)
    while row < rows:
        m = numba.float32(-inf)
        d = numba.float32(0.0)
        col = 0
        while col < n:
            m, d = update(m, d, X[row, col])
            col += 1
        col = 0
        while col < n:
            Y[row, col] = exp(X[row, col] - m) / d
            col += 1
        row += stride
