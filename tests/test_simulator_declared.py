"""Types that a kernel declares, and arguments that are no numbers of ours."""

import numpy as np
import pytest
from numba import cuda, float32, int32, void

from autograder.exercises import get
from autograder.judge import judge
from autograder.simulator import install, launch
from autograder.source import gather_text

install()


def leading_zeros(out, c):
    out[0] = cuda.clz(c)


def halved(out, x):
    out[0] = x / 3


@pytest.mark.parametrize(("signature", "zeros"), [
    ("void(int32[:], int32)", 28), ("void(int32[:], int64)", 60), (void(int32[:], int32), 28), (["void(int32[:], int32)"], 28),
    (None, 60),
], ids=str)
def test_a_number_has_the_type_that_is_declared_for_it(signature, zeros):
    kernel = cuda.jit(leading_zeros) if signature is None else cuda.jit(signature)(leading_zeros)
    for run in (lambda out: launch(kernel, 1, 1, (out, 9)), lambda out: kernel[1, 1](out, 9)):
        out = np.zeros(1, np.int32)
        run(out)
        assert out[0] == zeros


def test_a_number_is_rounded_and_cut_as_a_cast_does():
    single, out = cuda.jit("void(float64[:], float32)")(halved), np.zeros(1)
    launch(single, 1, 1, (out, 0.1))
    assert out[0] == float(np.float32(0.1)) / 3 != 0.1 / 3  # float32 / int64 is float64, of the rounded 0.1
    wrapped = cuda.jit("void(float64[:], int8)")(halved)
    launch(wrapped, 1, 1, (out, 200))
    assert out[0] == -56 / 3


def test_arrays_and_other_options_are_left_alone():
    @cuda.jit("void(float32[:], float32[:])", fastmath=True)
    def copy(x, y):
        i = cuda.grid(1)
        y[i] = x[i]

    @cuda.jit(fastmath=True)
    def same(x, y):
        i = cuda.grid(1)
        y[i] = x[i]

    x = np.arange(4, dtype=np.float32)
    for kernel in (copy, same):
        y = np.zeros(4, np.float32)
        launch(kernel, 1, 4, (x, y))
        assert np.array_equal(x, y)


def test_the_judge_keeps_a_declaration():
    exercise = get("lab5.online_attention")
    text = next(one.text for one in exercise.variants if one.id == "plain")
    head = "@cuda.jit\ndef online_attention("
    assert text.count(head) == 1
    types = ", ".join(["float32[:,:]"] * 4)
    declared = text.replace(head, f'@cuda.jit("void({types}, float32)")\ndef online_attention(')
    report = judge(gather_text(declared, exercise.name), f"{exercise.id}.values")
    assert report.passed, report.message


def test_dates_and_records_pass_through():
    @cuda.jit
    def earlier(dates, delta, out):
        i = cuda.grid(1)
        out[i] = dates[i] - delta

    dates = np.arange("2005-02", "2005-06", dtype="datetime64[D]")
    out = np.zeros_like(dates)
    earlier[1, len(dates)](dates, np.timedelta64(2, "D"), out)
    assert np.array_equal(out, dates - 2)


def test_a_scalar_of_float32_stays_one():
    @cuda.jit
    def scaled(out, x):
        out[0] = x * float32(1.5)

    out = np.zeros(1)
    launch(scaled, 1, 1, (out, np.float32(0.1)))
    assert out[0] == np.float32(0.1) * np.float32(1.5)
