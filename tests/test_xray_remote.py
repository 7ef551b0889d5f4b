"""The look beside a GPU (text gathered, child process), and looks at notebooks and lesson sources."""

import argparse
import json
import os
from types import SimpleNamespace

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import nbformat
import numpy as np
import pytest
from numba import cuda

from autograder.simulator import install
from autograder.xray import add_parser, remote, wire, xray

install()
N_THREADS = 64


@cuda.jit(device=True)
def plus(a, b):
    return a + b


@cuda.jit
def twice(X, Y, scale):
    row = cuda.blockIdx.x
    for i in range(cuda.threadIdx.x, X.shape[1], N_THREADS):
        Y[row, i] = X[row, i]
    for i in range(cuda.threadIdx.x, X.shape[1], N_THREADS):
        Y[row, i] = plus(Y[row, i], X[row, i]) * scale


@cuda.jit
def outside(X, Y, scale):
    Y[0, cuda.grid(1)] = X[0, cuda.grid(1) + X.shape[1]]


@cuda.jit
def stub(X, Y, scale):
    raise NotImplementedError


@cuda.jit
def endless(X, Y, scale):
    i = 0
    while i < 10:
        Y[0, 0] = i


def as_on_gpu(kernel, grid, block):
    """What ``kernel[grid, block]`` is where numba drives a GPU: the fields that a look reads."""
    return SimpleNamespace(dispatcher=kernel, griddim=(grid, 1, 1), blockdim=(block, 1, 1), sharedmem=0)


@pytest.fixture
def wide():
    """Arrays that are parts of wider ones: their strides decide the sectors."""
    X = np.random.default_rng(1).standard_normal((4, 260)).astype(np.float32)[:, 1:201]
    return X, np.zeros((4, 260), np.float32)[:, :200]


def test_child_process_gives_the_same_look_as_this_one(wide):
    X, Y = wide
    here = xray(twice[4, 64], X, np.zeros((4, 260), np.float32)[:, :200], np.float32(3.0))
    there = xray(as_on_gpu(twice, 4, 64), X, Y, np.float32(3.0))
    assert there.message == "" and np.allclose(Y, 6 * X)
    assert there.traffic.load_sectors == here.traffic.load_sectors
    assert there.traffic.load_sectors > 3 * 4 * 25, "rows that start between sectors touch more of them"
    mine = [(r.line, r.text, r.array, r.op, r.requests, r.bytes) for r in here.rows]
    assert [(r.line, r.text, r.array, r.op, r.requests, r.bytes) for r in there.rows] == mine
    assert [(a.line, a.sweeps, a.where) for a in there.picture.lanes if a.array == "X"] == [
        (a.line, a.sweeps, a.where) for a in here.picture.lanes if a.array == "X"]
    assert "not on the GPU" in repr(there)


def test_findings_and_sentences_name_the_users_own_lines(wide):
    first = outside.py_func.__code__.co_firstlineno
    look = xray(as_on_gpu(outside, 1, 32), *wide, 1.0)
    assert look.trace.findings_total == 32 and f"line {first + 2}" in look.findings[0]
    assert look.trace.findings[0].places[0].line == first + 2
    assert xray(as_on_gpu(stub, 1, 32), *wide, 1.0).message == "`stub` is not written yet."
    ended = xray(as_on_gpu(endless, 1, 32), *wide, 1.0, step_limit=5000)
    assert ended.message.startswith(f"Line {endless.py_func.__code__.co_firstlineno + 3}") and ended.trace is None


def test_a_kernel_that_cannot_be_gathered_is_a_sentence(wide):
    @cuda.jit
    def inner(X, Y, scale):
        Y[0, 0] = 1

    look = xray(as_on_gpu(inner, 1, 1), *wide, 1.0)
    assert look.trace is None and "inside another function" in look.message


def test_a_child_that_takes_too_long_is_a_sentence(wide, monkeypatch):
    monkeypatch.setattr(remote, "WALL_SECONDS", 0.01)
    assert "took longer than 0.01 s" in xray(as_on_gpu(twice, 4, 64), *wide, 1.0).message


@pytest.mark.parametrize("array", [
    np.arange(12, dtype=np.int16).reshape(3, 4), np.arange(12.0).reshape(3, 4).T, np.arange(12.0)[::-1],
    np.arange(24.0).reshape(4, 6)[::2, 1:4], np.zeros((0, 3), np.float32), np.broadcast_to(np.float32(2), (3, 2)),
    np.array([1 + 2j, 3]), np.array([True, False]),
])
def test_arrays_survive_the_way_with_their_strides(array):
    entry, raw = wire.pack_argument(0, array)
    back = wire.arrays_from(json.loads(json.dumps(entry)), raw)
    assert back.dtype == array.dtype and np.array_equal(back, array)
    if all(step > 0 for step in array.strides):
        assert back.strides == array.strides


@pytest.mark.parametrize("number", [3, 2.5, True, np.float32(0.1), np.int8(-3)])
def test_numbers_survive_the_way(number):
    entry, _ = wire.pack_argument(0, number)
    back = wire.arrays_from(json.loads(json.dumps(entry)), {})
    assert back == number and type(back) is type(number)


KERNEL = """
@cuda.jit
def copy(X, Y):
    i = cuda.grid(1)
    if i < X.shape[0]:
        Y[i] = X[i]
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(target):
        parser = argparse.ArgumentParser()
        add_parser(parser.add_subparsers())
        args = parser.parse_args(["xray", target, "--grid", "2", "--block", "32", "--array", "X=64",
                                  "--array", "Y=64", "--json"])
        status = args.func(args)
        out = capsys.readouterr()
        return status, out.out, out.err

    return call


def test_a_kernel_of_a_notebook_without_running_it(command, tmp_path):
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(text) for text in (
        "from numba import cuda", "raise RuntimeError('never run')", KERNEL.strip())]
    nbformat.write(book, tmp_path / "book.ipynb")
    status, out, err = command("book.ipynb::copy")
    assert status == 0, err
    data = json.loads(out)
    assert [(r["line"], r["array"], r["sectors"]) for r in data["lines"]] == [(5, "X", 8), (5, "Y", 8)]
    assert command("book.ipynb::absent")[0] == 2
    (tmp_path / "bad.ipynb").write_text("{")
    status, _, err = command("bad.ipynb::copy")
    assert status == 2 and err.count("\n") == 1


def test_a_lesson_source_that_only_its_notebook_can_run(command, tmp_path):
    (tmp_path / "lab.py").write_text(
        '# %% tags=["setup"]\n# setup\n\n# %%' + KERNEL + '\n# %%\ncheck("lab1.copy", copy)\n')
    status, out, err = command("lab.py::copy")
    assert status == 0, err
    assert [r["line"] for r in json.loads(out)["lines"]] == [9, 9]
