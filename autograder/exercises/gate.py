"""The numeric gate: is an output as near to the float64 reference as float32 allows?

Element by element ``|out - ref| <= rtol*magnitude + TINY``, where the magnitude is ``|ref|`` unless the
exercise says what else a right kernel's error is relative to (a sum that cancels). The gate fraction of an element is its error
as a share of that limit, so 1.0 is the limit itself. Right float32 kernels, whatever order they sum
in, sit well under 1; all zeros, the uniform row and a float16 sum are far above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

EPS32 = 2.0**-23
"""Distance from 1.0 to the next float32."""

TINY = float(np.finfo(np.float32).tiny)
"""The smallest normal float32 (1.2e-38): what a GPU that flushes subnormals to zero may lose."""

NEARLY = 1e-6
"""Relative difference up to which two elements count as equally wrong."""


@dataclass(frozen=True)
class GateResult:
    """The verdict of the gate on one output array.

    ``fraction`` is the worst gate fraction (0.0 for an exact output, inf for a NaN or an infinity
    that is not the reference's, or a missing one); ``row`` and ``col`` say where it is (``col`` is 0
    for an output of one value a row); ``found`` and ``expected`` are the two values there;
    ``failing`` of ``size`` elements are over the limit, the first of them, row by row, at
    ``first_row``, ``first_col`` (-1, -1 when none is).
    """

    fraction: float
    row: int
    col: int
    found: float
    expected: float
    passed: bool
    failing: int = 0
    size: int = 0
    first_row: int = -1
    first_col: int = -1


def relative_tolerance(n_reduced: int) -> float:
    """The relative error allowed after a reduction over ``n_reduced`` values.

    Rounding errors of a float32 sum add up like a random walk, so the limit grows with sqrt(n).
    """
    return max(1e-5, 4.0 * EPS32 * math.sqrt(n_reduced))


def fractions(
    out: np.ndarray, ref: np.ndarray, n_reduced: int, magnitude: np.ndarray | None = None, rtol: float | None = None
) -> np.ndarray:
    """The gate fraction of every element, float64, in the shape of ``ref``.

    ``magnitude`` (same shape, or one that broadcasts to it) replaces ``|ref|`` in the limit, ``rtol`` the
    relative tolerance.

    NaN is right exactly where the reference has NaN, and an infinity exactly where the reference has
    the same infinity; anything else there, and either of them elsewhere, is inf.

    Raises ValueError when the two shapes differ.
    """
    out = np.asarray(out)
    ref = np.asarray(ref, dtype=np.float64)
    if out.shape != ref.shape:
        raise ValueError(f"the output has shape {out.shape}, the reference {ref.shape}")
    with np.errstate(all="ignore"):
        wide = out.astype(np.float64)
        size = np.abs(ref) if magnitude is None else np.abs(np.asarray(magnitude, dtype=np.float64))
        limit = (relative_tolerance(n_reduced) if rtol is None else rtol) * size + TINY
        worst = np.abs(wide - ref) / limit
    plain = np.isfinite(ref)
    same = np.where(np.isnan(ref), np.isnan(wide), wide == ref)
    worst = np.where(plain, worst, np.where(same, 0.0, np.inf))
    return np.where(plain & ~np.isfinite(wide), np.inf, worst)


def compare(
    out: np.ndarray, ref: np.ndarray, n_reduced: int, magnitude: np.ndarray | None = None, rtol: float | None = None
) -> GateResult:
    """Hold ``out`` (float32 [rows, n] or [rows]) against ``ref`` (float64, same shape).

    ``n_reduced`` is the length of the rows that the kernel reduced; ``magnitude`` and ``rtol`` as in
    :func:`fractions`. An empty output passes. Raises ValueError when the shapes differ.
    """
    share = fractions(out, ref, n_reduced, magnitude, rtol)
    if share.size == 0:
        return GateResult(0.0, 0, 0, math.nan, math.nan, True)
    flat = share.reshape(share.shape[0], -1)
    worst = float(flat.max())
    # Which of several elements as wrong is the largest hangs on the last bit of the machine's exp: the first is named.
    row, col = (int(i) for i in np.unravel_index(int(np.argmax(flat >= worst * (1 - NEARLY))), flat.shape))
    over = np.argwhere(flat > 1.0)
    first = (int(over[0][0]), int(over[0][1])) if len(over) else (-1, -1)
    return GateResult(
        fraction=worst,
        row=row,
        col=col,
        found=float(np.asarray(out).reshape(flat.shape)[row, col]),
        expected=float(np.asarray(ref).reshape(flat.shape)[row, col]),
        passed=not worst > 1.0,
        failing=len(over),
        size=int(flat.size),
        first_row=first[0],
        first_col=first[1],
    )
