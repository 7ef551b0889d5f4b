import numba
from numba import cuda


@cuda.jit(device=True)
def larger(a, b):
    return a if a > b else b


@cuda.jit(device=True)
def block_max(buffer, t, value):
    buffer[t] = value
    cuda.syncthreads()
    for half in (64, 32, 16, 8, 4, 2, 1):
        if t < half:
            buffer[t] = larger(buffer[t], buffer[t + half])
        cuda.syncthreads()
    return buffer[0]


@cuda.jit
def row_max(X, out):
    buffer = cuda.shared.array(128, dtype=numba.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    best = numba.float32(float("-inf"))
    for col in range(t, X.shape[1], cuda.blockDim.x):
        best = larger(best, X[row, col])
    best = block_max(buffer, t, best)
    if t == 0:
        out[row] = best
