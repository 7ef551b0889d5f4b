"""Points and verdicts in few characters."""

from __future__ import annotations

import re
from typing import Any

from ..judge.reports import NOT_RUN, UNWRITTEN
from ..report import CaseResult, CheckResult, Report


def amount(points: float) -> str:
    """1.5 as "1.5", 2.0 as "2"."""
    return f"{points:g}"


def of_points(points: float, most: float) -> str:
    """ "1.5 of 3 points", "1 of 1 point"."""
    return f"{amount(points)} of {amount(most)} {'point' if most == 1 else 'points'}"


def title(report: Report) -> str:
    """What was judged: the check's id when it is one check, the exercise's otherwise."""
    return report.checks[0].id if len(report.checks) == 1 else report.exercise


def traffic_rows(check: CheckResult) -> list[dict[str, Any]]:
    """The ledger's lines that touch global memory, in order of the source."""
    rows = [row for row in check.ledger if row.get("space") == "global"]
    return sorted(rows, key=lambda row: row["line"])


def shows_traffic(check: CheckResult) -> bool:
    """Whether the ledger belongs into the verdict: it is the traffic check."""
    return check.id.endswith(".traffic") and bool(traffic_rows(check))


def is_not_run(case: CaseResult) -> bool:
    """Whether a case was left out because an earlier one had used up the check's time."""
    return case.message.startswith(NOT_RUN)


def alike(case: CaseResult) -> str:
    """What two failures share that differ in numbers only; "" for a failure of the numeric gate, whose
    numbers are what it has to say."""
    return "" if case.gate_fraction is not None else re.sub(r"\d[\d,.]*", "#", case.message)


def other_findings(check: CheckResult) -> list[str]:
    """The findings that the failing cases have not told already, with the count of those beyond."""
    told = " ".join(case.message for case in check.cases if not case.passed)
    others = [finding for finding in check.findings if finding not in told]
    return others if any(not finding.startswith("and ") for finding in others) else []


def named(check: CheckResult) -> list[str]:
    """What the failure looks like: one sentence, or several when it could be more than one thing."""
    if len(check.bugs) == 1:
        bug = check.bugs[0]
        return [f"This looks like: {bug['title']}. {bug['message']}"]
    if not check.bugs:
        return []
    titles = [bug["title"] for bug in check.bugs]
    first = f"This looks like: {'; '.join(titles[:-1])}; or {titles[-1]}."
    return [first, *(f"{bug['title']}: {bug['message']}" for bug in check.bugs[:2])]


def reading(report: Report) -> str:
    """Where to read about the exercise, "" when nothing is known or nothing is needed."""
    if report.passed or report.details.get(UNWRITTEN):
        return ""
    from ..exercises import get

    try:
        return get(report.exercise).read
    except KeyError:
        return ""
