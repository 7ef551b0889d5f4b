"""Break it: the student's input is run on a wrong and a right kernel of the course."""

from dataclasses import replace

import numpy as np
import pytest

from autograder.exercises import get
from autograder.exercises.cases import one_row
from autograder.judge import breaking, judge
from autograder.source import gather_text

BREAKING, FORGIVING = "lab2.breaking_value", "lab2.forgiving_value"


def verdict(body, exercise=BREAKING, **options):
    name = get(exercise).name
    return judge(gather_text(f"def {name}(i, n):\n{body}", name, kind="host", origin="mine.py"), exercise, **options)


def test_a_row_that_exposes_the_kernel_earns_the_point_and_says_how():
    report = verdict("    return 20.0 if i == n - 1 else 0.0\n")
    assert report.passed and report.points == 1.0
    assert "gives itself away: row 0, column" in report.message and "sums to 0.00" in report.message
    assert "less than 0.01" in report.message or "within 0." in report.message


def test_a_row_that_hides_it_earns_the_other_point():
    report = verdict("    return 20.0 if i == 0 else 0.0\n", FORGIVING)
    assert report.passed and report.points == 1.0
    assert "gets your row right" in report.message


@pytest.mark.parametrize("exercise", [BREAKING, FORGIVING])
def test_a_seed_changes_nothing(exercise):
    text = get(exercise).variants[0].text
    source = gather_text(text, get(exercise).name, kind="host")
    assert judge(source, exercise, 0).as_json() == judge(source, exercise, 99).as_json()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("    return 20.0 if i == 0 else 0.0\n", "the wrong kernel gets your row right: its worst error is "),
        ("    return 20.0 if i == 1000 else 0.0\n", "n = 700: the wrong kernel gets your row right"),
        ("    return 1e5 if i == n - 1 else 0.0\n", "the value at position 1023 is beyond ±10000"),
        ("    return 10 ** (50 * i)\n", "the value at position 1 is beyond ±10000"),
        ("    return float('inf')\n", "the value at position 0 is inf; use finite numbers."),
        ("    return -float('inf')\n", "the value at position 0 is -inf"),
        ("    return float('nan')\n", "the value at position 0 is NaN"),
        ("    return 'loud'\n", "the value at position 0 is 'loud', not a number"),
        ("    return i > 5\n", "is False, not a number"),
        ("    return (1, 2)\n", "is (1, 2), not a number"),
        ("    x = 3\n", "is missing: the function returns nothing"),
        ("    return 1 / (i - 7)\n", "line 2"),
        ("    while True:\n        i += 1\n    return i\n", "steps"),
        ("    return 2 ** (2 ** i)\n", "position 4 is beyond"),
    ],
)
def test_a_row_that_does_not_do_it_is_told_why(body, words):
    report = verdict(body)
    assert not report.passed and report.points == 0.0 and report.error is None
    assert words in report.message and "Traceback" not in report.message


def test_an_endless_function_is_told_once():
    (check,) = verdict("    while True:\n        i += 1\n").checks
    assert [case.message.startswith("not run") for case in check.cases] == [False, True, True]


def test_a_function_of_the_position_alone_is_a_sentence():
    name = "breaking_value"
    report = judge(gather_text(f"def {name}(i):\n    return i\n", name, kind="host"), BREAKING)
    assert "takes 1 argument, and 2 were given" in report.message


def test_hiding_takes_more_than_a_constant_row():
    report = verdict("    return 3\n", FORGIVING)
    assert "all values are 3: make some of them differ" in report.message
    report = verdict("    return 1 + i * 1e-12\n", FORGIVING)
    assert "make some of them differ" in report.message, "in float32 these are equal"


def test_the_mistake_is_named():
    (check,) = verdict("    return 7.0 if i < 5 else -i * 0.5\n").checks
    assert [bug["id"] for bug in check.bugs] == ["maximum_in_first_tile"]
    (check,) = verdict("    return i * 0.5\n", FORGIVING).checks
    assert [bug["id"] for bug in check.bugs] == ["rising"]


def test_minus_infinity_where_it_is_allowed_and_a_row_on_which_the_right_kernel_fails_too():
    breaks = get(BREAKING).breaks
    values = np.zeros(600)
    values[:256] = -np.inf
    assert breaking._unfit(-np.inf, replace(breaks, infinite=True)) == ""
    assert breaking._unfit(np.inf, replace(breaks, infinite=True)).endswith("use finite numbers, or -inf.")
    swapped = replace(breaks, right=breaks.wrong)
    values = np.where(np.arange(600) == 599, 20.0, 0.0)
    problem, _ = breaking.trial(swapped, values, 2_000_000)
    assert problem.startswith("the right kernel fails on your row too (row 0, column ")


def test_one_row_is_float32_in_the_order_of_the_positions():
    inputs = one_row(np.array([0.0, 1.5, -2.0]))
    assert inputs.arrays["X"].tolist() == [[0.0, 1.5, -2.0]] and inputs.arrays["X"].dtype == np.float32
    assert np.isnan(inputs.arrays["Y"]).all() and inputs.arrays["Y"].shape == (1, 3)
