"""A log that is taken in pieces says the same as one that is taken whole, and stays small."""

import sys

import numpy as np
import pytest
from hardware.sanitizer_cases import CASES as KERNELS
from hardware.traffic_cases import CASES as LAUNCHES
from numba import cuda, float32

from autograder.simulator import launch

SLOW = ("online_attention", "attention_traffic", "solution ", "three_pass 8x4096", "online_tree 8x4096",
        "one_pass_registers 8x4096", "one_pass_neighbours 8x4096")


def in_pieces(monkeypatch, events):
    monkeypatch.setattr(sys.modules["autograder.simulator.stream"], "BATCH_EVENTS", events)


def told(trace):
    """What a trace says; which of a race's many addresses is shown may differ."""
    findings = {(f.tool, f.array, tuple(sorted(p.line for p in f.places))) for f in trace.findings}
    return trace.traffic, trace.lines, findings, trace.accesses, trace.barriers, trace.steps


@pytest.mark.parametrize("case", [c for c in LAUNCHES if not c.name.startswith(SLOW)], ids=lambda c: c.name)
def test_the_ledger_is_the_same(case, monkeypatch):
    whole = told(launch(case.kernel, case.grid, case.block, case.make(cuda.to_device)))
    in_pieces(monkeypatch, 900)
    assert told(launch(case.kernel, case.grid, case.block, case.make(cuda.to_device))) == whole


@pytest.mark.parametrize("case", KERNELS, ids=lambda c: c.name)
def test_the_findings_are_the_same(case, monkeypatch):
    def run():
        arrays = [np.ones(s, np.float32) for s in case.shapes] + [cuda.device_array(s, np.float32) for s in case.fresh]
        return told(launch(case.kernel, case.grid, case.block, (*arrays, *case.scalars)))

    whole = run()
    for events in (1, 200):
        in_pieces(monkeypatch, events)
        assert run() == whole


@cuda.jit
def copy_in_one_block(X, Y):
    for j in range(cuda.threadIdx.x, X.size, cuda.blockDim.x):
        Y[j] = X[j]


@cuda.jit
def many_tiles(X, out):
    red = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    total = float32(0.0)
    start = 0
    while start < X.size:
        red[t] = X[start + t]
        cuda.syncthreads()
        total += red[63 - t]
        cuda.syncthreads()
        start += 64
    out[t] = total


@cuda.jit
def warp_by_warp(X, out):
    t, total = cuda.threadIdx.x, float32(0.0)
    for start in range(0, X.size, 64):
        v = X[start + t]
        for shift in (16, 8, 4, 2, 1):
            v += cuda.shfl_xor_sync(0xFFFFFFFF, v, shift)
        total += v
    out[t] = total


@pytest.mark.parametrize("kernel", [copy_in_one_block, many_tiles, warp_by_warp], ids=lambda k: k.__name__)
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_a_long_block_is_never_held_whole(kernel, order, monkeypatch):
    X, Y = np.ones(64 * 200, np.float32), np.zeros(64 * 200, np.float32)
    whole = told(launch(kernel, 1, 64, (X, Y), order=order))
    held = []
    gather = sys.modules["autograder.simulator.stream"].gather

    def counted(machine, logs, standing=None):
        held.append(sum(len(log) for _, log in logs))
        return gather(machine, logs, standing)

    monkeypatch.setattr(sys.modules["autograder.simulator.stream"], "gather", counted)
    in_pieces(monkeypatch, 2000)
    assert told(launch(kernel, 1, 64, (X, Y), order=order)) == whole
    one_warp = sum(held) // 2
    assert len(held) > 1 and max(held) <= max(4000, one_warp + 2000)


def test_touches_come_in_one_piece(monkeypatch):
    X, Y = np.ones(64 * 40, np.float32), np.zeros(64 * 40, np.float32)
    whole = launch(many_tiles, 1, 64, (X, Y), touches=True).touches
    in_pieces(monkeypatch, 500)
    pieces = launch(many_tiles, 1, 64, (X, Y), touches=True).touches
    for name in ("step", "line", "store", "array", "element", "thread", "interval"):
        assert np.array_equal(getattr(whole, name), getattr(pieces, name)), name


@cuda.jit
def late_race(X, out):
    """Many accesses, then a missing barrier between a write and another warp's read."""
    red = cuda.shared.array(64, float32)
    t, total = cuda.threadIdx.x, float32(0.0)
    for start in range(0, X.size, 64):
        red[t] = X[start + t]
        cuda.syncthreads()
        total += red[63 - t]
    out[t] = total


@cuda.jit
def reads_before_writes(X, out):
    red = cuda.shared.array(128, float32)
    t, total = cuda.threadIdx.x, float32(0.0)
    for start in range(0, X.size, 64):
        red[t] = X[start + t]
        cuda.syncthreads()
        total += red[t + start // (X.size - 64) * 64]  # only the last round reads the upper half
        cuda.syncthreads()
    out[t] = total


@pytest.mark.parametrize(("kernel", "tool"), [(late_race, "racecheck"), (reads_before_writes, "initcheck")])
def test_findings_across_pieces(kernel, tool, monkeypatch):
    X, out = np.ones(64 * 30, np.float32), np.zeros(64, np.float32)
    whole = told(launch(kernel, 1, 64, (X, out)))
    assert {f[0] for f in whole[2]} == {tool}
    for events in (100, 300, 1000):
        in_pieces(monkeypatch, events)
        assert told(launch(kernel, 1, 64, (X, out))) == whole
