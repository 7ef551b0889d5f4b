"""The running state (m, d) of online softmax, tile by tile, as numbers and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class State:
    """The state after one step. ``factor`` is e^(m before − m after), what the old ``d`` was
    multiplied by; ``x`` are the elements that were folded in."""

    step: int
    x: tuple[float, ...]
    m: float
    factor: float
    d: float


@dataclass(frozen=True, repr=False)
class Html:
    """A piece of HTML that shows itself in a notebook; ``repr`` is the same thing in plain text."""

    html: str
    text: str

    def __str__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def online_states(row: Sequence[float], tile: int = 1) -> tuple[State, ...]:
    """The states of online softmax over ``row``, ``tile`` elements at a time, in float64.

    Correct first, then add: ``d = d * e^(m - m_new) + sum e^(x - m_new)``. While everything seen is
    −inf the state stays (−inf, 0). Raises ValueError when ``tile`` is below 1.
    """
    if tile < 1:
        raise ValueError(f"a tile holds at least one element, not {tile}")
    states = []
    m, d = -math.inf, 0.0
    for step, start in enumerate(range(0, len(row), tile), start=1):
        part = tuple(float(x) for x in row[start : start + tile])
        top = max(m, *part)
        if top == -math.inf:
            factor = 1.0
        else:
            factor = math.exp(m - top)
            d = d * factor + sum(math.exp(x - top) for x in part)
        m = top
        states.append(State(step, part, m, factor, d))
    return tuple(states)


def state_table(rows: Iterable[Any], *, digits: int = 4, caption: str = "") -> Html:
    """A table of ``rows``, each a :class:`State`, a mapping with its fields, or a tuple in the order
    (step, x, m, factor, d). ``x`` may be one number or a tile of them; floats get ``digits`` decimals.
    """
    heads = ("step", "x", "m", "factor", "d")
    shown = [_cells(row, digits) for row in rows]
    body = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:right;font-family:monospace">{escape(c)}</td>' for c in row)
        + "</tr>"
        for row in shown
    )
    top = "".join(f'<th style="text-align:right">{head}</th>' for head in heads)
    label = f"<caption>{escape(caption)}</caption>" if caption else ""
    html = f"<table>{label}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    widths = [max(len(head), *(len(r[k]) for r in shown), 0) for k, head in enumerate(heads)]
    lines = ["  ".join(head.rjust(w) for head, w in zip(heads, widths))]
    lines += ["  ".join(cell.rjust(w) for cell, w in zip(row, widths)) for row in shown]
    return Html(html, "\n".join(([caption] if caption else []) + lines))


def _cells(row: Any, digits: int) -> tuple[str, ...]:
    if isinstance(row, Mapping):
        values = tuple(row[name] for name in ("step", "x", "m", "factor", "d"))
    elif isinstance(row, State):
        values = (row.step, row.x, row.m, row.factor, row.d)
    else:
        values = tuple(row)
        if len(values) != 5:
            raise ValueError(f"a row needs (step, x, m, factor, d), this one has {len(values)} values")
    step, x, *rest = values
    many = x if isinstance(x, (tuple, list)) else None
    shown = " ".join(_plain(v) for v in many) if many is not None else _plain(x)
    return (_plain(step), shown, *(_fixed(v, digits) for v in rest))


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    number = float(value)
    if math.isinf(number):
        return "−∞" if number < 0 else "∞"
    return f"{number:g}".replace("-", "−")


def _fixed(value: Any, digits: int) -> str:
    if isinstance(value, str):
        return value
    number = float(value)
    if math.isinf(number) or math.isnan(number):
        return "NaN" if math.isnan(number) else _plain(number)
    return f"{number:.{digits}f}".replace("-", "−")
