import math

from numba import cuda, float32


@cuda.jit(device=True)
def load_tile(tile, source, first, rows, t):
    for i in range(t, rows * 64, 128):
        value = float32(0.0)
        if first + i // 64 < source.shape[0]:
            value = source[first + i // 64, i % 64]
        tile[i // 64, i % 64] = value


@cuda.jit(device=True)
def largest(a, b, c, d):
    return max(max(a, b), max(c, d))


@cuda.jit
def online_attention(Q, K, V, O, scale):
    q = cuda.shared.array((16, 65), float32)
    k = cuda.shared.array((32, 65), float32)
    v = cuda.shared.array((32, 65), float32)
    p = cuda.shared.array((16, 32), float32)
    acc = cuda.local.array(8, float32)
    x = cuda.threadIdx.x % 8
    y = cuda.threadIdx.x // 8
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * 16
    n = K.shape[0]
    live = first + y < Q.shape[0]

    load_tile(q, Q, first, 16, t)
    for c in range(8):
        acc[c] = 0.0
    nothing = float32(-math.inf)
    m = nothing
    d = float32(0.0)
    for start in range(0, n, 32):
        load_tile(k, K, start, 32, t)
        load_tile(v, V, start, 32, t)
        cuda.syncthreads()

        # Four scores at once: a number of the query is read for four keys.
        s0 = s1 = s2 = s3 = float32(0.0)
        for i in range(64 if live else 0):
            a = q[y, i]
            s0 += a * k[x, i]
            s1 += a * k[x + 8, i]
            s2 += a * k[x + 16, i]
            s3 += a * k[x + 24, i]
        s0 = s0 * scale if start + x < n else nothing
        s1 = s1 * scale if start + x + 8 < n else nothing
        s2 = s2 * scale if start + x + 16 < n else nothing
        s3 = s3 * scale if start + x + 24 < n else nothing

        # The eight threads of a query are neighbours in a warp.
        top = largest(s0, s1, s2, s3)
        for step in (4, 2, 1):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, step))
        top = max(top, m)
        empty = top == nothing
        base = float32(0.0) if empty else top
        p[y, x] = math.exp(s0 - base)
        p[y, x + 8] = math.exp(s1 - base)
        p[y, x + 16] = math.exp(s2 - base)
        p[y, x + 24] = math.exp(s3 - base)
        correct = math.exp(m - base)
        m = top
        cuda.syncthreads()

        d *= correct
        for c in range(8):
            acc[c] *= correct
        for j in range(32 if live else 0):
            weight = p[y, j]
            d += weight
            for c in range(8):
                acc[c] += weight * v[j, x + 8 * c]
        cuda.syncthreads()

    for c in range(8):
        if live:
            O[first + y, x + 8 * c] = acc[c] / d
