import math


def breaking_value(i, n):
    return 10.0 * math.sin(0.37 * i)
