import math

from numba import cuda, float32


@cuda.jit
def softmax_register_cache(X, Y):
    slots = cuda.local.array(32, float32)
    red = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    n = X.shape[1]
    used = (n + 255) // 256
    m = float32(-math.inf)
    for k in range(used):
        x = float32(-math.inf)
        if t + 256 * k < n:
            x = X[row, t + 256 * k]
        slots[k] = x
        m = max(m, x)
    red[t] = m
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half])
        cuda.syncthreads()
        half //= 2
    m = red[0]
    cuda.syncthreads()
    d = float32(0.0)
    for k in range(used):
        slots[k] = math.exp(slots[k] - m)
        d += slots[k]
    red[t] = d
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            red[t] += red[t + half]
        cuda.syncthreads()
        half //= 2
    for k in range(used):
        if t + 256 * k < n:
            Y[row, t + 256 * k] = slots[k] / red[0]
