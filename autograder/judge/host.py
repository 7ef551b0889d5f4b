"""The "answer" check of a host exercise: a formula or a choice, held against the right one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..exercises.model import Check, Exercise, Inputs
from ..report import CaseResult, CheckResult
from ..source import HostStepLimit, KernelSource, gather_text, run_host
from . import errors
from .lines import Lines
from .reports import NOT_RUN, answered

STEP_LIMIT = 400_000  # of one call: a loop over every element of the sizes asked for still fits


@dataclass(frozen=True)
class Answer:
    """What a host function gave: a value, or a sentence about why it gave none."""

    value: Any = None
    problem: str = ""
    endless: bool = False


def answer(source: KernelSource, exercise: Exercise, check: Check, seed: int, step_limit: int) -> CheckResult:
    """Judge a host function on every case of a check."""
    given: list[tuple[Inputs, Answer]] = []
    results: list[CaseResult] = []
    for case in check.cases:
        if given and given[-1][1].endless:
            message = f"{NOT_RUN}, because an earlier case did not end"
        else:
            inputs = case.make(seed)
            found = call(source, inputs, min(step_limit, STEP_LIMIT))
            given.append((inputs, found))
            message = found.problem or compare(found.value, exercise.reference(inputs), inputs)
        results.append(CaseResult(case.name, case.group, not message, None, message))
    failed = next((one for one in results if not one.passed), None)
    message = failed.message if failed else f"Right for all {len(results)} sizes."
    return answered(exercise, check, results, matching_bugs(exercise, given) if failed else (), message)


def call(source: KernelSource, inputs: Inputs, step_limit: int) -> Answer:
    """The function's answer. Never raises for the student's work."""
    try:
        return Answer(run_host(source, list(inputs.scalars.values()), step_limit))
    except MemoryError:
        return Answer(problem="This makes a number or text too large to keep.")
    except Exception as problem:
        sentence = errors.sentence(problem, Lines(source), None)
        return Answer(problem=sentence, endless=isinstance(problem, HostStepLimit))


def compare(value: Any, right: Any, inputs: Inputs) -> str:
    """"" when the value is right. Otherwise what is wrong with it, without giving the right value."""
    where = ", ".join(f"{name}={number:,}" if isinstance(number, int) else f"{name}={number:g}"
                      for name, number in inputs.scalars.items())  # fmt: skip
    if value is None:
        return f"{where}: the function returns nothing. End it with `return` and your formula."
    if isinstance(right, str):
        if not isinstance(value, str):
            return f"{where}: the answer must be a text, not {told(value)}."
        return "" if value == right else f"{where}: {told(value)} is not the right choice."
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{where}: the answer must be a number, not {told(value)}."
    if isinstance(value, float) and not math.isfinite(value):
        return f"{where}: the answer is {value}, not a finite number."
    if value == right or (isinstance(right, float) and math.isclose(value, right, rel_tol=1e-6)):
        return ""
    return f"{where}: your {_short(value)} is {_distance(value, right)}."


def told(value: Any) -> str:
    """A value in few characters. A tuple may hold tuples a thousand deep, which Python cannot write out."""
    try:
        return f"{value!r:.60}"
    except RecursionError:
        return "a tuple in a tuple, and so on"


def matching_bugs(exercise: Exercise, given: list[tuple[Inputs, Answer]]) -> tuple[dict[str, str], ...]:
    """The named bugs that give the same value in every case."""
    found = []
    for bug in exercise.bugs:
        source = gather_text(bug.text, exercise.name, kind="host", origin="a known mistake")
        wrong = [call(source, inputs, STEP_LIMIT) for inputs, _ in given]
        if all(a.value == b.value and not b.problem for a, (_, b) in zip(wrong, given, strict=True)):
            found.append({"id": bug.id, "title": bug.title, "message": bug.explain})
    return tuple(found)


def _distance(value: float, right: float) -> str:
    if right == 0 or value <= 0:
        return "too small" if value < right else "too large"
    ratio = value / right
    if ratio > 1:
        return f"too large by a factor of {_factor(ratio)}"
    return f"too small by a factor of {_factor(1 / ratio)}"


def _factor(ratio: float) -> str:
    return f"{ratio:.4g}" if ratio >= 1.001 else "less than 1.001"


def _short(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**15 else "number"
    return f"{value:,.6g}"
