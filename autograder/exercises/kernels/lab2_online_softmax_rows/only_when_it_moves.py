import math
import numpy as np
from numba import cuda


@cuda.jit
def online_softmax_rows(X, Y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= X.shape[0]:
        return
    m = np.float32(-math.inf)
    d = np.float32(0)
    for j in range(X.shape[1]):
        x = X[i, j]
        if x > m:
            d = d * math.exp(m - x) + np.float32(1.0)
            m = x
        elif x != -math.inf:
            d += math.exp(x - m)
    scale = 1 / d
    for j in range(X.shape[1]):
        Y[i, j] = math.exp(X[i, j] - m) * scale
