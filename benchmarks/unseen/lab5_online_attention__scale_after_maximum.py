"""The scores are stored without the scale and the scale is applied inside the exponent to the score only, not to the maximum."""

import math

import numba
from numba import cuda

WIDTH = 64
QUERIES = 16
KEYS = 32
LANES = 8
THREADS = 128
COLUMNS = 8


@cuda.jit
def online_attention(Q, K, V, O, scale):
    qs = cuda.shared.array((QUERIES, WIDTH), numba.float32)
    ks = cuda.shared.array((KEYS, WIDTH), numba.float32)
    vs = cuda.shared.array((KEYS, WIDTH), numba.float32)
    sc = cuda.shared.array((QUERIES, KEYS), numba.float32)
    acc = cuda.local.array(COLUMNS, numba.float32)
    tid = cuda.threadIdx.x
    r = tid // LANES
    lane = tid % LANES
    q0 = cuda.blockIdx.x * QUERIES
    n_q = Q.shape[0]
    n_k = K.shape[0]
    for i in range(tid, QUERIES * WIDTH, THREADS):
        if q0 + i // WIDTH < n_q:
            qs[i // WIDTH, i % WIDTH] = Q[q0 + i // WIDTH, i % WIDTH]
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for c in range(COLUMNS):
        acc[c] = 0.0
    for k0 in range(0, n_k, KEYS):
        for i in range(tid, KEYS * WIDTH, THREADS):
            if k0 + i // WIDTH < n_k:
                ks[i // WIDTH, i % WIDTH] = K[k0 + i // WIDTH, i % WIDTH]
                vs[i // WIDTH, i % WIDTH] = V[k0 + i // WIDTH, i % WIDTH]
        cuda.syncthreads()  # tiles there
        here = 0
        if q0 + r < n_q:
            here = min(KEYS, n_k - k0)
        for j in range(lane, here, LANES):
            s = numba.float32(0.0)
            for c in range(WIDTH):
                s += qs[r, c] * ks[j, c]
            sc[r, j] = s
        cuda.syncthreads()  # scores there
        m_new = m
        for j in range(here):
            m_new = max(sc[r, j], m_new)
        if m_new != -math.inf:  # only -inf up to here: -inf - -inf is nan
            f = math.exp(m - m_new)
            d = d * f
            for c in range(COLUMNS):
                acc[c] = acc[c] * f
            for j in range(here):
                p = math.exp(sc[r, j] * scale - m_new)
                d += p
                for c in range(COLUMNS):
                    acc[c] += p * vs[j, lane + LANES * c]
            m = m_new
        cuda.syncthreads()  # all done with the tiles
    if q0 + r < n_q:
        for c in range(COLUMNS):
            O[q0 + r, lane + LANES * c] = acc[c] / d
