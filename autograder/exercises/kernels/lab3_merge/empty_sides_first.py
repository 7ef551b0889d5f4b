import math

from numba import cuda

NEG_INF = float("-inf")


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    if m1 == NEG_INF:
        return m2, d2
    if m2 == NEG_INF:
        return m1, d1
    m = max(m1, m2)
    return m, d1 * math.exp(m1 - m) + d2 * math.exp(m2 - m)
