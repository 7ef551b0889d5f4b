"""A Report in words: the verdict first, then what fails and what to do, at most 25 lines or so."""

from __future__ import annotations

import textwrap

from ..report import CheckResult, Report
from .points import alike, amount, is_not_run, named, of_points, other_findings, reading, shows_traffic, title, traffic_rows

WIDTH = 100
CASES = 5  # failing cases shown of a check judged alone
CASES_EACH = 2  # of each check of a whole exercise
LEDGER = 8  # lines of traffic shown


def words(report: Report, *, width: int = WIDTH, max_lines: int = 25) -> str:
    """The report as plain text without a trailing newline."""
    if report.error is not None:
        return "\n".join(_wrap(f"{report.exercise}: could not be judged: {report.error}", "", width))
    lines = [_verdict(report)]
    if len(report.checks) == 1:
        lines += _check(report.checks[0], CASES, width)
    elif _one_reason(report):
        lines += _wrap(report.message, "  ", width)
    else:
        for check in report.checks:
            lines += _wrap(_check_line(check), "  ", width)
            lines += [f"  {line}" for line in _check(check, CASES_EACH, width - 2)] if not check.passed else []
    read = reading(report)
    tail = _wrap(f"Read again: {read}.", "  ", width) if read else []
    tail += _printed(report, width)
    room = max_lines - len(tail)
    if len(lines) > room:
        lines = [*lines[: room - 1], "  … (more in the table, or with --json)"]
    return "\n".join([*lines, *tail])


def _verdict(report: Report) -> str:
    mark = "PASSED" if report.passed else "NOT YET"
    line = f"{mark}  {title(report)}: {of_points(report.points, report.max_points)}"
    return f"{line}. {report.message}" if report.passed else f"{line}."


def _one_reason(report: Report) -> bool:
    """All checks fail for the same reason: say it once."""
    return len({check.message for check in report.checks}) == 1 and not any(c.cases for c in report.checks)


def _check_line(check: CheckResult) -> str:
    name = check.id.rsplit(".", 1)[-1]
    score = f"{amount(check.points)} of {amount(check.max_points)}"
    return f"{name}: passed, {score}. {check.message}" if check.passed else f"{name}: not yet, {score}."


def _check(check: CheckResult, most: int, width: int) -> list[str]:
    failed = [case for case in check.cases if not case.passed and not is_not_run(case)]
    skipped = sum(is_not_run(case) for case in check.cases)
    lines: list[str] = []
    if not check.passed and not failed:
        lines += _wrap(check.message, "  ", width)
    told: set[str] = set()
    for case in failed[:most]:
        kind = alike(case) or case.message
        message = "the same" if kind and kind in told else case.message
        told.add(kind)
        lines += _wrap(f"✗ {case.name}: {message}", "  ", width, hang="    ")
    if len(failed) > most:
        lines.append(f"  ✗ and {len(failed) - most} more of {len(check.cases)} cases")
    if skipped:
        lines.append(f"  ✗ {skipped} {'case was' if skipped == 1 else 'cases were'} not run after that")
    for sentence in named(check):
        lines += _wrap(sentence, "  ", width, hang="    ")
    if not check.passed:
        for finding in other_findings(check):
            lines += _wrap(f"! {finding}", "  ", width, hang="    ")
    if shows_traffic(check):
        lines += _ledger(check, width)
    return lines


def _ledger(check: CheckResult, width: int) -> list[str]:
    rows = traffic_rows(check)
    lines = [f"  {'line':>5}  {'':5} {'array':<6} {'bytes':>9} {'× size':>7} {'sectors':>8} {'requests':>8}"]
    for row in rows[:LEDGER]:
        times = f"{row['times']:.2f}" if row.get("times") is not None else ""
        start = (
            f"  {row['line']:>5}  {row['op']:5} {row['array']:<6} {row['bytes']:>9,} {times:>7} "
            f"{row['sectors']:>8,} {row['requests']:>8,}  "
        )
        lines.append(start + textwrap.shorten(row["text"], max(12, width - len(start)), placeholder="…"))
    if len(rows) > LEDGER:
        lines.append(f"  and {len(rows) - LEDGER} more lines")
    return lines


def _printed(report: Report, width: int) -> list[str]:
    text = report.details.get("printed", "")
    if not text:
        return []
    printed = text.splitlines()
    shown = [f"    {line[: width - 4]}" for line in printed[:3]]
    more = [f"    … {len(printed) - 3} more lines"] if len(printed) > 3 else []
    return ["  The kernel printed:", *shown, *more]


def _wrap(text: str, indent: str, width: int, hang: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        width=max(40, width),
        initial_indent=indent,
        subsequent_indent=indent if hang is None else hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
