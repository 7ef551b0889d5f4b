from math import exp

from numba import cuda


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    if m1 < m2:
        return m2, d1 * exp(m1 - m2) + d2
    if m1 == m2:  # two empty states are equal too
        return m1, d1 + d2
    return m1, d1 + d2 * exp(m2 - m1)
