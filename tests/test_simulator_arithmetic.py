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


# what follows is what the PTX of numba-cuda 0.30.4 computes (sm_80; read from the compiler's output)

def results(kernel, count, *args, dtype=np.int64):
    out = np.zeros(count, dtype)
    launch(kernel, 1, 1, (*args, out))
    return out.tolist()


@cuda.jit
def rounded_floats(x, out):
    half = math.floor(x[0]) / 2
    out[0] = half
    out[1] = math.ceil(x[1])
    out[2] = math.trunc(x[2])
    out[3] = math.floor(x[3]) * math.ceil(x[3])


def test_floor_ceil_and_trunc_give_floats():
    x = np.array([3.5, -0.5, -np.inf, np.nan], np.float32)
    found = results(rounded_floats, 4, x, dtype=np.float64)
    assert found[0] == 1.5 and found[1] == 0 and math.copysign(1, found[1]) == -1
    assert found[2] == -math.inf and math.isnan(found[3])


@cuda.jit
def float_index(x, out):
    out[0] = x[math.floor(x[0])]


@cuda.jit
def bool_index(x, out):
    out[0] = x[x[0] > 0]


@pytest.mark.parametrize(("kernel", "kind"), [(float_index, "float32"), (bool_index, "bool")])
def test_an_index_that_is_no_integer_is_refused_with_its_line(kernel, kind):
    with pytest.raises(TypeError, match=rf"line \d+: .*index of type {kind}; an index must be an integer"):
        launch(kernel, 1, 1, (np.ones(2, np.float32), np.zeros(1)))


@cuda.jit
def ranges(x, out):
    for k in range(math.ceil(x[0])):
        out[0] += 1
    for k in range(x[1]):
        out[1] += k
    for k in range(1, x[0], 1):
        out[2] += k


def test_range_cuts_a_float():
    assert results(ranges, 3, np.array([2.5, 3.9], np.float32)) == [3, 3, 1]


@cuda.jit
def integer_divisions(a, b, out):
    out[0] = a[0] // b[0]
    out[1] = a[0] % b[0]
    out[2] = a[1] // b[1]
    out[3] = a[1] % b[1]
    out[4] = a[2] // b[2]
    out[5] = a[2] % b[2]


def test_integer_division_never_raises():
    a, b = np.array([7, -(2**63), -7], np.int64), np.array([0, -1, 2], np.int64)
    assert results(integer_divisions, 6, a, b) == [0, 0, 0, 0, -4, 1]


@cuda.jit(debug=True)
def checked_division(a, out):
    out[0] = 1 // a[0]


def test_a_debug_kernel_raises_for_a_division_by_zero():
    with pytest.raises(ZeroDivisionError):
        results(checked_division, 1, np.zeros(1, np.int64))


@cuda.jit
def shifts(a, n, out):
    out[0] = 1 << n[0]
    out[1] = a[0] >> n[0]
    out[2] = 1 << n[1]
    out[3] = a[0] >> n[1]
    out[4] = 1 << n[2]
    out[5] = a[0] >> 1


def test_shifts_beyond_the_width_clear():
    assert results(shifts, 6, np.array([-5]), np.array([64, -1, 63])) == [0, -1, 0, -1, -(2**63), -3]


@cuda.jit
def overflows(a, u, out):
    out[0] = a[0] + 1
    out[1] = a[0] * 3 // 2
    out[2] = -a[1]
    out[3] = abs(a[1])
    out[4] = abs(u[0])
    out[5] = -u[0]
    out[6] = (a[0] + a[0] > 0) + 10


def test_integers_wrap_in_their_registers():
    top = 2**63 - 1
    wrapped = (3 * top + 2**63) % 2**64 - 2**63
    low = -(2**31)
    assert results(overflows, 7, np.array([top, -(2**63)]), np.array([low], np.int32)) == [
        -(2**63), wrapped // 2, -(2**63), -(2**63), low, low, 10]


@cuda.jit
def unsigned(a, b, out):
    out[0] = a[0] - b[0]
    out[1] = -a[0]
    out[2] = (a[0] - b[0]) // 2
    out[3] = ~a[0]


def test_unsigned_arithmetic_has_no_sign():
    assert results(unsigned, 4, np.array([3], np.uint32), np.array([5], np.uint32), dtype=np.uint64) == [
        2**64 - 2, 2**32 - 3, 2**64 - 1, 2**32 - 4]  # uint64 // int64 is an int64: -2 // 2


@cuda.jit
def powers(a, n, out):
    out[0] = a[0] ** n[0]
    out[1] = a[0] ** n[1]
    out[2] = a[1] ** n[1]
    out[3] = a[2] ** n[1]
    out[4] = 3 ** n[2]
    out[5] = a[0] ** 70000


def test_powers_of_integers_pass_through_a_double():
    found = results(powers, 6, np.array([3, 1, 0]), np.array([4, -1, 39]))
    assert found == [81, 0, 1, -(2**63), int(float(3**39)), 2**63 - 1] and found[4] != 3**39


@cuda.jit
def cuts(x, out):
    for k in range(x.shape[0]):
        out[k, 0] = int(x[k])
        out[k, 1] = np.int32(x[k])
        out[k, 2] = np.uint32(x[k])
        out[k, 3] = np.int8(x[k])
        out[k, 4] = np.uint64(x[k]) >> 1
        out[k, 5] = round(x[k])


def test_casts_of_floats_saturate():
    x = np.array([-2.7, 1e30, -np.inf, np.nan, 2.5, 200.0])
    out = np.zeros((6, 6), np.int64)
    launch(cuts, 1, 1, (x, out))
    top, low = 2**63 - 1, -(2**63)
    assert out.tolist() == [
        [-2, -2, 0, -2, 0, -3], [top, 2**31 - 1, 2**32 - 1, -1, top, top], [low, -(2**31), 0, 0, 0, low],
        [low, -(2**31), 2**31, 0, 2**62, low], [2, 2, 2, 2, 1, 2], [200, 200, 200, -56, 100, 200]]
    launch(cuts, 1, 1, (x[3:4].astype(np.float32), out))
    assert out[0].tolist() == [low, 0, 0, 0, 2**62, low]


@cuda.jit
def stores(x, i8, u8, i32, flag, n):
    for k in range(x.shape[0]):
        i8[k], u8[k], i32[k], flag[k] = x[k], x[k], x[k], x[k]
    i8[n] += 300
    i32[n] += 0.75


def test_stores_convert_as_the_gpu_does():
    x = np.array([1.9, -1.9, 300.0, 0.0], np.float32)
    made = [np.zeros(4, d) for d in (np.int8, np.uint8, np.int32, np.bool_)]
    launch(stores, 1, 1, (x, *made, 0))
    assert [m.tolist() for m in made] == [[45, -1, 44, 0], [1, 0, 44, 0], [1, -1, 300, 0], [True, True, True, False]]


@cuda.jit
def wide(x, scale, out):
    out[0] = x[0] * 0.1
    out[1] = x[0] * 3
    out[2] = x[0] * scale
    d = 0.0
    for k in range(3):
        d += x[0]
    out[3] = d
    out[4] = float(x[0]) * x[0]
    out[5] = x[0] * HALF


HALF = np.float32(0.5)


def test_a_float32_that_meets_a_double_or_an_integer_becomes_one():
    x = np.float32(0.1)
    found = results(wide, 6, np.array([x]), 1.1, dtype=np.float64)
    wide_x = float(x)
    assert found == [wide_x * 0.1, wide_x * 3, wide_x * 1.1, wide_x + wide_x + wide_x, float(x * x), float(x * HALF)]


@cuda.jit
def one_type(x, flag, out):
    m = np.float32(0.1)
    if flag:
        m = 1.5
    out[0] = m * x[0]  # m is a float64 in both cases
    n = 0
    for k in range(2):
        n += x[0]
    out[1] = n
    last = 1
    while last < 2:
        if flag:
            last = 2
        else:
            last = x[1]
            break
    out[2] = last / 3


def test_a_variable_has_one_type_where_paths_meet():
    x = np.array([0.1, 0.7], np.float32)
    a, b = float(x[0]), float(x[1])
    assert results(one_type, 3, x, False, dtype=np.float64) == [a * a, a + a, b / 3]
    assert results(one_type, 3, x, True, dtype=np.float64) == [1.5 * a, a + a, 2 / 3]


@cuda.jit
def many_extremes(x, n, out):
    out[0] = max(x[0], x[1], x[2])
    out[1] = max(x[1], x[0], x[2])
    out[2] = max(x[0], n)
    out[3] = max(n, x[0])
    out[4] = 1 / max(-x[3], x[3])
    out[5] = 1 / min(x[3], -x[3])


def test_three_values_or_an_integer_are_compared_one_by_one():
    found = results(many_extremes, 6, np.array([np.nan, 2, 5, 0], np.float32), 3, dtype=np.float64)
    assert math.isnan(found[0]) and found[1] == 5 and math.isnan(found[2]) and found[3:] == [3, math.inf, -math.inf]


@cuda.jit
def remainders(x, y, out):
    out[0] = x[0] % y[0]
    out[1] = x[0] // y[0]
    out[2] = -x[0] % y[0]
    out[3] = x[1] % y[1]
    out[4] = x[0] // x[1]


def test_the_remainder_of_floats_is_one_fused_step():
    found = results(remainders, 5, np.array([7.0, 0.0]), np.array([0.1, np.inf]), dtype=np.float64)
    assert found[0] == pytest.approx(0.1, abs=1e-12) and found[1] == 69 and 0 <= found[2] < 0.1
    assert math.isnan(found[3]) and found[4] == math.inf


@cuda.jit
def truths(x, out):
    out[0] = (x[0] > 0) + (x[1] > 0)
    out[1] = (x[0] > 0) * 5 - (x[1] > 0)
    out[2] = -(x[0] > 0)
    out[3] = ~(x[0] > 0)
    out[4] = (x[0] > 0) & (x[1] > 0)
    out[5] = 0 < x[0] <= x[1]


def test_comparisons_count_as_integers():
    assert results(truths, 6, np.array([1, 2], np.float32)) == [2, 4, -1, 0, 1, 1]


@cuda.jit
def exact_comparisons(x, n, out):
    out[0] = x[0] == n
    out[1] = x[0] < n
    out[2] = x[1] == 0.1
    out[3] = x[1] > 0.1


def test_a_float32_is_compared_in_double():
    assert results(exact_comparisons, 4, np.array([2**24, 0.1], np.float32), 2**24 + 1) == [0, 1, 0, 1]


@cuda.jit
def half_floats(h, out):
    out[0] = int(h[0])
    out[1] = h[0] * 2
    out[2] = h[0] + h[1]
    out[3] = h[0] % h[1]


def test_float16_promotes_and_rounds_to_the_nearest_integer():
    h = np.array([1.7, 1.0], np.float16)
    found = results(half_floats, 4, h, dtype=np.float64)
    assert found[:3] == [2.0, float(h[0]) * 2, float(h[0] + h[1])] and found[3] == pytest.approx(0.7, abs=1e-3)


@cuda.jit
def bit_widths(a, u, out):
    out[0] = cuda.popc(-1)
    out[1] = cuda.popc(a[0])
    out[2] = cuda.clz(1)
    out[3] = cuda.clz(a[1])
    out[4] = cuda.ffs(a[0])
    out[5] = cuda.brev(u[0])


def test_bit_functions_look_at_the_type():
    assert results(bit_widths, 6, np.array([-1, 1], np.int32), np.array([1], np.uint64)) == [64, 32, 63, 31, 1, -(2**63)]


@cuda.jit
def directed(x, y, out):
    out[0] = libdevice.fadd_rd(x[0], y[0])
    out[1] = libdevice.fadd_ru(x[0], y[0])
    out[2] = libdevice.fadd_rz(-x[0], -y[0])
    out[3] = libdevice.fdiv_ru(x[0], np.float32(3))
    out[4] = libdevice.fdiv_rd(x[0], np.float32(3))
    out[5] = libdevice.double2float_rz(0.1)
    out[6] = libdevice.fsqrt_ru(np.float32(2))
    out[7] = libdevice.frcp_rn(np.float32(3))


def test_libdevice_rounds_in_the_direction_of_its_name():
    found = results(directed, 8, np.array([1], np.float32), np.array([1e-10], np.float32), dtype=np.float32)
    third, up = np.float32(1) / np.float32(3), np.nextafter(np.float32(1), np.float32(2))
    assert found[:3] == [1.0, float(up), -1.0]
    assert found[3] == float(third) and found[4] == float(np.nextafter(third, np.float32(0)))
    assert found[5] == float(np.nextafter(np.float32(0.1), np.float32(0))) and found[7] == float(third)
    assert found[6] ** 2 > 2 > float(np.nextafter(np.float32(found[6]), np.float32(0))) ** 2


def test_fma_rounds_once():
    a, one = np.float32(1 + 2**-12), np.float32(-1)
    assert gpumath.fma(a, a, one) == np.float32(2**-11 + 2**-24) != a * a + one
    wide = np.float64(1 + 2**-30)
    assert gpumath.fma(wide, wide, np.float64(-1)) == 2**-29 + 2**-60 != wide * wide - 1


@cuda.jit
def atomics(n, x, out):
    cuda.atomic.add(n, 0, 2.9)
    cuda.atomic.sub(n, 1, 3)
    cuda.atomic.max(x, 0, 0.1)
    out[0] = cuda.atomic.add(n, 0, 1)


def test_atomics_take_values_of_the_arrays_type():
    n, x = np.array([5, 1], np.uint32), np.zeros(1, np.float32)
    assert results(atomics, 1, n, x) == [7] and n.tolist() == [8, 2**32 - 2] and x[0] == np.float32(0.1)


@cuda.jit
def divided_in_place(n):
    n[0] /= 2


def test_what_the_compiler_cannot_do_is_refused():
    with pytest.raises(KernelError, match=r"line \d+: .*divides an integer in place"):
        launch(divided_in_place, 1, 1, (np.ones(1, np.int64),))
