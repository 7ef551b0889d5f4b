import math

from numba import cuda, float32


@cuda.jit
def online_softmax_rows(X, Y):
    row = cuda.grid(1)
    if row < X.shape[0]:
        n = X.shape[1]
        m = float32(-math.inf)
        d = float32(0.0)
        for col in range(n):
            x = X[row, col]
            if x != -math.inf:
                m_new = max(m, x)
                d = d * math.exp(m - m_new) + math.exp(x - m_new)
                m = m_new
        for col in range(n):
            Y[row, col] = math.exp(X[row, col] - m) / d
