"""``autograder xray FILE.py::kernel`` for anybody's kernel, and its refusals."""

import argparse
import json
import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
import pytest

from autograder.xray import add_parser
from autograder.xray.cli import bind, read_array, read_scalar, read_shape

KERNELS = '''
import math
from numba import cuda
from helper import TWO

print("a script may print when it is imported")

@cuda.jit(device=True)
def double(x):
    return TWO * x

@cuda.jit
def scale(X, Y, n):
    i = cuda.grid(1)
    if i < n:
        Y[i] = double(X[i])

@cuda.jit
def matrix(A):
    x, y = cuda.grid(2)
    if x < A.shape[0] and y < A.shape[1]:
        A[x, y] = 1

@cuda.jit
def stub(X):
    raise NotImplementedError

@cuda.jit
def fails(X):
    X[0] = nothing

NUMBER = 3
'''


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "helper.py").write_text("TWO = 2\n")
    monkeypatch.chdir(tmp_path)

    def command(*words):
        parser = argparse.ArgumentParser()
        add_parser(parser.add_subparsers())
        args = parser.parse_args(["xray", *words])
        status = args.func(args)
        out = capsys.readouterr()
        return status, out.out, out.err

    return command


SCALE = ("kernels.py::scale", "--grid", "4", "--block", "32", "--array", "X=100", "--array", "Y=100")


def test_a_table_for_the_terminal(call):
    status, out, err = call(*SCALE, "--scalar", "n=100")
    assert status == 0 and err == ""
    assert "scale: grid 4, block 32" in out and "Y[i] = double(X[i])" in out
    assert "all global loads" in out and "X: loads ask for 1× its size." in out


def test_json_only_on_stdout(call):
    status, out, err = call(*SCALE, "--scalar", "n=100", "--json")
    data = json.loads(out)
    assert status == 0 and "a script may print" in err
    assert data["traffic"]["load_sectors"] == 13 and data["traffic"]["store_bytes"] == 400
    assert [(r["array"], r["op"], r["sectors"]) for r in data["lines"]] == [
        ("X", "load", 13), ("Y", "store", 13)]
    assert data["kernel"] == "scale" and data["findings"] == []


def test_a_page_with_the_picture(call, tmp_path):
    status, out, _ = call(*SCALE, "--scalar", "n=100", "--html", "out.html")
    assert status == 0 and "out.html" in out
    assert "<svg" in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert call(*SCALE, "--scalar", "n=100", "--html", "no/such/folder.html")[0] == 2


def test_shapes_and_binding_by_order(call):
    status, out, _ = call("kernels.py::matrix", "--grid", "2x2", "--block", "8,4", "--array", "M=16x8", "--json")
    data = json.loads(out)
    assert status == 0 and data["grid"] == [2, 2] and data["block"] == [8, 4]
    assert data["arrays"][0]["name"] == "A" and data["arrays"][0]["shape"] == [16, 8]


@pytest.mark.parametrize("words, part", [
    (("nowhere.py::scale", "--grid", "1", "--block", "1"), "There is no file nowhere.py"),
    (("kernels.py", "--grid", "1", "--block", "1"), "does not say which kernel"),
    (("kernels.py::", "--grid", "1", "--block", "1"), "does not say which kernel"),
    (("kernels.py::absent", "--grid", "1", "--block", "1"), "has no kernel `absent`; it has fails, matrix, scale, stub"),
    (("kernels.py::NUMBER", "--grid", "1", "--block", "1"), "is not a kernel"),
    (("kernels.py::double", "--grid", "1", "--block", "1", "--array", "x=3"), "device function"),
    ((*SCALE,), "takes 3 arguments (X, Y, n), 2 were given"),
    ((*SCALE, "--scalar", "n=100", "--array", "Z=3"), "takes 3 arguments (X, Y, n), 4 were given"),
    ((*SCALE, "--scalar", "n=many"), "NAME=NUMBER"),
    ((*SCALE, "--scalar", "X=4"), "given twice"),
    (("kernels.py::scale", "--grid", "0", "--block", "1"), "--grid '0' is not a shape"),
    (("kernels.py::scale", "--grid", "1x1x1x1", "--block", "1"), "at most three"),
    (("kernels.py::matrix", "--grid", "1", "--block", "4096", "--array", "A=4x4"), "at most 1024"),
    (("kernels.py::matrix", "--grid", "1", "--block", "1", "--array", "A:4x4"), "NAME=SHAPE"),
    (("kernels.py::matrix", "--grid", "1", "--block", "1", "--array", "A=4xfour"), "is not a shape"),
    (("kernels.py::matrix", "--grid", "1", "--block", "1", "--array", "A=4:float33"), "is not a dtype"),
    (("kernels.py::matrix", "--grid", "1", "--block", "1", "--array", "A=99999x99999"), "larger than 2 GiB"),
    (("kernels.py::stub", "--grid", "1", "--block", "1", "--array", "X=4"), "`stub` is not written yet"),
    (("kernels.py::fails", "--grid", "1", "--block", "1", "--array", "X=4"), "NameError"),
    (("helper.txt::fails", "--grid", "1", "--block", "1", "--array", "X=4"), "neither a .py file"),
])
def test_bad_input_is_status_2_and_one_sentence(call, tmp_path, words, part):
    (tmp_path / "helper.txt").write_text("x")
    status, out, err = call(*words)
    assert status == 2 and part in err
    assert err.count("\n") == 1 and "Traceback" not in err


def test_a_file_that_cannot_be_imported(call, tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_module_at_all\n")
    status, _, err = call("broken.py::k", "--grid", "1", "--block", "1")
    assert status == 2 and "broken.py could not be imported: ModuleNotFoundError in line 1" in err
    (tmp_path / "stops.py").write_text("raise SystemExit(3)\n")
    assert call("stops.py::k", "--grid", "1", "--block", "1")[0] == 2
    (tmp_path / "syntax.py").write_text("x = 1\ndef (:\n")
    status, _, err = call("syntax.py::k", "--grid", "1", "--block", "1")
    assert status == 2 and "SyntaxError in line 2" in err and err.count("\n") == 1


def test_readers():
    assert read_shape("8x4", "--grid") == (8, 4) == read_shape("(8, 4)", "--grid")
    assert read_array("X=8x4096:int32", "float32") == ("X", (8, 4096), np.dtype("int32"))
    assert read_scalar("n=5") == ("n", 5) and read_scalar("s=0.5") == ("s", 0.5)
    assert bind({"Y": 1, "A": 2, "n": 3}, ["X", "Y", "n"]) == [2, 1, 3]
