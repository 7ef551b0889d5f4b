"""Which 32-byte sectors one warp request touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.svg import Canvas, Picture, fit, text_width

SECTOR = 32  # bytes


@dataclass(frozen=True, repr=False)
class SectorMap(Picture):
    """One request. ``sectors``: distinct 32-byte pieces; ``moved_bytes``: 32 x sectors;
    ``used_bytes``: distinct bytes in them that some lane asked for."""

    lanes: int = 0
    sectors: int = 0
    moved_bytes: int = 0
    used_bytes: int = 0


def sector_map(
    elements: Sequence[int], *, itemsize: int = 4, per_lane: int = 1, name: str = "X", title: str = "",
    width: float = 720,
) -> SectorMap:
    """The sectors that one request touches: lanes above, sectors below, a line for each lane.

    ``elements``: for each lane the index of the element that it reads, counted from the start of an
    array that starts at a sector; at most 32 lanes. ``itemsize`` is in bytes (1, 2, 4, 8 or 16). With
    ``per_lane`` each lane reads that many neighbours at once, from a multiple of it (at most 16 bytes).
    Raises ValueError for no lanes, more than 32, a negative index, another size or an index out of step.
    """
    elements = [int(e) for e in elements]
    if not 1 <= len(elements) <= 32:
        raise ValueError(f"a request has 1 to 32 lanes, not {len(elements)}")
    if min(elements) < 0 or itemsize not in (1, 2, 4, 8, 16):
        raise ValueError("element indices start at 0 and an element has 1, 2, 4, 8 or 16 bytes")
    if per_lane not in (1, 2, 4, 8, 16) or itemsize * per_lane > 16 or any(e % per_lane for e in elements):
        raise ValueError("a lane reads 1, 2, 4, 8 or 16 neighbours, 16 bytes at most, from a multiple of their number")
    elements, itemsize = [e // per_lane for e in elements], itemsize * per_lane  # from here on, one piece a lane
    each = SECTOR // itemsize
    touched = sorted({e // each for e in elements})
    used = set(elements)
    moved = SECTOR * len(touched)
    used_bytes = len(used) * itemsize
    lanes = "1 lane" if len(elements) == 1 else f"{len(elements)} lanes"
    count = "1 sector" if len(touched) == 1 else f"{len(touched)} sectors"
    words = f"{lanes}, {count}: {used_bytes:,} of the {moved:,} bytes moved are used"
    head = title or f"One request for {name}"

    canvas = Canvas(width, head, words)
    left, right = 62.0, 14.0
    span = width - left - right
    canvas.text(14, 22, fit(head, width - 28, 14), size=14, bold=True)
    lane_w = min(22.0, span / len(elements))
    lane_x = [left + (i + 0.5) * lane_w + (span - lane_w * len(elements)) / 2
              for i in range(len(elements))]
    top = 40.0
    canvas.text(14, top + 14, "lane", "mut", size=12)
    for lane, x in enumerate(lane_x):
        canvas.rect(x - lane_w / 2 + 1, top, lane_w - 2, 20, "ldt", "ld", radius=2)
        canvas.text(x, top + 14, str(lane), size=10, anchor="middle", mono=True)

    gaps = sum(b - a > 1 for a, b in zip(touched, touched[1:]))
    gap = 14.0 if len(touched) <= 8 else 3.0
    sector_w = min(160.0, (span - gap * max(len(touched) - 1, 0)) / len(touched))
    total = sector_w * len(touched) + gap * (len(touched) - 1)
    start = left + (span - total) / 2
    low = 136.0
    sector_x = {s: start + k * (sector_w + gap) for k, s in enumerate(touched)}
    cell = sector_w / each
    numbered = cell >= text_width(str(max(used) * per_lane), 9, True) + 1
    for lane, e in enumerate(elements):
        canvas.line(lane_x[lane], top + 21, sector_x[e // each] + (e % each + 0.5) * cell, low - 1, "ld",
                    width=1, opacity=0.75)
    canvas.text(14, low + 18, name, size=12, mono=True, bold=True)
    for k, s in enumerate(touched):
        x = sector_x[s]
        canvas.rect(x, low, sector_w, 28, "badt")
        for i in range(each):
            e = s * each + i
            if e in used:
                canvas.rect(x + i * cell, low, cell, 28, "ldt" if cell > 8 else "ld",
                            "ld" if cell > 8 else None)
                if numbered:
                    canvas.text(x + (i + 0.5) * cell, low + 18, str(e * per_lane), size=9, anchor="middle",
                                mono=True)
            elif cell > 8:
                canvas.rect(x + i * cell, low, cell, 28, None, "rule")
        canvas.rect(x, low, sector_w, 28, None, "fg", line=1.2)
        if k and s - touched[k - 1] > 1 and gap >= 14:
            canvas.text(x - gap / 2, low + 18, "…", anchor="middle", size=12)
    _labels(canvas, touched, sector_x, sector_w, each * per_lane, name, low + 44)
    note = "; the memory between them is left out" if gaps else ""
    canvas.text(14, low + 70, fit(words + note, width - 28, 12.5), size=12.5)
    svg = canvas.finish(low + 84)
    return SectorMap(svg, head, words, len(elements), len(touched), moved, used_bytes)


def _labels(c: Canvas, touched: list[int], xs: dict[int, float], width: float, each: int, name: str,
            y: float) -> None:
    """Element ranges under the sectors, as many as there is room for, the last one always."""
    free = -1.0
    last = touched[-1]
    last_text = f"{name}[{last * each}…{last * each + each - 1}]"
    last_left = xs[last] + width - text_width(last_text, 10, True)
    for s in touched:
        text = f"{name}[{s * each}…{s * each + each - 1}]"
        size = text_width(text, 10, True)
        if s == last:
            x, anchor = xs[s] + width, "end"
            if size < width:
                x, anchor = xs[s] + width / 2, "middle"
            c.text(x, y, text, "mut", size=10, anchor=anchor, mono=True)
        elif size < width:
            c.text(xs[s] + width / 2, y, text, "mut", size=10, anchor="middle", mono=True)
        elif xs[s] > free and xs[s] + size + 10 < last_left:
            c.text(xs[s], y, text, "mut", size=10, mono=True)
            free = xs[s] + size + 24
