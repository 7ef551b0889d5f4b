"""The factor between what was found and what was expected, and words for it."""

from __future__ import annotations

import numpy as np

SPREAD = 1e-4  # relative; float32 arithmetic in any order stays a hundred times closer
EXACT = 2e-5  # the same, where many guesses are tried
SMALLEST = 1e-6  # of a row's largest: below it an element has too little weight to tell a factor


def one_factor(found: np.ndarray, expected: np.ndarray) -> float | None:
    """The one factor, above 0, by which all elements of ``found`` differ from ``expected``; None where there is
    no such thing."""
    weighty = np.abs(expected) > SMALLEST * np.abs(expected).max()
    if weighty.sum() < min(2, len(expected)) or not np.isfinite(found).all():
        return None
    ratio = found[weighty] / expected[weighty]
    if not np.isfinite(ratio).all() or ratio.min() <= 0 or not near(float(ratio.min()), float(ratio.max())):
        return None
    return float(np.median(ratio))


def near(one: float, other: float, relative: float = SPREAD) -> bool:
    """Whether two numbers agree to ``relative`` of the larger."""
    return bool(np.isfinite(one) and np.isfinite(other) and abs(one - other) <= relative * max(abs(one), abs(other)))


def times(factor: float) -> str:
    """ "8 times", "1/8 of", "0.0998 of", "1.13 times": before "the right value"."""
    over = factor >= 1
    whole = round(factor if over else 1 / factor)
    if 1 < whole < 1e6 and near(factor if over else 1 / factor, whole):
        return f"{whole:,} times" if over else f"1/{whole:,} of"
    return f"{float(f'{factor:.4g}'):g} {'times' if over else 'of'}"
