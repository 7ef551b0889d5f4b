"""The common maximum is taken to be m1 + m2, as if two exponents multiplied."""

import math

import numba
from numba import cuda


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    if m1 == -math.inf:
        return m2, d2
    if m2 == -math.inf:
        return m1, d1
    m = m1 + m2
    return m, d1 * math.exp(m1 - m) + d2 * math.exp(m2 - m)
