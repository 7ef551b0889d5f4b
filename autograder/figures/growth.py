"""Two quantities that grow at different rates, side by side on a scale of powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterable

from autograder.figures.svg import Canvas, Picture, fit, text_width


def growth_bars(
    entries: Iterable[tuple[str, float, float]], *, names: tuple[str, str], unit: str = "bytes", title: str = ""
) -> Picture:
    """Two bars for each entry (label, first, second), and how many times the first is the second.

    All to one logarithmic scale, with a line for each power of ten.
    ``names`` are those of the two bars. Raises ValueError for no entries or a value that is not above 0.
    """
    rows = [(str(label), float(a), float(b)) for label, a, b in entries]
    if not rows:
        raise ValueError("there is nothing to draw: give at least one (label, first, second)")
    if not all(0 < v < math.inf for _, a, b in rows for v in (a, b)):
        raise ValueError("a logarithmic scale needs finite values above 0")
    head = title or f"{names[0]} and {names[1]}, in {unit}"
    desc = " ".join(f"{label}: {_short(a)} and {_short(b)}, {a / b:.1f} times." for label, a, b in rows)
    low = math.floor(math.log10(min(min(a, b) for _, a, b in rows)) - 0.3)
    high = math.ceil(math.log10(max(max(a, b) for _, a, b in rows)))
    width = 720.0
    left = 24 + max(text_width(label, 12) for label, *_ in rows)
    tail = max(text_width(f"{a / b:,.1f}×", 13) for _, a, b in rows) + 20
    numbers = max(text_width(_short(v), 11) for _, a, b in rows for v in (a, b)) + 10
    scale = (width - left - tail - numbers) / max(1, high - low)

    def at(value: float) -> float:
        return left + (math.log10(value) - low) * scale

    c = Canvas(width, head, desc)
    c.text(14, 24, fit(head, width - 28, 14), size=14, bold=True)
    x = 14.0
    for color, name in (("st", names[0]), ("ld", names[1])):
        c.rect(x, 36, 12, 12, color)
        c.text(x + 17, 46, name, size=11.5)
        x += 36 + text_width(name, 11.5)
    c.text(width - 14, 46, f"{unit}, each line ten times the one before", "mut", size=11, anchor="end")
    top, bottom = 60.0, 60.0 + 46 * len(rows)
    for power in range(low, high + 1):
        c.line(left + (power - low) * scale, top, left + (power - low) * scale, bottom, "rule", width=0.7)
    y = top + 6
    for label, a, b in rows:
        c.text(left - 10, y + 21, label, size=12, anchor="end")
        for offset, value, color in ((0, a, "st"), (17, b, "ld")):
            c.rect(left, y + offset, at(value) - left, 15, color, tip=f"{label}: {_short(value)} {unit}")
            c.text(at(value) + 6, y + offset + 12, _short(value), size=11)
        c.text(width - 14, y + 21, f"{a / b:,.1f}×", size=13, anchor="end", bold=True)
        y += 46
    c.line(left, top, left, bottom, "fg")
    return Picture(c.finish(bottom + 12), head, desc)


def _short(value: float) -> str:
    """A number of bytes, or of anything, with three or four digits: 335.5 M, 17.2 G."""
    for limit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.1f} {letter}"
    return f"{value:.3g}"
