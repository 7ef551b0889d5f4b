"""Each d gets the other one's factor."""

import math

import numba
from numba import cuda


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    big = max(m1, m2)
    if m1 == -math.inf and m2 == -math.inf:  # both empty
        return big, numba.float32(0.0)
    return big, d1 * math.exp(m2 - big) + d2 * math.exp(m1 - big)
