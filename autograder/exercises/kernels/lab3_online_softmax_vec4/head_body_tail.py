from math import exp, inf

import numpy as np
from autograder.kernels import load4, store4
from numba import cuda

LANES = 256
FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    if m1 < m2:
        return m2, d1 * exp(m1 - m2) + d2
    if m1 == m2:
        return m1, d1 + d2
    return m1, d1 + d2 * exp(m2 - m1)


@cuda.jit
def online_softmax_vec4(X, Y):
    state = cuda.shared.array((2, 8), np.float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    x = X[row]
    y = Y[row]
    one = np.float32(1.0)
    # Up to three columns come before the first multiple of 16 bytes, up to three after the last.
    head = min((4 - row * n % 4) % 4, n)
    quads = (n - head) // 4
    tail = head + 4 * quads
    m = np.float32(-inf)
    d = np.float32(0.0)
    if t < head:
        m, d = merge(m, d, x[t], one)
    for quad in range(t, quads, LANES):
        a, b, c, e = load4(x, head + 4 * quad)
        m_ab, d_ab = merge(a, one, b, one)
        m_ce, d_ce = merge(c, one, e, one)
        m_4, d_4 = merge(m_ab, d_ab, m_ce, d_ce)
        m, d = merge(m, d, m_4, d_4)
    if tail + t < n:
        m, d = merge(m, d, x[tail + t], one)
    for offset in (16, 8, 4, 2, 1):
        m, d = merge(m, d, cuda.shfl_xor_sync(FULL, m, offset), cuda.shfl_xor_sync(FULL, d, offset))
    if t % 32 == 0:
        state[0, t // 32] = m
        state[1, t // 32] = d
    cuda.syncthreads()
    m = state[0, 0]
    d = state[1, 0]
    for warp in range(1, 8):
        m, d = merge(m, d, state[0, warp], state[1, warp])
    scale = one / d
    if t < head:
        y[t] = exp(x[t] - m) * scale
    for quad in range(t, quads, LANES):
        a, b, c, e = load4(x, head + 4 * quad)
        store4(y, head + 4 * quad, exp(a - m) * scale, exp(b - m) * scale, exp(c - m) * scale, exp(e - m) * scale)
    if tail + t < n:
        y[tail + t] = exp(x[tail + t] - m) * scale
