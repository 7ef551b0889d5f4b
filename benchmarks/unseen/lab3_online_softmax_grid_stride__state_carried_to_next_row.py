"""m and d are set up once, before the loop over rows, and run on into the next row."""

import math

import numba
from numba import cuda

THREADS = 256


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    ref = m
    if m == -math.inf:  # both empty: -inf - -inf would be nan
        ref = numba.float32(0.0)
    return m, d1 * math.exp(m1 - ref) + d2 * math.exp(m2 - ref)


@cuda.jit
def online_softmax_grid_stride(X, Y):
    t = cuda.threadIdx.x
    n = X.shape[1]
    maxs = cuda.shared.array(THREADS, numba.float32)
    dens = cuda.shared.array(THREADS, numba.float32)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for row in range(cuda.blockIdx.x, X.shape[0], cuda.gridDim.x):
        for j in range(t, n, THREADS):
            m, d = merge(m, d, X[row, j], numba.float32(1.0))
        maxs[t] = m
        dens[t] = d
        cuda.syncthreads()
        k = THREADS // 2
        while k > 0:
            if t < k:
                maxs[t], dens[t] = merge(maxs[t], dens[t], maxs[t + k], dens[t + k])
            cuda.syncthreads()
            k //= 2
        m_row = maxs[0]
        d_row = dens[0]
        for j in range(t, n, THREADS):
            Y[row, j] = math.exp(X[row, j] - m_row) / d_row
        cuda.syncthreads()
