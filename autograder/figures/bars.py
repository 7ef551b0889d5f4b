"""Bars that compare the traffic of several kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograder.figures.svg import Canvas, Picture, fit, text_width

UNITS = ("bytes", "sectors", "requests")


def traffic_bars(
    entries: Iterable[tuple[str, Any]], *, unit: str = "bytes", title: str = ""
) -> Picture:
    """One bar for each kernel, loads and stores side by side in it, all to one scale.

    ``entries``: pairs of a name and a ``Traffic``, a ``Trace``, or a (loads, stores) pair of numbers
    in ``unit``, which is "bytes", "sectors" or "requests". Raises ValueError for another unit or for
    no entries.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}; it must be 'bytes', 'sectors' or 'requests'")
    rows = [(name, *_pair(value, unit)) for name, value in entries]
    if not rows:
        raise ValueError("there is nothing to draw: give at least one (name, traffic) pair")
    head = title or f"Global memory traffic in {unit}"
    both = any(stores for *_, stores in rows) and any(loads for _, loads, _ in rows)
    desc = " ".join(f"{name}: {loads:,} loaded, {stores:,} stored." for name, loads, stores in rows)
    width = 720.0
    labels = min(220.0, max(text_width(name, 12) for name, *_ in rows) + 12)
    c = Canvas(width, head, desc)
    c.text(14, 24, fit(head, width - 28, 14), size=14, bold=True)
    for x, color, word, number in ((14, "ld", "loads", 1), (84, "st", "stores", 2)):
        if both or any(row[number] for row in rows):
            at = x if both else 14
            c.rect(at, 36, 12, 12, color)
            c.text(at + 17, 46, word, size=11.5)
    most = max(loads + stores for _, loads, stores in rows) or 1
    left = 14 + labels
    tail = max(text_width(_total(a, b, both), 11.5) for _, a, b in rows) + 16
    scale = (width - left - tail - 10) / most
    y = 60.0
    for name, loads, stores in rows:
        c.text(left - 8, y + 18, fit(name, labels - 8, 12), size=12, anchor="end")
        a, b = loads * scale, stores * scale
        if loads:
            c.rect(left, y + 2, a, 24, "ld", tip=f"{name}: {loads:,} {unit} loaded")
        if stores:
            c.rect(left + a, y + 2, b, 24, "st", tip=f"{name}: {stores:,} {unit} stored")
        c.text(left + a + b + 8, y + 18, _total(loads, stores, both), size=11.5)
        y += 34
    c.line(left, 58, left, y - 2, "fg")
    return Picture(c.finish(y + 8), head, desc)


def _total(loads: int, stores: int, both: bool) -> str:
    return f"{loads:,} + {stores:,} = {loads + stores:,}" if both else f"{loads + stores:,}"


def _pair(value: Any, unit: str) -> tuple[int, int]:
    traffic = getattr(value, "traffic", value)
    if hasattr(traffic, f"load_{unit}"):
        return getattr(traffic, f"load_{unit}"), getattr(traffic, f"store_{unit}")
    loads, stores = traffic
    return loads, stores
