"""The traffic ledger: what each source line moved, as rows, as text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from autograder.figures.states import Html

_OPS = {"load": 0, "store": 1, "atomic": 2}


@dataclass(frozen=True)
class LedgerRow:
    """One source line, array and direction.

    ``times``: bytes as a multiple of the array's own size, None where that means nothing (shared and
    local memory, or an unknown size); ``per_request``: average sectors of a request (global only);
    ``scattered``: at least four sectors a request and no more than half of their bytes asked for.
    """

    function: str
    line: int
    text: str
    array: str
    space: str
    op: str
    requests: int
    sectors: int
    bytes: int
    times: float | None
    per_request: float | None
    scattered: bool


def is_scattered(requests: float, sectors: float, bytes_: float) -> bool:
    """Whether neighbouring lanes go to places so far apart that half or more of the traffic is waste."""
    return requests > 0 and sectors >= 4 * requests and bytes_ * 2 <= sectors * 32


def array_sizes(trace: Any) -> dict[str, int]:
    """Bytes of the elements of each global array of ``trace``, by name."""
    return {
        a.name: math.prod(a.shape) * np.dtype(a.dtype).itemsize
        for a in trace.arrays
        if a.space == "global"
    }


def ledger_rows(lines: Iterable[Any], sizes: Mapping[str, int] | None = None) -> tuple[LedgerRow, ...]:
    """The rows of a ledger in source order.

    ``lines`` are :class:`LineTraffic` objects or dicts of their fields; ``sizes`` gives the bytes of
    each global array (see :func:`array_sizes`).
    """
    sizes = sizes or {}
    items = [line if isinstance(line, Mapping) else vars(line) for line in lines]
    files: dict[str, int] = {}
    for item in items:
        files.setdefault(item["filename"], len(files))
    items.sort(key=lambda i: (files[i["filename"]], i["line"], i["space"] != "global", i["array"],
                              _OPS.get(i["op"], 3)))
    rows = []
    for i in items:
        is_global = i["space"] == "global"
        size = sizes.get(i["array"]) if is_global else None
        rows.append(
            LedgerRow(
                i["function"], i["line"], i["text"], i["array"], i["space"], i["op"],
                i["requests"], i["sectors"], i["bytes"],
                i["bytes"] / size if size else None,
                i["sectors"] / i["requests"] if is_global and i["requests"] else None,
                is_global and is_scattered(i["requests"], i["sectors"], i["bytes"]),
            )
        )
    return tuple(rows)


def ledger_notes(rows: Iterable[LedgerRow]) -> tuple[str, ...]:
    """Sentences about the rows: how often each array crosses, and which lines are scattered."""
    rows = tuple(rows)
    notes = []
    for name in dict.fromkeys(row.array for row in rows if row.times is not None):
        loads = sum(r.times or 0 for r in rows if r.array == name and r.op == "load" and r.times)
        stores = sum(r.times or 0 for r in rows if r.array == name and r.op != "load" and r.times)
        parts = [f"loads ask for {_times(loads)}"] if loads else []
        parts += [f"stores {'' if loads else 'ask '}for {_times(stores)}"] if stores else []
        if parts:
            notes.append(f"{name}: {', '.join(parts)} its size.")
    alike: dict[tuple[str, str, str, int], list[int]] = {}
    for row in rows:
        if row.scattered and row.per_request:
            fewest = max(1, math.ceil(row.bytes / row.requests / 32))
            alike.setdefault((row.op, row.array, f"{row.per_request:.3g}", fewest), []).append(row.line)
    for (op, name, each, fewest), lines in alike.items():
        where = f"Line {lines[0]}" if len(lines) == 1 else f"Lines {', '.join(map(str, lines))}"
        notes.append(
            f"{where}: each {op} request of {name} touches {each} sectors where {fewest} would do:"
            " neighbouring lanes use addresses that are far apart."
        )
    return tuple(notes)


HEADS = ("line", "source", "array", "space", "op", "requests", "sectors", "sectors/request", "bytes",
         "× array")
_LEFT = {"source", "array", "space", "op"}


def ledger_text(rows: Iterable[LedgerRow], traffic: Any = None, *, source_width: int = 44) -> str:
    """The ledger as an aligned table for a terminal, with totals of global memory below."""
    rows = tuple(rows)
    if not rows:
        return "The kernel touched no memory."
    table = [_cells(row) for row in rows]
    table += _totals(rows, traffic)
    table = [(c[0], _cut(c[1], source_width), *c[2:]) for c in table]
    widths = [max(len(head), *(len(row[k]) for row in table)) for k, head in enumerate(HEADS)]
    body = len(rows)

    def join(cells: tuple[str, ...]) -> str:
        return "  ".join(
            cell.ljust(w) if head in _LEFT else cell.rjust(w)
            for cell, w, head in zip(cells, widths, HEADS)
        ).rstrip()

    rule = "  ".join("-" * w for w in widths)
    out = [join(HEADS), rule, *(join(row) for row in table[:body])]
    if table[body:]:
        out += [rule, *(join(row) for row in table[body:])]
    return "\n".join(out)


def ledger_html(rows: Iterable[LedgerRow], traffic: Any = None) -> str:
    """The ledger as an HTML table, with totals of global memory below."""
    rows = tuple(rows)
    if not rows:
        return "<p>The kernel touched no memory.</p>"
    cell = "padding:2px 8px;white-space:nowrap;"

    def line(cells: tuple[str, ...], *, strong: bool = False, scattered: bool = False) -> str:
        out = []
        for head, value in zip(HEADS, cells):
            style = cell + f"text-align:{'left' if head in _LEFT else 'right'};"
            style += "font-weight:600;border-top:1px solid;" if strong else ""
            if scattered and head == "sectors/request":
                style += "font-weight:600;color:#cf3e33;"
                value += " scattered"
            shown = escape(value)
            if head in ("source", "array") and value and not strong:
                shown = f'<code style="white-space:pre">{shown}</code>'
            out.append(f'<td style="{style}">{shown}</td>')
        return f"<tr>{''.join(out)}</tr>"

    head = "".join(
        f'<th scope="col" style="{cell}text-align:{"left" if h in _LEFT else "right"};">{h}</th>'
        for h in HEADS
    )
    body = "".join(line(_cells(row), scattered=row.scattered) for row in rows)
    foot = "".join(line(total, strong=True) for total in _totals(rows, traffic))
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;font-size:13px">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody><tfoot>{foot}</tfoot></table></div>"
    )


def ledger(trace: Any) -> Html:
    """The ledger of one trace, ready to show."""
    rows = ledger_rows(trace.lines, array_sizes(trace))
    notes = ledger_notes(rows)
    html = ledger_html(rows, trace.traffic) + "".join(f"<div>{escape(n)}</div>" for n in notes)
    return Html(html, "\n".join([ledger_text(rows, trace.traffic), *notes]))


def _cells(row: LedgerRow) -> tuple[str, ...]:
    is_global = row.space == "global"
    return (
        str(row.line), row.text, row.array, row.space, row.op, f"{row.requests:,}",
        f"{row.sectors:,}" if is_global else "–",
        f"{row.per_request:.2f}" if row.per_request is not None else "–",
        f"{row.bytes:,}",
        _multiple(row.times),
    )


def _totals(rows: tuple[LedgerRow, ...], traffic: Any) -> list[tuple[str, ...]]:
    """Totals of global memory, from ``traffic`` or, without it, from the rows."""
    out = []
    for op, word in (("load", "all global loads"), ("store", "all global stores")):
        if traffic is None:
            mine = [r for r in rows if r.space == "global" and (r.op == "load") == (op == "load")]
            requests, sectors, size = (sum(getattr(r, f) for r in mine)
                                       for f in ("requests", "sectors", "bytes"))
        else:
            requests, sectors, size = (getattr(traffic, f"{op}_{f}")
                                       for f in ("requests", "sectors", "bytes"))
        each = f"{sectors / requests:.2f}" if requests else "–"
        out.append(("", word, "", "global", op, f"{requests:,}", f"{sectors:,}", each, f"{size:,}", ""))
    return out


def _times(value: float) -> str:
    if value < 0.01:
        return "less than 0.01×"
    return f"{value:.2f}".rstrip("0").rstrip(".") + "×"


def _multiple(times: float | None) -> str:
    if times is None:
        return "–"
    return "<0.01" if 0 < times < 0.01 else f"{times:.2f}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
