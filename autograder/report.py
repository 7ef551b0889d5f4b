"""The verdict on one submission of one exercise, as data. Words and HTML are made elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class CaseResult:
    """One case. ``gate_fraction`` is the worst error as a share of the allowed error (1.0 is the
    limit, inf for a NaN or a missing value), None where the case has no numeric gate."""

    name: str
    group: str
    passed: bool
    gate_fraction: float | None
    message: str


@dataclass(frozen=True)
class CheckResult:
    """One check of an exercise: ``id`` is "lab2.online_softmax_tiled.rescale".

    ``bug`` is None or {"id", "title", "message"}: the known mistake that the output matches;
    ``findings`` are sanitizer sentences; ``traffic`` holds the six totals of the first case that
    was traced, and ``ledger`` its lines, each a dict of simulator.trace.LineTraffic's fields.
    """

    id: str
    passed: bool
    points: float
    max_points: float
    cases: tuple[CaseResult, ...] = ()
    bug: dict[str, str] | None = None
    bugs: tuple[dict[str, str], ...] = ()
    findings: tuple[str, ...] = ()
    traffic: dict[str, int] | None = None
    ledger: tuple[dict[str, Any], ...] = ()
    message: str = ""


@dataclass(frozen=True)
class Report:
    """The verdict on one exercise. ``error`` is set when it could not be judged at all (status 2):
    then ``checks`` is empty and ``passed`` is False."""

    exercise: str
    source: str
    passed: bool
    points: float
    max_points: float
    checks: tuple[CheckResult, ...] = ()
    message: str = ""
    error: str | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """A plain dict, ready for ``json.dumps``; inf and NaN gate fractions become the strings
        "inf" and "nan" so that every JSON reader takes it."""
        return _plain(asdict(self))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value
