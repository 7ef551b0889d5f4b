import math

import numpy as np
from numba import cuda


@cuda.jit("UniTuple(float32, 2)(float32, float32, float32, float32)", device=True)
def merge(ma, da, mb, db):
    top = ma if ma > mb else mb
    fa = np.float32(0.0)
    fb = np.float32(0.0)
    if ma != -math.inf:
        fa = math.exp(ma - top)
    if mb != -math.inf:
        fb = math.exp(mb - top)
    return top, da * fa + db * fb
