"""Numbers that make a known mistake visible on the row where it happened."""

from __future__ import annotations

import math

import numpy as np

from ..exercises.model import Exercise, Inputs, NamedBug
from .outputs import Outcome

OVERFLOW = 88.72  # exp of more than this is inf in float32
NOT_RESCALED = ("d_not_rescaled",)
UNSHIFTED = ("no_maximum",)
MOVING = ("rescal", "first_tile", "thrown", "stored", "weight", "lanes", "merge")  # in a bug's id


def numbers(bug: NamedBug, exercise: Exercise, inputs: Inputs, outcome: Outcome) -> str:
    """A phrase with the numbers of the worst row: where its maximum moved, how large it is, or by
    which factor the result is off. "" when nothing telling can be said."""
    row = outcome.worst.row if outcome.worst is not None else 0
    values = exercise.values_of(inputs, row)
    if values is None:
        return ""
    name = f"{exercise.axes[0]} {row}"
    if np.isnan(values).any():
        return f"{name} holds a NaN"
    if bug.id in NOT_RESCALED:
        moved = _move(exercise, inputs, values, name)
        return f"{moved[0]}, so what d held before is too large by e^{moved[1]:.1f}" if moved else ""
    if bug.id in UNSHIFTED:
        return _unshifted(values, name)
    off = _ratio(outcome)
    if any(word in bug.id for word in MOVING):
        moved = _move(exercise, inputs, values, name)
        if moved:
            return f"{moved[0]}{f', and the result is {off}' if off else ''}"
    return f"{name}: the result is {off}" if off else ""


def tile_of(exercise: Exercise, inputs: Inputs) -> int:
    """Values that are handled together: what the exercise says, else the block's threads when a block has
    a row, else one."""
    if exercise.tile is not None:
        return exercise.tile
    grid, block = exercise.launch(inputs)
    first = next(iter(inputs.arrays.values()))
    return int(block[0]) if grid[0] == first.shape[0] else 1


def moves(values: np.ndarray, tile: int) -> list[tuple[int, float, float]]:
    """Every tile in which the running maximum of a row moves: (tile from 0, before, after). The
    first tile that holds anything but -inf only sets it."""
    result, best = [], -math.inf
    for index, start in enumerate(range(0, len(values), tile)):
        top = float(values[start : start + tile].max())
        if top > best:
            if best != -math.inf:
                result.append((index, best, top))
            best = top
    return result


def _move(exercise: Exercise, inputs: Inputs, values: np.ndarray, name: str) -> tuple[str, float] | None:
    """The largest move of the running maximum in words, and its size; None when it never moves."""
    tile = tile_of(exercise, inputs)
    steps = moves(values, tile)
    if not steps:
        return None
    index, before, after = max(steps, key=lambda step: step[2] - step[1])
    last = min((index + 1) * tile, len(values)) - 1
    along = exercise.along
    where = f"at {along} {index}" if tile == 1 else f"in tile {index} ({along}s {index * tile} to {last})"
    return f"{name}: the maximum moved {before:.1f} → {after:.1f} {where}", after - before


def _unshifted(values: np.ndarray, name: str) -> str:
    top = float(values.max())
    if top > OVERFLOW:
        return f"{name}: its largest value is {top:.1f}, and exp of more than 88.7 is inf in float32"
    if top < -87:
        return f"{name}: its largest value is {top:.1f}, and exp of that is 0 in float32"
    return ""


def _ratio(outcome: Outcome) -> str:
    """ "too large by a factor of 3", or "" when the two values have no such ratio."""
    worst = outcome.worst
    if worst is None or not worst.expected or not worst.found:
        return ""
    ratio = worst.found / worst.expected
    if ratio <= 0 or not math.isfinite(ratio) or abs(ratio - 1) < 1e-3:
        return ""
    factor = max(ratio, 1 / ratio)
    shown = f"{factor:.3g}" if factor < 1000 else f"e^{math.log(factor):.1f}"
    return f"too {'large' if ratio > 1 else 'small'} by a factor of {shown}"
