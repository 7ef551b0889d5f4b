import math

import numba
from numba import cuda

D = 64
PADDED = 65  # one more word a row: eight lanes then read eight banks
BLOCK_Q = 16
BLOCK_K = 32


@cuda.jit
def online_attention(Q, K, V, O, scale):
    # FlashAttention's first form: the output is a true mean after every tile.
    qs = cuda.shared.array(shape=(BLOCK_Q, D), dtype=numba.float32)
    ks = cuda.shared.array(shape=(BLOCK_K, PADDED), dtype=numba.float32)
    vs = cuda.shared.array(shape=(BLOCK_K, D), dtype=numba.float32)
    ps = cuda.shared.array(shape=(BLOCK_Q, BLOCK_K), dtype=numba.float32)
    out = cuda.local.array(shape=8, dtype=numba.float32)
    tid = cuda.threadIdx.x
    r, part = tid // 8, tid % 8
    q0 = cuda.blockIdx.x * BLOCK_Q
    queries, keys = Q.shape[0], K.shape[0]
    mine = q0 + r < queries

    for i in range(tid, BLOCK_Q * D, 128):
        a, b = divmod(i, D)
        if q0 + a < queries:
            qs[a, b] = Q[q0 + a, b] * scale

    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for c in range(8):
        out[c] = 0

    tiles = (keys + BLOCK_K - 1) // BLOCK_K
    for tile in range(tiles):
        k0 = tile * BLOCK_K
        cuda.syncthreads()
        for i in range(tid, BLOCK_K * D, 128):
            a, b = divmod(i, D)
            if k0 + a < keys:
                ks[a, b] = K[k0 + a, b]
                vs[a, b] = V[k0 + a, b]
        cuda.syncthreads()

        valid = min(BLOCK_K, keys - k0)
        if mine:
            for key in range(part, valid, 8):
                score = numba.float32(0.0)
                for b in range(D):
                    score += qs[r, b] * ks[key, b]
                ps[r, key] = score
        cuda.syncthreads()

        m_new = m
        if mine:
            for key in range(valid):
                m_new = max(m_new, ps[r, key])
        cuda.syncthreads()
        if mine and m_new > -math.inf:
            for key in range(part, valid, 8):
                ps[r, key] = math.exp(ps[r, key] - m_new)
        cuda.syncthreads()
        if mine and m_new > -math.inf:
            kept = d * math.exp(m - m_new)
            d_new = kept
            for key in range(valid):
                d_new += ps[r, key]
            for c in range(8):
                total = out[c] * kept
                for key in range(valid):
                    total += ps[r, key] * vs[key, part + 8 * c]
                out[c] = total / d_new
            m = m_new
            d = d_new

    if mine:
        for c in range(8):
            # d is 0 only where no score was a number
            O[q0 + r, part + 8 * c] = out[c] if d > 0 else numba.float32(math.nan)
