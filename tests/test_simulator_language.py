"""What kernels may write beside plain indexing: parts of arrays, iteration, nested functions, local arrays in loops."""

import importlib
import math
import sys

import numba
import numpy as np
import pytest
from numba import cuda

from autograder.simulator import launch

f32 = numba.float32


def traffic(kernel, *args, block=32, grid=1):
    return launch(kernel, grid, block, args).traffic


@cuda.jit
def copy_part(X, Y):
    Y[0, 0:40] = X[1, 10:50]


@cuda.jit
def fill_row(Y):
    Y[1] = 0


def test_a_part_moves_element_by_element():
    X, Y = np.arange(200, dtype=np.float32).reshape(2, 100), np.ones((2, 100), np.float32)
    t = traffic(copy_part, X, Y, block=1)
    assert (t.load_bytes, t.store_bytes, t.load_requests, t.store_requests) == (160, 160, 40, 40)
    assert np.array_equal(Y[0, :40], X[1, 10:50])
    t = traffic(fill_row, Y, block=1)
    assert (t.store_requests, t.store_bytes) == (100, 400) and (Y[1] == 0).all()


@cuda.jit
def loop_over(X, out):
    total = f32(0.0)
    for v in X[0]:
        total += v
    for n, v in enumerate(X[0]):
        total += n * v
    for v, w in zip(X[0], X[1]):
        total += v * w
    out[0] = total


def test_iteration_is_recorded():
    X, out = np.ones((2, 10), np.float32), np.zeros(1, np.float32)
    t = traffic(loop_over, X, out, block=1)
    assert out[0] == 10 + 45 + 10 and (t.load_requests, t.load_bytes) == (40, 160)


@cuda.jit
def nested(X, out):
    def at(i):
        return X[i]

    out[cuda.threadIdx.x] = at(cuda.threadIdx.x) + sum([X[k] for k in range(3)])


def test_nested_functions_and_comprehensions_are_recorded_and_checked():
    X, out = np.ones(32, np.float32), np.zeros(32, np.float32)
    trace = launch(nested, 1, 32, (X, out))
    assert (out == 4).all() and trace.traffic.load_bytes == 4 * 32 * 4 and trace.traffic.load_sectors == 4 + 3
    finding = launch(nested, 1, 32, (X[:20].copy(), out)).findings[0]
    assert finding.tool == "memcheck" and "return X[i]" in finding.message


@cuda.jit
def fractions(X, out):
    buf = cuda.shared.array(1, f32)
    buf[0] = X[cuda.threadIdx.x]
    cuda.syncthreads()
    out[cuda.threadIdx.x] = buf[0]


def test_different_fractions_are_different_values():
    X = np.linspace(0.05, 0.99, 64, dtype=np.float32)
    assert {f.tool for f in launch(fractions, 1, 64, (X, np.zeros(64))).findings} == {"racecheck"}
    assert launch(fractions, 1, 64, (np.full(64, np.nan, np.float32), np.zeros(64))).findings == ()


def test_device_functions_of_a_factory_have_their_own_shared_array():
    def make(n):
        @cuda.jit(device=True)
        def first(i):
            buf = cuda.shared.array(n, f32)
            buf[i] = i
            return buf[i]

        return first

    small, large = make(4), make(8)

    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        out[t] = large(t) + (small(t) if t < 4 else f32(0.0))

    assert launch(kernel, 1, 8, (np.zeros(8, np.float32),)).findings == ()


@cuda.jit(device=True)
def helper(i):
    mine = cuda.local.array(64, f32)
    mine[i % 64] = i
    return mine[i % 64]


@cuda.jit
def many_local_arrays(out):
    total = f32(0.0)
    for i in range(3000):
        total += helper(i)
    out[0] = total


@cuda.jit
def local_in_a_loop(out):
    for i in range(3):
        mine = cuda.local.array(2, f32)
        if i == 0:
            mine[0] = 5
        out[i] = mine[0]


def test_a_local_array_in_a_loop_is_one_array():
    out = np.zeros(3, np.float32)
    assert launch(many_local_arrays, 1, 1, (out,)).findings == () and out[0] == sum(range(3000))
    assert launch(local_in_a_loop, 1, 1, (out,)).findings == () and (out == 5).all()


@cuda.jit
def early_break(out):
    for k in range(60000):
        if k >= 3:
            break
    out[cuda.threadIdx.x] = k


def test_a_long_range_that_is_left_early_costs_what_it_ran():
    out = np.zeros(256)
    launch(early_break, 1, 256, (out,), step_limit=100_000)
    assert (out == 3).all()


@cuda.jit
def last_axis(X, out):
    out[0] = X.shape[-1]


def test_shapes_may_be_counted_from_the_end():
    out = np.zeros(1)
    launch(last_axis, 1, 1, (np.zeros((2, 7), np.float32), out))
    assert out[0] == 7


@cuda.jit
def integers(x, out, n):
    total = 0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    out[0] = total
    out[1] = n * n


def test_integers_compute_in_64_bits():
    out = np.zeros(2, np.int64)
    launch(integers, 1, 1, (np.full(8, 100, np.int8), out, np.int32(70_000)))
    assert out.tolist() == [80_000, 4_900_000_000]


TABLE = np.arange(4, dtype=np.float32)


@cuda.jit
def constant(out, i):
    table = cuda.const.array_like(TABLE)
    out[0] = table[i] + TABLE[0]


def test_constant_arrays_do_not_wrap():
    out = np.zeros(1, np.float32)
    launch(constant, 1, 1, (out, 2))
    assert out[0] == 2
    with pytest.raises(IndexError, match="negative index"):
        launch(constant, 1, 1, (out, -1))


def test_a_reloaded_module_and_a_twin_file_are_not_mixed_up(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = "from numba import cuda\n@cuda.jit\ndef k(o):\n    o[{at}] = 1  # {who}\n"
    (tmp_path / "twin_a.py").write_text(text.format(at=5, who="anna"))
    (tmp_path / "twin_b.py").write_text(text.format(at=5, who="bert"))
    for who, module in (("anna", "twin_a"), ("bert", "twin_b")):
        trace = launch(importlib.import_module(module).k, 1, 1, (np.zeros(6, np.float32),))
        assert who in trace.lines[0].text and module in trace.lines[0].filename

    (tmp_path / "helpers_of_mine.py").write_text("from numba import cuda\n@cuda.jit(device=True)\ndef h():\n    return 1\n")
    import helpers_of_mine

    @cuda.jit
    def kernel(o):
        o[0] = helpers_of_mine.h()

    out = np.zeros(1)
    launch(kernel, 1, 1, (out,))
    (tmp_path / "helpers_of_mine.py").write_text("from numba import cuda\n@cuda.jit(device=True)\ndef h():\n    return 22\n")
    importlib.invalidate_caches()
    import linecache

    linecache.checkcache(helpers_of_mine.__file__)
    importlib.reload(helpers_of_mine)
    launch(kernel, 1, 1, (out,))
    assert out[0] == 22


@cuda.jit
def last_block(X, partial, ticket, out):
    partial[cuda.blockIdx.x] = X[cuda.blockIdx.x]
    cuda.threadfence()
    if cuda.atomic.add(ticket, 0, 1) == cuda.gridDim.x - 1:
        total = f32(0.0)
        for i in range(partial.shape[0]):
            total += partial[i]
        out[0] = total


def test_blocks_that_order_memory_themselves_are_no_alarm():
    out = np.zeros(1, np.float32)
    args = (np.ones(4, np.float32), np.zeros(4, np.float32), np.zeros(1, np.int32), out)
    assert launch(last_block, 4, 1, args).findings == () and out[0] == 4


@pytest.mark.parametrize("n", [10, 5000])
def test_atomics_beside_reads_of_other_blocks_do_not_depend_on_batches(n, monkeypatch):
    @cuda.jit
    def kernel(x, out):
        for i in range(x.shape[0]):
            if cuda.blockIdx.x == 0:
                cuda.atomic.add(x, i, 1)
            else:
                out[i] = x[i]

    monkeypatch.setattr(sys.modules["autograder.simulator.stream"], "BATCH_EVENTS", 4000)
    assert launch(kernel, 2, 1, (np.zeros(n, np.float32), np.zeros(n, np.float32))).findings == ()


def test_a_race_at_every_address_is_told_once_and_soon():
    @cuda.jit
    def racy(X, out):
        t = cuda.threadIdx.x
        buf = cuda.shared.array(1024, f32)
        for k in range(10):
            buf[t] = X[t]
            out[t] = buf[(t + 1) % 1024]

    trace = launch(racy, 1, 1024, (np.ones(1024, np.float32), np.zeros(1024, np.float32)))
    assert len(trace.findings) == 1 and trace.findings_total >= 1024


@cuda.jit
def odd_names(any, load):
    any[cuda.threadIdx.x] = load[cuda.threadIdx.x]


def test_parameter_names_do_not_meet_the_rewriters():
    out = np.zeros(4, np.float32)
    launch(odd_names, 1, 4, (out, np.ones(4, np.float32)))
    assert (out == 1).all()


@cuda.jit
def huge_shape(out):
    room = cuda.shared.array((9223372036854710272, 2), f32)
    out[0] = room[0, 0]


@cuda.jit
def huge_local(out):
    room = cuda.local.array((9223372036854710272, 2), f32)
    out[0] = room[0, 0]


@pytest.mark.parametrize("kernel", [huge_shape, huge_local])
def test_a_shape_cannot_overflow_past_the_limit(kernel):
    with pytest.raises(ValueError, match="more than the"):
        launch(kernel, 1, 1, (np.zeros(1, np.float32),))


@cuda.jit
def shuffled_array(out):
    mine = cuda.local.array(4, f32)
    out[0] = cuda.shfl_sync(0xFFFFFFFF, mine, 0)[0]


@cuda.jit
def cast_array(X, out):
    row = np.float32(X[0])
    out[0] = row[0]


def test_only_numbers_pass_between_lanes_and_through_casts():
    with pytest.raises(RuntimeError, match="one number a lane"):
        launch(shuffled_array, 1, 32, (np.zeros(1, np.float32),))
    with pytest.raises(TypeError, match="cannot be turned into a number"):
        launch(cast_array, 1, 1, (np.zeros((2, 2), np.float32), np.zeros(1, np.float32)))


SCALE = 2.0


@cuda.jit
def scaled(x, out):
    out[0] = x[0] * SCALE


def test_a_constant_is_what_it_is_at_the_launch(monkeypatch):
    x, out = np.ones(1, np.float32), np.zeros(1)
    for value, wanted in ((2.0, 2.0), (3.0, 3.0), (np.float32(0.5), 0.5), (7, 7.0)):
        monkeypatch.setitem(globals(), "SCALE", value)
        launch(scaled, 1, 1, (x, out))
        assert out[0] == wanted


@cuda.jit
def inner_arithmetic(x, n, out):
    def third(v):
        w = v
        w += 1
        return w / n

    twice = lambda v: math.exp(v) * 2  # noqa: E731
    out[0] = third(x[0])
    out[1] = twice(x[1])
    out[2] = sum([v * 2 for v in x])


def test_nested_functions_compute_as_a_gpu_does():
    x, out = np.array([0.1, 200.0], np.float32), np.zeros(3)
    launch(inner_arithmetic, 1, 1, (x, 0, out))
    assert out[0] == np.inf and out[1] == np.inf and out[2] == 2 * float(x[0]) + 400


@cuda.jit(device=True)
def either(a, b):
    if a > b:
        return a
    return b * 2


@cuda.jit
def calls_with_several_types(x, n, out):
    out[0] = either(x[0], n[0]) / 3
    out[1] = either(n[0], 7) / 2
    out[2] = either(b=x[0], a=x[1]) / np.float32(3)


def test_what_a_device_function_returns_has_one_type():
    x, n, out = np.array([2, 1], np.float32), np.array([1], np.int32), np.zeros(3)
    launch(calls_with_several_types, 1, 1, (x, n, out))
    assert out.tolist() == [2 / 3, 7.0, 4 / 3]  # float32 or float32 * int64: a float64


@cuda.jit
def tuples(x, out):
    pair = (x[0], 3)
    first, second = pair
    out[0] = first / second
    out[1] = pair[-1] // 2
    a, b = 1, x[1]
    a, b = b, a
    out[2] = a * b
    for n, v in enumerate((x[0], x[1])):
        out[3] += n * v


def test_parts_of_tuples_keep_their_types():
    x, out = np.array([1, 0.7], np.float32), np.zeros(4)
    launch(tuples, 1, 1, (x, out))
    assert out.tolist() == [1 / 3, 1, float(x[1]), float(x[1])]


@cuda.jit
def mixed_loop(x, out):
    for v in (x[0], 1):
        out[0] += v


@cuda.jit
def unsuitable_shuffle(x, out):
    out[0] = cuda.shfl_sync(0xFFFFFFFF, x[0] > 0, 0)


@cuda.jit
def unsuitable_vote(x, out):
    out[0] = cuda.ballot_sync(0xFFFFFFFF, x[0])


@cuda.jit
def unsuitable_bits(x, out):
    out[0] = x[0] & 1


@pytest.mark.parametrize(("kernel", "words"), [
    (mixed_loop, "parts of several types"), (unsuitable_shuffle, "passes an int32, int64, float32 or float64, not bool"),
    (unsuitable_vote, "as its predicate, not float32"), (unsuitable_bits, "`&` is not defined for float32 and int64")])
def test_what_the_compiler_refuses_is_refused_with_its_line(kernel, words):
    with pytest.raises(TypeError, match=r"line \d+: ") as caught:
        launch(kernel, 1, 32, (np.ones(1, np.float32), np.zeros(1)))
    assert words in str(caught.value)


@cuda.jit
def scalars(a, b, c, flag, out):
    out[0] = a + 1
    out[1] = b / 3
    out[2] = c * 2
    out[3] = flag + flag


def test_scalar_arguments_have_numbas_types():
    out = np.zeros(4)
    launch(scalars, 1, 1, (np.int64(2**53), 0.1, np.float32(0.1), np.bool_(True), out))
    assert out.tolist() == [float(2**53 + 1), 0.1 / 3, float(np.float32(0.1)) * 2, 2]


@cuda.jit
def hashes(x, out):
    h = 1469598103934665603
    for k in range(x.shape[0]):
        h = (h ^ x[k]) * 1099511628211
    out[0] = h
    out[1] = h % 97
    steps = 0
    while steps < 5:
        steps += 2
    out[2] = steps * steps


def test_hashes_wrap_at_64_bits():
    x, out = np.arange(9), np.zeros(3, np.int64)
    launch(hashes, 1, 1, (x, out))
    h = 1469598103934665603
    for v in range(9):
        h = (h ^ v) * 1099511628211 % 2**64
    h -= (h >> 63) * 2**64
    assert out.tolist() == [h, h % 97, 36]
