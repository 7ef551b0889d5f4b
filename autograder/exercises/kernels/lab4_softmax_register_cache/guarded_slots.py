import math

from numba import cuda, float32

THREADS = 256
SLOTS = 32


@cuda.jit
def softmax_register_cache(X, Y):
    kept = cuda.local.array(SLOTS, float32)
    red = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    m = float32(-math.inf)
    for k in range(SLOTS):
        col = t + k * THREADS
        if col < n:
            kept[k] = X[row, col]
            m = max(m, kept[k])
    red[t] = m
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half])
        cuda.syncthreads()
        half //= 2
    m = red[0]
    cuda.syncthreads()
    d = float32(0.0)
    for k in range(SLOTS):
        if t + k * THREADS < n:
            kept[k] = math.exp(kept[k] - m)
            d += kept[k]
    red[t] = d
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    for k in range(SLOTS):
        col = t + k * THREADS
        if col < n:
            Y[row, col] = kept[k] / red[0]
