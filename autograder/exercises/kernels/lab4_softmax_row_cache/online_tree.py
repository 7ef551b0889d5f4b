import math

from numba import cuda, float32

THREADS = 256
LONGEST = 4096


@cuda.jit
def softmax_row_cache(X, Y):
    kept = cuda.shared.array(LONGEST, float32)
    ms = cuda.shared.array(THREADS, float32)
    ds = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    m = float32(-math.inf)
    d = float32(0.0)
    for col in range(t, n, THREADS):
        x = X[row, col]
        kept[col] = x
        m_new = max(m, x)
        base = m_new if m_new > -math.inf else float32(0.0)
        d = d * math.exp(m - base) + math.exp(x - base)
        m = m_new
    ms[t] = m
    ds[t] = d
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            m1, m2 = ms[t], ms[t + half]
            top = max(m1, m2)
            if top > -math.inf:
                ds[t] = ds[t] * math.exp(m1 - top) + ds[t + half] * math.exp(m2 - top)
                ms[t] = top
        cuda.syncthreads()
        half //= 2
    for col in range(t, n, THREADS):
        Y[row, col] = math.exp(kept[col] - ms[0]) / ds[0]
