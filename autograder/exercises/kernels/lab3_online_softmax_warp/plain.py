import math

from numba import cuda, float32

FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    base = m if m != -math.inf else float32(0.0)
    d = d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)
    return m, d


@cuda.jit(device=True)
def warp_merge(m, d):
    # Butterfly: after five steps every lane holds the state of all 32.
    offset = 16
    while offset > 0:
        m_other = cuda.shfl_xor_sync(FULL, m, offset)
        d_other = cuda.shfl_xor_sync(FULL, d, offset)
        m, d = merge(m, d, m_other, d_other)
        offset //= 2
    return m, d


@cuda.jit
def online_softmax_warp(X, Y):
    ms = cuda.shared.array(32, float32)  # a state for each warp, and a block has 32 at most
    ds = cuda.shared.array(32, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    threads = cuda.blockDim.x
    lane = t % 32
    warp = t // 32
    n = X.shape[1]

    m = float32(-math.inf)
    d = float32(0.0)
    for col in range(t, n, threads):
        m, d = merge(m, d, X[row, col], float32(1.0))

    # First level: the 32 lanes of each warp.
    m, d = warp_merge(m, d)
    if lane == 0:
        ms[warp] = m
        ds[warp] = d
    cuda.syncthreads()

    # Second level: every warp merges the warps' states; a lane without one holds the identity.
    m = float32(-math.inf)
    d = float32(0.0)
    if lane < threads // 32:
        m = ms[lane]
        d = ds[lane]
    m, d = warp_merge(m, d)

    for col in range(t, n, threads):
        Y[row, col] = math.exp(X[row, col] - m) / d
