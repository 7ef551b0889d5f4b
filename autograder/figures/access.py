"""Which part of an array each source line touches, and when: the sweeps of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.figures.ledger import is_scattered
from autograder.figures.svg import Canvas, Picture, fit, num, text_width

COLUMNS, ROWS = 224, 48  # finest grid on which one lane is drawn
MOST_RUNS = 1000  # of neighbouring cells in one lane: keeps a picture to tens of kilobytes
MOST_LANES = 12


@dataclass(frozen=True)
class Lane:
    """One source line, array and direction of the first block.

    ``sweeps`` is how many times over it touched its elements; ``per_request`` its average sectors of a
    request; ``span`` the first and one past the last element that the picture shows.
    """

    line: int
    text: str
    array: str
    op: str
    accesses: int
    steps: int
    sweeps: float
    per_request: float
    scattered: bool
    span: tuple[int, int]
    where: str


@dataclass(frozen=True, repr=False)
class AccessPicture(Picture):
    """``lanes`` from top to bottom, ``sentences`` the totals in words."""

    lanes: tuple[Lane, ...] = ()
    sentences: tuple[str, ...] = ()


def access_picture(trace: Any, array: str | None = None, *, width: float = 720) -> AccessPicture:
    """Position against time for every source line that touches global memory, in the first block.

    ``trace`` must have been recorded with ``touches=True``; without touches the picture says so. With
    ``array`` only that array is drawn. Across: position in the array (or in the row, where the
    block stays within one row). Down: time, the requests of that line in program order.
    """
    title = f"Where {trace.kernel} reads and writes" + (f" {array}" if array else "") + ", and when"
    lanes = _lanes(trace, array)
    if not lanes:
        what = "recorded no accesses to global memory" if trace.touches is not None else (
            "was made without recording single accesses")
        canvas = Canvas(width, title, f"This launch {what}.")
        canvas.text(14, 26, f"This launch {what}.")
        return AccessPicture(canvas.finish(42), title, f"This launch {what}.")
    shown = lanes[:MOST_LANES]
    sentences = _sentences(trace, [lane for lane, _ in lanes])
    desc = " ".join(
        [f"Line {a.line}: {a.op} {a.where}, {a.accesses:,} accesses in {a.steps:,} steps, "
         f"{a.per_request:.3g} sectors a request{', scattered' if a.scattered else ''}."
         for a, _ in shown] + list(sentences)
    )
    canvas = Canvas(width, title, desc)
    canvas.text(14, 24, fit(title, width - 28, 14), size=14, bold=True)
    x = 14.0
    for color, word in (("ld", "load"), ("st", "store"), ("bad", "scattered: a sector for few lanes")):
        if color != "bad" or any(a.scattered for a, _ in shown):
            canvas.rect(x, 36, 11, 11, color)
            canvas.text(x + 16, 46, word, size=11.5)
            x += 30 + text_width(word, 11.5)
    canvas.text(width - 14, 46, "first block; across: position, down: time", "mut", size=11.5, anchor="end")
    y = 60.0
    for lane, points in shown:
        y = _draw(canvas, y, width, lane, points)
    if len(lanes) > len(shown):
        canvas.text(14, y + 12, f"and {len(lanes) - len(shown)} more source lines, not drawn", "mut")
        y += 22
    for sentence in sentences:
        canvas.text(14, y + 12, fit(sentence, width - 28, 12), size=12)
        y += 18
    return AccessPicture(canvas.finish(y + 6), title, desc, tuple(a for a, _ in lanes), sentences)


def _lanes(trace: Any, only: str | None) -> list[tuple[Lane, tuple[np.ndarray, np.ndarray]]]:
    """Lanes in program order, each with its (time rank, element) pairs."""
    touches = trace.touches
    if touches is None or len(touches.step) == 0:
        return []
    texts = {(t.line, t.array): t.text for t in trace.lines}
    spans = {}
    for index in np.unique(touches.array):
        info = trace.arrays[index]
        spans[index] = _span(info, touches.element[touches.array == index])
    keys = np.stack([touches.line, touches.array, touches.store.astype(np.int64)], axis=1)
    found = []
    for line, index, store in np.unique(keys, axis=0):
        info = trace.arrays[index]
        if only is not None and info.name != only:
            continue
        mine = (touches.line == line) & (touches.array == index) & (touches.store == bool(store))
        step, element = touches.step[mine], touches.element[mine]
        ranks = np.unique(step, return_inverse=True)[1].reshape(-1)
        requests, sectors, size = _requests(info, step, element, touches.thread[mine])
        span, where = spans[index]
        lane = Lane(
            int(line), texts.get((int(line), info.name), ""), info.name, "store" if store else "load",
            len(step), int(ranks.max()) + 1, _times_over(step, element, touches.thread[mine]),
            sectors / requests,
            is_scattered(requests, sectors, size), span, where,
        )
        found.append((int(step.min()), lane, (ranks, element)))
    found.sort(key=lambda item: (item[0], item[1].line, item[1].op))
    return [(lane, points) for _, lane, points in found]


def _times_over(step: np.ndarray, element: np.ndarray, thread: np.ndarray) -> float:
    """How often each touched element crosses, on average. Lanes of one request that share an element
    count once: the hardware fetches it once for all of them."""
    crossings = np.unique(np.stack([step, thread // 32, element], axis=1), axis=0)
    return len(crossings) / len(np.unique(element))


def _requests(info: Any, step: np.ndarray, element: np.ndarray, thread: np.ndarray) -> tuple[int, int, int]:
    """Requests, sectors and bytes: a request is one step of one warp."""
    item = np.dtype(info.dtype).itemsize
    request = np.unique(np.stack([step, thread // 32], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    first = (info.address + element * item) // 32
    last = (info.address + element * item + item - 1) // 32
    pairs = np.concatenate([np.stack([request, first], axis=1), np.stack([request, last], axis=1)])
    return int(request.max()) + 1, len(np.unique(pairs, axis=0)), len(step) * item


def _span(info: Any, element: np.ndarray) -> tuple[tuple[int, int], str]:
    """The elements to show and how to say them: whole rows, or the part of a vector that was used."""
    low, high = int(element.min()), int(element.max())
    if len(info.shape) >= 2 and info.shape[-1] > 0:
        n, pitch = int(info.shape[-1]), _pitch(info)
        top, bottom = low // pitch, high // pitch
        rows = str(top) if top == bottom else f"{top}…{bottom}"
        return (top * pitch, bottom * pitch + max(n, high % pitch + 1)), f"{info.name}[{rows}, {_range(0, n)}]"
    size = int(info.shape[0]) if info.shape else 1
    if high + 1 - low < size / 4:
        return (low, high + 1), f"{info.name}[{_range(low, high + 1)}]"
    return (0, max(size, high + 1)), f"{info.name}[{_range(0, max(size, high + 1))}]"


def _pitch(info: Any) -> int:
    """Elements from one row to the next: more than a row's length when the array is a part of a wider
    one, which shows in the extent that its elements span."""
    n = int(info.shape[-1])
    if len(info.shape) == 2 and info.shape[0] > 1:
        extent = info.nbytes // np.dtype(info.dtype).itemsize
        return max(n, (extent - n) // (int(info.shape[0]) - 1))
    return n


def _range(low: int, high: int) -> str:
    return str(low) if high - low == 1 else f"{low}…{high - 1}"


def _draw(c: Canvas, y: float, width: float, lane: Lane, points: tuple[np.ndarray, np.ndarray]) -> float:
    """Draw one lane with its caption; the y below it."""
    color = "bad" if lane.scattered else ("ld" if lane.op == "load" else "st")
    badge = f"{lane.per_request:.3g} sectors a request" + (": scattered" if lane.scattered else "")
    if lane.per_request == 1:
        badge = "1 sector a request"
    head = f"line {lane.line}: {lane.op} {lane.where}"
    c.text(14, y + 12, head, color, size=12, bold=True)
    c.text(width - 14, y + 12, badge, color if lane.scattered else "mut", size=11.5, anchor="end",
           bold=lane.scattered)
    x = 14 + text_width(head, 13.4) + 14
    room = width - 14 - text_width(badge, 12) - 14 - x
    if room > 60:
        c.text(x, y + 12, fit(lane.text, room, 11, True), "mut", size=11, mono=True)
    top = y + 19
    height = 46.0 if lane.steps <= 16 else 60.0  # room for steps that can be told apart
    height = 16.0 if lane.steps == 1 else min(height * max(1, round(lane.sweeps)), 160.0)
    left, span = 14.0, width - 28.0
    c.rect(left, top, span, height, "badt" if lane.scattered else "panel", None)
    across, down, runs = _runs(lane, points)
    for level, opacity in ((1, 0.5), (2, 0.75), (3, 1.0)):
        d = "".join(f"M{a} {r + 0.5}h{k}" for mine, r, a, k in runs if mine == level)
        if d:
            c.raw(f'<g transform="translate({num(left)} {num(top)})'
                  f' scale({span / across:.5g} {height / down:.5g})">')
            c.path(d, None, color, opacity=opacity)
            c.raw("</g>")
    c.rect(left, top, span, height, None, "rule")
    return top + height + 12


def _runs(lane: Lane, points: tuple[np.ndarray, np.ndarray]) -> tuple[int, int, list[tuple[int, int, int, int]]]:
    """The touched cells of a grid: its columns and rows, and runs of cells (level, row, first, length).

    A level says how much of the cell's own elements was touched: 1 little, 2 some, 3 most. The grid
    gets coarser in time until the picture stays small.
    """
    ranks, element = points
    low, high = lane.span
    across, down = min(COLUMNS, high - low), min(ROWS, lane.steps)
    while True:
        row = ranks * down // lane.steps
        pairs = np.unique(np.stack([row, element - low], axis=1), axis=0)
        grid = np.zeros((down, across))
        np.add.at(grid, (pairs[:, 0], np.clip(pairs[:, 1] * across // (high - low), 0, across - 1)), 1)
        grid /= max(1.0, (high - low) / across)
        levels = np.where(grid > 0, 1 + (grid >= 0.2) + (grid >= 0.55), 0)
        runs = []
        for r in range(down):
            edges = np.flatnonzero(np.diff(levels[r], prepend=-1, append=-1))
            runs += [(int(levels[r, a]), r, int(a), int(b - a))
                     for a, b in zip(edges, edges[1:]) if levels[r, a]]
        if len(runs) <= MOST_RUNS or down <= 8:
            return across, down, runs
        down = max(8, down // 2)


def _sentences(trace: Any, lanes: list[Lane]) -> tuple[str, ...]:
    """For each array and direction how often the block goes over what it touches, all lines together."""
    touches = trace.touches
    names = np.array([info.name for info in trace.arrays])
    out = []
    for name in dict.fromkeys(lane.array for lane in lanes):
        for op, verb in (("load", "reads"), ("store", "writes")):
            lines = [lane.line for lane in lanes if lane.array == name and lane.op == op]
            if not lines:
                continue
            mine = (names[touches.array] == name) & (touches.store == (op == "store"))
            times = _times_over(touches.step[mine], touches.element[mine], touches.thread[mine])
            shown = f"{times:.2f}".rstrip("0").rstrip(".")
            how = {"1": "once", "2": "twice"}.get(shown, f"{shown} times over")
            word = "line" if len(lines) == 1 else "lines"
            listed = ", ".join(str(line) for line in sorted(set(lines)))
            out.append(f"The block {verb} its part of {name} {how} ({word} {listed}).")
    return tuple(out)
