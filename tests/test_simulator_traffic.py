"""Requests, sectors and bytes: equal to what Nsight Compute measured on an H200, and by source line."""

import sys

import numba
import numpy as np
import pytest
import simulator_kernels as kernels
from numba import cuda

from autograder.simulator import launch


def softmax(X):
    e = np.exp(X.astype(np.float64) - X.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def rows(rows, n, seed=0):
    X = np.random.default_rng(seed).normal(size=(rows, n)).astype(np.float32)
    return X, np.full_like(X, np.nan)


# kernel, shape, load sectors, store sectors: measured with ncu on an H200 (DESIGN section 7)
MEASURED = [
    (kernels.three_pass, (8, 4096), 12_288, 4_096),
    (kernels.three_pass, (8, 1000), 3_000, 1_000),
    (kernels.online_tree, (8, 4096), 8_192, 4_096),
    (kernels.online_tree, (8, 1000), 2_000, 1_000),
    (kernels.one_pass_registers, (8, 4096), 4_096, 4_096),
    (kernels.one_pass_neighbours, (8, 4096), 16_384, 16_384),
]


@pytest.mark.parametrize(("kernel", "shape", "loads", "stores"), MEASURED,
                         ids=lambda v: getattr(v, "__name__", str(v)))
def test_sectors_equal_the_profilers(kernel, shape, loads, stores):
    X, Y = rows(*shape)
    trace = launch(kernel, shape[0], 256, (X, Y))
    assert (trace.traffic.load_sectors, trace.traffic.store_sectors) == (loads, stores)
    assert np.allclose(Y, softmax(X), rtol=1e-5, atol=1e-12)
    assert trace.findings == ()


def test_attention_sectors_equal_the_profilers():
    Q, K, V = (np.random.default_rng(n).normal(size=(256, 64)).astype(np.float32) for n in range(3))
    trace = launch(kernels.attention_traffic, 4, 64, (Q, K, V, np.full_like(Q, np.nan)))
    assert (trace.traffic.load_sectors, trace.traffic.store_sectors) == (18_432, 2_048)


def test_attention_of_one_tile_is_right_and_moves_what_its_traffic_kernel_moves():
    Q, K, V = (np.random.default_rng(n).normal(size=(64, 64)).astype(np.float32) for n in range(3))
    out = np.full_like(Q, np.nan)
    trace = launch(kernels.online_attention, 1, 64, (Q, K, V, out, np.float32(0.125)))
    ref = softmax(Q.astype(float) @ K.T.astype(float) * 0.125) @ V
    assert np.allclose(out, ref, rtol=1e-4, atol=1e-6)
    assert trace.findings == ()
    assert trace.traffic == launch(kernels.attention_traffic, 1, 64, (Q, K, V, out)).traffic


def test_bytes_and_requests():
    X, Y = rows(4, 1024)
    t = launch(kernels.three_pass, 4, 256, (X, Y)).traffic
    assert t.load_bytes == 3 * X.nbytes and t.store_bytes == Y.nbytes
    assert t.load_requests == 3 * X.size // 32 and t.store_requests == Y.size // 32


def test_ledger_names_line_array_and_space():
    X, Y = rows(2, 256)
    trace = launch(kernels.three_pass, 2, 256, (X, Y))
    reads = [r for r in trace.lines if r.array == "X"]
    assert [r.op for r in reads] == ["load"] * 3
    assert all("X[row, i]" in r.text and r.bytes == X.nbytes and r.sectors == X.nbytes // 32 for r in reads)
    assert {r.space for r in trace.lines if r.array == "buf"} == {"shared"}
    assert sum(r.sectors for r in trace.lines if r.op == "load") == trace.traffic.load_sectors


@cuda.jit
def copy_strided(X, Y, stride):
    i = cuda.grid(1)
    Y[i] = X[i * stride]


@pytest.mark.parametrize("stride", [1, 2, 4, 8, 32])
def test_stride_costs_sectors_not_bytes(stride):
    X, Y = np.ones(64 * stride, np.float32), np.zeros(64, np.float32)
    t = launch(copy_strided, 2, 32, (X, Y, stride)).traffic
    assert t.load_bytes == 256 and t.load_requests == 2
    assert t.load_sectors == 8 * min(stride, 8)


@cuda.jit
def broadcast(X, Y):
    Y[cuda.grid(1)] = X[0]


def test_broadcast_is_one_sector():
    t = launch(broadcast, 1, 64, (np.ones(8, np.float32), np.zeros(64, np.float32))).traffic
    assert (t.load_requests, t.load_sectors, t.load_bytes) == (2, 2, 256)


@cuda.jit
def doubles(X, Y):
    i = cuda.grid(1)
    Y[i] = X[i]


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int8, np.float16])
def test_sectors_follow_the_element_size(dtype):
    X = np.ones(32, dtype)
    t = launch(doubles, 1, 32, (X, np.zeros_like(X))).traffic
    assert t.load_sectors == max(1, 32 * X.itemsize // 32) and t.load_bytes == X.nbytes


@cuda.jit
def ragged_rows(X, Y):
    """Rows of 40 with 32 lanes: in every row the second round has eight lanes only."""
    for row in range(X.shape[0]):
        for i in range(cuda.threadIdx.x, X.shape[1], 32):
            Y[row, i] = X[row, i]


def test_lanes_that_leave_a_loop_early_do_not_shift_the_others():
    X, Y = np.ones((5, 40), np.float32), np.zeros((5, 40), np.float32)
    t = launch(ragged_rows, 1, 32, (X, Y)).traffic
    assert (t.load_requests, t.load_sectors) == (10, 25)


@cuda.jit
def divergent(X, Y):
    i = cuda.grid(1)
    if i % 2 == 0:
        Y[i] = X[i]
    else:
        Y[i] = X[i] + numba.float32(1.0)


def test_the_two_sides_of_a_branch_are_two_requests():
    t = launch(divergent, 1, 32, (np.ones(32, np.float32), np.zeros(32, np.float32))).traffic
    assert (t.load_requests, t.load_sectors, t.load_bytes) == (2, 8, 128)


@cuda.jit(device=True)
def fetch(X, i):
    return X[i]


@cuda.jit
def two_calls(X, Y):
    i = cuda.grid(1)
    if i < 16:
        Y[i] = fetch(X, i)
    Y[i] = fetch(X, i)


def test_a_device_function_counts_by_call_site():
    t = launch(two_calls, 1, 32, (np.ones(32, np.float32), np.zeros(32, np.float32))).traffic
    assert (t.load_requests, t.load_sectors) == (2, 2 + 4)


@cuda.jit
def augmented(X):
    i = cuda.grid(1)
    X[i] += numba.float32(1.0)
    X[i] /= numba.float32(2.0)


def test_augmented_assignment_reads_and_writes():
    X = np.zeros(32, np.float32)
    t = launch(augmented, 1, 32, (X,)).traffic
    assert (t.load_requests, t.store_requests) == (1, 2)  # the second takes what the first stored
    assert (X == 0.5).all()


@cuda.jit
def swap(X):
    i = cuda.threadIdx.x
    X[0, i], X[1, i] = X[1, i], X[0, i]


def test_tuple_targets_store_after_all_loads():
    X = np.arange(64, dtype=np.float32).reshape(2, 32)
    t = launch(swap, 1, 32, (X,)).traffic
    assert X[0, 0] == 32 and X[1, 0] == 0
    assert (t.load_requests, t.store_requests) == (2, 2)


@cuda.jit
def by_row(X, Y):
    x, y = X[cuda.blockIdx.x], Y[cuda.blockIdx.x]
    i = cuda.threadIdx.x
    while i < x.shape[0]:
        y[i] = x[i] * 2
        i += cuda.blockDim.x


def test_a_row_view_keeps_the_arrays_addresses():
    X, Y = rows(3, 100)
    t = launch(by_row, 3, 32, (X, Y)).traffic
    assert np.array_equal(Y, X * 2)
    # a row of 100 floats is 400 bytes: rows 1 and 2 do not start on a 32-byte boundary
    expected = sum(len({(r * 100 + i) * 4 // 32 for i in range(k, min(k + 32, 100))})
                   for r in range(3) for k in range(0, 100, 32))
    assert t.load_sectors == expected


@pytest.mark.parametrize("make", [lambda a: a.T, lambda a: a[:, ::2], lambda a: a[::-1], lambda a: a[1:, 1:]])
def test_views_are_read_and_written_in_place(make):
    base = np.arange(48, dtype=np.float32).reshape(6, 8)
    before = base.copy()
    part = make(base)
    out = np.zeros(part.shape, np.float32)
    launch(copy_2d, part.shape, 1, (part, out))
    assert np.array_equal(out, part) and np.array_equal(base, before)
    launch(copy_2d, part.shape, 1, (-out, part))
    assert np.array_equal(part, -out)
    untouched = np.ones(base.shape, bool)
    make(untouched)[...] = False
    assert np.array_equal(base[untouched], before[untouched])


@cuda.jit
def copy_2d(X, Y):
    Y[cuda.blockIdx.x, cuda.blockIdx.y] = X[cuda.blockIdx.x, cuda.blockIdx.y]


def test_the_same_array_twice_is_one_memory():
    X = np.arange(32, dtype=np.float32)
    trace = launch(copy_strided, 1, 32, (X, X, 1))
    assert np.array_equal(X, np.arange(32)) and trace.traffic.load_sectors == 4


def test_counts_do_not_depend_on_the_thread_order():
    X, Y = rows(3, 300)
    seen = [launch(kernels.three_pass, 3, 256, (X, Y), order=o) for o in ("forward", "reverse", 7)]
    assert seen[0].traffic == seen[1].traffic == seen[2].traffic
    assert seen[0].steps == seen[1].steps == seen[2].steps
    assert [s.lines for s in seen].count(seen[0].lines) == 3


def test_batches_add_up(monkeypatch):
    X, Y = rows(6, 700)
    whole = launch(kernels.three_pass, 6, 256, (X, Y))
    monkeypatch.setattr(sys.modules["autograder.simulator.stream"], "BATCH_EVENTS", 100)
    parts = launch(kernels.three_pass, 6, 256, (X, Y))
    assert parts.traffic == whole.traffic and parts.lines == whole.lines


def test_touches_follow_the_first_block():
    X, Y = rows(2, 300)
    seen = launch(kernels.three_pass, 2, 256, (X, Y), touches=True).touches
    loads = ~seen.store
    assert loads.sum() == 900 and seen.store.sum() == 300
    assert set(seen.element[loads]) == set(range(300)) and seen.element.max() < 300
    first = [seen.step[(seen.line == line) & loads].min() for line in np.unique(seen.line[loads])]
    assert first == sorted(first)
    assert len(np.unique(seen.line)) == 3
