"""What the lanes of a warp hold while they read each other, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.svg import Canvas, Picture, fit, num, text_width


@dataclass(frozen=True, repr=False)
class Exchange(Picture):
    """``reach``: for each level (the start first) how many different lanes' values each lane holds;
    ``full``: the lanes that hold all of them at the end, each once; ``doubled``: the lanes that hold
    some value twice at the end."""

    reach: tuple[tuple[int, ...], ...] = ()
    full: tuple[int, ...] = ()
    doubled: tuple[int, ...] = ()


def exchange_picture(
    sources: Sequence[Sequence[int]], *, labels: Sequence[str] = (), title: str = "", width: float = 720
) -> Exchange:
    """Lanes that merge in what they read from another lane, one row of boxes for each step.

    ``sources[k][l]`` is the lane that lane ``l`` reads in step ``k``, as a kernel recorded it by shuffling
    lane numbers. The number in a box counts the lanes whose values have come together there. ``labels``
    names the steps. Raises ValueError for no steps, rows of different lengths, fewer than 2 or more
    than 32 lanes, or a source that is no lane.
    """
    steps = [[int(lane) for lane in row] for row in sources]
    lanes = len(steps[0]) if steps else 0
    if not 2 <= lanes <= 32 or any(len(row) != lanes for row in steps):
        raise ValueError("give at least one step, each with a source for the same 2 to 32 lanes")
    if any(not 0 <= lane < lanes for row in steps for lane in row):
        raise ValueError(f"every source is a lane from 0 to {lanes - 1}")
    held, twice = _follow(steps, lanes)
    everyone = (1 << lanes) - 1
    full = tuple(n for n in range(lanes) if held[-1][n] == everyone and not twice[-1][n])
    doubled = tuple(n for n in range(lanes) if twice[-1][n])
    reach = tuple(tuple(bits.bit_count() for bits in level) for level in held)
    head = title or f"{lanes} lanes in {len(steps)} steps"
    desc = _words(full, doubled, lanes)

    left = 92.0
    cell = (width - left - 14) / lanes
    box = min(cell - 2, 26.0)
    canvas = Canvas(width, head, desc)
    canvas.text(14, 24, fit(head, width - 28, 14), size=14, bold=True)
    x = 14.0
    for color, tint, words in (("ld", "ldt", "holds some lanes"), ("ok", "okt", "holds every lane once"),
                               ("bad", "badt", "holds a lane twice")):
        if color == "ld" or (full if color == "ok" else doubled):
            canvas.rect(x, 36, 11, 11, tint, color)
            canvas.text(x + 16, 46, words, size=11.5)
            x += 30 + text_width(words, 11.5)
    top = 62.0

    def middle(lane: int) -> float:
        return left + (lane + 0.5) * cell

    canvas.text(14, top + 4, "lane", "mut", size=10)
    for lane in range(lanes):
        canvas.text(middle(lane), top + 4, str(lane), "mut", size=min(10, cell * 0.5), anchor="middle", mono=True)
    useful = _useful(steps, full)
    pitch, high = 56.0, 20.0
    for k, level in enumerate(reach):
        y = top + 12 + k * pitch
        name = "start" if k == 0 else labels[k - 1] if k <= len(labels) else f"step {k}"
        canvas.text(14, y + 14, fit(name, left - 18, 11, True), size=11, mono=True, bold=k == 0)
        colors = ["bad" if twice[k][n] else "ok" if held[k][n] == everyone else "ld" for n in range(lanes)]
        for color in sorted(set(colors)):  # one path for all boxes of a colour keeps the file small
            boxes = "".join(f"M{num(middle(n) - box / 2)} {num(y)}h{num(box)}v{num(high)}h{num(-box)}z"
                            for n in range(lanes) if colors[n] == color)
            canvas.path(boxes, f"{color}t", color)
        for lane in range(lanes):
            canvas.text(middle(lane), y + 14, str(level[lane]), size=min(11, box * 0.55), anchor="middle",
                        mono=True, bold=colors[lane] == "ok")
        if k < len(steps):
            own: dict[bool, str] = {False: "", True: ""}
            read: dict[bool, str] = {False: "", True: ""}
            for lane, source in enumerate(steps[k]):
                strong = lane in useful[k]
                at = f"L{num(middle(lane))} {num(y + pitch)}"
                own[strong] += f"M{num(middle(lane))} {num(y + high)}{at}"
                if source != lane:
                    read[strong] += f"M{num(middle(source))} {num(y + high)}{at}"
            for strong in (False, True):  # what matters is drawn on top
                for d, color in ((own[strong], "fg"), (read[strong], "st")):
                    if d:
                        canvas.path(d, None, color if strong else "rule", line=1.2 if strong else 0.8)
    bottom = top + 12 + len(steps) * pitch + high
    canvas.text(14, bottom + 20, fit(desc, width - 28, 12), size=12)
    return Exchange(canvas.finish(bottom + 34), head, desc, reach, full, doubled)


def _follow(steps: list[list[int]], lanes: int) -> tuple[list[list[int]], list[list[bool]]]:
    """For each level, the lanes that each lane holds, as bits, and whether it holds one of them twice."""
    held = [[1 << lane for lane in range(lanes)]]
    twice = [[False] * lanes]
    for row in steps:
        bits, double = held[-1], twice[-1]
        twice.append([double[n] or double[row[n]] or bool(bits[n] & bits[row[n]]) for n in range(lanes)])
        held.append([bits[n] | bits[row[n]] for n in range(lanes)])
    return held, twice


def _useful(steps: list[list[int]], full: tuple[int, ...]) -> list[set[int]]:
    """For each step, the lanes whose result goes into one of ``full`` at the end."""
    needed = set(full)
    out: list[set[int]] = []
    for row in reversed(steps):
        out.append(needed)
        needed = needed | {row[n] for n in needed}
    return out[::-1]


def _words(full: tuple[int, ...], doubled: tuple[int, ...], lanes: int) -> str:
    if len(full) == lanes:
        return f"At the end every one of the {lanes} lanes holds all lanes, each once."
    who = "no lane holds" if not full else f"lane {full[0]} alone holds" if len(full) == 1 else (
        f"{len(full)} lanes hold")
    more = f" {len(doubled)} lanes hold a value twice." if doubled else ""
    return f"At the end {who} all {lanes} lanes, each once.{more}"
