"""Wrong answers to the questions of lab 5 that ask for a formula or for an input."""

from __future__ import annotations

import numpy as np

from ..model import NamedBug
from ..texts import bug, kernel_text

_NAIVE = kernel_text("lab5.naive_bytes", "formula")
_ONLINE = kernel_text("lab5.online_bytes", "formula")
_LOUD = kernel_text("lab5.breaking_value", "loud_last")

_FORMULA = "20 * n * n + 16 * n * d"
_BYTES = "4 * (2 * n * d + 2 * n * d * blocks)"

NAIVE_BYTES: tuple[NamedBug, ...] = (
    bug(
        "numbers_not_bytes",
        "numbers counted, not bytes",
        "This counts float32 numbers. Each has 4 bytes.",
        "answer",
        _NAIVE,
        (_FORMULA, "5 * n * n + 4 * n * d"),
    ),
    bug(
        "matrix_once",
        "the matrix crosses once",
        "Every kernel of the path moves the n × n matrix: one writes it, softmax reads it twice and writes it, and "
        "the product with V reads it. That is five times, not once.",
        "answer",
        _NAIVE,
        (_FORMULA, "4 * n * n + 16 * n * d"),
    ),
    bug(
        "matrix_written_and_read",
        "softmax moves nothing",
        "The matrix is written by the first kernel and read by the third, but softmax stands between them: it reads "
        "the matrix twice and writes it once.",
        "answer",
        _NAIVE,
        (_FORMULA, "8 * n * n + 16 * n * d"),
    ),
    bug(
        "softmax_in_one_read",
        "softmax with one read of the matrix",
        "Online softmax reads its rows twice, once for (m, d) and once for the output. At these lengths a row does "
        "not fit in a cache.",
        "answer",
        _NAIVE,
        (_FORMULA, "16 * n * n + 16 * n * d"),
    ),
    bug(
        "three_passes",
        "softmax in three passes",
        "The naive path here uses online softmax, which reads the matrix twice, not three times.",
        "answer",
        _NAIVE,
        (_FORMULA, "24 * n * n + 16 * n * d"),
    ),
    bug(
        "inputs_left_out",
        "Q, K, V and O left out",
        "The matrix is not all: Q, K and V are read and O is written, 4·n·d numbers together.",
        "answer",
        _NAIVE,
        (_FORMULA, "20 * n * n"),
    ),
)

ONLINE_BYTES: tuple[NamedBug, ...] = (
    bug(
        "numbers_not_bytes",
        "numbers counted, not bytes",
        "This counts float32 numbers. Each has 4 bytes.",
        "answer",
        _ONLINE,
        (_BYTES, "2 * n * d + 2 * n * d * blocks"),
    ),
    bug(
        "keys_once",
        "K and V counted once for all blocks",
        "No block sees what another has loaded: each reads all of K and V for its own queries.",
        "answer",
        _ONLINE,
        (_BYTES, "16 * n * d"),
    ),
    bug(
        "floor_division",
        "the ragged last block left out",
        "n / query_tile is rounded down, so the block with the last few queries is missing. It reads all of K and V "
        "too: round up.",
        "answer",
        _ONLINE,
        ("(n + query_tile - 1) // query_tile", "n // query_tile"),
    ),
    bug(
        "keys_for_each_query",
        "K and V read for every query",
        "The queries of a block share the tiles of K and V, so those are read once a block, not once a query.",
        "answer",
        _ONLINE,
        (_BYTES, "4 * (2 * n * d + 2 * n * d * n)"),
    ),
    bug(
        "values_left_out",
        "V left out",
        "Every block reads V as well as K.",
        "answer",
        _ONLINE,
        (_BYTES, "4 * (2 * n * d + n * d * blocks)"),
    ),
    bug(
        "output_left_out",
        "O left out",
        "Q is read and O is written: two arrays of n·d numbers that cross once.",
        "answer",
        _ONLINE,
        (_BYTES, "4 * (n * d + 2 * n * d * blocks)"),
    ),
    bug(
        "queries_for_each_block",
        "Q and O counted for every block",
        "A block reads only its own queries and writes only its own rows of O: over all blocks, each crosses once.",
        "answer",
        _ONLINE,
        (_BYTES, "16 * n * d * blocks"),
    ),
)

BREAKING_VALUE: tuple[NamedBug, ...] = (
    bug(
        "all_equal",
        "all scores equal",
        "The maximum is there from the first key on and never moves, so there is nothing to rescale.",
        "answer",
        _LOUD,
        ("return 20 if i == n - 3 else 0", "return 1"),
    ),
    bug(
        "loud_first",
        "the largest score comes first",
        "When the largest score is in the first tile, every later factor is e^0 = 1, and a kernel that forgets it is "
        "right. Put it in a later tile.",
        "answer",
        _LOUD,
        ("i == n - 3", "i == 0"),
    ),
    bug(
        "moves_in_first_tile",
        "the maximum moves within the first tile only",
        "The scores do rise, but a tile has one maximum, and the largest is in tile 0: O is still 0 when it is "
        "corrected. The maximum has to move from one tile to a later one.",
        "answer",
        _LOUD,
        ("return 20 if i == n - 3 else 0", "return min(i, 31)"),
    ),
    bug(
        "too_quiet",
        "the maximum moves too little to see",
        "The maximum moves in a later tile, but by so little that the factor is 1 up to the error allowed. Make the "
        "late score stand out.",
        "answer",
        _LOUD,
        ("return 20", "return 0.000001"),
    ),
)


def recognise(tile: int, values: np.ndarray) -> str:
    """The id of the bug of BREAKING_VALUE that scores (float [n], n > tile) look like; "" for none."""
    first, later = values[:tile], values[tile:]
    if (values == values[0]).all():
        return "all_equal"
    if first.max() < later.max():
        return "too_quiet" if later.max() - first.max() < 1e-3 else ""
    return "loud_first" if values[0] == first.max() else "moves_in_first_tile"
