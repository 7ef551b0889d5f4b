"""Jobs and reports as JSON lines, the language of the judging child's two pipes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ..report import CaseResult, CheckResult, Report

def encode(message: dict[str, Any]) -> bytes:
    """One JSON object as one line. NaN and inf are kept (both ends are this package)."""
    return (json.dumps(message, separators=(",", ":"), default=_number) + "\n").encode("utf-8")


def decode(line: bytes) -> dict[str, Any]:
    """The object of one line. Raises ValueError when the line is not a JSON object."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a message must be a JSON object")
    return message


def report_to_dict(report: Report) -> dict[str, Any]:
    """The fields of a report, nested ones too."""
    return asdict(report)


def report_from_dict(data: dict[str, Any]) -> Report:
    """The report of :func:`report_to_dict` (lists become the tuples they were)."""
    checks = tuple(_check(check) for check in data["checks"])
    return Report(**{**data, "checks": checks})


def _check(data: dict[str, Any]) -> CheckResult:
    cases = tuple(CaseResult(**case) for case in data["cases"])
    tuples = {name: tuple(data[name]) for name in ("bugs", "findings", "ledger")}
    return CheckResult(**{**data, **tuples, "cases": cases})


def _number(value: Any) -> Any:
    """NumPy numbers as Python's: a judge's figure must never stop its report."""
    if hasattr(value, "item"):
        return value.item()
    return str(value)
