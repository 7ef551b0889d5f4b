"""Known mistakes are recognised by what they compute, in whatever style they are written."""

import numpy as np
import pytest

from autograder.exercises import get
from autograder.judge import judge, narrate
from autograder.judge.bugs import PURSE, Purse
from autograder.judge.safety import alike
from autograder.source import gather_text

ROWS = "lab2.online_softmax_rows"
# In a style that is nobody's variant: other names, a while loop, numba's own types.
MINE = """\
import math
import numba
from numba import cuda


@cuda.jit
def online_softmax_rows(logits, probs):
    r = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if r >= logits.shape[0]:
        return
    top, total = numba.float32(-math.inf), numba.float32(0.0)
    c = 0
    while c < logits.shape[1]:
        v = logits[r, c]
        higher = max(top, v)
        if higher != -math.inf:
            total = total * math.exp(top - higher) + math.exp(v - higher)
        top = higher
        c += 1
    for c in range(logits.shape[1]):
        probs[r, c] = math.exp(logits[r, c] - top) / total
"""


def check_of(text, check, exercise=ROWS):
    (result,) = judge(gather_text(text, get(exercise).name, origin="x.py"), f"{exercise}.{check}").checks
    return result


def test_mine_is_right():
    report = judge(gather_text(MINE, "online_softmax_rows"), ROWS)
    assert report.passed, report.message


@pytest.mark.parametrize(
    ("check", "old", "new", "named"),
    [
        ("rescale", "total * math.exp(top - higher) + ", "total + ", "d_not_rescaled"),
        ("values", "total * math.exp(top - higher) + ", "total + ", "d_not_rescaled"),
        ("rescale", "numba.float32(-math.inf)", "numba.float32(0.0)", "starts_at_zero"),
        ("rescale", "numba.float32(-math.inf)", "numba.float32(-1e4)", "finite_stand_in"),
        ("rescale", "        if higher != -math.inf:\n    ", "        if True:\n    ", "inf_minus_inf"),
        ("values", "math.exp(logits[r, c] - top) / total", "numba.float32(1.0) / logits.shape[1]", "uniform_row"),
        (
            "traffic",
            "    for c in range(logits.shape[1]):\n",
            "    for c in range(logits.shape[1]):\n        total += 0 * logits[r, c]\n    for c in range(logits.shape[1]):\n",
            "three_passes",
        ),
        ("safety", "    if r >= logits.shape[0]:\n        return\n", "", "no_row_guard"),
    ],
)
def test_a_mistake_of_another_style_is_named(check, old, new, named):
    assert MINE.count(old) == 1
    result = check_of(MINE.replace(old, new), check)
    assert not result.passed
    assert [bug["id"] for bug in result.bugs] == [named] and result.bug == result.bugs[0]
    assert set(result.bug) == {"id", "title", "message"}


@pytest.mark.parametrize("bug", [bug for bug in get(ROWS).bugs if bug.id != "no_row_guard"], ids=lambda bug: bug.id)
def test_every_named_bug_knows_itself(bug):
    for name in ("values", "rescale", "traffic"):
        if name in bug.checks:
            assert bug.id in [found["id"] for found in check_of(bug.text, name).bugs]


def test_two_mistakes_in_one_kernel_are_not_mistaken_for_one():
    both = MINE.replace("total * math.exp(top - higher) + ", "total + ").replace("/ total", "/ total * numba.float32(1.5)")
    result = check_of(both, "values")
    assert not result.passed and result.bugs == ()


def test_a_right_kernel_has_no_bug():
    result = check_of(MINE, "rescale")
    assert result.bug is None and result.bugs == ()


def test_alike_is_no_wildcard():
    inf, nan = np.inf, np.nan
    a = np.array([1.0, 1.0, inf, inf, nan, nan, 0.0, 1e-30], np.float32)
    b = np.array([1.00001, 1.01, inf, 1.0, nan, 1.0, 0.0, 2e-30], np.float32)
    assert alike(a, b).tolist() == [True, False, True, False, True, False, True, False]


def test_moves_of_the_running_maximum():
    row = np.array([-np.inf, -np.inf, 1.0, 0.0, 5.0, 2.0, 5.0, 9.0, 9.0])
    assert narrate.moves(row, 2) == [(2, 1.0, 5.0), (3, 5.0, 9.0)]
    assert narrate.moves(row, 100) == []


def test_the_purse_is_counted_in_steps():
    assert Purse(PURSE).steps == PURSE > 0
