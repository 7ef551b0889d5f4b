"""Kernels that read one element twice: whether the compiler reads it once is for the profiler to say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda
from numba import float32 as f32

from hardware.traffic_cases import CASES, TrafficCase

# What the compiler does and the simulator does not follow: launch -> why
LIMITS = {
    "twice after_an_if": "a load that is there on one of two ways in only: the compiler adds it to the other",
    "twice in_both_branches": "the same load in both branches: the compiler makes it before the branch",
    "twice in_a_helper": "a load of the caller's repeated in a device function, which the compiler puts in its place",
    "twice unused": "a load whose value nobody uses: the compiler leaves it out",
    "twice augmented": "a store that another one overwrites at once: the compiler leaves it out",
}
SHAPE = (4, 512)


def twice(kernel: Any) -> Any:
    def make(device: Any) -> tuple:
        X = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
        return device(X), device(np.zeros_like(X)), device(np.zeros_like(X))

    name = f"twice {kernel.py_func.__name__}"
    CASES.append(TrafficCase(name, kernel, SHAPE[0], 64, make))
    return kernel


@twice
@cuda.jit
def in_if(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m = f32(-math.inf)
    for j in range(t, X.shape[1], 64):
        if X[row, j] > m:
            m = X[row, j]
    Y[row, t] = m


@twice
@cuda.jit
def in_expressions(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, d = f32(-math.inf), f32(0.0)
    for j in range(t, X.shape[1], 64):
        top = max(m, X[row, j])
        d = d * math.exp(m - top) + math.exp(X[row, j] - top)
        m = top
    Y[row, t] = d


@twice
@cuda.jit
def across_global_store(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        Y[row, j] = X[row, j] + f32(1.0)
        Z[row, j] = X[row, j] + f32(2.0)


@twice
@cuda.jit
def across_shared_store(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    s = cuda.shared.array(64, f32)
    for j in range(t, X.shape[1], 64):
        s[t] = X[row, j]
        Y[row, j] = X[row, j] + s[t]


@twice
@cuda.jit
def across_barrier(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        a = X[row, j]
        cuda.syncthreads()
        Y[row, j] = X[row, j] + a


@twice
@cuda.jit
def across_shared_and_barrier(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    s = cuda.shared.array(64, f32)
    for j in range(t, X.shape[1], 64):
        s[t] = X[row, j]
        cuda.syncthreads()
        Y[row, j] = X[row, j] + s[63 - t]
        cuda.syncthreads()


@twice
@cuda.jit
def across_shuffle(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        a = cuda.shfl_xor_sync(0xFFFFFFFF, X[row, j], 1)
        Y[row, j] = X[row, j] + a


@twice
@cuda.jit
def across_syncwarp(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        a = X[row, j]
        cuda.syncwarp()
        Y[row, j] = X[row, j] + a


@twice
@cuda.jit
def after_an_if(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        a = f32(0.0)
        if j % 3 == 0:
            a = X[row, j]
        Y[row, j] = X[row, j] + a


@twice
@cuda.jit
def in_both_branches(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        if j % 3 == 0:
            a = X[row, j] * f32(3.0)
        else:
            a = X[row, j] + f32(1.0)
        Y[row, j] = a


@twice
@cuda.jit
def before_an_if(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        a = X[row, j]
        if j % 3 == 0:
            a += X[row, j] * f32(2.0)
        Y[row, j] = a


@twice
@cuda.jit
def under_a_guard(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, d = f32(-math.inf), f32(0.0)
    for start in range(0, X.shape[1], 64):
        top = m
        if start + t < X.shape[1]:
            top = max(m, X[row, start + t])
        if start + t < X.shape[1]:
            d = d * math.exp(m - top) + math.exp(X[row, start + t] - top)
        m = top
    Y[row, t] = d


@twice
@cuda.jit
def by_another_name(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, d = f32(-math.inf), f32(0.0)
    for start in range(0, X.shape[1], 64):
        k = start + t
        top = max(m, X[row, k])
        d = d * math.exp(m - top) + math.exp(X[row, start + t] - top)
        m = top
    Y[row, t] = d


@twice
@cuda.jit
def through_a_view(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    x = X[row]
    m, d = f32(-math.inf), f32(0.0)
    for j in range(t, X.shape[1], 64):
        top = max(m, x[j])
        d = d * math.exp(m - top) + math.exp(X[row, j] - top)
        m = top
    Y[row, t] = d


@cuda.jit(device=True)
def term(X, row, j, m):
    return math.exp(X[row, j] - m)


@twice
@cuda.jit
def in_a_helper(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, d = f32(-math.inf), f32(0.0)
    for j in range(t, X.shape[1], 64):
        top = max(m, X[row, j])
        d = d * math.exp(m - top) + term(X, row, j, top)
        m = top
    Y[row, t] = d


@twice
@cuda.jit
def invariant(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    d = f32(0.0)
    for j in range(t, X.shape[1], 64):
        d += X[row, j] * X[row, 0]
    Y[row, t] = d


@twice
@cuda.jit
def store_then_load(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        Y[row, j] = X[row, j] * f32(2.0)
        Z[row, j] = Y[row, j] + f32(1.0)


@twice
@cuda.jit
def unused(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        a = X[row, j]
        b = Z[row, j]
        Y[row, j] = a


@twice
@cuda.jit
def stored_twice(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        Y[row, j] = f32(0.0)
        Y[row, j] = X[row, j]


@twice
@cuda.jit
def augmented(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    for j in range(t, X.shape[1], 64):
        Y[row, j] = X[row, j]
        Y[row, j] += f32(1.0)
        Y[row, j] *= f32(2.0)


@twice
@cuda.jit
def shared_in_if(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    s = cuda.shared.array(64, f32)
    s[t] = X[row, t]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            if s[t + half] > s[t]:
                s[t] = s[t + half]
        cuda.syncthreads()
        half //= 2
    Y[row, t] = s[0]


@twice
@cuda.jit
def shared_broadcast(X, Y, Z):
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    s = cuda.shared.array(64, f32)
    s[t] = X[row, t]
    cuda.syncthreads()
    for j in range(t, X.shape[1], 64):
        Y[row, j] = X[row, j] / s[0] + s[0]
