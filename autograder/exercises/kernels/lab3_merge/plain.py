import math

from numba import cuda, float32


@cuda.jit(device=True)
def merge(m1, d1, m2, d2):
    m = max(m1, m2)
    # Two empty states: -inf - (-inf) would be NaN, and exp(-inf - 0) is the 0 that is wanted.
    base = m if m != -math.inf else float32(0.0)
    # Each side brings its own factor, and the factor of the larger side is 1.
    d = d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)
    return m, d
