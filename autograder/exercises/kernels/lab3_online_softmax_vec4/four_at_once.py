import math

import numba
from autograder.kernels import load4, store4
from numba import cuda


@cuda.jit(device=True)
def finite(m):
    return m if m > -math.inf else numba.float32(0.0)


@cuda.jit(device=True)
def weight(value, m, d):
    return math.exp(value - m) / d


@cuda.jit
def online_softmax_vec4(X, Y):
    maxima = cuda.shared.array(256, numba.float32)
    sums = cuda.shared.array(256, numba.float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    n = X.shape[1]
    source, target = X[row], Y[row]
    aligned = row * n % 4 == 0
    m = numba.float32(-math.inf)
    d = numba.float32(0.0)
    start = 0
    if aligned:
        while start + 4 * t + 3 < n:
            p, q, r, s = load4(source, start + 4 * t)
            top = max(max(m, max(p, q)), max(r, s))
            base = finite(top)
            d = d * math.exp(m - base)
            d += (math.exp(p - base) + math.exp(q - base)) + (math.exp(r - base) + math.exp(s - base))
            m = top
            start += 1024
        start = n - n % 4
    for col in range(start + t, n, 256):
        value = source[col]
        top = max(m, value)
        base = finite(top)
        d = d * math.exp(m - base) + math.exp(value - base)
        m = top
    maxima[t] = m
    sums[t] = d
    step = 128
    while step >= 1:
        cuda.syncthreads()
        if t < step:
            top = max(maxima[t], maxima[t + step])
            base = finite(top)
            sums[t] = sums[t] * math.exp(maxima[t] - base) + sums[t + step] * math.exp(maxima[t + step] - base)
            maxima[t] = top
        step //= 2
    cuda.syncthreads()
    m, d = maxima[0], sums[0]
    if aligned:
        start = 0
        while start + 4 * t + 3 < n:
            p, q, r, s = load4(source, start + 4 * t)
            store4(target, start + 4 * t, weight(p, m, d), weight(q, m, d), weight(r, m, d), weight(s, m, d))
            start += 1024
        start = n - n % 4
    for col in range(start + t, n, 256):
        target[col] = weight(source[col], m, d)
