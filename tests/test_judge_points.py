"""Points by case group, check ids, and lines of the canonical text as the student's own."""

import pytest

from autograder.exercises import get
from autograder.judge.ids import UnknownCheck, parse
from autograder.judge.lines import Lines
from autograder.judge.reports import WORDS_LIMIT, could_not_judge, earned, refused, shorten
from autograder.report import CaseResult
from autograder.source import KernelSource, SourceRefused


def cases(*outcomes):
    """("a", True) -> a case of group a that passes."""
    return [CaseResult(f"case {n}", group, passed, None, "") for n, (group, passed) in enumerate(outcomes)]


def test_each_group_earns_an_equal_share():
    two_of_three = cases(("a", True), ("b", True), ("b", True), ("c", False), ("c", True))
    assert earned(3, two_of_three) == 2.0
    assert earned(1, two_of_three) == 0.67


@pytest.mark.parametrize("points", [1, 2, 3, 0.5, 0.1])
@pytest.mark.parametrize("groups", [1, 3, 6, 7])
def test_shares_add_up_and_never_pass_the_points(points, groups):
    outcomes = [("g%d" % n, True) for n in range(groups)]
    assert earned(points, cases(*outcomes)) == points
    assert type(earned(points, cases(*outcomes))) is float
    for failed in range(1, groups + 1):
        partly = cases(*((name, n >= failed) for n, (name, _) in enumerate(outcomes)))
        assert 0.0 <= earned(points, partly) <= points


def test_nothing_is_earned_without_cases_or_when_all_fail():
    assert earned(2, []) == 0.0
    assert earned(2, cases(("a", False))) == 0.0


def test_five_failures_are_told_in_words():
    many = [CaseResult(f"c{n}", "g", False, 2.0, f"why {n}") for n in range(8)]
    told = [case.message for case in shorten(many)]
    assert told == [f"why {n}" for n in range(WORDS_LIMIT)] + ["fails too"] * 3


def test_an_id_names_an_exercise_or_one_check():
    exercise, checks = parse("lab2.online_softmax_tiled")
    assert [check.name for check in checks] == ["values", "rescale", "traffic", "safety"]
    exercise, checks = parse("lab2.online_softmax_tiled.rescale")
    assert (exercise.id, [check.name for check in checks]) == ("lab2.online_softmax_tiled", ["rescale"])


@pytest.mark.parametrize("wrong", ["lab2.online_softmax_tiled.rescal", "lab2.online_softmax_tild", "lab9.nothing", "", None, 3])
def test_an_unknown_id_is_a_sentence(wrong):
    with pytest.raises(UnknownCheck) as caught:
        parse(wrong)
    assert str(caught.value).endswith((".", "?"))
    if isinstance(wrong, str) and wrong.startswith("lab2"):
        assert "lab2.online_softmax_tiled" in str(caught.value)


def test_what_cannot_be_judged_still_names_its_points():
    report = could_not_judge("lab1.row_max.values", "x.py", "no kernel")
    assert (report.error, report.passed, report.points, report.max_points) == ("no kernel", False, 0.0, 1.0)
    assert could_not_judge("lab1.nothing", "x.py", "no kernel").max_points == 0.0


def test_an_untouched_stub_fails_and_a_refused_text_cannot_be_judged():
    stub = refused("lab1.row_max", "x.py", SourceRefused("`row_max` is not written yet", untouched=True))
    assert stub.error is None and not stub.passed and stub.points == 0.0
    assert [check.points for check in stub.checks] == [0.0] * len(get("lab1.row_max").checks)
    other = refused("lab1.row_max", "x.py", SourceRefused("`np.max` is not available", line=7))
    assert other.error.startswith("line 7: `np.max`")


def source_in_two_cells():
    text = "import math\n\ndef helper(x):\n    return x\n\ndef k(X):\n    helper(X)\n"
    return KernelSource("k", "kernel", text, "notebook", (0, 0, 2, 3, 0, 5, 6), ("", "", "cell 3", "cell 3", "", "cell 7", "cell 7"))


def test_lines_are_the_students_own():
    lines = Lines(source_in_two_cells())
    assert lines.rewrite("line 7 reads X; see line 4") == "line 6 reads X; see line 3 of cell 3"
    assert lines.rewrite("Lines 6 and 7 race") == "Lines 5 and 6 race"
    assert lines.rewrite("line 1 is ours, 7 threads wait") == "k is ours, 7 threads wait"
    assert lines.number(1) == 0 and lines.number(99) == 0
