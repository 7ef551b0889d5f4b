"""The first divergence of the running state: told for unknown mistakes, and never of a state that is right."""

import numpy as np
import pytest

from autograder.exercises import get
from autograder.judge import judge, launches, outputs, running
from autograder.judge.carried import carried
from autograder.source import gather_text

ROWS, TILED = "lab2.online_softmax_rows", "lab2.online_softmax_tiled"
START = "import math\nfrom numba import cuda, float32\n\n@cuda.jit\ndef online_softmax_rows(X, Y):\n"
MINE = START + """\
    row = cuda.grid(1)
    if row < X.shape[0]:
        best = float32(-math.inf)
        s = float32(0.0)
        for col in range(X.shape[1]):
            x = X[row, col]
            higher = max(best, x)
            if higher != -math.inf:
                s = s * math.exp(best - higher) + math.exp(x - higher)
            best = higher
        for col in range(X.shape[1]):
            Y[row, col] = math.exp(X[row, col] - best) / s
"""
# right, in ways in which the state is not the plain one after each read
DEFERRED = START + """\
    row = cuda.grid(1)
    if row < X.shape[0]:
        m = float32(-math.inf)
        old = float32(-math.inf)
        d = float32(0.0)
        for col in range(X.shape[1]):
            if m != old:
                d = d * math.exp(old - m)
                old = m
            x = X[row, col]
            if x > m:
                d = d * math.exp(m - x) + float32(1.0) if m != -math.inf else float32(1.0)
                m = x
                old = m
            elif x != -math.inf:
                d = d + math.exp(x - m)
        for col in range(X.shape[1]):
            Y[row, col] = math.exp(X[row, col] - m) / d
"""
PREFETCH = START + """\
    row = cuda.grid(1)
    if row < X.shape[0]:
        m = float32(-math.inf)
        d = float32(0.0)
        ahead = X[row, 0]
        for col in range(X.shape[1]):
            x = ahead
            if col + 1 < X.shape[1]:
                ahead = X[row, col + 1]
            m_new = max(m, x)
            if m_new != -math.inf:
                d = d * math.exp(m - m_new) + math.exp(x - m_new)
            m = m_new
        for col in range(X.shape[1]):
            Y[row, col] = math.exp(X[row, col] - m) / d
"""
BASE_TWO = START + """\
    row = cuda.grid(1)
    if row < X.shape[0]:
        m = float32(-math.inf)
        d = float32(0.0)
        for col in range(X.shape[1]):
            z = X[row, col] * float32(1.4426950408889634)
            m_new = max(m, z)
            if m_new != -math.inf:
                d = d * math.exp2(m - m_new) + math.exp2(z - m_new)
            m = m_new
        for col in range(X.shape[1]):
            Y[row, col] = math.exp2(X[row, col] * float32(1.4426950408889634) - m) / d
"""
LAZY = START + """\
    row = cuda.grid(1)
    if row < X.shape[0]:
        m = X[row, 0]
        d = float32(1.0)
        for col in range(1, X.shape[1]):
            x = X[row, col]
            if x > m + float32(8.0):
                d = d * math.exp(m - x)
                m = x
            d = d + math.exp(x - m)
        for col in range(X.shape[1]):
            Y[row, col] = math.exp(X[row, col] - m) / d
"""


def program(text, exercise=ROWS):
    return launches.load(gather_text(text, get(exercise).name, origin="mine.py"), get(exercise))


def told(text, case, exercise=ROWS, check="rescale", row=0):
    loaded = program(text, exercise)
    (found,) = (one for one in get(exercise).check(check).cases if one.name == case)
    return running.divergence(loaded, launches.launch(loaded, found.make(0), step_limit=2_000_000), row)


def edited(old, new, text=MINE):
    assert text.count(old) == 1
    return text.replace(old, new)


CASES = [(check, case.name) for check in ("values", "rescale") for case in get(ROWS).check(check).cases]


@pytest.mark.parametrize("text", [MINE, DEFERRED, PREFETCH, BASE_TWO, LAZY], ids=["plain", "deferred", "prefetch", "exp2", "lazy"])
def test_nothing_is_said_of_a_right_state(text):
    for check, case in CASES:
        assert told(text, case, check=check) == "", case


@pytest.mark.parametrize("variant", get(TILED).variants, ids=lambda variant: variant.id)
def test_nothing_is_said_of_the_right_tiled_kernels(variant):
    for case in ("loud +200, last tile", "rising ramp", "first tiles empty", "short row near -120"):
        assert told(variant.text, case, TILED) == "", case


def test_a_state_that_is_right_behind_a_wrong_output_is_left_alone():
    wrong = edited("/ s", "/ s * float32(1.25)")
    for check, case in CASES:
        assert told(wrong, case, check=check) == "", case


def test_the_first_wrong_d_has_its_row_column_line_and_numbers():
    # an unknown mistake: the factor is taken, but of half the move
    wrong = edited("s * math.exp(best - higher)", "s * math.exp((best - higher) * float32(0.5))")
    case = next(one for one in get(ROWS).check("rescale").cases if one.name == "rising ramp")
    x = case.make(0).arrays["X"][0].astype(np.float64)
    right = 1 + np.exp(x[0] - x[1])
    found = np.exp(-0.5) + 1
    assert told(wrong, "rising ramp") == (
        f"The running state first goes wrong in row 0, after column 1 (line 14): s is {found:.6g} where {right:.6g} is "
        "expected."
    )
    (check,) = judge(gather_text(wrong, "online_softmax_rows", origin="mine.py"), f"{ROWS}.rescale").checks
    assert check.bugs == ()
    messages = [case.message for case in check.cases if not case.passed]
    assert sum("The running state first goes wrong" in message for message in messages) == 1
    assert "expected" in messages[0] and "found" in messages[0]


def test_a_maximum_that_stays_behind_is_told():
    wrong = edited("            best = higher\n", "            if col < 40:\n                best = higher\n")
    said = told(wrong, "loud +200, last tile")
    assert "best is still " in said and "where 20" in said


def test_the_thread_is_named_where_a_block_has_the_row():
    tiles = next(one.text for one in get(TILED).variants if one.id == "tile_by_tile")
    wrong = tiles.replace("d = d * math.exp(m - m_new)", "d = d * math.exp((m - m_new) * float32(0.5))")
    assert wrong != tiles
    said = told(wrong, "loud +20, last tile", TILED)
    assert said.startswith("The running state first goes wrong in row 0, thread 0, after column ")
    assert ": d is " in said and said.endswith(" is expected.")


def test_nothing_is_said_where_nothing_can_be_known():
    no_state = START + "    row = cuda.grid(1)\n    if row < X.shape[0]:\n        Y[row, 0] = X[row, 0]\n"
    assert told(no_state, "rising ramp") == ""
    assert told(MINE.replace("s * math.exp(best - higher) + ", ""), "rising ramp") == ""  # s is not carried
    loaded = program(edited("s * math.exp(best - higher) + ", "s + "))
    case = next(one for one in get(ROWS).check("rescale").cases if one.name == "one NaN")
    run = launches.launch(loaded, case.make(0), step_limit=2_000_000)
    assert running.divergence(loaded, run, 1) == "", "a row with a NaN has no state to compare with"
    assert running.divergence(loaded, launches.Launched(run.inputs, run.arrays, None, "line 3: it ended"), 0) == ""
    assert running.divergence(loaded, run, 5) == "", "a row that is not there"


def test_which_variables_are_carried():
    text = START + (
        "    a = b = c = e = f = 0.0\n    for i in range(3):\n        a += 1.0\n        b = max(b, a)\n"
        "        f_new = max(f, a)\n        f = f_new\n        c = X[0, i]\n        c += 1.0\n        e = 0.0\n"
        "        e += a\n    Y[0, 0] = a + b + c + e + f\n"
    )
    assert carried(program(text).kernel) == {"a", "b", "f"}


def test_the_trace_hook_is_put_back():
    import sys

    before = sys.gettrace()
    told(edited("s * math.exp(best - higher) + ", "s + "), "rising ramp")
    assert sys.gettrace() is before


def test_assessment_may_be_loose():
    loaded = program(edited("/ s", "/ s * float32(1.05)"))
    case = get(ROWS).check("values").cases[0]
    run = launches.launch(loaded, case.make(0), step_limit=2_000_000)
    assert not outputs.assess(loaded, run).passed and outputs.assess(loaded, run, loose=outputs.NEAR).passed
    assert outputs.not_yet(loaded, run) == ""
