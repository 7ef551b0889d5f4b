"""memcheck, racecheck and initcheck: what each reports, where, and that right kernels are left alone."""

import math

import numba
import numpy as np
import pytest
import simulator_kernels as kernels
from numba import cuda

from autograder.simulator import LaunchError, MemoryFault, install, launch

ORDERS = ("forward", "reverse", 3)


def tools(trace):
    return {f.tool for f in trace.findings}


@cuda.jit
def no_guard(X, Y):
    i = cuda.grid(1)
    Y[i] = X[i]


def test_out_of_range_is_named():
    X, Y = np.ones(40, np.float32), np.zeros(40, np.float32)
    trace = launch(no_guard, 2, 32, (X, Y))
    assert tools(trace) == {"memcheck"} and trace.findings_total == 48
    read, write = trace.findings
    assert "reads X[40]" in read.message and "(40,)" in read.message and "thread 8 of block 1" in read.message
    assert "writes Y[40]" in write.message and write.array == "Y" and write.index == (40,)
    assert read.places[0].text == "Y[i] = X[i]" and f"line {read.places[0].line}" in read.message
    assert (Y == 1).all()


@cuda.jit
def behind(X, Y):
    i = cuda.grid(1)
    Y[i] = X[i - 1]


def test_negative_index_does_not_wrap():
    X, Y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    trace = launch(behind, 1, 8, (X, Y))
    assert np.isnan(Y[0]) and Y[1] == 0 and "negative index" in trace.findings[0].message


@cuda.jit
def wrong_row(X, Y):
    Y[0, cuda.threadIdx.x] = X[1, cuda.threadIdx.x]


def test_an_index_inside_the_memory_but_outside_the_shape_is_caught():
    X = np.zeros((1, 8), np.float32)
    trace = launch(wrong_row, 1, 8, (X, np.zeros((1, 8), np.float32)))
    assert trace.findings[0].index == (1, 0)


def test_a_plain_launch_stops_at_the_first_fault():
    install()
    with pytest.raises(MemoryFault, match=r"reads X\[40\]") as caught:
        no_guard[2, 32](np.ones(40, np.float32), np.zeros(40, np.float32))
    assert caught.value.place.thread == (8, 0, 0) and caught.value.place.block == (1, 0, 0)


def test_at_most_five_findings_are_kept():
    @cuda.jit
    def many(X):
        i = cuda.grid(1) + 100
        X[i] = 1
        X[i + 1] = 1
        X[i + 2] = 1
        X[i + 3] = 1
        X[i + 4] = 1
        X[i + 5] = 1

    trace = launch(many, 1, 4, (np.zeros(4, np.float32),))
    assert len(trace.findings) == 5 and trace.findings_total == 24


@cuda.jit
def reused(X, out):
    """The shared buffer holds maxima, then sums; nobody waits until m has been read."""
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, numba.float32)
    buf[t] = X[t]
    cuda.syncthreads()
    k = 32
    while k > 0:
        if t < k:
            buf[t] = max(buf[t], buf[t + k])
        cuda.syncthreads()
        k //= 2
    m = buf[0]
    buf[t] = math.exp(X[t] - m)
    cuda.syncthreads()
    if t == 0:
        d = numba.float32(0.0)
        for i in range(64):
            d += buf[i]
        out[0] = d


@cuda.jit
def no_tree_barrier(X, out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, numba.float32)
    buf[t] = X[t]
    cuda.syncthreads()
    k = 32
    while k > 0:
        if t < k:
            buf[t] += buf[t + k]
        k //= 2
    if t == 0:
        out[0] = buf[0]


@cuda.jit
def warp_tail(X, out, sync):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(64, numba.float32)
    buf[t] = X[t]
    cuda.syncthreads()
    if t < 32:
        buf[t] += buf[t + 32]
        k = 16
        while k > 0:
            if sync:
                cuda.syncwarp()
            v = buf[t + k] if t < k else numba.float32(0.0)
            if sync:
                cuda.syncwarp()
            buf[t] += v
            k //= 2
        if t == 0:
            out[0] = buf[0]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kernel", [reused, no_tree_barrier], ids=lambda k: k.__name__)
def test_missing_barriers_are_found_in_every_order(kernel, order):
    trace = launch(kernel, 1, 64, (np.ones(64, np.float32), np.zeros(1, np.float32)), order=order)
    assert tools(trace) == {"racecheck"}
    finding = trace.findings[0]
    assert finding.array == "buf" and len(finding.places) == 2
    for place in finding.places:
        assert place.text in finding.message and f"line {place.line}" in finding.message
    assert "cuda.syncthreads()" in finding.message


def test_the_race_names_both_lines():
    finding = launch(reused, 1, 64, (np.ones(64, np.float32), np.zeros(1, np.float32))).findings[0]
    assert {p.text for p in finding.places} == {"m = buf[0]", "buf[t] = math.exp(X[t] - m)"}


@pytest.mark.parametrize("order", ORDERS)
def test_a_warp_tail_needs_syncwarp(order):
    args = (np.ones(64, np.float32), np.zeros(1, np.float32))
    without = launch(warp_tail, 1, 64, (*args, False), order=order)
    assert tools(without) == {"racecheck"} and "syncwarp" in without.findings[0].message
    assert launch(warp_tail, 1, 64, (*args, True), order=order).findings == ()
    assert args[1][0] == 64


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kernel", [kernels.three_pass, kernels.online_tree, kernels.one_pass_registers],
                         ids=lambda k: k.__name__)
def test_right_kernels_raise_no_alarm(kernel, order):
    X = np.random.default_rng(0).normal(size=(3, 300)).astype(np.float32)
    Y = np.full_like(X, np.nan)
    assert launch(kernel, 3, 256, (X, Y), order=order).findings == ()
    assert np.allclose(Y.sum(axis=1), 1, rtol=1e-5)


@cuda.jit
def count_up(out, atomic):
    if atomic:
        cuda.atomic.add(out, 0, 1)
    else:
        out[0] += 1


def test_blocks_race_unless_they_use_atomics():
    out = np.zeros(1, np.int64)
    trace = launch(count_up, 4, 1, (out, False))
    assert tools(trace) == {"racecheck"} and "block" in trace.findings[0].message
    out[:] = 0
    assert launch(count_up, 4, 8, (out, True)).findings == () and out[0] == 32


@cuda.jit
def race_between_blocks_in_other_batches(X):
    X[cuda.threadIdx.x] = cuda.blockIdx.x


def test_blocks_race_across_batches(monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules["autograder.simulator.stream"], "BATCH_EVENTS", 1)
    assert tools(launch(race_between_blocks_in_other_batches, 3, 4, (np.zeros(4, np.float32),))) == {"racecheck"}


@cuda.jit
def all_write(out, same):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(1, numba.float32)
    buf[0] = 3 if same else t
    cuda.syncthreads()
    out[t] = buf[0]


def test_writing_one_value_together_is_no_race_but_different_values_are():
    assert launch(all_write, 1, 64, (np.zeros(64), True)).findings == ()
    trace = launch(all_write, 1, 64, (np.zeros(64), False))
    assert tools(trace) == {"racecheck"} and "both write" in trace.findings[0].message


@cuda.jit
def add_one(x):
    x[cuda.grid(1)] += 1


def test_a_device_array_that_nothing_has_written_is_reported():
    install()
    fresh = cuda.device_array(64, np.float32)
    assert tools(launch(add_one, 2, 32, (fresh,))) == {"initcheck"}
    assert launch(add_one, 2, 32, (fresh,)).findings == ()
    filled = cuda.device_array(64, np.float32)
    filled.copy_to_device(np.ones(64, np.float32))
    assert launch(add_one, 2, 32, (filled,)).findings == ()


def test_a_part_of_a_device_array_keeps_its_alignment():
    x, y = cuda.to_device(np.ones(65, np.float32)), cuda.to_device(np.ones(64, np.float32))
    assert launch(no_guard, 1, 64, (x[1:], y)).traffic.load_sectors == 10


@cuda.jit
def unwritten(out):
    buf = cuda.shared.array(64, numba.float32)
    if cuda.threadIdx.x < 8:
        buf[cuda.threadIdx.x] = 1
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[0] = buf[3] + buf[9]


def test_unwritten_shared_memory_is_poisoned_and_reported():
    out = np.zeros(1, np.float32)
    trace = launch(unwritten, 1, 32, (out,))
    assert tools(trace) == {"initcheck"} and "buf[9]" in trace.findings[0].message
    assert np.isnan(out[0])


@cuda.jit
def unwritten_local(out):
    mine = cuda.local.array(4, numba.float32)
    mine[0] = 1
    out[0] = mine[0] + mine[2]


def test_unwritten_local_memory_is_reported():
    trace = launch(unwritten_local, 1, 1, (np.zeros(1, np.float32),))
    assert tools(trace) == {"initcheck"} and "local memory" in trace.findings[0].message


@cuda.jit
def leak(out):
    buf = cuda.shared.array(1, numba.float32)
    if cuda.blockIdx.x == 0:
        buf[0] = 7
    out[cuda.blockIdx.x] = buf[0]


def test_shared_memory_does_not_leak_into_the_next_block():
    out = np.zeros(2, np.float32)
    trace = launch(leak, 2, 1, (out,))
    assert out[0] == 7 and np.isnan(out[1]) and tools(trace) == {"initcheck"}


@cuda.jit
def two_on_a_line(out):
    a = cuda.shared.array(1, numba.float32); b = cuda.shared.array(1, numba.float32)  # noqa: E702
    a[0] = 1
    b[0] = 2
    out[0] = a[0]
    out[1] = b[0]


def test_two_arrays_on_one_line_are_two():
    out = np.zeros(2, np.float32)
    launch(two_on_a_line, 1, 1, (out,))
    assert out.tolist() == [1, 2]


def test_too_much_shared_memory_is_refused():
    @cuda.jit
    def large(out):
        buf = cuda.shared.array(12 * 1024 + 1, numba.float32)
        buf[0] = 0
        out[0] = buf[0]

    with pytest.raises(LaunchError, match="49156 bytes"):
        launch(large, 1, 1, (np.zeros(1, np.float32),))


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "int64", "uint8"])
def test_dtype_spellings(dtype):
    by_numba, by_numpy = getattr(numba, dtype), getattr(np, dtype)

    @cuda.jit
    def kernel(out):
        a = cuda.shared.array(shape=2, dtype=by_numba)
        b = cuda.shared.array((1, 2), by_numpy)
        c = cuda.local.array(2, by_numba)
        a[0] = 1
        b[0, 1] = 2
        c[1] = 3
        out[0] = a[0] + b[0, 1] + c[1]

    out = np.zeros(1, by_numpy)
    assert launch(kernel, 1, 1, (out,)).findings == () and out[0] == 6


def test_dynamic_shared_memory():
    install()

    @cuda.jit
    def kernel(out):
        buf = cuda.shared.array(0, numba.float32)
        t = cuda.threadIdx.x
        buf[t] = t
        cuda.syncthreads()
        out[t] = buf[buf.shape[0] - 1 - t]

    out = np.zeros(8, np.float32)
    kernel[1, 8, 0, 32](out)
    assert out.tolist() == list(range(7, -1, -1))


def test_integer_stores_wrap_and_truncate():
    @cuda.jit
    def kernel(out):
        out[0] = 2.9
        out[1] = -2.9
        out[2] = 2**31

    out = np.zeros(3, np.int32)
    launch(kernel, 1, 1, (out,))
    assert out.tolist() == [2, -2, -(2**31)]


def test_a_float_index_is_refused():
    @cuda.jit
    def kernel(out):
        out[1.0] = 1

    with pytest.raises(TypeError, match="must be an integer"):
        launch(kernel, 1, 1, (np.zeros(2, np.float32),))


def test_four_floats_in_one_instruction():
    from autograder.kernels import load4, store4

    @cuda.jit
    def copy4(X, Y):
        i = 4 * cuda.grid(1)
        a, b, c, d = load4(X, i)
        store4(Y, i, a, b, c, d)

    X, Y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    trace = launch(copy4, 1, 64, (X, Y))
    assert np.array_equal(X, Y) and trace.findings == ()
    assert (trace.traffic.load_requests, trace.traffic.load_sectors, trace.traffic.load_bytes) == (2, 32, 1024)

    @cuda.jit
    def misaligned(X, out):
        a, b, c, d = load4(X, 2)
        out[0] = a + d

    finding, = launch(misaligned, 1, 1, (X, Y)).findings
    assert finding.tool == "memcheck" and "multiple of 16 bytes" in finding.message

    @cuda.jit
    def past_end(X, out):
        a, b, c, d = load4(X, X.size - 4 + 4 * cuda.threadIdx.x)
        out[cuda.threadIdx.x] = a + d

    assert tools(launch(past_end, 1, 2, (X, Y))) == {"memcheck"}


@cuda.jit
def halves_then_all(out):
    """Right: the lower half meets once more on its own, then all lanes meet before they read."""
    t = cuda.threadIdx.x
    buf = cuda.shared.array(32, numba.float32)
    if t < 16:
        cuda.syncwarp(0x0000FFFF)
    buf[t] = t
    cuda.syncwarp()
    out[t] = buf[31 - t]


@cuda.jit
def halves_never_meet(out):
    t = cuda.threadIdx.x
    buf = cuda.shared.array(32, numba.float32)
    buf[t] = t
    if t < 16:
        cuda.syncwarp(0x0000FFFF)
        cuda.syncwarp(0x0000FFFF)
    else:
        cuda.syncwarp(0xFFFF0000)
    out[t] = buf[31 - t]


@cuda.jit
def halves_apart(out):
    """Right: each half reads what its own lanes wrote."""
    t = cuda.threadIdx.x
    buf = cuda.shared.array(32, numba.float32)
    buf[t] = t
    if t < 16:
        cuda.syncwarp(0x0000FFFF)
    else:
        cuda.syncwarp(0xFFFF0000)
    out[t] = buf[t ^ 1]


@pytest.mark.parametrize("order", ORDERS)
def test_partial_masks_order_only_the_lanes_they_name(order):
    out = np.zeros(32)
    assert launch(halves_then_all, 1, 32, (out,), order=order).findings == () and out[0] == 31
    assert launch(halves_apart, 1, 32, (out,), order=order).findings == ()
    assert tools(launch(halves_never_meet, 1, 32, (out,), order=order)) == {"racecheck"}
