"""Families of input rows, each made to bring one kind of mistake to light.

Every family is a function ``(rng, rows, n, tile) -> X``, float32 [rows, n], C order, that uses no
randomness but ``rng``. ``tile`` is the number of columns that the exercise's block handles at once;
it places what must happen in the first or in the last tile. Nothing that decides whether a mistake
shows is left to chance: the position or sign that matters is set, the rest is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

NEG_INF = np.float32(-np.inf)


def last_tile_start(n: int, tile: int) -> int:
    """First column of the last tile of a row of ``n`` (the ragged one, where there is one)."""
    return (n - 1) // tile * tile


def ordinary(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """Like logits in practice: N(0, 1), and in each row one value between 4 and 5.

    That peak is in the last tile for rows 0, 2, 4… and in the first for the others. In row 0 it is in
    the upper half of the tile: a tree that leaves out the upper threads must not get by.
    """
    X = rng.normal(size=(rows, n)).clip(-3.0, 3.0)
    for row in range(rows):
        column = _position(rng, n, tile, last=row % 2 == 0)
        if row == 0:
            start = last_tile_start(n, tile)
            column = int(rng.integers(start + (n - start) // 2, n))
        X[row, column] = rng.uniform(4.0, 5.0)
    return X.astype(np.float32)


def easy(rng: Generator, rows: int, n: int, tile: int, first: int = 0) -> np.ndarray:
    """Rows on which little can go wrong: the ``first`` columns (the first tile, when it is 0) hold the
    larger values and the maximum, all others lie below them. No maximum moves after the first tile, a
    thread's own neither when it walks its columns in order. How far the values of a row spread differs
    from row to row, so that d cannot be guessed."""
    first = min(first or tile, n)
    depth = rng.uniform(0.5, 4.0, size=(rows, 1))
    X = rng.uniform(-1.0, 0.0, size=(rows, n))
    X[:, first:] -= 1.0
    X *= depth
    for row in range(rows):
        X[row, int(rng.integers(0, first))] = rng.uniform(1.0, 2.0)
    return X.astype(np.float32)


def loud_last(rng: Generator, rows: int, n: int, tile: int, by: float = 20.0) -> np.ndarray:
    """N(0, 1), and one value of the last tile about ``by`` above the others.

    It is raised by a little more than ``by``: with less than +20 over 700 values, a right kernel that
    happens to add the loud one first could lose a visible share of the small ones.
    """
    X = rng.normal(size=(rows, n)).clip(-3.0, 3.0)
    for row in range(rows):
        X[row, _position(rng, n, tile, last=True)] = by + rng.uniform(0.5, 2.0)
    return X.astype(np.float32)


def loud_first(rng: Generator, rows: int, n: int, tile: int, by: float = 200.0) -> np.ndarray:
    """N(0, 1), and one value of the first tile about ``by`` above the others."""
    X = rng.normal(size=(rows, n)).clip(-3.0, 3.0)
    for row in range(rows):
        X[row, _position(rng, n, tile, last=False)] = by + rng.uniform(0.5, 2.0)
    return X.astype(np.float32)


def ramp(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """s, s+1, … s+n-1 with another s in each row, a multiple of 1/4 below 100: the maximum moves at
    every element."""
    start = rng.integers(0, 400, size=(rows, 1)) * 0.25
    return (np.arange(n) + start).astype(np.float32)


def near(rng: Generator, rows: int, n: int, tile: int, level: float = -200.0) -> np.ndarray:
    """N(0, 1) around ``level``, within 3 of it."""
    return (level + rng.normal(size=(rows, n)).clip(-3.0, 3.0)).astype(np.float32)


def empty_first_tiles(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """-inf in every tile but the last, which is N(0, 1)."""
    X = rng.normal(size=(rows, n)).clip(-3.0, 3.0).astype(np.float32)
    X[:, : last_tile_start(n, tile)] = NEG_INF
    return X


def empty_lanes(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """N(0, 1), and -inf in one lane of every warp, the same lane in every tile: that lane's whole share."""
    X = rng.normal(size=(rows, n)).clip(-3.0, 3.0).astype(np.float32)
    X[:, int(rng.integers(0, 32)) :: 32] = NEG_INF
    X[:, 0::32] = NEG_INF
    return X


def one_finite(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """-inf everywhere but for one value near -5 (even rows) or 5, in the last tile."""
    X = np.full((rows, n), NEG_INF, dtype=np.float32)
    for row in range(rows):
        sign = -1.0 if row % 2 == 0 else 1.0
        X[row, _position(rng, n, tile, last=True)] = sign * rng.uniform(4.0, 6.0)
    return X


def constant(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """One value in the whole row, a positive multiple of 1/4 up to 100, another in each row."""
    return np.repeat(rng.integers(1, 401, size=(rows, 1)) * 0.25, n, axis=1).astype(np.float32)


def one_nan(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """Ordinary rows; every odd row has one NaN in its second half. Row 0 has none, so that leaving
    the output as it was is wrong here too."""
    X = ordinary(rng, rows, n, tile)
    for row in range(1, rows, 2):
        X[row, int(rng.integers(n // 2, n))] = np.nan
    return X


def all_empty(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """-inf throughout the even rows, N(0, 1) in the others. For a maximum only."""
    X = rng.normal(size=(rows, n)).astype(np.float32)
    X[0::2] = NEG_INF
    return X


# For sums. A float32 sum that cancels is legitimately far from the true one, so the values of a row
# have one sign, or are small multiples of 1/4, whose float32 sums are exact in any order.


def positive(rng: Generator, rows: int, n: int, tile: int, scale: float = 1.0) -> np.ndarray:
    """Uniform between 0.5 and 1.5, times ``scale``."""
    return (scale * rng.uniform(0.5, 1.5, size=(rows, n))).astype(np.float32)


def mixed_signs(rng: Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """Multiples of 1/4 between -8 and 8, and 4096.25 in the last tile, so the sum is never 0."""
    X = (rng.integers(-32, 33, size=(rows, n)) * 0.25).astype(np.float32)
    for row in range(rows):
        X[row, _position(rng, n, tile, last=True)] = 4096.25
    return X


def positive_loud(
    rng: Generator, rows: int, n: int, tile: int, by: float = 200.0, last: bool = True
) -> np.ndarray:
    """Uniform between 0.5 and 1.5, and ``by`` more at one place of the last (or first) tile."""
    X = rng.uniform(0.5, 1.5, size=(rows, n))
    for row in range(rows):
        X[row, _position(rng, n, tile, last=last)] += by
    return X.astype(np.float32)


def positive_one(rng: Generator, rows: int, n: int, tile: int, value: float = np.nan) -> np.ndarray:
    """Uniform between 0.5 and 1.5; every odd row has ``value`` at one place of its second half."""
    X = positive(rng, rows, n, tile)
    for row in range(1, rows, 2):
        X[row, int(rng.integers(n // 2, n))] = value
    return X


def _position(rng: Generator, n: int, tile: int, last: bool) -> int:
    """A column of the last tile, or of the first."""
    if last:
        return int(rng.integers(last_tile_start(n, tile), n))
    return int(rng.integers(0, min(n, tile)))
