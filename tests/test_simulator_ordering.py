"""What orders threads and blocks: fences with atomics, values written, views of dynamic shared memory; and the step count."""

import numba
import numpy as np
import pytest
from numba import cuda, float32

from autograder.simulator import StepLimit, launch


@cuda.jit
def last_block_sums(X, partial, count, out):
    """The last block to finish adds up what all have left: fence, then atomic, then read."""
    last = cuda.shared.array(1, numba.int32)
    if cuda.threadIdx.x == 0:
        total = float32(0.0)
        for j in range(cuda.blockDim.x):
            total += X[cuda.blockIdx.x * cuda.blockDim.x + j]
        partial[cuda.blockIdx.x] = total
        cuda.threadfence()
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and cuda.threadIdx.x == 0:
        whole = float32(0.0)
        for b in range(cuda.gridDim.x):
            whole += partial[b]
        out[0] = whole


@cuda.jit
def fence_without_atomic(X, partial, count, out):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = X[cuda.blockIdx.x]
        cuda.threadfence()
        if cuda.blockIdx.x == cuda.gridDim.x - 1:
            out[0] = partial[0] + partial[1]


@cuda.jit
def fence_after_the_atomic(X, partial, count, out):
    if cuda.threadIdx.x == 0:
        before = cuda.atomic.add(count, 0, 1)
        cuda.threadfence()
        partial[cuda.blockIdx.x] = X[cuda.blockIdx.x]
        if before == cuda.gridDim.x - 1:
            out[0] = partial[0] + partial[1]


@cuda.jit
def fenced_but_one_place(X, partial, count, out):
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        out[0] = X[cuda.blockIdx.x]


@pytest.mark.parametrize("order", ["forward", "reverse", 5], ids=str)
@pytest.mark.parametrize(("kernel", "races"), [
    (last_block_sums, False), (fence_without_atomic, True), (fence_after_the_atomic, True), (fenced_but_one_place, True),
], ids=lambda value: getattr(value, "__name__", ""))
def test_only_a_fence_and_an_atomic_order_blocks(kernel, races, order):
    X, partial = np.ones(4 * 32, np.float32), np.zeros(4, np.float32)
    count, out = np.zeros(1, np.int32), np.zeros(1, np.float32)
    trace = launch(kernel, 4, 32, (X, partial, count, out), order=order)
    assert ({f.tool for f in trace.findings} == {"racecheck"}) == races


@cuda.jit
def threads_write_their_own(X, out):
    out[0] = X[cuda.threadIdx.x]


@cuda.jit
def threads_write_one_value(X, out):
    out[0] = X[0]


def test_different_values_written_to_one_global_element_are_a_race():
    X, out = np.arange(64, dtype=np.float32), np.zeros(1, np.float32)
    finding, = launch(threads_write_their_own, 1, 64, (X, out)).findings
    assert finding.tool == "racecheck" and "both write out[0]" in finding.message
    assert launch(threads_write_one_value, 1, 64, (X, out)).findings == ()


@cuda.jit
def two_views(X, out):
    words, halves = cuda.shared.array(0, float32), cuda.shared.array(0, numba.int16)
    t = cuda.threadIdx.x
    words[t] = X[t]
    cuda.syncthreads()
    out[t] = halves[2 * t + 1]


@cuda.jit
def two_views_race(X, out):
    words, halves = cuda.shared.array(0, float32), cuda.shared.array(0, numba.int16)
    t = cuda.threadIdx.x
    words[t] = X[t]
    out[t] = halves[(2 * t + 65) % 128]


@cuda.jit
def two_views_unwritten(X, out):
    words, halves = cuda.shared.array(0, float32), cuda.shared.array(0, numba.int16)
    t = cuda.threadIdx.x
    words[t // 2] = X[t // 2]
    cuda.syncthreads()
    out[t] = halves[2 * t]


@pytest.mark.parametrize(("kernel", "tools"), [
    (two_views, set()), (two_views_race, {"racecheck"}), (two_views_unwritten, {"initcheck"}),
], ids=lambda value: getattr(value, "__name__", ""))
def test_dynamic_shared_memory_seen_as_two_dtypes(kernel, tools):
    X, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    trace = launch(kernel, 1, 64, (X, out), dynamic_shared=256)
    assert {f.tool for f in trace.findings} == tools
    if not tools:
        assert out[0] == 0x3F80  # the upper half of 1.0


def test_short_loops_within_a_long_one_count():
    @cuda.jit
    def nested(out):
        i = 0
        while i < 3000:
            j = 0
            while j < 20:
                j += 1
            i += 1
        out[0] = i

    out = np.zeros(1, np.float32)
    assert launch(nested, 1, 1, (out,), record=False).steps > 60_000
    with pytest.raises(StepLimit):
        launch(nested, 1, 1, (out,), step_limit=30_000)
