"""The judge on real kernels in the simulator: what passes, what fails, and what is said about it."""

import numpy as np
import pytest

from autograder.exercises import get
from autograder.exercises.model import Inputs
from autograder.judge import judge, launches
from autograder.judge.core import Spending
from autograder.judge.launches import Launched
from autograder.report import Report
from autograder.simulator.trace import Trace, Traffic
from autograder.source import gather_text

START = "import math\nfrom numba import cuda, float32\n\n@cuda.jit\ndef online_softmax_rows(X, Y):\n"
RIGHT = START + """\
    row = cuda.grid(1)
    if row < X.shape[0]:
        n = X.shape[1]
        m = float32(-math.inf)
        d = float32(0.0)
        for col in range(n):
            x = X[row, col]
            m_new = max(m, x)
            if m_new > -math.inf or math.isnan(x):
                d = d * math.exp(m - m_new) + math.exp(x - m_new)
            m = m_new
        for col in range(n):
            Y[row, col] = math.exp(X[row, col] - m) / d
"""
ROWS = "lab2.online_softmax_rows"


def verdict(text, check="", exercise=ROWS, **options) -> Report:
    name = get(exercise).name
    source = gather_text(text, name, kind=get(exercise).source_kind, origin="student.py")
    return judge(source, f"{exercise}.{check}" if check else exercise, **options)


def only(report):
    (check,) = report.checks
    return check


def edited(old, new, text=RIGHT):
    assert text.count(old) == 1, old
    return text.replace(old, new)


def right_variant(exercise):
    return get(exercise).variants[0].text


@pytest.mark.parametrize("exercise", ["lab1.row_max", ROWS, "lab1.predict_bytes", "lab2.predict_sectors"])
def test_a_right_answer_earns_everything(exercise):
    report = verdict(right_variant(exercise), exercise=exercise)
    assert report.passed and report.error is None
    assert report.points == report.max_points == sum(check.points for check in get(exercise).checks)
    assert all(type(check.points) is float for check in report.checks)


def test_the_same_arguments_give_the_same_report_and_another_seed_another_run():
    wrong = edited("d * math.exp(m - m_new) + ", "d + ")
    first, again, other = (verdict(wrong, "rescale", seed=seed) for seed in (0, 0, 7))
    assert first.as_json() == again.as_json()
    assert not other.passed and other.checks[0].bug["id"] == first.checks[0].bug["id"]
    assert other.as_json() != first.as_json()


def test_one_check_says_what_it_says_within_the_whole():
    wrong = edited("d * math.exp(m - m_new) + ", "d + ")
    whole = {check.id: check for check in verdict(wrong).checks}
    for name in ("values", "rescale", "traffic", "safety"):
        assert only(verdict(wrong, name)) == whole[f"{ROWS}.{name}"]


def test_json_has_the_documented_shape():
    data = verdict(RIGHT).as_json()
    assert {"exercise", "source", "passed", "points", "max_points", "checks"} <= set(data)
    for check in data["checks"]:
        assert {"id", "passed", "points", "max_points", "cases", "bug", "findings", "traffic", "message"} <= set(check)
        assert set(check["traffic"]) == {
            "load_bytes", "store_bytes", "load_sectors", "store_sectors", "load_requests", "store_requests",
        }  # fmt: skip
        for case in check["cases"]:
            assert {"name", "passed", "gate_fraction", "message"} <= set(case)


def test_d_not_rescaled_is_named_with_the_move_of_the_maximum():
    check = only(verdict(edited("d * math.exp(m - m_new) + ", "d + "), "rescale"))
    assert not check.passed and check.points < check.max_points
    assert check.bug["id"] == "d_not_rescaled" and len(check.bugs) == 1
    assert "the maximum moved" in check.bug["message"] and "too large by e^" in check.bug["message"]
    failed = next(case for case in check.cases if not case.passed)
    assert "expected" in failed.message and "found" in failed.message and failed.gate_fraction > 1
    assert "row " in failed.message and "column " in failed.message


def test_an_unknown_mistake_is_not_given_a_name():
    check = only(verdict(edited("math.exp(X[row, col] - m) / d", "math.exp(X[row, col] - m) / d * float32(1.25)"), "values"))
    assert not check.passed and check.bug is None and check.bugs == ()
    assert "sums to 1.25 instead of 1" in check.message


def test_an_element_never_written_is_told_from_a_computed_nan():
    hole = edited("            Y[row, col] =", "            if col != 2:\n                Y[row, col] =")
    check = only(verdict(hole, "values"))
    assert any(case.message.startswith("Y[0, 2] was never written") for case in check.cases)
    computed = edited("math.exp(X[row, col] - m) / d", "float32(math.nan)")
    check = only(verdict(computed, "values"))
    assert "never written" not in check.message and "found nan" in check.message
    assert check.cases[0].gate_fraction == float("inf")


def test_an_output_read_before_it_is_written_is_told_so():
    check = only(verdict(edited("Y[row, col] = math.exp", "Y[row, col] += math.exp"), "values"))
    assert "line 18 reads Y before the kernel has written it" in check.message


def test_a_changed_input_fails_the_values_check():
    check = only(verdict(RIGHT + "        X[row, 0] = float32(3.0)\n", "values"))
    assert "the kernel changed its input: X[0, 0] was" in check.message and "line 19" in check.message
    assert only(verdict(RIGHT + "        X[row, 0] = float32(3.0)\n", "rescale")).passed


def test_the_line_that_reads_too_often_is_named():
    third = edited("        for col in range(n):\n            Y", "        for col in range(n):\n            d += float32(0.0) * X[row, col]\n        for col in range(n):\n            Y")
    check = only(verdict(third, "traffic"))
    assert "line 20 reads X a third time: 3.0 times its size in all, 2.0 allowed" in check.message
    assert check.traffic["load_bytes"] == 3 * check.traffic["store_bytes"]
    assert [(row["line"], row["op"], row["times"]) for row in check.ledger] == [
        (12, "load", 1.0), (18, "load", 1.0), (20, "load", 1.0), (20, "store", 1.0),
    ]  # fmt: skip


def test_out_of_range_is_a_finding_in_words_with_a_count():
    check = only(verdict(edited("for col in range(n):\n            x", "for col in range(n + 1):\n            x"), "safety"))
    assert not check.passed and 1 <= len(check.findings) <= 6
    assert check.findings[0].startswith("memcheck: line 12:")


def test_a_result_that_depends_on_the_order_of_threads_is_unsafe():
    check = only(verdict(edited("if row < X.shape[0]:", "if row <= X.shape[0] and row < X.shape[0]:"), "safety"))
    assert check.passed  # as right as before
    racy = get("lab1.row_max").bugs
    missing = next(bug for bug in racy if bug.id == "no_barrier_in_tree")
    assert not only(verdict(missing.text, "safety", exercise="lab1.row_max")).passed


def test_a_kernel_that_does_nothing_earns_nothing():
    idle = START + "    row = cuda.grid(1)\n    row += 1\n"
    report = verdict(idle)
    assert report.points == 0.0 and not any(check.passed for check in report.checks)
    assert "nothing was written to Y" in report.checks[0].message
    assert "nothing was written to Y" in report.checks[2].message and "first make `values` pass" in report.checks[2].message


def test_a_copy_earns_nothing():
    copy = START + "    row = cuda.grid(1)\n    if row < X.shape[0]:\n        for col in range(X.shape[1]):\n            Y[row, col] = X[row, col]\n"
    report = verdict(copy)
    assert report.points == 0.0
    assert "expected" in report.checks[3].message and "first make `values` pass" in report.checks[3].message


def test_a_kernel_that_goes_by_the_shapes_of_one_seed_earns_nothing_with_another():
    body = RIGHT.removeprefix(START)
    body = body.replace("if row < X.shape[0]:", "if row < X.shape[0] and (X.shape[1] == 64 or X.shape[1] == 33):")
    keyed = verdict(START + body, "traffic")
    assert keyed.passed, keyed.message
    assert [verdict(START + body, "traffic", seed=seed).passed for seed in range(1, 9)].count(True) <= 4


def test_what_is_wrong_on_loud_rows_alone_still_counts_for_traffic_and_safety():
    report = verdict(edited("d * math.exp(m - m_new) + ", "d + "))
    assert [check.passed for check in report.checks] == [False, False, True, True]


def test_a_device_function_is_no_kernel():
    text = RIGHT.replace("@cuda.jit", "@cuda.jit(device=True)")
    report = judge(gather_text(text, "online_softmax_rows"), ROWS)
    assert "is a @cuda.jit kernel, and yours is a device function" in report.error


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    row = cuda.grid(1)\n    Y[row, 0] = X[row, 0] + undefined_later\n    undefined_later = 1\n", "before it is given a value"),
        ("    Y[0, 0] = X[0, X[0, 0]]\n", "an index must be an integer"),
        ("    m = X[0, 0]\n    Y[0, 0] = m[0]\n", "line 7"),
        ("    Y[0, 0, 0] = 1.0\n", "line 6"),
    ],
)
def test_an_exception_in_a_kernel_is_a_sentence_with_the_line(body, words):
    check = only(verdict(START + body, "values"))
    assert not check.passed and check.points == 0.0
    assert words in check.message and "line " in check.message and "Traceback" not in check.message


def test_an_endless_loop_is_told_once_and_the_other_cases_are_left_out():
    endless = edited("            m = m_new\n", "            m = m_new\n            while m == m:\n                m = m_new\n")
    check = only(verdict(endless, "values", step_limit=20_000))
    assert "line 17" in check.message and "while m == m" in check.message
    assert sum(case.message.startswith("not run") for case in check.cases) == len(check.cases) - 1


def test_a_check_ends_when_its_cases_together_take_too_many_steps():
    spending = Spending(limit=100)
    for _ in range(4):
        spending.note([Launched(Inputs(), {}, Trace("k", (1,) * 3, (1,) * 3, (), Traffic(), (), (), 0, 99, 0, 0))])
        assert not spending.over
    spending.note([Launched(Inputs(), {}, None, problem="line 3: an exception")])
    assert not spending.over
    spending.note([Launched(Inputs(), {}, Trace("k", (1,) * 3, (1,) * 3, (), Traffic(), (), (), 0, 99, 0, 0))])
    assert spending.over.startswith("not run: the earlier cases took 495 steps")


def test_wrong_parameters_and_wrong_names_are_sentences():
    report = verdict(RIGHT.replace("(X, Y)", "(X, Y, n)").replace("        n = X.shape[1]\n", ""))
    assert "must take 2 parameters (X, Y); yours takes 3 (X, Y, n)" in report.message and report.error is None
    source = gather_text(RIGHT.replace("online_softmax_rows", "mine"), "mine")
    report = judge(source, ROWS)
    assert "called `online_softmax_rows`, and this one is called `mine`" in report.error
    report = judge(gather_text("def three_pass_bytes(rows, n):\n    return 16 * rows * n\n", "three_pass_bytes", kind="host"), "lab1.row_max")
    assert "@cuda.jit kernel" in report.error
    assert "no check called" in judge(source, "lab1.nothing").error


def test_parameters_may_have_other_names():
    report = verdict(RIGHT.replace("X", "logits").replace("Y", "probs"))
    assert report.passed, report.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    return 12 * rows * n\n", "too small by a factor of 1.333"),
        ("    return 32 * rows * n\n", "too large by a factor of 2"),
        ("    return -1\n", "too small"),
        ("    return 'many'\n", "must be a number"),
        ("    x = 16 * rows * n\n", "returns nothing"),
        ("    return rows / 0\n", "line 2"),
        ("    while True:\n        rows += 1\n    return rows\n", "line "),
        ("    return 10 ** (10 ** n)\n", ""),
        ("    return rows == n\n", "must be a number"),
    ],
)
def test_a_wrong_formula_is_told_without_the_answer(body, words):
    check = only(verdict("def three_pass_bytes(rows, n):\n" + body, exercise="lab1.predict_bytes"))
    assert not check.passed and check.points == 0.0 and words in check.message
    right = f"{16 * 8 * 4096:,}"
    assert not any(right in case.message for case in check.cases)


def test_a_right_formula_may_be_a_float():
    assert verdict("def three_pass_bytes(rows, n):\n    return 16.0 * rows * n\n", exercise="lab1.predict_bytes").passed


def test_a_known_wrong_formula_is_named():
    check = only(verdict("def three_pass_bytes(rows, n):\n    return 4 * rows * n\n", exercise="lab1.predict_bytes"))
    assert check.bug is not None


def test_the_canary_is_no_nan_that_arithmetic_makes():
    filled = launches.canary(np.full((2, 3), np.nan, np.float32))
    assert np.isnan(filled).all() and launches.unwritten(filled).all()
    with np.errstate(invalid="ignore"):
        computed = np.float32(np.inf) - np.float32(np.inf)
    for honest in (np.float32(np.nan), -np.float32(np.nan), computed):
        filled[0, 1] = honest
        assert not launches.unwritten(filled)[0, 1]
    assert launches.unwritten(np.zeros(3, np.int32)).tolist() == [False] * 3


SUMS = "from numba import cuda\n\n@cuda.jit\ndef row_sum{parameters}:\n    row = cuda.blockIdx.x\n{body}"
ATOMIC = (
    "    for c in range(cuda.threadIdx.x, X.shape[1], cuda.blockDim.x):\n        cuda.atomic.add(out, row, X[row, c])\n"
)


def test_an_atomic_on_an_output_that_nothing_has_written_is_told_and_is_a_finding():
    text = SUMS.format(parameters="(X, out)", body=ATOMIC)
    values = only(verdict(text, "values", "lab1.row_sum"))
    assert not values.passed and "uses an atomic on out, which nothing has written" in values.message
    safety = only(verdict(text, "safety", "lab1.row_sum"))
    assert not safety.passed and safety.points == 0.0
    assert safety.findings[0].startswith("initcheck: line 7 uses an atomic on out")


def test_swapped_parameters_are_told_apart_from_a_wrong_index():
    text = SUMS.format(parameters="(out, X)", body="    out[row] = X[row, 0]\n")
    message = only(verdict(text, "values", "lab1.row_sum")).message
    assert "this exercise passes (X, out); yours names (out, X)." in message


def test_a_kernel_that_is_not_written_is_sent_to_no_lesson():
    from autograder.judge.reports import refused
    from autograder.render import html, words
    from autograder.source import SourceRefused

    with pytest.raises(SourceRefused) as error:
        gather_text(SUMS.format(parameters="(X, out)", body="    pass\n").replace("row = cuda.blockIdx.x", "pass"), "row_sum")
    report = refused("lab1.row_sum.values", "student.py", error.value)
    assert "not written yet" in words(report) and "Read again" not in words(report) + html(report)
