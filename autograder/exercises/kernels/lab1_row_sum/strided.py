from numba import cuda, float32

THREADS = 128


@cuda.jit
def row_sum(X, out):
    red = cuda.shared.array(THREADS, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    total = float32(0.0)
    for col in range(t, n, THREADS):
        total += X[row, col]
    red[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[row] = red[0]
