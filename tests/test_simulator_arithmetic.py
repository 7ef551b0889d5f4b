"""float32 arithmetic with a GPU's limits, silently; math, max and min, division, bit functions."""

import math
import warnings

import numba
import numpy as np
import pytest
from numba import cuda
from numba.cuda import libdevice

from autograder.simulator import KernelError, gpumath, launch


def evaluate(kernel, *values, dtype=np.float32):
    x = np.array(values, dtype)
    out = np.zeros_like(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(kernel, 1, len(values), (x, out))
    return out


@cuda.jit
def literal_softmax(x, out):
    d = numba.float32(0.0)
    for i in range(x.shape[0]):
        d += math.exp(x[i])
    out[cuda.threadIdx.x] = math.exp(x[cuda.threadIdx.x]) / d


def test_logits_of_100_without_the_maximum_give_nan():
    out = evaluate(literal_softmax, 100, 101, 50, 0)
    assert np.isnan(out[0]) and np.isnan(out[1]) and out[3] == 0


@cuda.jit
def exponent(x, out):
    out[cuda.threadIdx.x] = math.exp(x[cuda.threadIdx.x])


def test_exp_is_float32():
    out = evaluate(exponent, 88.7, 88.8, -104, -np.inf, np.inf, 1.0)
    assert np.isfinite(out[0]) and out[1] == np.inf and out[2] == 0 and out[3] == 0 and out[4] == np.inf
    assert out[5] == np.float32(math.e)
    assert np.isnan(evaluate(exponent, np.nan)[0])


def test_exp_in_double_stays_double():
    assert evaluate(exponent, 100.0, dtype=np.float64)[0] == math.exp(100.0)
    assert evaluate(exponent, 1000.0, dtype=np.float64)[0] == np.inf


@cuda.jit
def sum_float32(x, out):
    d = numba.float32(0.0)
    for i in range(100):
        d += x[0]
    out[0] = d


def test_sums_round_to_float32():
    expected = np.float32(0)
    for _ in range(100):
        expected += np.float32(0.1)
    assert evaluate(sum_float32, 0.1)[0] == expected != np.float32(10.0)


@cuda.jit
def functions(x, out):
    v = x[cuda.threadIdx.x]
    out[cuda.threadIdx.x] = (math.log(v) + math.sqrt(v) + math.pow(v, v) + math.sin(v) + math.tanh(v)
                             + math.fabs(v) + abs(v) + math.log2(v) + v ** 2 + math.floor(v) + math.erf(v))


def test_math_functions_never_raise():
    out = evaluate(functions, 2.0, -1.0, 0.0, np.inf, np.nan, 3e38)
    v = 2.0
    assert out[0] == pytest.approx(math.log(v) + math.sqrt(v) + v**v + math.sin(v) + math.tanh(v) + v + v + 1 + 4
                                   + 2 + math.erf(v), rel=1e-6)
    assert np.isnan(out[1]) and out[2] == -np.inf and np.isnan(out[4])


@pytest.mark.parametrize("name", sorted(set(gpumath.FUNCTIONS) - {"gcd", "ldexp", "frexp", "modf"}))
@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e30, -1e30, math.inf, -math.inf, math.nan])
def test_every_function_takes_every_float(name, value):
    function = gpumath.FUNCTIONS[name]
    two = name in ("atan2", "copysign", "fmod", "hypot", "nextafter", "pow", "remainder")
    with np.errstate(all="ignore"):
        result = function(*[np.float32(value)] * (2 if two else 1))
    assert isinstance(result, (np.float32, int, bool, np.bool_))


@cuda.jit
def divisions(x, out):
    out[0] = x[0] / x[1]
    out[1] = 1.0 / (x[1] * 0)
    out[2] = 0 / int(x[1])
    out[3] = -1 / int(x[1])


def test_division_by_zero_is_not_an_exception():
    out = evaluate(divisions, 1, 0, 0, 0)
    assert out[0] == np.inf and out[1] == np.inf and np.isnan(out[2]) and out[3] == -np.inf


@cuda.jit
def extremes(x, out):
    out[0] = max(x[0], x[1])
    out[1] = max(x[1], x[0])
    out[2] = min(x[0], x[1])
    out[3] = max(-math.inf, x[1])
    out[4] = max(x[1], x[2], x[3])


def test_max_and_min_ignore_nan_as_fmax_does():
    assert evaluate(extremes, np.nan, 2, 5, 3, 0).tolist() == [2, 2, 2, 2, 5]


@cuda.jit
def bits(x, out):
    i = cuda.threadIdx.x
    out[0, i] = cuda.popc(x[i])
    out[1, i] = cuda.clz(x[i])
    out[2, i] = cuda.ffs(x[i])
    out[3, i] = cuda.brev(x[i])


def test_bit_functions():
    x = np.array([0, 1, 0x80000000, 0xF0], np.uint32)
    out = np.zeros((4, 4), np.int64)
    launch(bits, 1, 4, (x, out))
    assert out.tolist() == [[0, 1, 1, 4], [32, 31, 0, 24], [0, 1, 32, 5], [0, 0x80000000, 1, 0x0F000000]]


@cuda.jit
def casts(x, out):
    out[0] = numba.float32(x[0]) + np.float32(1.0)
    out[1] = int(x[1])
    out[2] = numba.int32(x[1] * 2)
    out[3] = float(x[0])


def test_casts():
    assert evaluate(casts, 0.5, 2.75, 0, 0).tolist() == [1.5, 2.0, 5.0, 0.5]


def test_a_host_only_function_is_refused():
    @cuda.jit
    def kernel(x):
        x[0] = math.factorial(3)

    with pytest.raises(KernelError, match="math.factorial"):
        launch(kernel, 1, 1, (np.zeros(1, np.float32),))


def test_from_math_import():
    from math import exp, inf

    @cuda.jit
    def kernel(x, out):
        out[0] = exp(x[0])
        out[1] = -inf

    assert evaluate(kernel, 200, 0).tolist() == [np.inf, -np.inf]


@cuda.jit
def halves(x, out):
    i = cuda.threadIdx.x
    out[0, i] = x[i] + x[i]
    out[1, i] = cuda.fp16.hmul(x[i], x[i])
    out[2, i] = cuda.fp16.hmax(x[i], np.float16(0))


def test_float16_arrays_and_functions():
    x = np.array([0.1, -2.0, 300.0], np.float16)
    out = np.zeros((3, 3), np.float16)
    launch(halves, 1, 3, (x, out))
    assert np.array_equal(out[0], x + x) and out[1, 2] == np.inf
    assert np.array_equal(out[1, :2], x[:2] * x[:2]) and np.array_equal(out[2], np.maximum(x, np.float16(0)))


@cuda.jit
def through_libdevice(x, out):
    out[0] = libdevice.expf(x[0])
    out[1] = libdevice.fast_expf(x[1])
    out[2] = libdevice.rsqrtf(x[2])
    out[3] = libdevice.fmaxf(x[3], x[0])


def test_libdevice():
    out = evaluate(through_libdevice, 1.0, 200.0, 4.0, np.nan)
    assert out.tolist() == [np.float32(math.e), np.inf, 0.5, 1.0]


@cuda.jit
def unknown_libdevice(x):
    x[0] = libdevice.j0f(x[0])


def test_what_libdevice_lacks_is_refused_by_name():
    with pytest.raises(KernelError, match="libdevice.j0f"):
        launch(unknown_libdevice, 1, 1, (np.zeros(1, np.float32),))


@cuda.jit
def whole_numbers(x, out):
    i = cuda.threadIdx.x
    out[0, i] = x[i] // 3
    out[1, i] = x[i] % 3
    out[2, i] = cuda.fma(2.0, 3.0, 1.0)


def test_integer_division_and_modulo_follow_numba():
    x = np.array([7, -7, 0], np.int32)
    out = np.zeros((3, 3), np.int64)
    launch(whole_numbers, 1, 3, (x, out))
    assert out.tolist() == [[2, -3, 0], [1, 2, 0], [7, 7, 7]]
