"""Each lane adds to d the weights of its own four keys only, and the eight shares are never joined."""

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
    q_tile = cuda.shared.array((QUERIES, WIDTH), numba.float32)
    k_tile = cuda.shared.array((KEYS, WIDTH), numba.float32)
    v_tile = cuda.shared.array((KEYS, WIDTH), numba.float32)
    scores = cuda.shared.array((QUERIES, KEYS), numba.float32)
    acc = cuda.local.array(COLUMNS, numba.float32)
    t = cuda.threadIdx.x
    row = t // LANES
    lane = t % LANES
    first = cuda.blockIdx.x * QUERIES
    n_q = Q.shape[0]
    n_k = K.shape[0]
    for i in range(t, QUERIES * WIDTH, THREADS):
        if first + i // WIDTH < n_q:
            q_tile[i // WIDTH, i % WIDTH] = Q[first + i // WIDTH, i % WIDTH]
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for c in range(COLUMNS):
        acc[c] = numba.float32(0.0)
    for start in range(0, n_k, KEYS):
        for i in range(t, KEYS * WIDTH, THREADS):
            if start + i // WIDTH < n_k:
                k_tile[i // WIDTH, i % WIDTH] = K[start + i // WIDTH, i % WIDTH]
                v_tile[i // WIDTH, i % WIDTH] = V[start + i // WIDTH, i % WIDTH]
        cuda.syncthreads()  # the tiles are complete
        count = 0
        if first + row < n_q:
            count = min(KEYS, n_k - start)
        for j in range(lane, count, LANES):
            s = numba.float32(0.0)
            for c in range(WIDTH):
                s += q_tile[row, c] * k_tile[j, c]
            scores[row, j] = s * scale
        cuda.syncthreads()  # the scores are complete
        m_new = m
        for j in range(count):
            m_new = max(scores[row, j], m_new)
        base = m_new
        if m_new == -math.inf:  # nothing but -inf so far: -inf - -inf is nan
            base = numba.float32(0.0)
        factor = math.exp(m - base)
        d *= factor
        for c in range(COLUMNS):
            acc[c] *= factor
        for j in range(count):
            p = math.exp(scores[row, j] - base)
            if j % LANES == lane:
                d += p
            for c in range(COLUMNS):
                acc[c] += p * v_tile[j, lane + LANES * c]
        m = m_new
        cuda.syncthreads()  # all are done with the tiles
    if first + row < n_q:
        for c in range(COLUMNS):
            O[first + row, lane + LANES * c] = acc[c] / d
