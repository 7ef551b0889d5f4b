"""A tree reduction in shared memory, step by step, with its barriers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.figures.svg import Canvas, Picture, text_width

_OPS: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "max": ("maximum", max),
    "sum": ("sum", lambda a, b: a + b),
}


@dataclass(frozen=True, repr=False)
class Tree(Picture):
    """``steps`` halving steps; ``levels`` holds the values after each, the first being the input;
    ``result`` is the one that is left."""

    steps: int = 0
    levels: tuple[tuple[float, ...], ...] = ()
    result: float = math.nan


def tree_picture(
    values: Sequence[float], op: str = "max", *, name: str = "red", barrier: bool = True
) -> Tree:
    """The reduction of ``values`` by halving: in each step thread t takes place t + stride into place t.

    ``op`` is "max" or "sum"; ``name`` is the shared array's name; ``barrier=False`` draws the tree
    without its barriers (to talk about what goes wrong). The length must be a power of two up to 16:
    anything else raises ValueError.
    """
    if op not in _OPS:
        raise ValueError(f"op is {op!r}; it must be 'max' or 'sum'")
    n = len(values)
    if n < 2 or n > 16 or n & (n - 1):
        raise ValueError(f"a tree needs 2, 4, 8 or 16 values, not {n}")
    word, fold = _OPS[op]
    levels = [tuple(values)]
    stride = n // 2
    while stride:
        before = levels[-1]
        levels.append(tuple(fold(before[t], before[t + stride]) for t in range(stride)))
        stride //= 2
    result = levels[-1][0]
    title = f"Tree reduction of {n} values in shared memory: {word}"
    guard = "a barrier before every step" if barrier else "no barriers"
    desc = f"{len(levels) - 1} steps, {guard}. " + " ".join(
        f"Stride {len(level)}: {', '.join(_text(v) for v in level)}." for level in levels[1:]
    )

    left, cell = 128.0, 44.0
    end = f"{name}[0] holds the {word}; "
    if barrier:
        end += "one more barrier before another thread reads it or the array is used again"
    else:
        end += "without barriers a thread may read a place before its neighbour has written it"
    width = max(left + n * cell + 128, text_width(end, 12) + 28)
    canvas = Canvas(width, title, desc)
    canvas.text(14, 24, title, size=14, bold=True)
    y = 44.0
    for t in range(n):
        canvas.text(left + (t + 0.5) * cell, y + 4, str(t), "mut", size=10, anchor="middle", mono=True)
    canvas.text(14, y + 4, "place", "mut", size=10)
    y += 12
    shown = list(levels[0])
    for k, level in enumerate(levels):
        live = n if k == 0 else len(level)
        label = name if k == 0 else f"stride {live}"
        canvas.text(14, y + 19, label, size=12, mono=True, bold=k == 0)
        shown[:live] = level
        for t in range(n):
            on = t < live
            canvas.rect(left + t * cell + 2, y, cell - 4, 28, ("ldt" if k == 0 else "okt") if on else None,
                        ("ld" if k == 0 else "ok") if on else "rule", radius=3)
            canvas.text(left + (t + 0.5) * cell, y + 19, _text(shown[t]), "fg" if on else "mut",
                        size=12, anchor="middle", mono=True, bold=on)
        if k + 1 < len(levels):
            half = len(levels[k + 1])
            wall = y + 40
            if barrier:
                canvas.line(left - 8, wall, left + n * cell + 8, wall, "bad", width=1.6, dash="5 3")
                canvas.text(left + n * cell + 14, wall + 4, "syncthreads()", "bad", size=11, mono=True)
            for t in range(half):
                x = left + (t + 0.5) * cell
                canvas.line(x + half * cell, y + 30, x + 10, y + 78, "mut")
                canvas.arrow(x, y + 30, x, y + 82, "fg", width=1.2, head=4)
            y += 84
    canvas.text(14, y + 52, end, size=12)
    return Tree(canvas.finish(y + 68), title, desc, len(levels) - 1, tuple(levels), result)


def _text(value: float) -> str:
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    return f"{value:.4g}".replace("-", "−")
