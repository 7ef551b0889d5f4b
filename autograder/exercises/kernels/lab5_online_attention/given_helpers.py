import math

import numba
from numba import cuda

WIDTH = 64  # of a query, a key, a value and an output
QUERIES = 16  # of a block: the query tile
KEYS = 32  # that a block takes at once: the key tile
LANES = 8  # threads that share a query row
THREADS = 128  # of a block: 16 rows of 8 lanes
COLUMNS = 8  # of O that a thread keeps
PITCH = 65  # words from a row of a shared tile to the next: one more than the row has


@cuda.jit(device=True)
def copy_tile(source, first, rows, tile):
    for i in range(cuda.threadIdx.x, rows * WIDTH, THREADS):
        if first + i // WIDTH < source.shape[0]:
            tile[i // WIDTH, i % WIDTH] = source[first + i // WIDTH, i % WIDTH]


@cuda.jit(device=True)
def dot(q_tile, row, k_tile, j):
    total = numba.float32(0.0)
    for c in range(WIDTH):
        total += q_tile[row, c] * k_tile[j, c]
    return total


@cuda.jit
def online_attention(Q, K, V, O, scale):
    q_tile = cuda.shared.array((QUERIES, PITCH), numba.float32)
    k_tile = cuda.shared.array((KEYS, PITCH), numba.float32)
    v_tile = cuda.shared.array((KEYS, PITCH), numba.float32)
    scores = cuda.shared.array((QUERIES, KEYS), numba.float32)
    acc = cuda.local.array(COLUMNS, numba.float32)
    row, lane = cuda.threadIdx.x // LANES, cuda.threadIdx.x % LANES
    query = cuda.blockIdx.x * QUERIES + row
    copy_tile(Q, cuda.blockIdx.x * QUERIES, QUERIES, q_tile)
    m, d = numba.float32(-math.inf), numba.float32(0.0)
    for c in range(COLUMNS):
        acc[c] = 0.0
    for first_key in range(0, K.shape[0], KEYS):
        keys = min(KEYS, K.shape[0] - first_key) if query < Q.shape[0] else 0  # none for a row past the end
        copy_tile(K, first_key, KEYS, k_tile)
        copy_tile(V, first_key, KEYS, v_tile)
        cuda.syncthreads()
        for j in range(lane, keys, LANES):
            scores[row, j] = dot(q_tile, row, k_tile, j) * scale
        cuda.syncthreads()
        m_new = m
        for j in range(keys):
            m_new = max(m_new, scores[row, j])
        if m_new > -math.inf:
            factor = math.exp(m - m_new)
            d *= factor
            for c in range(COLUMNS):
                acc[c] *= factor
            for j in range(keys):
                p = math.exp(scores[row, j] - m_new)
                d += p
                for c in range(COLUMNS):
                    acc[c] += p * v_tile[j, lane + LANES * c]
            m = m_new
        cuda.syncthreads()
    if query < Q.shape[0]:
        for c in range(COLUMNS):
            O[query, lane + LANES * c] = acc[c] / d
