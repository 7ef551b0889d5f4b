"""The "answer" check of a break-it exercise: an input of the student's, run on a wrong and a right kernel.

The student's ``value(i, n)`` is worked out for every position by the bounded interpreter of host
functions; the kernels are the course's own. So nothing of the student's runs here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import exercises
from ..exercises.model import Break, Case, Check, Exercise
from ..report import CaseResult, CheckResult
from ..source import HostStepLimit, KernelSource, gather_text, run_host_over
from . import errors, launches, outputs
from .host import told
from .launches import Program
from .lines import Lines
from .outputs import Outcome
from .reports import NOT_RUN, answered

STEP_LIMIT = 1_000_000  # of all positions of one case: hundreds for each of them


@dataclass(frozen=True)
class Values:
    """The numbers of one case, float64 [n], or a sentence about why there are none."""

    numbers: np.ndarray
    problem: str = ""
    endless: bool = False


def answer(source: KernelSource, exercise: Exercise, check: Check, seed: int, step_limit: int) -> CheckResult:
    """Judge a value function on every case of a check."""
    results: list[CaseResult] = []
    given: list[Values] = []
    last = ""
    for case in check.cases:
        if given and given[-1].endless:
            message = f"{NOT_RUN}, because an earlier case did not end"
            results.append(CaseResult(case.name, case.group, False, None, message))
            continue
        values = evaluate(source, exercise.breaks, case, seed, min(step_limit, STEP_LIMIT))
        given.append(values)
        problem, told = (values.problem, "") if values.problem else trial(exercise.breaks, values.numbers, step_limit)
        results.append(CaseResult(case.name, case.group, not problem, None, problem or told))
        last = told or last
    failed = next((one for one in results if not one.passed), None)
    message = f"{failed.name}: {failed.message}" if failed else last
    return answered(exercise, check, results, _recognised(exercise, given) if failed else (), message)


def evaluate(source: KernelSource, breaks: Break, case: Case, seed: int, step_limit: int) -> Values:
    """The values at all positions of a case, or what is wrong with one of them. Never raises for the
    student's work."""
    n = int(case.make(seed).scalars["n"])
    numbers: list[float] = []
    try:
        for i, value in enumerate(run_host_over(source, ((i, n) for i in range(n)), step_limit)):
            problem = _unfit(value, breaks)
            if problem:
                return Values(np.zeros(0), f"the value at position {i} {problem}")
            numbers.append(float(value))
    except MemoryError:
        return Values(np.zeros(0), "This makes a number or text too large to keep.")
    except Exception as problem:
        sentence = errors.sentence(problem, Lines(source), None)
        return Values(np.zeros(0), sentence, endless=isinstance(problem, HostStepLimit))
    values = np.array(numbers)
    same = values.astype(np.float32) == np.float32(values[0])
    if not breaks.exposes and same.all():
        return Values(values, f"all values are {values[0]:g}: make some of them differ.")
    return Values(values)


def trial(breaks: Break, values: np.ndarray, step_limit: int) -> tuple[str, str]:
    """(what is wrong, what was seen when nothing is) for the values of one case: both kernels run on
    them, and both are held against the float64 reference."""
    right, wrong = (_judged(breaks, text, values, step_limit) for text in (breaks.right, breaks.wrong))
    if not right.passed:
        return (
            f"the right kernel fails on your {breaks.noun} too ({right.message.rstrip('.')}), so it tells nothing "
            "about the wrong one. Choose other values.",
            "",
        )
    share = f"its worst error is {_share(wrong)} of what is allowed"
    if breaks.exposes and wrong.passed:
        return f"the wrong kernel gets your {breaks.noun} right: {share}. {breaks.hint}".strip(), ""
    if not breaks.exposes and not wrong.passed:
        return f"the wrong kernel gets your {breaks.noun} wrong: {wrong.message} {breaks.hint}".strip(), ""
    if breaks.exposes:
        return "", (
            f"The wrong kernel gives itself away: {wrong.message} The right one is within "
            f"{_share(right)} of what is allowed."
        )
    return "", f"The wrong kernel gets your {breaks.noun} right: {share}. So a test with it proves nothing."


def _share(outcome: Outcome) -> str:
    fraction = outcome.fraction or 0.0
    return outputs.times_word(fraction) if fraction >= 0.01 else "less than 0.01"


def _judged(breaks: Break, text: str, values: np.ndarray, step_limit: int) -> Outcome:
    program = _program(breaks.of, text)
    run = launches.launch(program, breaks.inputs(values), step_limit=step_limit, record=False)
    return outputs.assess(program, run)


@lru_cache(maxsize=32)
def _program(exercise_id: str, text: str) -> Program:
    exercise = exercises.get(exercise_id)
    source = gather_text(text, exercise.name, kind=exercise.source_kind, origin="a kernel of the course")
    return launches.load(source, exercise)


def _unfit(value: object, breaks: Break) -> str:
    """What is wrong with one value, "" when it can be used."""
    if value is None:
        return "is missing: the function returns nothing. End it with `return` and a number."
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"is {told(value)}, not a number."
    if isinstance(value, float) and math.isnan(value):
        return "is NaN; use numbers."
    if value == -math.inf and breaks.infinite:
        return ""
    if isinstance(value, float) and math.isinf(value):
        return f"is {value}; use finite numbers{', or -inf' if breaks.infinite else ''}."
    if abs(value) > breaks.limit:
        return f"is beyond ±{breaks.limit:g}, the most that is allowed here."
    return ""


def _recognised(exercise: Exercise, given: list[Values]) -> tuple[dict[str, str], ...]:
    """The named bug that every case's values look like."""
    recognise = exercise.breaks.recognise
    seen = {recognise(one.numbers) for one in given if one.numbers.size} if recognise is not None else set()
    return tuple(
        {"id": bug.id, "title": bug.title, "message": bug.explain} for bug in exercise.bugs if seen == {bug.id}
    )

