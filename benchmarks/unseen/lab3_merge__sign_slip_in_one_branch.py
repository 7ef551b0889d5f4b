"""In the second branch the exponent has the wrong sign."""

import math

import numba
from numba import cuda


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    if m1 == -math.inf and m2 == -math.inf:
        return m1, numba.float32(0.0)
    if m1 >= m2:
        return m1, d1 + d2 * math.exp(m2 - m1)
    return m2, d2 + d1 * math.exp(m2 - m1)
