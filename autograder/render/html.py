"""A Report as a self-contained piece of HTML.

Colours sit in ``style`` attributes and are legible on a light and a dark page; no script, no style
sheet, no picture. Where a sanitiser takes the styles away, headings, tables and words still carry all.
"""

from __future__ import annotations

import math
from html import escape

from ..report import CaseResult, CheckResult, Report
from .points import amount, named, of_points, other_findings, reading, shows_traffic, title, traffic_rows

GOOD, BAD = "#2f9e44", "#e03131"
CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top;border:0;background:transparent"
RIGHT = CELL.replace("text-align:left", "text-align:right")
NAME = f"{CELL};white-space:nowrap"
TABLE = "border-collapse:collapse;font-size:inherit;color:inherit;margin:2px 0"
CODE = "font-family:monospace;white-space:pre-wrap;background:transparent;color:inherit"


def html(report: Report) -> str:
    """The report as one ``<div>``."""
    parts = [_head(report)]
    if report.error is not None:
        parts.append(_paragraph(report.error))
    for check in report.checks:
        parts += _check(check, alone=len(report.checks) == 1)
    read = reading(report)
    if read:
        parts.append(_paragraph(f"Read again: {read}."))
    printed = report.details.get("printed", "")
    if printed:
        parts.append(
            f"<details><summary>The kernel printed</summary><pre style=\"{CODE}\">{escape(printed)}</pre></details>"
        )
    edge = GOOD if report.passed else BAD
    style = f"border-left:4px solid {edge};padding:4px 0 4px 12px;margin:4px 0;line-height:1.45"
    return f'<div class="autograder-report" style="{style}">{"".join(parts)}</div>'


def _head(report: Report) -> str:
    if report.error is not None:
        return f"<p><strong>{_mark(False)} {escape(report.exercise)}: could not be judged</strong></p>"
    score = of_points(report.points, report.max_points)
    return f"<p><strong>{_mark(report.passed)} {escape(title(report))}: {escape(score)}</strong></p>"


def _check(check: CheckResult, alone: bool) -> list[str]:
    parts = []
    if not alone:
        score = f"{amount(check.points)} of {amount(check.max_points)}"
        name = check.id.rsplit(".", 1)[-1]
        parts.append(f"<p><strong>{_mark(check.passed)} {escape(name)}: {escape(score)}</strong></p>")
    if check.passed or not check.cases:
        parts.append(_paragraph(check.message))
    for sentence in named(check):
        parts.append(_paragraph(sentence))
    failed = [case for case in check.cases if not case.passed]
    parts.append(_table(failed) if failed else "")
    others = other_findings(check) if not check.passed else []
    if others:
        parts.append(f"<ul>{''.join(f'<li>{escape(finding)}</li>' for finding in others)}</ul>")
    if shows_traffic(check):
        parts.append(_ledger(check))
    passed = [case for case in check.cases if case.passed]
    if passed:
        parts.append(_folded(f"{len(passed)} of {len(check.cases)} cases pass", _table(passed)))
    return parts


def _table(cases: list[CaseResult]) -> str:
    """Cases, one a row; the column of gate fractions only where there are any."""
    gated = any(case.gate_fraction is not None for case in cases)
    columns = [("", CELL), ("case", NAME), ("worst error ÷ allowed", RIGHT), ("", CELL)]
    rows = [_row("th", [column for n, column in enumerate(columns) if gated or n != 2])]
    for case in cases:
        cells = [(_mark(case.passed), CELL), (escape(case.name), NAME), (_fraction(case), RIGHT), (escape(case.message), CELL)]
        rows.append(_row("td", [cell for n, cell in enumerate(cells) if gated or n != 2]))
    return f'<table style="{TABLE}">{"".join(rows)}</table>'


def _ledger(check: CheckResult) -> str:
    names = ["line", "", "array", "bytes", "× its size", "sectors", "requests", "source"]
    styles = [RIGHT, CELL, CELL, RIGHT, RIGHT, RIGHT, RIGHT, CELL]
    head = _row("th", list(zip(names, styles, strict=True)))
    rows = []
    for row in traffic_rows(check):
        times = f"{row['times']:.2f}" if row.get("times") is not None else ""
        cells = [
            str(row["line"]), escape(row["op"]), escape(row["array"]), f"{row['bytes']:,}", times,
            f"{row['sectors']:,}", f"{row['requests']:,}",
            f'<code style="{CODE}">{escape(row["text"])}</code>',
        ]  # fmt: skip
        rows.append(_row("td", list(zip(cells, styles, strict=True))))
    return f'<table style="{TABLE}">{head}{"".join(rows)}</table>'


def _row(tag: str, cells: list[tuple[str, str]]) -> str:
    return "<tr>" + "".join(f'<{tag} style="{style}">{text}</{tag}>' for text, style in cells) + "</tr>"


def _fraction(case: CaseResult) -> str:
    value = case.gate_fraction
    if value is None:
        return ""
    if math.isinf(value) or math.isnan(value):
        return "∞"
    return f"{value:.2g}" if value < 1e4 else f"{value:.1e}"


def _mark(passed: bool) -> str:
    sign, colour = ("✓", GOOD) if passed else ("✗", BAD)
    return f'<span style="color:{colour}">{sign}</span>'


def _paragraph(text: str) -> str:
    return f'<p style="margin:2px 0">{escape(text)}</p>' if text else ""


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"
