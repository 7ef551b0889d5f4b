"""Kernels whose sectors were measured with Nsight Compute on an H200 (DESIGN: the table of section 7)."""

import math

import numba
from numba import cuda

B = 256
TILE = 64
D = 64
PADDED = 65  # a shared shape must be a constant: the compiler refuses D + 1


@cuda.jit
def three_pass(X, Y):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    buf = cuda.shared.array(B, numba.float32)
    m = numba.float32(-math.inf)
    for i in range(t, n, B):
        m = max(m, X[row, i])
    buf[t] = m
    cuda.syncthreads()
    k = B // 2
    while k > 0:
        if t < k:
            buf[t] = max(buf[t], buf[t + k])
        cuda.syncthreads()
        k //= 2
    m = buf[0]
    cuda.syncthreads()
    d = numba.float32(0.0)
    for i in range(t, n, B):
        d += math.exp(X[row, i] - m)
    buf[t] = d
    cuda.syncthreads()
    k = B // 2
    while k > 0:
        if t < k:
            buf[t] += buf[t + k]
        cuda.syncthreads()
        k //= 2
    d = buf[0]
    for i in range(t, n, B):
        Y[row, i] = math.exp(X[row, i] - m) / d


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    if m == -math.inf:
        return m, numba.float32(0.0)
    return m, d1 * math.exp(m1 - m) + d2 * math.exp(m2 - m)


@cuda.jit
def online_tree(X, Y):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    ms = cuda.shared.array(B, numba.float32)
    ds = cuda.shared.array(B, numba.float32)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    for i in range(t, n, B):
        m, d = merge(m, d, X[row, i], numba.float32(1.0))
    ms[t] = m
    ds[t] = d
    cuda.syncthreads()
    k = B // 2
    while k > 0:
        if t < k:
            ms[t], ds[t] = merge(ms[t], ds[t], ms[t + k], ds[t + k])
        cuda.syncthreads()
        k //= 2
    m = ms[0]
    d = ds[0]
    for i in range(t, n, B):
        Y[row, i] = math.exp(X[row, i] - m) / d


@cuda.jit(device=True)
def block_max(buf, value):
    t = cuda.threadIdx.x
    buf[t] = value
    cuda.syncthreads()
    k = B // 2
    while k > 0:
        if t < k:
            buf[t] = max(buf[t], buf[t + k])
        cuda.syncthreads()
        k //= 2
    result = buf[0]
    cuda.syncthreads()
    return result


@cuda.jit(device=True)
def block_sum(buf, value):
    t = cuda.threadIdx.x
    buf[t] = value
    cuda.syncthreads()
    k = B // 2
    while k > 0:
        if t < k:
            buf[t] += buf[t + k]
        cuda.syncthreads()
        k //= 2
    result = buf[0]
    cuda.syncthreads()
    return result


@cuda.jit
def one_pass_registers(X, Y):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    buf = cuda.shared.array(B, numba.float32)
    mine = cuda.local.array(16, numba.float32)
    m = numba.float32(-math.inf)
    for j in range(16):
        i = t + j * B
        mine[j] = X[row, i] if i < n else numba.float32(-math.inf)
        m = max(m, mine[j])
    m = block_max(buf, m)
    d = numba.float32(0.0)
    for j in range(16):
        d += math.exp(mine[j] - m)
    d = block_sum(buf, d)
    for j in range(16):
        i = t + j * B
        if i < n:
            Y[row, i] = math.exp(mine[j] - m) / d


@cuda.jit
def one_pass_neighbours(X, Y):
    """Four neighbouring elements a thread, read one by one: each load touches every fourth float."""
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    buf = cuda.shared.array(B, numba.float32)
    mine = cuda.local.array(16, numba.float32)
    m = numba.float32(-math.inf)
    for tile in range(4):
        for j in range(4):
            i = tile * 4 * B + t * 4 + j
            mine[tile * 4 + j] = X[row, i] if i < n else numba.float32(-math.inf)
            m = max(m, mine[tile * 4 + j])
    m = block_max(buf, m)
    d = numba.float32(0.0)
    for j in range(16):
        d += math.exp(mine[j] - m)
    d = block_sum(buf, d)
    for tile in range(4):
        for j in range(4):
            i = tile * 4 * B + t * 4 + j
            if i < n:
                Y[row, i] = math.exp(mine[tile * 4 + j] - m) / d


@cuda.jit
def online_attention(Q, K, V, O, scale):  # noqa: E741
    """One query row a thread, 64 rows a block; K and V pass through shared memory, 64 keys at a time."""
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x * TILE + t
    q = cuda.local.array(D, numba.float32)
    o = cuda.local.array(D, numba.float32)
    tile = cuda.shared.array((TILE, D), numba.float32)
    qs = cuda.shared.array((TILE, PADDED), numba.float32)
    n_k = K.shape[0]
    for r in range(TILE):
        qs[r, t] = Q[cuda.blockIdx.x * TILE + r, t]
    cuda.syncthreads()
    for c in range(D):
        q[c] = qs[t, c]
        o[c] = numba.float32(0.0)
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    s = cuda.local.array(TILE, numba.float32)
    for first in range(0, n_k, TILE):
        cuda.syncthreads()
        for r in range(TILE):
            tile[r, t] = K[first + r, t]
        cuda.syncthreads()
        top = m
        for r in range(TILE):
            dot = numba.float32(0.0)
            for c in range(D):
                dot += q[c] * tile[r, c]
            s[r] = dot * scale
            top = max(top, s[r])
        cuda.syncthreads()
        for r in range(TILE):
            tile[r, t] = V[first + r, t]
        cuda.syncthreads()
        factor = math.exp(m - top)
        m = top
        d *= factor
        for c in range(D):
            o[c] *= factor
        for r in range(TILE):
            p = math.exp(s[r] - m)
            d += p
            for c in range(D):
                o[c] += p * tile[r, c]
    cuda.syncthreads()
    for c in range(D):
        qs[t, c] = o[c] / d
    cuda.syncthreads()
    for r in range(TILE):
        O[cuda.blockIdx.x * TILE + r, t] = qs[r, t]


@cuda.jit
def attention_traffic(Q, K, V, O):  # noqa: E741
    """The global accesses of ``online_attention`` with one addition a key in place of its arithmetic."""
    t = cuda.threadIdx.x
    tile = cuda.shared.array((TILE, D), numba.float32)
    qs = cuda.shared.array((TILE, D), numba.float32)
    for r in range(TILE):
        qs[r, t] = Q[cuda.blockIdx.x * TILE + r, t]
    for first in range(0, K.shape[0], TILE):
        cuda.syncthreads()
        for r in range(TILE):
            tile[r, t] = K[first + r, t]
        cuda.syncthreads()
        qs[t, 0] += tile[t, 0]
        cuda.syncthreads()
        for r in range(TILE):
            tile[r, t] = V[first + r, t]
        cuda.syncthreads()
        qs[t, 1] += tile[t, 1]
    cuda.syncthreads()
    for r in range(TILE):
        O[cuda.blockIdx.x * TILE + r, t] = qs[r, t]
