"""Launches whose traffic was counted by Nsight Compute on a real GPU and is compared with the simulator's.

Each case is (name, kernel, grid, block, make): ``make(device)`` gives the arguments, where ``device`` turns a
host array into a device array. The same file runs on the GPU and under the simulator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import simulator_kernels as k
from numba import cuda

from autograder.kernels import load4, store4
from autograder.source import gather_script

f32 = numba.float32


@dataclass(frozen=True)
class TrafficCase:
    name: str
    kernel: Any
    grid: Any
    block: Any
    make: Callable[[Callable[[np.ndarray], Any]], tuple]


CASES: list[TrafficCase] = []


def case(name: str, kernel: Any, grid: Any, block: Any, *shapes: Any, scalars: tuple = ()) -> None:
    """Arguments: float32 arrays of the shapes (the first random, the others too), then the scalars."""
    def make(device: Callable[[np.ndarray], Any]) -> tuple:
        arrays = [np.random.default_rng(n).normal(size=s).astype(np.float32) for n, s in enumerate(shapes)]
        return (*(device(a) for a in arrays), *scalars)

    CASES.append(TrafficCase(name, kernel, grid, block, make))


for rows, n in ((8, 4096), (8, 1000), (3, 257), (5, 31), (2, 1), (4, 1024)):
    case(f"three_pass {rows}x{n}", k.three_pass, rows, 256, (rows, n), (rows, n))
for rows, n in ((8, 4096), (8, 1000), (3, 255), (4, 5)):
    case(f"online_tree {rows}x{n}", k.online_tree, rows, 256, (rows, n), (rows, n))
for rows, n in ((8, 4096), (3, 1000)):
    case(f"one_pass_registers {rows}x{n}", k.one_pass_registers, rows, 256, (rows, n), (rows, n))
    case(f"one_pass_neighbours {rows}x{n}", k.one_pass_neighbours, rows, 256, (rows, n), (rows, n))
for n in (64, 128):
    case(f"online_attention {n}", k.online_attention, n // 64, 64, (n, 64), (n, 64), (n, 64), (n, 64),
         scalars=(np.float32(0.125),))
case("attention_traffic 256", k.attention_traffic, 4, 64, (256, 64), (256, 64), (256, 64), (256, 64))


@cuda.jit
def row_max_128(X, out):
    row, t, n = cuda.blockIdx.x, cuda.threadIdx.x, X.shape[1]
    red = cuda.shared.array(128, f32)
    m = f32(-math.inf)
    for j in range(t, n, 128):
        m = max(m, X[row, j])
    red[t] = m
    cuda.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half])
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[row] = red[0]


for rows, n in ((8, 1000), (4, 1024), (3, 5)):
    case(f"row_max {rows}x{n}", row_max_128, rows, 128, (rows, n), (rows,))


@cuda.jit
def online_rows(X, Y):
    row = cuda.grid(1)
    if row < X.shape[0]:
        m = f32(-math.inf)
        d = f32(0.0)
        for j in range(X.shape[1]):
            x = X[row, j]
            top = max(m, x)
            d = d * math.exp(m - top) + math.exp(x - top)
            m = top
        for j in range(X.shape[1]):
            Y[row, j] = math.exp(X[row, j] - m) / d


for rows, n in ((64, 64), (100, 33), (70, 8)):
    case(f"online_rows {rows}x{n}", online_rows, -(-rows // 64), 64, (rows, n), (rows, n))


@cuda.jit
def copy(X, Y):
    i = cuda.grid(1)
    if i < Y.size:
        Y[i] = X[i]


@cuda.jit
def gather_stride(X, Y, stride):
    i = cuda.grid(1)
    if i < Y.size:
        Y[i] = X[i * stride]


case("copy 1000", copy, 4, 256, (1000,), (1000,))
for stride in (2, 3, 8, 33):
    case(f"gather_stride {stride}", gather_stride, 2, 64, (128 * stride,), (128,), scalars=(stride,))


@cuda.jit
def columns(X, Y):
    """Lanes walk down a column: a sector each."""
    t = cuda.threadIdx.x
    for j in range(X.shape[1]):
        Y[t, j] = X[t, j]


case("columns 64x16", columns, 1, 64, (64, 16), (64, 16))


@cuda.jit
def broadcast(X, Y):
    i = cuda.grid(1)
    Y[i] = X[0] + X[i // 32]


case("broadcast", broadcast, 2, 64, (64,), (128,))


def misaligned(name: str, lead: int, n: int) -> None:
    def make(device: Callable[[np.ndarray], Any]) -> tuple:
        base = device(np.arange(n + lead, dtype=np.float32))
        return base[lead:], device(np.zeros(n, np.float32))

    CASES.append(TrafficCase(name, copy, -(-n // 128), 128, make))


for lead in (1, 3, 8):
    misaligned(f"misaligned by {lead}", lead, 500)


@cuda.jit
def transpose_naive(X, Y):
    x, y = cuda.grid(2)
    if x < X.shape[1] and y < X.shape[0]:
        Y[x, y] = X[y, x]


@cuda.jit
def transpose_tiled(X, Y):
    tile = cuda.shared.array((32, 33), f32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * 32 + tx
    y = cuda.blockIdx.y * 32 + ty
    for k in range(0, 32, 8):
        if x < X.shape[1] and y + k < X.shape[0]:
            tile[ty + k, tx] = X[y + k, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 32 + tx
    y = cuda.blockIdx.x * 32 + ty
    for k in range(0, 32, 8):
        if x < X.shape[0] and y + k < X.shape[1]:
            Y[y + k, x] = tile[tx, ty + k]


@cuda.jit
def transpose_conflicts(X, Y):
    tile = cuda.shared.array((32, 32), f32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * 32 + tx
    y = cuda.blockIdx.y * 32 + ty
    for k in range(0, 32, 8):
        tile[ty + k, tx] = X[y + k, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 32 + tx
    y = cuda.blockIdx.x * 32 + ty
    for k in range(0, 32, 8):
        Y[y + k, x] = tile[tx, ty + k]


case("transpose_naive 64x96", transpose_naive, (6, 4), (16, 16), (64, 96), (96, 64))
case("transpose_naive 8-wide blocks", transpose_naive, (12, 8), (8, 8), (64, 96), (96, 64))
case("transpose_tiled 64x96", transpose_tiled, (3, 2), (32, 8), (64, 96), (96, 64))
case("transpose_tiled 50x70", transpose_tiled, (3, 2), (32, 8), (50, 70), (70, 50))
case("transpose_conflicts 64x64", transpose_conflicts, (2, 2), (32, 8), (64, 64), (64, 64))


@cuda.jit
def shared_stride(X, Y, stride):
    buf = cuda.shared.array(2048, f32)
    t = cuda.threadIdx.x
    buf[t * stride] = X[t]
    cuda.syncthreads()
    Y[t] = buf[t * stride]


for stride in (1, 2, 5, 32):
    case(f"shared_stride {stride}", shared_stride, 1, 64, (64,), (64,), scalars=(stride,))


@cuda.jit
def atomic_global(X, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, i % 8, X[i])


@cuda.jit
def atomic_shared(X, out):
    bins = cuda.shared.array(32, f32)
    t = cuda.threadIdx.x
    if t < 32:
        bins[t] = f32(0.0)
    cuda.syncthreads()
    cuda.atomic.add(bins, t % 32, X[cuda.grid(1)])
    cuda.syncthreads()
    if t < 32:
        out[cuda.blockIdx.x, t] = bins[t]


@cuda.jit
def atomic_old(X, out):
    """The old value is used, so the compiler cannot turn the atomic into a reduction."""
    i = cuda.grid(1)
    X[i] = cuda.atomic.add(out, 0, f32(1.0))


case("atomic_global", atomic_global, 2, 64, (128,), (8,))
case("atomic_shared", atomic_shared, 2, 64, (128,), (2, 32))
case("atomic_old", atomic_old, 1, 64, (64,), (1,))


@cuda.jit
def divergent_load(X, Y):
    i = cuda.grid(1)
    v = f32(0.0)
    if i % 3 == 0:
        v = X[i]
    Y[i] = v


# The compiler unrolls a loop that counts up to a bound by four, and lanes with fewer rounds then take another copy of
# the load than the rest. The next kernel counts by halving, which it leaves alone; the launches of 1000 columns show it.
@cuda.jit
def divergent_loop(X, Y):
    """Lane t takes t % 4 + 1 rounds; lanes meet again after the loop."""
    t = cuda.threadIdx.x
    for row in range(X.shape[0]):
        total = f32(0.0)
        rounds = 1 << (t % 4)
        j = 0
        while rounds > 0:
            total += X[row, t + j]
            j += 1
            rounds >>= 1
        Y[row, t] = total


@cuda.jit
def both_sides(X, Y):
    i = cuda.grid(1)
    if i % 2 == 0:
        Y[i] = X[i] * f32(2.0)
    else:
        Y[i] = X[X.size - 1 - i]


case("divergent_load", divergent_load, 2, 64, (128,), (128,))
case("divergent_loop", divergent_loop, 1, 64, (6, 68), (6, 64))
case("both_sides", both_sides, 1, 64, (64,), (64,))


@cuda.jit
def grid_stride(X, Y):
    t, n = cuda.threadIdx.x, X.shape[1]
    red = cuda.shared.array(128, f32)
    for row in range(cuda.blockIdx.x, X.shape[0], cuda.gridDim.x):
        total = f32(0.0)
        for j in range(t, n, 128):
            total += X[row, j]
        red[t] = total
        cuda.syncthreads()
        half = 64
        while half > 0:
            if t < half:
                red[t] += red[t + half]
            cuda.syncthreads()
            half //= 2
        total = red[0]
        cuda.syncthreads()
        for j in range(t, n, 128):
            Y[row, j] = X[row, j] / total


@cuda.jit
def warp_rows(X, Y):
    """A warp a row, shuffles only; the rounds are counted by halving, see above."""
    lane = cuda.threadIdx.x % 32
    row = cuda.blockIdx.x * (cuda.blockDim.x // 32) + cuda.threadIdx.x // 32
    if row < X.shape[0]:
        m = f32(-math.inf)
        count = (X.shape[1] - lane + 31) // 32
        rounds = (1 << count) >> 1
        j = lane
        while rounds > 0:
            m = max(m, X[row, j])
            j += 32
            rounds >>= 1
        k = 16
        while k > 0:
            m = max(m, cuda.shfl_xor_sync(0xFFFFFFFF, m, k))
            k //= 2
        rounds = (1 << count) >> 1
        j = lane
        while rounds > 0:
            Y[row, j] = X[row, j] - m
            j += 32
            rounds >>= 1


case("grid_stride 10x300", grid_stride, 4, 128, (10, 300), (10, 300))
case("warp_rows 7x100", warp_rows, 2, 128, (7, 100), (7, 100))


def doubles(name: str, dtype: type, n: int) -> None:
    def make(device: Callable[[np.ndarray], Any]) -> tuple:
        return device(np.arange(n).astype(dtype)), device(np.zeros(n, dtype))

    CASES.append(TrafficCase(name, copy, 1, 128, make))


doubles("copy float64", np.float64, 100)
doubles("copy int8", np.int8, 100)
doubles("copy float16", np.float16, 100)


@cuda.jit
def copy_vec4(X, Y):
    """16-byte loads over the part of a row that is a multiple of four, single ones for the tail."""
    t, n = cuda.threadIdx.x, X.shape[1]
    x, y = X[cuda.blockIdx.x], Y[cuda.blockIdx.x]
    whole = n - n % 4
    for i in range(4 * t, whole, 4 * cuda.blockDim.x):
        a, b, c, d = load4(x, i)
        store4(y, i, a, b, c, d)
    for i in range(whole + t, n, cuda.blockDim.x):
        y[i] = x[i]


@cuda.jit
def sum_vec4(X, out):
    i = cuda.grid(1)
    a, b, c, d = load4(X, 4 * i)
    out[i] = (a + b) + (c + d)


for rows, n in ((4, 4096), (3, 1000)):
    case(f"copy_vec4 {rows}x{n}", copy_vec4, rows, 128, (rows, n), (rows, n))
case("copy_vec4 one row of 1003", copy_vec4, 1, 128, (1, 1003), (1, 1003))
case("sum_vec4", sum_vec4, 2, 64, (512,), (128,))

# the solutions of the labs, as the labs launch them
SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
for lab, name, grid, block, shape in (
    ("lab1_three_pass", "row_max", 4, 128, (4, 1000)), ("lab1_three_pass", "row_sum", 4, 128, (4, 1000)),
    ("lab1_three_pass", "safe_softmax", 4, 256, (4, 1000)), ("lab1_three_pass", "safe_softmax", 2, 256, (2, 257)),
    ("lab2_online_softmax", "online_softmax_rows", 2, 64, (100, 40)),
    ("lab2_online_softmax", "online_softmax_tiled", 4, 256, (4, 1000)),
    ("lab2_online_softmax", "online_softmax_tiled", 2, 256, (2, 257)),
    ("lab3_merge_reduce", "online_softmax_tree", 4, 256, (4, 1024)),
    ("lab3_merge_reduce", "online_softmax_tree", 3, 256, (3, 257)),
    ("lab3_merge_reduce", "online_softmax_warp", 4, 96, (4, 504)),
    ("lab3_merge_reduce", "online_softmax_warp", 2, 1024, (2, 1024)),
    ("lab3_merge_reduce", "online_softmax_vec4", 4, 256, (4, 2048)),
    ("lab3_merge_reduce", "online_softmax_vec4", 3, 256, (3, 1000)),
    ("lab3_merge_reduce", "online_softmax_grid_stride", 4, 256, (9, 512)),
    ("lab4_one_pass", "softmax_row_cache", 2, 256, (2, 4096)), ("lab4_one_pass", "softmax_row_cache", 3, 256, (3, 1000)),
    ("lab4_one_pass", "softmax_register_cache", 2, 256, (2, 8192)),
    ("lab4_one_pass", "softmax_register_cache", 3, 256, (3, 1000)),
):
    kernel = gather_script(SOLUTIONS / f"{lab}.py", name).load()
    out = shape if "softmax" in name else shape[:1]
    case(f"solution {name} {shape[0]}x{shape[1]}", kernel, grid, block, shape, out)

attention = gather_script(SOLUTIONS / "lab5_online_attention.py", "online_attention").load()
for n_q, n_k in ((32, 64), (20, 70)):
    case(f"solution online_attention {n_q}x{n_k}", attention, -(-n_q // 16), 128, (n_q, 64), (n_k, 64), (n_k, 64),
         (n_q, 64), scalars=(0.125,))
