"""The merge of two states: its cases, its float64 reference, and the kernel that calls a student's ``merge``.

A case has M and D, float32 [k, 3]: in each row three states A, B and C, each a maximum and a denominator.
The outputs are OM and OD, float32 [k, 4]: the states merge(A, B), merge(B, A), merge(merge(A, B), C) and
merge(A, merge(B, C)). So a merge that depends on the order of its sides, or on the order in which three
are joined, misses the reference in one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator

from .cases import generator
from .model import Case, Harness, Inputs

ROWS = 48
"""Rows of three states in a case: more than a warp, and not a multiple of one."""

THREADS = 32

ORDERS = ("merge(A, B)", "merge(B, A)", "merge(merge(A, B), C)", "merge(A, merge(B, C))")

HARNESS = Harness(
    name="merge_in_every_order",
    parameters=("M", "D", "OM", "OD"),
    text='''\
from numba import cuda


@cuda.jit
def merge_in_every_order(M, D, OM, OD):
    i = cuda.grid(1)
    if i >= M.shape[0]:
        return
    ab_m, ab_d = merge(M[i, 0], D[i, 0], M[i, 1], D[i, 1])
    ba_m, ba_d = merge(M[i, 1], D[i, 1], M[i, 0], D[i, 0])
    bc_m, bc_d = merge(M[i, 1], D[i, 1], M[i, 2], D[i, 2])
    left_m, left_d = merge(ab_m, ab_d, M[i, 2], D[i, 2])
    right_m, right_d = merge(M[i, 0], D[i, 0], bc_m, bc_d)
    OM[i, 0], OD[i, 0] = ab_m, ab_d
    OM[i, 1], OD[i, 1] = ba_m, ba_d
    OM[i, 2], OD[i, 2] = left_m, left_d
    OM[i, 3], OD[i, 3] = right_m, right_d
    # A state that has met a NaN may show it in m, in d or in both: it spoils the row all the same.
    for k in range(4):
        if OM[i, k] != OM[i, k] or OD[i, k] != OD[i, k]:
            OM[i, k] = OM[i, k] + OD[i, k]
            OD[i, k] = OM[i, k]
''',
)  # fmt: skip


def launch(inputs: Inputs) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A thread for each row of three states."""
    return (-(-inputs.arrays["M"].shape[0] // THREADS),), (THREADS,)


def reference(inputs: Inputs) -> dict[str, np.ndarray]:
    """The merged states, float64 [k, 4]: the sum of d·e^(m - max) over the sides that are not empty.

    Both numbers are NaN where a side holds a NaN.
    """
    M, D = (inputs.arrays[name].astype(np.float64) for name in ("M", "D"))
    two, three = _merged(M[:, :2], D[:, :2]), _merged(M, D)
    return {
        name: np.stack([two[part], two[part], three[part], three[part]], axis=1)
        for part, name in enumerate(("OM", "OD"))
    }


def _merged(M: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    spoilt = np.isnan(M).any(axis=1) | np.isnan(D).any(axis=1)
    top = np.nan_to_num(M, nan=0.0, neginf=-np.inf).max(axis=1)
    base = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(all="ignore"):
        total = (np.nan_to_num(D) * np.exp(np.nan_to_num(M, nan=0.0, neginf=-np.inf) - base[:, None])).sum(axis=1)
    return np.where(spoilt, np.nan, top), np.where(spoilt, np.nan, total)


def where(inputs: Inputs, array: str, row: int, col: int) -> str:
    """A phrase for one number of the outputs, with the states that were merged."""
    M, D = inputs.arrays["M"][row], inputs.arrays["D"][row]
    names = "ABC" if "C" in ORDERS[col] else "AB"
    states = ", ".join(f"{name} = ({M[k]:.6g}, {D[k]:.6g})" for k, name in enumerate(names))
    return f"{'m' if array == 'OM' else 'd'} of {ORDERS[col]} with {states}"


Family = Callable[[Generator], tuple[np.ndarray, np.ndarray]]


def _denominators(rng: Generator) -> np.ndarray:
    """What a thread's share may add up to: 1 to 300."""
    return rng.uniform(1.0, 300.0, size=(ROWS, 3))


def whole_numbers(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Maxima 0 to 9 and denominators 1 to 5: numbers that can be checked by hand. No two maxima of a row are equal."""
    M = np.stack([rng.permutation(10)[:3] for _ in range(ROWS)])
    return M, rng.integers(1, 6, size=(ROWS, 3))


def near(rng: Generator, level: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Maxima within a few units of ``level``."""
    return level + rng.normal(size=(ROWS, 3)).clip(-3.0, 3.0), _denominators(rng)


def equal(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """The same maximum on every side: both factors are 1."""
    return np.repeat(rng.normal(size=(ROWS, 1)) * 5.0, 3, axis=1), _denominators(rng)


def apart(rng: Generator, by: float) -> tuple[np.ndarray, np.ndarray]:
    """One side about ``by`` above the two others, each side in turn."""
    M, D = near(rng)
    M[np.arange(ROWS), np.arange(ROWS) % 3] += by
    return M, D


def empty(rng: Generator, sides: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The identity (-inf, 0) on the named sides; the others below -5, so that 0 is above them."""
    M, D = near(rng, level=-9.0)
    M[:, sides] = -np.inf
    D[:, sides] = 0.0
    return M, D


def one_nan(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """A NaN of the row is the state (NaN, 1). It is side A or B of every other row; the other sides are
    empty in half of those rows."""
    M, D = near(rng)
    M[2::4], D[2::4] = -np.inf, 0.0
    for row in range(0, ROWS, 2):
        side = row // 4 % 2
        M[row, side], D[row, side] = np.nan, 1.0
    return M, D


def _case(name: str, group: str, reason: str, family: Family) -> Case:
    return Case(name, group, reason, partial(_inputs, name, family))


def _inputs(name: str, family: Family, seed: int) -> Inputs:
    M, D = (np.ascontiguousarray(part, dtype=np.float32) for part in family(generator(seed, name)))
    hole = np.full((ROWS, len(ORDERS)), np.nan, dtype=np.float32)
    return Inputs(arrays={"M": M, "D": D, "OM": hole, "OD": hole.copy()})


VALUES = (
    _case("whole numbers", "ordinary", "Small whole numbers, to check by hand.", whole_numbers),
    _case("ordinary states", "ordinary", "Maxima a few units apart: each side has a factor of its own.", near),
    _case("equal maxima", "ordinary", "Both factors are 1, so the denominators are simply added.", equal),
)

RESCALE = (
    _case("20 apart", "far apart", "The lower side counts for e^-20, next to nothing but not the whole of it.",
          partial(apart, by=20.0)),
    _case("200 apart", "far apart", "e^200 overflows float32: only differences from the larger maximum are safe.",
          partial(apart, by=200.0)),
    _case("far below, near -20000", "far apart", "These lie below any number that might stand for minus infinity.",
          partial(near, level=-2.0e4)),
    _case("A empty", "one empty", "(-inf, 0) merged with a state must leave that state.", partial(empty, sides=(0,))),
    _case("B empty", "one empty", "A state merged with (-inf, 0) must stay as it is.", partial(empty, sides=(1,))),
    _case("C empty", "one empty", "The identity may come last, too.", partial(empty, sides=(2,))),
    _case("A and B empty", "both empty", "-inf - (-inf) is NaN; two empty states make an empty one.",
          partial(empty, sides=(0, 1))),
    _case("all empty", "both empty", "However many empty states are merged, the result is (-inf, 0).",
          partial(empty, sides=(0, 1, 2))),
    _case("a NaN", "a NaN", "A NaN among the values must not be lost, even beside an empty state.", one_nan),
)  # fmt: skip
