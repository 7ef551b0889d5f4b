"""Wrong answers to "break it" in lab 2, and how they are recognised."""

from __future__ import annotations

import numpy as np

from ..model import NamedBug
from ..texts import bug, kernel_text

TILE = 256  # columns of a tile of the kernel that is to be broken
FAINT = 1e-3  # a move of the maximum that changes d by less than a thousandth

_EXPOSES = kernel_text("lab2.breaking_value", "loud_end")
_SPARES = kernel_text("lab2.forgiving_value", "loud_start")

BREAKING: tuple[NamedBug, ...] = (
    bug(
        "all_equal",
        "all values are equal",
        "The maximum of such a row never moves, so there is nothing to rescale. If you named a position by a number, "
        "such as 1000, it lies outside a shorter row: use n.",
        "answer",
        _EXPOSES,
        ("20.0 if i == n - 1 else 0.0", "20.0 if i == 5000 else 0.0"),
    ),
    bug(
        "maximum_in_first_tile",
        "the maximum is in the first tile",
        "The first tile holds columns 0 to 255. When the largest value is there, the maximum never moves again, and "
        "the factor that is left out would have been 1 in every later tile.",
        "answer",
        _EXPOSES,
        ("i == n - 1", "i == 200"),
    ),
    bug(
        "moves_too_little",
        "the maximum moves too little",
        "The factor that is left out is e^(m − m_new). After so small a move it is 1 to within the error that is "
        "allowed. Make the move larger.",
        "answer",
        _EXPOSES,
        ("20.0 if", "0.000001 if"),
    ),
)

FORGIVING: tuple[NamedBug, ...] = (
    bug(
        "late_maximum",
        "the maximum comes after the first tile",
        "A value beyond column 255 is larger than all of the first tile, so the maximum moves there and d would have "
        "to be rescaled.",
        "answer",
        _SPARES,
        ("i == 0", "i == n - 1"),
    ),
    bug(
        "rising",
        "the maximum moves in several tiles",
        "The values rise from tile to tile, so the maximum moves again and again, and each time d would have to be "
        "rescaled.",
        "answer",
        _SPARES,
        ("20.0 if i == 0 else 0.0", "0.01 * i"),
    ),
    bug(
        "all_equal",
        "all values are equal",
        "That row is spared by nearly every wrong kernel; here the values must differ. If you named a position by a "
        "number, it may lie outside a shorter row: use n.",
        "answer",
        _SPARES,
        ("20.0 if i == 0", "0.0 if i == 0"),
    ),
)


def _moves(values: np.ndarray) -> list[float]:
    """How far the running maximum moves in each tile after the first, where it does."""
    tops = np.array([values[start : start + TILE].max() for start in range(0, len(values), TILE)])
    before = np.maximum.accumulate(tops)
    return [float(move) for move in before[1:] - before[:-1] if move > 0]


def breaking(values: np.ndarray) -> str:
    """The named bug that the values of a wrong answer look like, "" for none."""
    moves = _moves(values.astype(np.float32))
    if (values == values[0]).all():
        return "all_equal"
    if not moves:
        return "maximum_in_first_tile"
    return "moves_too_little" if sum(moves) < FAINT else ""


def forgiving(values: np.ndarray) -> str:
    """The named bug that the values of a wrong answer look like, "" for none."""
    if (values.astype(np.float32) == np.float32(values[0])).all():
        return "all_equal"
    moves = [move for move in _moves(values.astype(np.float32)) if move > 1e-6]
    if not moves:
        return ""
    return "late_maximum" if len(moves) == 1 else "rising"
