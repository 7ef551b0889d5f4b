import math

from numba import cuda, float32

FULL = 0xFFFFFFFF
NEG_INF = -math.inf


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    base = m if m != NEG_INF else float32(0.0)
    return m, d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)


@cuda.jit
def online_softmax_grid_stride(X, Y):
    state = cuda.shared.array((8, 2), float32)
    t = cuda.threadIdx.x
    rows = X.shape[0]
    for turn in range((rows + cuda.gridDim.x - 1) // cuda.gridDim.x):
        row = turn * cuda.gridDim.x + cuda.blockIdx.x
        m = float32(NEG_INF)
        d = float32(0.0)
        if row < rows:
            for col in range(t, X.shape[1], cuda.blockDim.x):
                m, d = merge(m, d, X[row, col], float32(1.0))
        offset = 16
        while offset:
            m2 = cuda.shfl_xor_sync(FULL, m, offset)
            d2 = cuda.shfl_xor_sync(FULL, d, offset)
            m, d = merge(m, d, m2, d2)
            offset >>= 1
        cuda.syncthreads()  # the last row's states have been read
        if t % 32 == 0:
            state[t // 32, 0] = m
            state[t // 32, 1] = d
        cuda.syncthreads()
        for warp in range(8):
            if warp != t // 32:
                m, d = merge(m, d, state[warp, 0], state[warp, 1])
        if row < rows:
            for col in range(t, X.shape[1], cuda.blockDim.x):
                Y[row, col] = math.exp(X[row, col] - m) / d
