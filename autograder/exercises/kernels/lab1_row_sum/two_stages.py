import numba
from numba import cuda

WARPS = 4


@cuda.jit(device=True)
def warp_sum(value):
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, offset)
    return value


@cuda.jit
def row_sum(X, out):
    parts = cuda.shared.array(WARPS, numba.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    total = numba.float32(0.0)
    for col in range(t, X.shape[1], cuda.blockDim.x):
        total += X[row, col]
    total = warp_sum(total)
    if t % 32 == 0:
        parts[t // 32] = total
    cuda.syncthreads()
    if t == 0:
        total = numba.float32(0.0)
        for warp in range(WARPS):
            total += parts[warp]
        out[row] = total
