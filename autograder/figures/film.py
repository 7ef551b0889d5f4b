"""The tiny example as a film: one frame for each tile that crosses global memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.states import online_states
from autograder.figures.svg import Canvas, Picture, fit

TINY_ROW = (3, 1, 4, 2, 8, 5, 7, 6)
KINDS = {"three_pass": "three passes", "online": "online softmax", "one_pass": "one pass"}

FRAME_W, FRAME_H, GAP, HEAD = 182.0, 214.0, 10.0, 34.0


@dataclass(frozen=True)
class Frame:
    """One transfer. ``action`` is "fetch" or "store"; ``state`` is what is kept on the chip after it,
    as (name, value) texts; ``written`` is how many elements of the output are final after it."""

    number: int
    action: str
    tile: int
    step: str
    state: tuple[tuple[str, str], ...]
    written: int

    @property
    def caption(self) -> str:
        """The transfer in words."""
        return f"{self.action} tile {self.tile}, {self.step}"


@dataclass(frozen=True, repr=False)
class Film(Picture):
    """A film strip. ``fetches + stores == transfers``, each of one tile; ``boxes`` holds the
    (x, y, width, height) of each frame in the SVG."""

    frames: tuple[Frame, ...] = ()
    boxes: tuple[tuple[float, float, float, float], ...] = ()

    @property
    def fetches(self) -> int:
        return sum(frame.action == "fetch" for frame in self.frames)

    @property
    def stores(self) -> int:
        return sum(frame.action == "store" for frame in self.frames)

    @property
    def transfers(self) -> int:
        return len(self.frames)


def transfers(
    row: Sequence[float] = TINY_ROW, tile: int = 4, kind: str = "three_pass"
) -> tuple[Frame, ...]:
    """The transfers that softmax of ``row`` makes, a tile of ``tile`` elements at a time.

    ``kind`` is "three_pass", "online" or "one_pass" (the row is kept on the chip). Raises ValueError for
    another kind, an empty row or a tile below 1.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be 'three_pass', 'online' or 'one_pass'")
    if tile < 1 or not len(row):
        raise ValueError("the row needs at least one element and the tile at least one place")
    tiles = [row[i : i + tile] for i in range(0, len(row), tile)]
    frames: list[Frame] = []

    def add(action: str, index: int, step: str, state: dict[str, float], written: int = 0) -> None:
        shown = tuple((name, short(value)) for name, value in state.items())
        frames.append(Frame(len(frames) + 1, action, index, step, shown, written))

    if kind == "three_pass":
        m, d = -math.inf, 0.0
        for index, part in enumerate(tiles):
            m = max(m, *part)
            add("fetch", index, "pass 1: maximum", {"m": m})
        for index, part in enumerate(tiles):
            d += sum(math.exp(x - m) for x in part)
            add("fetch", index, "pass 2: denominator", {"m": m, "d": d})
        last = "pass 3: write"
    else:
        for state in online_states(row, tile):
            m, d = state.m, state.d
            kept = {"kept": sum(map(len, tiles[: state.step]))} if kind == "one_pass" else {}
            step = "keep it, m and d" if kept else "pass 1: m and d"
            add("fetch", state.step - 1, step, {"m": m, "d": d, **kept})
        last = "write what is kept" if kind == "one_pass" else "pass 2: write"
    written = 0
    for index, part in enumerate(tiles):
        if kind != "one_pass":
            add("fetch", index, last, {"m": m, "d": d}, written)
        written += len(part)
        left_over = {"kept": len(row)} if kind == "one_pass" else {}
        add("store", index, last, {"m": m, "d": d, **left_over}, written)
    return tuple(frames)


def transfer_film(
    row: Sequence[float] = TINY_ROW, tile: int = 4, kind: str = "three_pass", *, columns: int = 4
) -> Film:
    """The transfers of :func:`transfers` as a film strip, ``columns`` frames side by side.

    At most 16 elements fit in a frame: longer rows raise ValueError.
    """
    frames = transfers(row, tile, kind)
    if len(row) > 16:
        raise ValueError(f"a frame has room for 16 elements, this row has {len(row)}")
    fetches = sum(frame.action == "fetch" for frame in frames)
    stores = len(frames) - fetches
    title = f"Softmax of {len(row)} numbers in tiles of {tile}: {KINDS[kind]}"
    desc = f"{len(frames)} transfers: {fetches} fetches and {stores} stores. " + " ".join(
        f"{f.number}: {f.action} tile {f.tile}, {f.step}"
        + "".join(f", {name} = {value}" for name, value in f.state)
        + "."
        for f in frames
    )
    columns = max(1, min(columns, len(frames)))
    width = GAP + columns * (FRAME_W + GAP)
    canvas = Canvas(width, title, desc)
    heading = f"{KINDS[kind]}: {len(frames)} transfers ({fetches} fetches, {stores} stores)"
    canvas.text(GAP + 2, 22, fit(heading, width - 2 * GAP, 14), size=14, bold=True)
    boxes = []
    for k, frame in enumerate(frames):
        x = GAP + (k % columns) * (FRAME_W + GAP)
        y = HEAD + (k // columns) * (FRAME_H + GAP)
        boxes.append((x, y, FRAME_W, FRAME_H))
        _draw(canvas, x, y, frame, len(frames), row, tile)
    rows = -(-len(frames) // columns)
    svg = canvas.finish(HEAD + rows * (FRAME_H + GAP))
    return Film(svg, title, desc, frames, tuple(boxes))


def _draw(c: Canvas, x: float, y: float, frame: Frame, total: int, row: Sequence[float],
          tile: int) -> None:
    fetch = frame.action == "fetch"
    color, tint = ("ld", "ldt") if fetch else ("st", "stt")
    c.rect(x, y, FRAME_W, FRAME_H, "panel", "rule", radius=5)
    c.text(x + 10, y + 20, f"{frame.number} of {total}", "mut", size=11)
    c.text(x + FRAME_W - 10, y + 20, f"{frame.action} tile {frame.tile}", color, size=12,
           anchor="end", bold=True)
    tiles = -(-len(row) // tile)
    gap = 6.0
    cell = min(18.0, (FRAME_W - 40 - gap * (tiles - 1)) / len(row))

    def left(i: int) -> float:
        return x + 28 + i * cell + (i // tile) * gap

    def lane(top: float, name: str, active: bool, filled: int, values: Sequence[float] | None) -> None:
        c.text(x + 10, top + 14, name, size=12, mono=True, bold=True)
        for i in range(len(row)):
            lit = active and i // tile == frame.tile
            done = values is None and i < filled
            fill = tint if lit else ("okt" if done else "bg")
            c.rect(left(i), top, cell - 1, 20, fill, color if lit else "rule")
            if values is not None:
                c.text(left(i) + (cell - 1) / 2, top + 14, short(values[i]), size=min(11, cell * 0.62),
                       anchor="middle", mono=True)
            elif done:
                c.text(left(i) + (cell - 1) / 2, top + 14, "✓", color if lit else "ok", size=10,
                       anchor="middle")

    first = frame.tile * tile
    last = min(first + tile, len(row)) - 1
    middle = (left(first) + left(last) + cell) / 2
    chip_top = y + 84
    lane(y + 34, "X", fetch, 0, row)
    c.rect(x + 10, chip_top, FRAME_W - 20, 46, "bg", "fg", radius=4, line=1.2)
    state = dict(frame.state)
    kept = f", {state.pop('kept')} of X kept" if "kept" in state else ""
    c.text(x + 18, chip_top + 15, f"on the chip{kept}", "mut", size=10)
    for k, (name, value) in enumerate(state.items()):
        c.text(x + 18 + k * 68, chip_top + 36, f"{name} = {value}", size=12, mono=True, bold=True)
    lane(y + 160, "Y", not fetch, frame.written, None)
    if fetch:
        c.arrow(middle, y + 56, middle, chip_top - 2, color, width=2)
    else:
        c.arrow(middle, chip_top + 48, middle, y + 158, color, width=2)
    c.text(x + 10, y + FRAME_H - 12, frame.step, "fg", size=12)


def short(value: float) -> str:
    """At most five characters: a whole number as it is, otherwise three significant digits."""
    if value == -math.inf:
        return "−∞"
    if value == int(value) and abs(value) < 1000:
        return str(int(value)).replace("-", "−")
    return f"{value:.3g}".replace("-", "−")
