"""One query row of online attention as a film: its state (m, d, O) after each tile of keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.film import TINY_ROW, Film, Frame, short
from autograder.figures.svg import Canvas, fit

TINY_VALUES = (10, 20, 30, 40, 50, 60, 70, 80)

WIDE, HIGH, GAP, TOP = 226.0, 216.0, 10.0, 34.0


@dataclass(frozen=True)
class QueryFrame(Frame):
    """A frame of :func:`attention_film`. ``factor`` is e^(m before − m after), what ``d`` and ``O`` were
    multiplied by in this frame, None where nothing was rescaled; ``seen`` keys have been folded in."""

    factor: float | None = None
    seen: int = 0

    @property
    def caption(self) -> str:
        """The transfer and what it did to the state, in words."""
        scaled = "" if self.factor is None else f"; d and O times {short(self.factor)}"
        return f"{self.action} {self.step}{scaled}; " + ", ".join(f"{name} = {value}" for name, value in self.state)


def attention_frames(
    scores: Sequence[float] = TINY_ROW, values: Sequence[float] = TINY_VALUES, tile: int = 2
) -> tuple[QueryFrame, ...]:
    """What crosses global memory for one query row: q, each tile of K and V, and the output.

    ``scores`` [n] are the query's scaled scores, finite; ``values`` [n] is V, one number a key. Raises
    ValueError when the two differ in length, are empty, or ``tile`` is below 1.
    """
    if len(scores) != len(values) or not len(scores):
        raise ValueError(f"each score needs its value: {len(scores)} scores, {len(values)} values")
    if tile < 1:
        raise ValueError(f"a tile holds at least one key, not {tile}")
    m, d, out = -math.inf, 0.0, 0.0
    kept = (("m", short(m)), ("d", short(d)), ("O", short(out)))
    frames = [QueryFrame(1, "fetch", 0, "q, once", kept, 0)]
    for index, start in enumerate(range(0, len(scores), tile)):
        part = scores[start : start + tile]
        top = max(m, *part)
        factor = math.exp(m - top)
        weights = [math.exp(s - top) for s in part]
        d = d * factor + sum(weights)
        out = out * factor + sum(p * v for p, v in zip(weights, values[start : start + tile]))
        m = top
        kept = (("m", short(m)), ("d", short(d)), ("O", short(out)))
        step = f"K and V, tile {index}"
        frames.append(QueryFrame(index + 2, "fetch", index, step, kept, 0, factor, start + len(part)))
    frames.append(QueryFrame(len(frames) + 1, "store", 0, f"O/d = {short(out / d)}, once", kept, 1, None, len(scores)))
    return tuple(frames)


def attention_film(
    scores: Sequence[float] = TINY_ROW, values: Sequence[float] = TINY_VALUES, tile: int = 2, *, columns: int = 3
) -> Film:
    """The frames of :func:`attention_frames` as a film strip, ``columns`` side by side.

    At most 8 keys fit in a frame: more raise ValueError.
    """
    frames = attention_frames(scores, values, tile)
    if len(scores) > 8:
        raise ValueError(f"a frame has room for 8 keys, there are {len(scores)}")
    title = f"One query, {len(scores)} keys in tiles of {tile}: online attention"
    desc = " ".join(f"{f.number}: {f.caption}." for f in frames)
    columns = max(1, min(columns, len(frames)))
    width = GAP + columns * (WIDE + GAP)
    canvas = Canvas(width, title, desc)
    heading = f"one query row: {len(frames) - 1} fetches, 1 store, and no row of scores in global memory"
    canvas.text(GAP + 2, 22, fit(heading, width - 2 * GAP, 14), size=14, bold=True)
    boxes = []
    for k, frame in enumerate(frames):
        x, y = GAP + (k % columns) * (WIDE + GAP), TOP + (k // columns) * (HIGH + GAP)
        boxes.append((x, y, WIDE, HIGH))
        _draw(canvas, x, y, frame, len(frames), scores, values, tile)
    svg = canvas.finish(TOP + -(-len(frames) // columns) * (HIGH + GAP))
    return Film(svg, title, desc, frames, tuple(boxes))


def _draw(c: Canvas, x: float, y: float, frame: QueryFrame, total: int, scores: Sequence[float],
          values: Sequence[float], tile: int) -> None:
    folding, store = frame.factor is not None, frame.action == "store"
    color, tint = ("st", "stt") if store else ("ld", "ldt")
    c.rect(x, y, WIDE, HIGH, "panel", "rule", radius=5)
    c.text(x + 10, y + 20, f"{frame.number} of {total}", "mut", size=11)
    c.text(x + WIDE - 10, y + 20, f"{frame.action} {frame.step}", color, size=12, anchor="end", bold=True)
    gap = 4.0
    cell = min(22.0, (WIDE - 60 - gap * (-(-len(scores) // tile) - 1)) / len(scores))

    def left(i: int) -> float:
        return x + 46 + i * cell + (i // tile) * gap

    for top, name, numbers in ((y + 34, "q·k", scores), (y + 60, "v", values)):
        c.text(x + 10, top + 15, name, size=12, mono=True, bold=True)
        for i, number in enumerate(numbers):
            lit = folding and i // tile == frame.tile
            known = i < frame.seen or top > y + 34  # a score exists once its key was there
            c.rect(left(i), top, cell - 2, 21, tint if lit else "bg", color if lit else "rule")
            if known:
                c.text(left(i) + (cell - 2) / 2, top + 15, short(number), "fg" if lit else "mut",
                       size=min(11, cell * 0.5), anchor="middle", mono=True)
    chip = y + 112
    c.rect(x + 10, chip, WIDE - 20, 62, "bg", "fg", radius=4, line=1.2)
    c.text(x + 18, chip + 15, "on the chip", "mut", size=10)
    if frame.factor is not None:
        words = "m stays: factor 1" if frame.factor == 1 else f"d and O × {short(frame.factor)}, then add"
        c.text(x + 18, chip + 54, words, "mut" if frame.factor == 1 else "bad", size=11, bold=frame.factor != 1)
    for k, (name, value) in enumerate(frame.state):
        c.text(x + 18 + (0, 56, 118)[k], chip + 35, f"{name}={value}", size=12, mono=True, bold=True)
    middle = x + WIDE / 2
    if folding:
        first, last = frame.tile * tile, min(frame.tile * tile + tile, len(scores)) - 1
        middle = (left(first) + left(last) + cell - 2) / 2
    if store:
        c.arrow(middle, chip + 64, middle, y + HIGH - 16, color, width=2)
    elif folding:
        c.arrow(middle, y + 84, middle, chip - 2, color, width=2)
    else:
        c.text(x + 10, y + 102, "q", color, size=12, mono=True, bold=True)
        c.arrow(x + 24, y + 90, x + 24, chip - 2, color, width=2)
    c.text(x + 10, y + HIGH - 14, f"{frame.seen} of {len(scores)} keys seen", "mut", size=11)
