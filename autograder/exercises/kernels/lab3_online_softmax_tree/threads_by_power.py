import math

from numba import cuda, float32

LEVELS = 8
THREADS = 2**LEVELS


@cuda.jit
def online_softmax_tree(X, Y):
    maxima = cuda.shared.array(THREADS, float32)
    sums = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    m = float32(-math.inf)
    d = float32(0.0)
    for tile in range((n + THREADS - 1) // THREADS):
        col = tile * THREADS + t
        x = X[row, col] if col < n else float32(-math.inf)
        m_new = max(m, x)
        if m_new != -math.inf or math.isnan(x):
            d *= math.exp(m - m_new) if m != -math.inf else float32(1.0)
            d += math.exp(x - m_new)
            m = m_new
    maxima[t] = m
    sums[t] = d
    for level in range(LEVELS):
        cuda.syncthreads()
        half = THREADS >> (level + 1)
        if t < half:
            m1 = maxima[t]
            m2 = maxima[t + half]
            f1 = math.exp(min(m1 - m2, float32(0.0))) if m1 != m2 else float32(1.0)
            f2 = math.exp(min(m2 - m1, float32(0.0))) if m1 != m2 else float32(1.0)
            sums[t] = sums[t] * f1 + sums[t + half] * f2
            maxima[t] = max(m1, m2)
    cuda.syncthreads()
    m = maxima[0]
    factor = float32(1.0) / sums[0]
    for tile in range((n + THREADS - 1) // THREADS):
        col = tile * THREADS + t
        if col < n:
            Y[row, col] = math.exp(X[row, col] - m) * factor
