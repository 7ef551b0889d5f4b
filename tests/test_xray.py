"""The look: what it shows, and that nothing in a kernel stops a notebook."""

import base64
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
import pytest
from numba import cuda, float32

import autograder
from autograder.simulator import install
from autograder.xray import XRay, xray

install()
N_THREADS = 64


@cuda.jit
def twice(X, Y):
    row = cuda.blockIdx.x
    for i in range(cuda.threadIdx.x, X.shape[1], N_THREADS):
        Y[row, i] = X[row, i]
    for i in range(cuda.threadIdx.x, X.shape[1], N_THREADS):
        Y[row, i] = Y[row, i] + X[row, i]


@cuda.jit
def strided(X, Y):
    row = cuda.grid(1)
    for i in range(X.shape[1]):
        Y[row, i] = X[row, i]


@cuda.jit
def stub(X, out):
    raise NotImplementedError("write row_max here")


@cuda.jit
def endless(X, Y):
    i = 0
    while i < 10:
        Y[0, 0] = i


@cuda.jit
def outside(X, Y):
    Y[0, cuda.grid(1)] = X[0, cuda.grid(1) + X.shape[1]]


@cuda.jit
def unknown_name(X, Y):
    Y[0, 0] = no_such_name  # noqa: F821


@cuda.jit
def interrupted(X, Y):
    raise KeyboardInterrupt


@cuda.jit
def with_scalar(X, n, scale=2.0):
    i = cuda.grid(1)
    if i < n:
        X[i] = X[i] * scale


@cuda.jit
def shared_sum(X, Y):
    red = cuda.shared.array(N_THREADS, float32)
    t = cuda.threadIdx.x
    red[t] = X[0, t]
    cuda.syncthreads()
    Y[0, t] = red[(t + 1) % N_THREADS]


@cuda.jit
def loops_over_a_row(X, Y):
    for v in X[0]:
        Y[0, 0] = v


@pytest.fixture
def arrays():
    X = np.random.default_rng(0).standard_normal((4, 256)).astype(np.float32)
    return X, np.zeros_like(X)


def test_a_kernel_that_check_refuses_is_shown_with_a_note(arrays):
    X, Y = arrays
    look = xray(loops_over_a_row[1, 1], X, Y)
    assert look.caution.startswith("`check` would refuse this kernel: line ") and "X[0]" in look.caution
    assert look.trace is not None and look.caution in repr(look) and "would refuse" in look.page()
    assert xray(twice[4, N_THREADS], X, Y).caution == ""


def test_ledger_picture_and_written_output(arrays):
    X, Y = arrays
    look = xray(twice[4, N_THREADS], X, Y)
    assert np.array_equal(Y, X + X)  # the caller's arrays are written, as in a plain launch
    assert look.message == "" and look.trace.grid == (4, 1, 1)
    assert (look.traffic.load_sectors, look.traffic.store_sectors) == (3 * 128, 2 * 128)
    got = [(r.text, r.array, r.op, r.times, r.per_request) for r in look.rows]
    assert got == [
        ("Y[row, i] = X[row, i]", "X", "load", 1.0, 4.0),
        ("Y[row, i] = X[row, i]", "Y", "store", 1.0, 4.0),
        ("Y[row, i] = Y[row, i] + X[row, i]", "X", "load", 1.0, 4.0),
        ("Y[row, i] = Y[row, i] + X[row, i]", "Y", "load", 1.0, 4.0),
        ("Y[row, i] = Y[row, i] + X[row, i]", "Y", "store", 1.0, 4.0),
    ]
    assert [lane.sweeps for lane in look.picture.lanes] == [1.0] * 5
    assert "The first block reads its part of X twice" in repr(look)
    assert look.findings == ()


def test_html_holds_table_and_inline_picture(arrays):
    look = xray(twice[4, N_THREADS], *arrays)
    html = look._repr_html_()
    picture = re.search(r"<svg.*?</svg>", html, re.S)
    ET.fromstring(picture[0])
    assert "<table" in html and "Y[row, i] = X[row, i]" in html and "src=" not in html
    assert html == xray(twice[4, N_THREADS], *arrays)._repr_html_()
    bundle = look._repr_mimebundle_()
    assert bundle["text/plain"] == repr(look)
    image = re.search(r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]+)"', bundle["text/html"])
    assert base64.b64decode(image[2]).decode() == str(look.picture) and "Y[0, 0…255]" in image[1]
    assert html in look.page() and look.page().startswith("<!doctype html>")
    assert len(html) < 60_000


def test_uncoalesced_access_is_said_and_drawn(arrays):
    X = np.zeros((64, 64), np.float32)
    look = xray(strided[1, 64], X, np.zeros_like(X))
    assert all(row.scattered and row.per_request == 32 for row in look.rows)
    assert all(lane.scattered for lane in look.picture.lanes)
    assert "touches 32 sectors where 4 would do" in repr(look) and "scattered" in look._repr_html_()


def test_shared_memory_has_rows_but_no_sectors(arrays):
    look = xray(shared_sum[1, N_THREADS], *arrays)
    rows = [r for r in look.rows if r.space == "shared"]
    assert {r.op for r in rows} == {"load", "store"} and all(r.per_request is None for r in rows)


def test_an_untouched_stub_is_not_an_error(arrays):
    look = xray(stub[4, 128], *arrays)
    assert look.message == "`stub` is not written yet." and look.trace is None
    assert look.traffic.load_bytes == 0 and look.rows == () and look.picture is None
    assert "<code>stub</code> is not written yet." in look._repr_html_()
    assert "not written yet" in look.page() and look.as_json()["message"] == look.message


def test_an_endless_loop_ends_with_a_sentence(arrays):
    look = xray(endless[1, 32], *arrays, step_limit=20_000)
    assert "while i < 10" in look.message and "20,000" in look.message and "\n" not in look.message


def test_findings_are_shown(arrays):
    look = xray(outside[1, 32], *arrays)
    assert look.trace.findings_total == 32
    assert look.findings[0].startswith("memcheck: line ") and look.findings[-1] == "and 31 more like these."
    assert "Findings" in repr(look) and "Findings" in look._repr_html_()


def test_an_exception_is_one_sentence_with_its_line(arrays):
    look = xray(unknown_name[1, 32], *arrays)
    line = unknown_name.py_func.__code__.co_firstlineno + 2
    assert look.message.startswith(f"Line {line}: `Y[0, 0] = no_such_name")
    assert "NameError" in look.message and "block 0, thread 0" in look.message


def test_an_interrupt_gets_through(arrays):
    with pytest.raises(KeyboardInterrupt):
        xray(interrupted[1, 1], *arrays)


def test_wrong_use_is_a_sentence(arrays):
    X, Y = arrays
    assert "xray(twice[grid, block], ...)" in xray(twice, X, Y).message
    assert "It got an int" in xray(3, X).message
    assert "takes 2 arguments (X, Y), 1 was given" in xray(twice[4, 64], X).message
    assert "`Y` is a list" in xray(twice[4, 64], X, [1.0]).message
    assert "at most 1024" in xray(twice[4, 2000], X, Y).message


def test_numbers_defaults_and_device_arrays():
    data = np.arange(8, dtype=np.float32)
    xray(with_scalar[1, 8], data, 4)
    assert data.tolist() == [0, 2, 4, 6, 4, 5, 6, 7]
    device = cuda.to_device(data)
    xray(with_scalar[1, 8], device, np.int32(1), 10.0)
    assert device.copy_to_host().tolist() == data.tolist()
    xray(with_scalar[1, 8], device, 8, 0.0)
    assert not device.copy_to_host().any()


def test_rows_of_a_wider_array_keep_their_place():
    X = np.zeros((4, 320), np.float32)[:, :250]
    look = xray(twice[4, N_THREADS], X, np.zeros((4, 250), np.float32))
    lanes = {(lane.array, lane.op): lane for lane in look.picture.lanes}
    assert lanes["X", "load"].where == "X[0, 0…249]"
    assert {lane.sweeps for lane in lanes.values()} == {1.0}


def test_numbas_own_simulator_configuration_is_understood(arrays):
    """Without ``install`` numba gives the kernel itself, with the shape inside."""
    plain = SimpleNamespace(fn=twice.fn, grid_dim=(4, 1, 1), block_dim=(64, 1, 1), dynshared_size=0,
                            py_func=twice.fn)
    from autograder.xray.look import read_configuration

    found = read_configuration(plain)
    assert (found.grid, found.block, found.simulated) == ((4, 1, 1), (64, 1, 1), True)
    plain.grid_dim = None
    assert "no launch shape" in read_configuration(plain)


def test_the_package_and_its_module_both_answer(arrays):
    import autograder.xray as module

    assert isinstance(autograder.xray(stub[1, 1], *arrays), XRay)
    assert isinstance(module(stub[1, 1], *arrays), XRay)
    assert callable(module.add_parser)


def test_importing_xray_does_not_load_numba():
    code = "import sys, autograder.xray; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
