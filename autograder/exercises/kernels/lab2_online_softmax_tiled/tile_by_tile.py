import math

from numba import cuda, float32

TILE = 256


@cuda.jit
def online_softmax_tiled(X, Y):
    red = cuda.shared.array(TILE, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    m = float32(-math.inf)
    d = float32(0.0)
    for start in range(0, n, TILE):
        col = start + t
        x = float32(-math.inf)
        if col < n:
            x = X[row, col]

        red[t] = x
        cuda.syncthreads()
        half = TILE // 2
        while half > 0:
            if t < half:
                red[t] = max(red[t], red[t + half])
            cuda.syncthreads()
            half //= 2
        m_tile = red[0]
        cuda.syncthreads()

        m_new = max(m, m_tile)
        term = float32(0.0)
        if m_new > -math.inf:
            term = math.exp(x - m_new)
            d = d * math.exp(m - m_new)
        red[t] = term
        cuda.syncthreads()
        half = TILE // 2
        while half > 0:
            if t < half:
                red[t] += red[t + half]
            cuda.syncthreads()
            half //= 2
        d = d + red[0]
        m = m_new
        cuda.syncthreads()

    for start in range(0, n, TILE):
        col = start + t
        if col < n:
            Y[row, col] = math.exp(X[row, col] - m) / d
