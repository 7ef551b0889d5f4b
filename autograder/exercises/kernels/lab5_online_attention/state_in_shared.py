from math import exp, inf

import numpy as np
from numba import cuda

WIDTH = 64
ROWS = 16
COLS = 32
THREADS = 128


@cuda.jit(device=True)
def dot(a, i, b, j):
    total = np.float32(0)
    for c in range(WIDTH):
        total += a[i, c] * b[j, c]
    return total


@cuda.jit
def online_attention(Q, K, V, O, scale):
    q = cuda.shared.array((ROWS, WIDTH), np.float32)
    k = cuda.shared.array((COLS, WIDTH), np.float32)
    v = cuda.shared.array((COLS, WIDTH), np.float32)
    o = cuda.shared.array((ROWS, WIDTH), np.float32)
    p = cuda.shared.array((ROWS, COLS), np.float32)
    m = cuda.shared.array(ROWS, np.float32)
    d = cuda.shared.array(ROWS, np.float32)
    factor = cuda.shared.array(ROWS, np.float32)

    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * ROWS
    # Rows and keys that are not there are zeros; a key that is not there scores -inf.
    for i in range(t, ROWS * WIDTH, THREADS):
        row = i // WIDTH
        col = i % WIDTH
        if start + row < Q.shape[0]:
            q[row, col] = Q[start + row, col]
        else:
            q[row, col] = 0.0
        o[row, col] = 0.0
    if t < ROWS:
        m[t] = -inf
        d[t] = 0.0
    cuda.syncthreads()

    base = 0
    while base < K.shape[0]:
        for i in range(t, COLS * WIDTH, THREADS):
            row = i // WIDTH
            col = i % WIDTH
            if base + row < K.shape[0]:
                k[row, col] = K[base + row, col]
                v[row, col] = V[base + row, col]
            else:
                k[row, col] = 0.0
                v[row, col] = 0.0
        cuda.syncthreads()

        for i in range(t, ROWS * COLS, THREADS):
            row = i // COLS
            key = i % COLS
            if base + key < K.shape[0]:
                p[row, key] = dot(q, row, k, key) * scale
            else:
                p[row, key] = -inf
        cuda.syncthreads()

        # One thread per row moves the row's state.
        if t < ROWS:
            top = m[t]
            for key in range(COLS):
                top = max(top, p[t, key])
            if top == -inf:
                factor[t] = 1.0
                for key in range(COLS):
                    p[t, key] = 0.0
            else:
                factor[t] = exp(m[t] - top)
                total = d[t] * factor[t]
                for key in range(COLS):
                    p[t, key] = exp(p[t, key] - top)
                    total += p[t, key]
                d[t] = total
            m[t] = top
        cuda.syncthreads()

        for i in range(t, ROWS * WIDTH, THREADS):
            row = i // WIDTH
            col = i % WIDTH
            new = o[row, col] * factor[row]
            for key in range(COLS):
                new += p[row, key] * v[key, col]
            o[row, col] = new
        cuda.syncthreads()
        base += COLS

    for i in range(t, ROWS * WIDTH, THREADS):
        row = i // WIDTH
        col = i % WIDTH
        if start + row < Q.shape[0]:
            O[start + row, col] = o[row, col] / d[row]
