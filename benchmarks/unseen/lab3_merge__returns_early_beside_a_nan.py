"""The guard returns (m, 0) as soon as m is -inf; max passes over a NaN, so a NaN beside an empty state is lost."""

import math

import numba
from numba import cuda


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    if m == -math.inf:  # both empty
        return m, numba.float32(0.0)
    return m, d1 * math.exp(m1 - m) + d2 * math.exp(m2 - m)
