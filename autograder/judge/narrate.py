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
    """A sentence with the numbers of the worst row: where its maximum moved, how large it is, or by
    which factor the result is off. "" when nothing telling can be said."""
    row = outcome.worst.row if outcome.worst is not None else 0
    first = next(iter(inputs.arrays.values()))
    if first.ndim != 2 or row >= first.shape[0]:
        return ""
    values = first[row].astype(np.float64)
    if np.isnan(values).any():
        return f"row {row} holds a NaN"
    if bug.id in NOT_RESCALED:
        moved = _move(exercise, inputs, values, row)
        return f"{moved[0]}, so what d held before is too large by e^{moved[1]:.1f}" if moved else ""
    if bug.id in UNSHIFTED:
        return _unshifted(values, row)
    off = _ratio(outcome, row)
    if any(word in bug.id for word in MOVING):
        moved = _move(exercise, inputs, values, row)
        if moved:
            return f"{moved[0]}{f', and the result is {off}' if off else ''}"
    return f"row {row}: the result is {off}" if off else ""


def tile_of(exercise: Exercise, inputs: Inputs) -> int:
    """Columns that are handled together: the block's threads when a block has a row, else one."""
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


def _move(exercise: Exercise, inputs: Inputs, values: np.ndarray, row: int) -> tuple[str, float] | None:
    """The largest move of the running maximum in words, and its size; None when it never moves."""
    tile = tile_of(exercise, inputs)
    steps = moves(values, tile)
    if not steps:
        return None
    index, before, after = max(steps, key=lambda step: step[2] - step[1])
    last = min((index + 1) * tile, len(values)) - 1
    where = f"at column {index}" if tile == 1 else f"in tile {index} (columns {index * tile} to {last})"
    return f"row {row}: the maximum moved {before:.1f} → {after:.1f} {where}", after - before


def _unshifted(values: np.ndarray, row: int) -> str:
    top = float(values.max())
    if top > OVERFLOW:
        return f"row {row}: its largest value is {top:.1f}, and exp of more than 88.7 is inf in float32"
    if top < -87:
        return f"row {row}: its largest value is {top:.1f}, and exp of that is 0 in float32"
    return ""


def _ratio(outcome: Outcome, row: int) -> str:
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
