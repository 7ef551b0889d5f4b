import math

from numba import cuda, float32

HEAD = 64
KEYS = 32
ROWS_A_WARP = 4
FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_max(x):
    step = 16
    while step > 0:
        x = max(x, cuda.shfl_xor_sync(FULL, x, step))
        step //= 2
    return x


@cuda.jit(device=True)
def warp_sum(x):
    step = 16
    while step > 0:
        x += cuda.shfl_xor_sync(FULL, x, step)
        step //= 2
    return x


@cuda.jit
def online_attention(Q, K, V, O, scale):
    # A warp has four queries, and a lane one key of the tile and two columns of the output.
    q = cuda.shared.array((16, HEAD), float32)
    k = cuda.shared.array((KEYS, 65), float32)
    v = cuda.shared.array((KEYS, HEAD), float32)
    p = cuda.shared.array((16, KEYS), float32)
    m = cuda.local.array(ROWS_A_WARP, float32)
    d = cuda.local.array(ROWS_A_WARP, float32)
    left = cuda.local.array(ROWS_A_WARP, float32)
    right = cuda.local.array(ROWS_A_WARP, float32)
    t = cuda.threadIdx.x
    lane = t % 32
    warp = t // 32
    first = cuda.blockIdx.x * 16
    n_q = Q.shape[0]
    n_k = K.shape[0]

    for i in range(t, 16 * HEAD, 128):
        if first + i // HEAD < n_q:
            q[i // HEAD, i % HEAD] = Q[first + i // HEAD, i % HEAD]
    for r in range(ROWS_A_WARP):
        m[r] = float32(-math.inf)
        d[r] = 0.0
        left[r] = 0.0
        right[r] = 0.0

    for start in range(0, n_k, KEYS):
        cuda.syncthreads()
        for i in range(t, KEYS * HEAD, 128):
            if start + i // HEAD < n_k:
                k[i // HEAD, i % HEAD] = K[start + i // HEAD, i % HEAD]
                v[i // HEAD, i % HEAD] = V[start + i // HEAD, i % HEAD]
        cuda.syncthreads()
        there = min(KEYS, n_k - start)

        for r in range(ROWS_A_WARP):
            row = warp * ROWS_A_WARP + r
            if first + row < n_q:
                s = float32(-math.inf)
                if lane < there:
                    s = float32(0.0)
                    for i in range(HEAD):
                        s += q[row, i] * k[lane, i]
                    s = s * scale
                m_new = max(m[r], warp_max(s))
                weight = float32(0.0)
                factor = float32(1.0)
                if m_new > -math.inf or math.isnan(s):
                    weight = math.exp(s - m_new)
                    factor = math.exp(m[r] - m_new)
                d[r] = d[r] * factor + warp_sum(weight)
                m[r] = m_new
                p[row, lane] = weight
                cuda.syncwarp()
                a = left[r] * factor
                b = right[r] * factor
                for j in range(there):
                    a += p[row, j] * v[j, lane]
                    b += p[row, j] * v[j, lane + 32]
                left[r] = a
                right[r] = b
                cuda.syncwarp()

    for r in range(ROWS_A_WARP):
        row = first + warp * ROWS_A_WARP + r
        if row < n_q:
            O[row, lane] = left[r] / d[r]
            O[row, lane + 32] = right[r] / d[r]
