"""Small kernels, right and wrong, whose verdicts compute-sanitizer gave on a real GPU.

Each case is (name, kernel, grid, block, make): one launch. The same file runs on the GPU and under the
simulator. ``initialised`` arguments are written before the launch; ``fresh`` ones are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import cuda

f32 = numba.float32
FULL = 0xFFFFFFFF


@dataclass(frozen=True)
class SanitizerCase:
    name: str
    kernel: Any
    grid: Any
    block: Any
    shapes: tuple  # float32 arrays of ones
    scalars: tuple = ()
    fresh: tuple = ()  # shapes of device arrays that nothing has written, after the others


CASES: list[SanitizerCase] = []


def case(grid: Any, block: Any, *shapes: Any, scalars: tuple = (), fresh: tuple = (), name: str | None = None):
    def keep(function: Callable[..., Any]) -> Any:
        kernel = cuda.jit(function)
        CASES.append(SanitizerCase(name or function.__name__, kernel, grid, block, shapes, scalars, fresh))
        return kernel

    return keep


def again(kernel: Any, name: str, grid: Any, block: Any, *shapes: Any, scalars: tuple = ()) -> None:
    CASES.append(SanitizerCase(name, kernel, grid, block, shapes, scalars))


# memcheck

@case(1, 64, (64,), (64,))
def right_copy(X, Y):
    i = cuda.grid(1)
    Y[i] = X[i]


@case(1, 64, (63,), (64,))
def read_past_end(X, Y):
    i = cuda.grid(1)
    Y[i] = X[i + 70000]


@case(1, 64, (64,), (64,))
def write_past_end(X, Y):
    i = cuda.grid(1)
    Y[i + 70000] = X[i]


@case(1, 64, (4, 64), (64,))
def guarded_tail(X, Y):
    i = cuda.grid(1)
    if i < Y.size:
        Y[i] = X[3, i]


# racecheck: trees

@case(1, 64, (64,), (1,))
def tree_right(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = X[t]
    cuda.syncthreads()
    k = 32
    while k > 0:
        if t < k:
            buf[t] += buf[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        out[0] = buf[0]


@case(1, 64, (64,), (1,))
def tree_without_barriers(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = X[t]
    cuda.syncthreads()
    k = 32
    while k > 0:
        if t < k:
            buf[t] += buf[t + k]
        k //= 2
    if t == 0:
        out[0] = buf[0]


@case(1, 64, (64,), (1,))
def tree_without_first_barrier(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = X[t]
    k = 32
    while k > 0:
        if t < k:
            buf[t] += buf[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        out[0] = buf[0]


@case(1, 64, (64,), (64,))
def buffer_reused(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = X[t]
    cuda.syncthreads()
    k = 32
    while k > 0:
        if t < k:
            buf[t] = max(buf[t], buf[t + k])
        cuda.syncthreads()
        k //= 2
    m = buf[0]
    buf[t] = X[t] - m
    cuda.syncthreads()
    out[t] = buf[63 - t]


@case(1, 64, (64,), (64,))
def buffer_reused_with_barrier(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = X[t]
    cuda.syncthreads()
    k = 32
    while k > 0:
        if t < k:
            buf[t] = max(buf[t], buf[t + k])
        cuda.syncthreads()
        k //= 2
    m = buf[0]
    cuda.syncthreads()
    buf[t] = X[t] - m
    cuda.syncthreads()
    out[t] = buf[63 - t]


@case(1, 64, (64,), (1,))
def warp_tail_without_sync(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = X[t]
    cuda.syncthreads()
    if t < 32:
        buf[t] += buf[t + 32]
        k = 16
        while k > 0:
            if t < k:
                buf[t] += buf[t + k]
            k //= 2
        if t == 0:
            out[0] = buf[0]


@case(1, 64, (64,), (1,))
def warp_tail_with_sync(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = X[t]
    cuda.syncthreads()
    if t < 32:
        buf[t] += buf[t + 32]
        cuda.syncwarp()
        k = 16
        while k > 0:
            if t < k:
                buf[t] += buf[t + k]
            cuda.syncwarp()
            k //= 2
        if t == 0:
            out[0] = buf[0]


@case(1, 32, (32,), (32,))
def neighbour_without_sync(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(32, f32)
    buf[t] = X[t]
    out[t] = buf[(t + 1) % 32]


@case(1, 32, (32,), (32,))
def neighbour_with_syncwarp(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(32, f32)
    buf[t] = X[t]
    cuda.syncwarp()
    out[t] = buf[(t + 1) % 32]


@case(1, 64, (64,), (64,))
def neighbour_across_warps_with_syncwarp(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = X[t]
    cuda.syncwarp()
    out[t] = buf[(t + 32) % 64]


@case(1, 64, (64,), (64,))
def all_write_one_value(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(1, f32)
    buf[0] = f32(3.0)
    cuda.syncthreads()
    out[t] = buf[0]


@case(1, 64, (64,), (64,))
def all_write_their_own(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(1, f32)
    buf[0] = f32(t)
    cuda.syncthreads()
    out[t] = buf[0]


@case(1, 64, (64,), (64,))
def one_writes_all_read(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(1, f32)
    if t == 0:
        buf[0] = X[0]
    cuda.syncthreads()
    out[t] = buf[0]


@case(1, 64, (64,), (64,))
def one_writes_all_read_without_barrier(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(1, f32)
    if t == 0:
        buf[0] = X[0]
    out[t] = buf[0]


@case(1, 64, (64,), (1,))
def shared_atomics(X, out):
    t = cuda.threadIdx.x
    total = cuda.shared.array(1, f32)
    if t == 0:
        total[0] = f32(0.0)
    cuda.syncthreads()
    cuda.atomic.add(total, 0, X[t])
    cuda.syncthreads()
    if t == 0:
        out[0] = total[0]


@case(1, 64, (64,), (64,))
def atomic_beside_read(X, out):
    t = cuda.threadIdx.x
    total = cuda.shared.array(1, f32)
    if t == 0:
        total[0] = f32(0.0)
    cuda.syncthreads()
    cuda.atomic.add(total, 0, X[t])
    out[t] = total[0]


@case(1, 64, (4, 64), (4,))
def loop_without_closing_barrier(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    for row in range(X.shape[0]):
        buf[t] = X[row, t]
        cuda.syncthreads()
        if t == 0:
            s = f32(0.0)
            for i in range(64):
                s += buf[i]
            out[row] = s


@case(1, 64, (4, 64), (4,))
def loop_with_closing_barrier(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    for row in range(X.shape[0]):
        buf[t] = X[row, t]
        cuda.syncthreads()
        if t == 0:
            s = f32(0.0)
            for i in range(64):
                s += buf[i]
            out[row] = s
        cuda.syncthreads()


@case(2, 32, (64,), (1,))
def blocks_write_one_place(X, out):
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        out[0] = X[i]


@case(2, 32, (64,), (1,))
def blocks_add_atomically(X, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, X[i])


@case(1, (8, 8), (8, 8), (8, 8))
def two_dimensional_right(X, out):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile = cuda.shared.array((8, 8), f32)
    tile[y, x] = X[y, x]
    cuda.syncthreads()
    out[y, x] = tile[x, y]


@case(1, (8, 8), (8, 8), (8, 8))
def two_dimensional_without_barrier(X, out):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile = cuda.shared.array((8, 8), f32)
    tile[y, x] = X[y, x]
    out[y, x] = tile[x, y]


@cuda.jit(device=True)
def sum_helper(buf, t, v):
    buf[t] = v
    cuda.syncthreads()
    k = 32
    while k > 0:
        if t < k:
            buf[t] += buf[t + k]
        cuda.syncthreads()
        k //= 2
    return buf[0]


@case(1, 64, (64,), (64,))
def helper_twice_without_barrier(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    a = sum_helper(buf, t, X[t])
    b = sum_helper(buf, t, X[t] * a)
    out[t] = b


@case(1, 64, (64,), (64,))
def helper_twice_with_barrier(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    a = sum_helper(buf, t, X[t])
    cuda.syncthreads()
    b = sum_helper(buf, t, X[t] * a)
    out[t] = b


@cuda.jit(device=True)
def own_buffer_helper(t, v):
    buf = cuda.shared.array(64, f32)
    buf[t] = v
    cuda.syncthreads()
    return buf[63 - t]


@case(1, 64, (64,), (64,))
def helper_with_its_own_buffer_twice(X, out):
    """Is the helper's shared array one array or one per call? The GPU keeps one."""
    t = cuda.threadIdx.x
    a = own_buffer_helper(t, X[t])
    b = own_buffer_helper(t, X[t] + a)
    out[t] = b


# initcheck

@case(1, 32, (32,), fresh=((32,),))
def writes_fresh(X, Y):
    Y[cuda.grid(1)] = X[cuda.grid(1)]


@case(1, 32, (32,), fresh=((32,),))
def reads_fresh(out, X):
    out[cuda.grid(1)] = X[cuda.grid(1)]


@case(1, 32, (32,))
def reads_unwritten_shared(out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, f32)
    buf[t] = f32(1.0)
    cuda.syncthreads()
    out[t] = buf[t + 32]


# synccheck

@case(1, 64, (64,))
def barrier_in_divergent_branch(out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        cuda.syncthreads()
    out[t] = f32(t)


@case(1, 64, (64,))
def barrier_in_warp_uniform_branch(out):
    t = cuda.threadIdx.x
    if t < 32:
        cuda.syncthreads()
    out[t] = f32(t)


@case(1, 64, (64,))
def barriers_on_two_sides(out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t] = f32(1.0)
        cuda.syncthreads()
        out[t] += f32(1.0)
    else:
        out[t] = f32(2.0)
        cuda.syncthreads()
        out[t] += f32(3.0)


@case(1, 64, (64,))
def early_return_before_barrier(out):
    t = cuda.threadIdx.x
    if t >= 40:
        return
    out[t] = f32(1.0)
    cuda.syncthreads()
    out[t] += f32(1.0)


@case(1, 64, (64,))
def early_return_of_a_warp(out):
    t = cuda.threadIdx.x
    if t >= 32:
        return
    out[t] = f32(1.0)
    cuda.syncthreads()
    out[t] += f32(1.0)


@case(2, 64, (64,))
def early_return_of_a_block(out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x > 0:
        return
    out[t] = f32(1.0)
    cuda.syncthreads()
    out[t] += f32(1.0)


@case(1, 48, (48,))
def block_of_48(out):
    t = cuda.threadIdx.x
    out[t] = f32(1.0)
    cuda.syncthreads()
    out[t] += f32(1.0)


@case(1, 32, (32,))
def shuffle_full(out):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_down_sync(FULL, f32(t), 1)


@case(1, 32, (32,))
def shuffle_in_half_a_warp_with_full_mask(out):
    t = cuda.threadIdx.x
    v = f32(t)
    if t < 16:
        v = cuda.shfl_down_sync(FULL, v, 1)
    out[t] = v


@case(1, 32, (32,))
def shuffle_in_half_a_warp_with_its_mask(out):
    t = cuda.threadIdx.x
    v = f32(t)
    if t < 16:
        v = cuda.shfl_xor_sync(0xFFFF, v, 1)
    out[t] = v


@case(1, 32, (32,))
def syncwarp_in_half_a_warp_with_full_mask(out):
    t = cuda.threadIdx.x
    if t < 16:
        cuda.syncwarp(FULL)
    out[t] = f32(t)


@case(1, 32, (32,))
def syncwarp_outside_its_mask(out):
    t = cuda.threadIdx.x
    cuda.syncwarp(0xFFFF)
    out[t] = f32(t)


@case(1, 48, (48,))
def shuffle_in_a_short_warp(out):
    """The second warp has 16 lanes; a full mask names 16 that do not exist."""
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_xor_sync(FULL, f32(t), 1)


@case(1, 64, (64,))
def barriers_on_two_sides_by_warp(out):
    t = cuda.threadIdx.x
    if t < 32:
        out[t] = f32(1.0)
        cuda.syncthreads()
        out[t] += f32(1.0)
    else:
        out[t] = f32(2.0)
        cuda.syncthreads()
        out[t] += f32(3.0)


@case(1, 64, (64,), (64,))
def vote_beside_barriers(X, out):
    t = cuda.threadIdx.x
    n = cuda.syncthreads_count(t % 2)
    out[t] = X[t] + f32(n)


@case(1, 32, (32,))
def shuffle_reads_a_returned_lane(out):
    t = cuda.threadIdx.x
    if t >= 16:
        return
    out[t] = cuda.shfl_down_sync(0xFFFF, f32(t), 1)
