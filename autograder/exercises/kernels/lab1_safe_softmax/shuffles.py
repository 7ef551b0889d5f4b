import math

import numpy as np
from numba import cuda

FULL = 0xFFFFFFFF


@cuda.jit
def safe_softmax(X, Y):
    parts = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    best = np.float32(-math.inf)
    for col in range(t, X.shape[1], cuda.blockDim.x):
        best = max(best, X[row, col])
    for offset in (16, 8, 4, 2, 1):
        best = max(best, cuda.shfl_xor_sync(FULL, best, offset))
    if t % 32 == 0:
        parts[t // 32] = best
    cuda.syncthreads()
    m = parts[0]
    for warp in range(1, 8):
        m = max(m, parts[warp])
    cuda.syncthreads()
    total = np.float32(0.0)
    for col in range(t, X.shape[1], cuda.blockDim.x):
        total += math.exp(X[row, col] - m)
    for offset in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL, total, offset)
    if t % 32 == 0:
        parts[t // 32] = total
    cuda.syncthreads()
    d = np.float32(0.0)
    for warp in range(8):
        d += parts[warp]
    for col in range(t, X.shape[1], cuda.blockDim.x):
        Y[row, col] = math.exp(X[row, col] - m) / d
