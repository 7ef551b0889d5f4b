import math

from numba import cuda, float32

THREADS = 256


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    base = m if m != -math.inf else float32(0.0)
    d = d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)
    return m, d


@cuda.jit
def online_softmax_tree(X, Y):
    ms = cuda.shared.array(THREADS, float32)
    ds = cuda.shared.array(THREADS, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]

    # Each thread folds its own share of the row; a value x is the state (x, 1).
    m = float32(-math.inf)
    d = float32(0.0)
    for col in range(t, n, THREADS):
        m, d = merge(m, d, X[row, col], float32(1.0))

    # Pairs: the upper half of the states is merged into the lower half, until one is left.
    ms[t] = m
    ds[t] = d
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            ms[t], ds[t] = merge(ms[t], ds[t], ms[t + half], ds[t + half])
        cuda.syncthreads()
        half //= 2

    m = ms[0]
    d = ds[0]
    for col in range(t, n, THREADS):
        Y[row, col] = math.exp(X[row, col] - m) / d
