import math

from numba import cuda, float32

WIDTH = 64  # of a query, a key, a value and an output
QUERIES = 16  # of a block: the query tile
KEYS = 32  # taken at once: the key tile
LANES = 8  # threads that share a query row: 128 threads, 16 rows


@cuda.jit
def online_attention(Q, K, V, O, scale):
    q_tile = cuda.shared.array((QUERIES, WIDTH), float32)
    k_tile = cuda.shared.array((KEYS, WIDTH), float32)
    v_tile = cuda.shared.array((KEYS, WIDTH), float32)
    scores = cuda.shared.array((QUERIES, KEYS), float32)
    acc = cuda.local.array(8, float32)  # this thread's 8 of the row's 64 columns of O
    t = cuda.threadIdx.x
    row = t // LANES
    lane = t % LANES
    first_query = cuda.blockIdx.x * QUERIES
    n_q = Q.shape[0]
    n_k = K.shape[0]
    live = first_query + row < n_q  # the last block may have more rows than queries

    # The queries of the block, once: neighbouring threads load neighbouring columns.
    for i in range(t, QUERIES * WIDTH, 128):
        if first_query + i // WIDTH < n_q:
            q_tile[i // WIDTH, i % WIDTH] = Q[first_query + i // WIDTH, i % WIDTH]

    # The state of the row: m, d and O. All 8 threads of a row keep the same m and d.
    m = float32(-math.inf)
    d = float32(0.0)
    for c in range(8):
        acc[c] = 0.0

    for first_key in range(0, n_k, KEYS):
        count = min(KEYS, n_k - first_key)  # keys in this tile: the last one may be ragged
        for i in range(t, count * WIDTH, 128):
            k_tile[i // WIDTH, i % WIDTH] = K[first_key + i // WIDTH, i % WIDTH]
            v_tile[i // WIDTH, i % WIDTH] = V[first_key + i // WIDTH, i % WIDTH]
        cuda.syncthreads()  # the tiles are there

        # Each thread of a row computes the scores of up to 4 keys.
        if live:
            for j in range(lane, count, LANES):
                s = float32(0.0)
                for i in range(WIDTH):
                    s += q_tile[row, i] * k_tile[j, i]
                scores[row, j] = s * scale
        cuda.syncthreads()  # the scores of all keys are there

        if live:
            m_new = m
            for j in range(count):
                m_new = max(m_new, scores[row, j])
            if m_new > -math.inf:  # a row that saw nothing but -inf keeps its empty state
                factor = math.exp(m - m_new)
                d = d * factor
                for c in range(8):
                    acc[c] = acc[c] * factor
                for j in range(count):
                    p = math.exp(scores[row, j] - m_new)
                    d += p
                    for c in range(8):
                        acc[c] += p * v_tile[j, lane + LANES * c]
                m = m_new
        cuda.syncthreads()  # all are done with the tiles: the next ones may come

    if live:
        for c in range(8):
            O[first_query + row, lane + LANES * c] = acc[c] / d
