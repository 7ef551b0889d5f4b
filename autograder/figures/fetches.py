"""Which block fetches which tile of which array, and in what order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.figures.svg import Canvas, Picture, fit, text_width


@dataclass(frozen=True, repr=False)
class FetchMap(Picture):
    """``order[block][tile]`` is when the block fetches that tile of the array: 1 for the first one it
    fetches, 0 for a tile that it never loads."""

    order: tuple[tuple[int, ...], ...] = ()


def fetch_order(trace: Any, array: str, rows: int) -> tuple[int, ...]:
    """For each tile of ``rows`` rows of ``array`` the place at which the first block loads it, from 1;
    0 for one it does not load.

    ``trace`` must have been recorded with ``touches=True``. Raises ValueError when it was not, or has no
    such array.
    """
    found = [n for n, info in enumerate(trace.arrays) if info.name == array]
    if not found:
        raise ValueError(f"the launch has no array {array!r}; it has {', '.join(a.name for a in trace.arrays)}")
    if trace.touches is None:
        raise ValueError("this launch was made without recording single accesses")
    info, seen = trace.arrays[found[0]], trace.touches
    mine = (seen.array == found[0]) & ~seen.store
    tiles = -(-int(info.shape[0]) // rows)
    pitch = int(info.strides[0]) // np.dtype(info.dtype).itemsize if info.strides else int(np.prod(info.shape[1:]))
    tile = seen.element[mine] // pitch // rows
    when = list(zip(seen.interval[mine].tolist(), seen.step[mine].tolist()))
    first: dict[int, tuple[int, int]] = {}
    for number, moment in zip(tile.tolist(), when):
        first[number] = min(moment, first.get(number, moment))
    ranked = {number: k for k, number in enumerate(sorted(first, key=first.__getitem__), start=1)}
    return tuple(ranked.get(number, 0) for number in range(tiles))


def fetch_map(traces: Sequence[Any], array: str, rows: int, *, title: str = "") -> FetchMap:
    """A row for each block, a column for each tile of ``rows`` rows of ``array``; the number says when
    the block fetches that tile.

    ``traces``: one launch of one block each, in block order, recorded with ``touches=True``. At most 16
    tiles and 16 blocks are drawn: more raise ValueError, as do no traces.
    """
    if not traces:
        raise ValueError("there is nothing to draw: give the trace of at least one block")
    order = tuple(fetch_order(trace, array, rows) for trace in traces)
    tiles = max(map(len, order))
    if len(order) > 16 or tiles > 16:
        raise ValueError(f"the picture has room for 16 blocks and 16 tiles, not {len(order)} and {tiles}")
    fetches = sum(number > 0 for block in order for number in block)
    head = title or f"Tiles of {array}: which block fetches which, and when"
    total = f"{fetches} fetches of {tiles} tiles: {array} crosses {fetches / tiles:.3g} times"
    desc = " ".join(
        f"Block {b}: " + (", ".join(f"tile {k} is number {n}" for k, n in enumerate(block) if n) or "none") + "."
        for b, block in enumerate(order)
    ) + f" {total}."
    left, cell, high = 92.0, 44.0, 30.0
    width = max(360.0, left + tiles * cell + 20, text_width(head, 15.5) + 28, text_width(total, 12) + 28)
    c = Canvas(width, head, desc)
    c.text(14, 24, fit(head, width - 28, 14), size=14, bold=True)
    for k in range(tiles):
        c.text(left + (k + 0.5) * cell, 48, f"tile {k}", "mut", size=10.5, anchor="middle")
    y = 56.0
    for b, block in enumerate(order):
        c.text(left - 12, y + 19, f"block {b}", size=12, anchor="end")
        for k in range(tiles):
            number = block[k] if k < len(block) else 0
            x = left + k * cell
            c.rect(x + 2, y, cell - 4, high - 4, "ldt" if number else None, "ld" if number else "rule", radius=3)
            if number:
                c.text(x + cell / 2, y + 18, str(number), size=12, anchor="middle", mono=True)
        y += high
    c.text(14, y + 16, total, size=12)
    return FetchMap(c.finish(y + 30), head, desc, order)
