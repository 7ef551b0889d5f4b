"""sm[t] is overwritten with the new maximum before the factor for sd[t] is computed from it."""

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
def online_softmax_tree(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    sm = cuda.shared.array(THREADS, numba.float32)
    sd = cuda.shared.array(THREADS, numba.float32)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for j in range(t, n, THREADS):
        m, d = merge(m, d, X[row, j], numba.float32(1.0))
    sm[t] = m
    sd[t] = d
    cuda.syncthreads()
    gap = THREADS // 2
    while gap > 0:
        if t < gap:
            top2 = max(sm[t], sm[t + gap])
            sm[t] = top2
            if top2 != -math.inf:
                sd[t] = sd[t] * math.exp(sm[t] - top2) + sd[t + gap] * math.exp(sm[t + gap] - top2)
        cuda.syncthreads()
        gap //= 2
    top = sm[0]
    den = sd[0]
    for j in range(t, n, THREADS):
        Y[row, j] = math.exp(X[row, j] - top) / den
