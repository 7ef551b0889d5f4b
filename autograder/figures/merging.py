"""States (m, d) that merge pair by pair until one is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.svg import Canvas, Picture, fit, text_width

State = tuple[float, float]


@dataclass(frozen=True, repr=False)
class StateTree(Picture):
    """``levels`` holds the states after each round, the leaves first; ``result`` is the last one."""

    levels: tuple[tuple[State, ...], ...] = ()
    result: State = (-math.inf, 0.0)


def merge_states(one: State, two: State) -> State:
    """The state of both sides together, in float64; two empty states make an empty one."""
    m = max(one[0], two[0])
    if m == -math.inf:  # nothing in either: -inf - -inf would be NaN
        return one[0], one[1] + two[1]
    return m, one[1] * math.exp(one[0] - m) + two[1] * math.exp(two[0] - m)


def state_tree(
    states: Sequence[Sequence[float]], *, names: Sequence[str] = (), title: str = "", width: float = 720
) -> StateTree:
    """Neighbours merge, round by round: a box for each state, and on each line the factor for its d.

    ``states``: 2 to 8 pairs (m, d). ``names`` stand over the leaves. One that has no neighbour goes
    down as it is. Raises ValueError for another number of states or a state that is no pair.
    """
    leaves = tuple((float(m), float(d)) for m, d in states)
    if not 2 <= len(leaves) <= 8:
        raise ValueError(f"the picture has room for 2 to 8 states, not {len(leaves)}")
    levels = [leaves]
    while len(levels[-1]) > 1:
        level = levels[-1]
        levels.append(tuple(merge_states(*level[i : i + 2]) if i + 1 < len(level) else level[i]
                            for i in range(0, len(level), 2)))
    head = title or f"{len(leaves)} states merge into one"
    m, d = levels[-1][0]
    desc = f"{len(levels) - 1} rounds. The result is m = {_text(m)}, d = {_text(d)}."

    canvas = Canvas(width, head, desc)
    canvas.text(14, 24, fit(head, width - 28, 14), size=14, bold=True)
    slot = (width - 28) / len(leaves)
    box, high, pitch = min(slot - 10, 104.0), 42.0, 92.0
    centres = [14 + (i + 0.5) * slot for i in range(len(leaves))]
    y = 42.0
    if names:
        for x, name in zip(centres, names):
            canvas.text(x, y + 8, fit(name, slot - 4, 11), "mut", size=11, anchor="middle")
        y += 18
    for k, level in enumerate(levels):
        last = k + 1 == len(levels)
        color = "ok" if last else "ld"
        for x, (m, d) in zip(centres, level):
            canvas.rect(x - box / 2, y, box, high, f"{color}t", color, radius=4)
            canvas.text(x, y + 17, f"m {_text(m)}", size=12, anchor="middle", mono=True, bold=True)
            canvas.text(x, y + 34, f"d {_text(d)}", size=12, anchor="middle", mono=True)
        if last:
            break
        below = []
        for i in range(0, len(level), 2):
            pair = centres[i : i + 2]
            middle = sum(pair) / len(pair)
            below.append(middle)
            target = levels[k + 1][i // 2][0]
            for j, x in enumerate(pair):
                aim = middle + (0 if len(pair) == 1 else (-14, 14)[j])
                canvas.arrow(x, y + high, aim, y + pitch - 2, "mut", width=1.2, head=4)
                if len(pair) == 2:
                    factor = _factor(level[i + j][0], target)
                    plain = factor == "× 1"
                    room = text_width(factor, 11, True) + 6
                    canvas.rect((x + aim - room) / 2, y + high + 16, room, 16, "bg")
                    canvas.text((x + aim) / 2, y + high + 28, factor, "mut" if plain else "st", size=11,
                                anchor="middle", mono=True, bold=not plain)
        centres, y = below, y + pitch
    return StateTree(canvas.finish(y + high + 14), head, desc, tuple(levels), levels[-1][0])


def _factor(m: float, target: float) -> str:
    if target == -math.inf or m == target:
        return "× 1"
    if m == -math.inf:
        return "× 0"
    return f"× {math.exp(m - target):.3g}"


def _text(value: float) -> str:
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    return f"{value:.{5 if abs(value) >= 1e4 else 4}g}".replace("-", "−")
