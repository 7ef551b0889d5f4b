"""Putting verdicts together: points of a check, the report of an exercise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..exercises.model import Check, Exercise
from ..report import CaseResult, CheckResult, Report
from ..source import SourceRefused
from .ids import UnknownCheck, parse

NOT_RUN = "not run"  # how the message of a case begins that was left out
UNWRITTEN = "unwritten"  # in a report's details: the function is still as it was handed out
WORDS_LIMIT = 5  # failures that are told in words; the rest are counted


def earned(points: float, cases: Sequence[CaseResult]) -> float:
    """Points for the groups whose cases all pass, each group an equal share.

    Rounded to hundredths of a point, and exactly ``points`` when every group passes.
    """
    groups: dict[str, bool] = {}
    for case in cases:
        groups[case.group] = groups.get(case.group, True) and case.passed
    passed = sum(groups.values())
    if not groups or passed == 0:
        return 0.0
    if passed == len(groups):
        return float(points)
    return float(min(round(points * passed / len(groups), 2), points))


def shorten(cases: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    """The same cases; after five failures told in words the later ones only say that they fail."""
    told = 0
    result = []
    for case in cases:
        if not case.passed and not case.message.startswith(NOT_RUN):
            told += 1
            if told > WORDS_LIMIT:
                case = CaseResult(case.name, case.group, False, case.gate_fraction, "fails too")
        result.append(case)
    return tuple(result)


def answered(
    exercise: Exercise,
    check: Check,
    results: Iterable[CaseResult],
    named: tuple[dict[str, str], ...],
    message: str,
    **more: Any,
) -> CheckResult:
    """The result of one check from those of its cases; ``more`` are further fields of it."""
    cases = shorten(results)
    return CheckResult(
        id=f"{exercise.id}.{check.name}",
        passed=all(case.passed for case in cases),
        points=earned(check.points, cases),
        max_points=float(check.points),
        cases=cases,
        bug=named[0] if named else None,
        bugs=named,
        message=message,
        **more,
    )


def assemble(exercise: Exercise, origin: str, checks: Sequence[CheckResult]) -> Report:
    """The report of the checks that were run."""
    failed = [check for check in checks if not check.passed]
    if failed:
        message = failed[0].message
    elif len(checks) == 1:
        message = checks[0].message
    else:
        message = f"All {len(checks)} checks pass."
    return Report(
        exercise=exercise.id,
        source=origin,
        passed=not failed,
        points=round(sum(check.points for check in checks), 2),
        max_points=float(sum(check.max_points for check in checks)),
        checks=tuple(checks),
        message=message,
    )


def all_fail(exercise: Exercise, checks: Sequence[Check], origin: str, sentence: str) -> Report:
    """The report on work that fails every check for one reason, before any case could tell more."""
    results = [
        CheckResult(
            id=f"{exercise.id}.{check.name}",
            passed=False,
            points=0.0,
            max_points=float(check.points),
            message=sentence,
        )
        for check in checks
    ]
    return assemble(exercise, origin, results)


def refused(check_id: object, origin: str, refusal: SourceRefused) -> Report:
    """The report on a text that the source rules refuse. One that nobody has written yet fails its
    checks, like any unfinished work; everything else cannot be judged."""
    sentence = str(refusal)
    if refusal.untouched:
        try:
            exercise, checks = parse(check_id)
        except UnknownCheck:
            return could_not_judge(check_id, origin, sentence)
        report = all_fail(exercise, checks, origin, f"{sentence.rstrip('.')}. Write it, then check it again.")
        return replace(report, details={**report.details, UNWRITTEN: True})
    return could_not_judge(check_id, origin, sentence)


def could_not_judge(check_id: object, origin: str, sentence: str) -> Report:
    """The report on something that cannot be judged at all. ``max_points`` is what could have been
    earned, where the id is a known one."""
    try:
        exercise, checks = parse(check_id)
    except UnknownCheck:
        name, most = str(check_id), 0.0
    else:
        name, most = exercise.id, float(sum(check.points for check in checks))
    return Report(
        exercise=name,
        source=origin,
        passed=False,
        points=0.0,
        max_points=most,
        message=sentence,
        error=sentence,
    )
