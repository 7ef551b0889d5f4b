"""Float64 references. Each takes X float32 [rows, n] and is written for plainness, not for speed.

They share no code with any kernel, so agreement with them means something.
"""

from __future__ import annotations

import numpy as np


def row_max(X: np.ndarray) -> np.ndarray:
    """The largest value of each row, float64 [rows]; -inf for a row of -inf only.

    A row with a NaN gives NaN here, but no check asks for it: `max` and `fmax` on a GPU pass over a
    NaN, and a kernel that uses them is not wrong for that.
    """
    return X.astype(np.float64).max(axis=1)


def row_sum(X: np.ndarray) -> np.ndarray:
    """The sum of each row, float64 [rows]; NaN and infinities spread as in any sum."""
    with np.errstate(invalid="ignore"):
        return X.astype(np.float64).sum(axis=1)


def softmax(X: np.ndarray) -> np.ndarray:
    """Safe softmax of each row, float64 [rows, n].

    An element of -inf gives exactly 0. One NaN makes its whole row NaN, since every output divides by
    a sum that contains it. A row of -inf only, and a row with +inf, give NaN throughout, as the
    mathematics does (0/0, inf/inf); no check asks for either.
    """
    wide = X.astype(np.float64)
    with np.errstate(invalid="ignore"):
        terms = np.exp(wide - wide.max(axis=1, keepdims=True))
        return terms / terms.sum(axis=1, keepdims=True)


def three_pass_bytes(rows: int, n: int) -> int:
    """Bytes that three-pass softmax loads and stores: three reads and one write of X, 4 bytes each."""
    return 4 * (3 + 1) * rows * n


def rows_kernel_load_sectors(rows: int, n: int) -> int:
    """Sectors that the kernel with one thread a row loads, in two passes over X.

    Needs ``rows`` a multiple of 32 and ``n`` a multiple of 8: then the 32 lanes of a warp read 32
    addresses that lie a row apart, each in a sector of its own.
    """
    return 2 * rows * n
