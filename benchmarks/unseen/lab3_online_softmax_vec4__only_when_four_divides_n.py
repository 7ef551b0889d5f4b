"""Fours are taken only when 4 divides n, so an aligned row with a tail is read one by one."""

import math

import numba
from numba import cuda

from autograder.kernels import load4, store4

THREADS = 256


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    ref = m
    if m == -math.inf:  # both empty: -inf - -inf would be nan
        ref = numba.float32(0.0)
    return m, d1 * math.exp(m1 - ref) + d2 * math.exp(m2 - ref)


@cuda.jit
def online_softmax_vec4(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    x = X[row]
    y = Y[row]
    one = numba.float32(1.0)
    fours = 0
    if n % 4 == 0:
        fours = n // 4
    sm = cuda.shared.array(THREADS, numba.float32)
    sd = cuda.shared.array(THREADS, numba.float32)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for q in range(t, fours, THREADS):
        a, b, c, e = load4(x, 4 * q)
        m, d = merge(m, d, a, one)
        m, d = merge(m, d, b, one)
        m, d = merge(m, d, c, one)
        m, d = merge(m, d, e, one)
    for j in range(4 * fours + t, n, THREADS):
        m, d = merge(m, d, x[j], one)
    sm[t] = m
    sd[t] = d
    cuda.syncthreads()
    s = THREADS // 2
    while s > 0:
        if t < s:
            sm[t], sd[t] = merge(sm[t], sd[t], sm[t + s], sd[t + s])
        cuda.syncthreads()
        s //= 2
    m = sm[0]
    d = sd[0]
    for q in range(t, fours, THREADS):
        a, b, c, e = load4(x, 4 * q)
        store4(y, 4 * q, math.exp(a - m) / d, math.exp(b - m) / d, math.exp(c - m) / d, math.exp(e - m) / d)
    for j in range(4 * fours + t, n, THREADS):
        y[j] = math.exp(x[j] - m) / d
