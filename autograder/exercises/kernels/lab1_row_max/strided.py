import math

from numba import cuda, float32

THREADS = 128


@cuda.jit
def row_max(X, out):
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
    if t == 0:
        out[row] = red[0]
