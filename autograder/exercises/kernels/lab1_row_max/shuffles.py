import math

import numpy as np
from numba import cuda


@cuda.jit
def row_max(X, out):
    parts = cuda.shared.array(4, np.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    best = np.float32(-math.inf)
    for col in range(t, X.shape[1], cuda.blockDim.x):
        best = max(best, X[row, col])
    offset = 16
    while offset > 0:
        best = max(best, cuda.shfl_down_sync(0xFFFFFFFF, best, offset))
        offset //= 2
    if t % 32 == 0:
        parts[t // 32] = best
    cuda.syncthreads()
    if t == 0:
        out[row] = max(max(parts[0], parts[1]), max(parts[2], parts[3]))
