import math

from numba import cuda, float32

THREADS = 256


@cuda.jit
def safe_softmax(X, Y):
    red = cuda.shared.array(THREADS, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]

    best = float32(-math.inf)
    for col in range(t, n, THREADS):
        best = max(best, X[row, col])
    red[t] = best
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half])
        cuda.syncthreads()
        half //= 2
    m = red[0]
    cuda.syncthreads()

    total = float32(0.0)
    for col in range(t, n, THREADS):
        total += math.exp(X[row, col] - m)
    red[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    d = red[0]

    for col in range(t, n, THREADS):
        Y[row, col] = math.exp(X[row, col] - m) / d
