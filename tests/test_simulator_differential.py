"""Many small functions, computed by the simulator and by numba for the CPU on the same values: the same numbers.

Numba for the CPU shares most of its typing and of its integer and float arithmetic with numba-cuda. Where a GPU differs
(shifts beyond the width, floats beyond an integer's range, powers of integers, the remainder of floats, NaN in ``max``,
int64 with uint64) the values here stay away, and ``test_simulator_arithmetic`` asks for what the PTX gives.
"""

import itertools
import math
import warnings

import numba
import numpy as np
import pytest
from compiler_types import function
from numba import cuda
from numba.core.types import unliteral
from numba.np.numpy_support import as_dtype

from autograder.simulator import launch

VALUES = {
    "bool": (True, False),
    "int8": (0, 1, -1, 5, -7, 127, -128),
    "int16": (3, -9, 32767),
    "uint8": (0, 1, 200, 255),
    "int32": (0, 1, -3, 7, 1 << 20, -(2**31), 2**31 - 1),
    "uint32": (0, 1, 7, 2**32 - 1),
    "int64": (0, 1, -5, 9, 1 << 40, -(1 << 62), 2**63 - 1),
    "uint64": (0, 3, 1 << 40, 2**64 - 1),
    "float32": (0.0, -0.0, 1.5, -2.75, 3.1e38, 1e-40, math.nan, math.inf, -math.inf, 0.1, 7.0),
    "float64": (0.0, -0.0, 1.5, -2.7, 1e300, math.nan, math.inf, 0.1, 16777217.0),
    "complex64": (1 + 2j, -3.5 + 1j, 0.25 - 2j),
}
ROWS = 24  # pairs of values for each pair of types
FLOATS = ("float32", "float64")
ANY = (
    "a + b",
    "a - b",
    "a * b",
    "a + b * 2",
    "a * 0.5 - b",
    "-a + b",
    "a if b else 1",
    "a and b",
    "a or b",
    "not a",
    "a == b",
    "a != b",
    "numba.float32(a) * b",
    "a * True",
    "(a, b)[0]",
    "a + PI",
    "COUNT * a - HALF",
)
REAL = (
    "a / b",
    "a < b",
    "0 <= a < b",
    "a <= b < 5",
    "a > 1 and b > 1.5",
    "(a < b) + (a > b)",
    "abs(a)",
    "a if a > b else b",
    "a > b or a",
    "bool(a) * b",
    "math.isnan(a) + 1",
    "a / 3",
    "1 / a",
    "1.0 / a",
    "a * a / b if b else 0.0",
)
WHOLE = (
    "a // b",
    "a % b",
    "a // 3",
    "a % 7",
    "-(a // 2)",
    "divmod(a, 5)[0] + divmod(a, 5)[1]",
    "max(a, b)",
    "min(a, b, 3)",
    "a & b",
    "a | b",
    "a ^ 5",
    "~a",
    "a << 3",
    "a >> 2",
    "(a << 1) - b",
    "int(a) + 1",
    "np.int8(a)",
    "np.uint16(a)",
    "numba.int32(a) * 3",
    "np.uint64(a) // 3",
    "np.float32(a) / 3",
    "a * a * a",
    "a * 1000003 + b * 7919",
    "+a - 1",
    "abs(a * 3)",
    "a % -4",
    "a // -1",
)
BODIES = (
    "x = 0\nif b > 0:\n    x = a\nreturn x",
    "x = a\nx = x * 2\nx -= b\nreturn x",
    "x = a\nx //= 2\nx %= 5\nreturn x + 1",
    "x = 0\nfor k in range(4):\n    if k == 1:\n        continue\n    x += a\nreturn x",
    "x, y = a, b\nx, y = y, x\nreturn x - y",
    "x = 1\nk = 0\nwhile k < 5:\n    if k == 3:\n        x = b\n        break\n    x = x + a\n    k += 1\nreturn x",
    "x = 1\nfor k in range(40):\n    x *= 3\n    x += a\nreturn x",
    "s = 0\nfor n, v in enumerate((a, a)):\n    s += n * v\nreturn s",
    "if a > b:\n    return a\nreturn b",
    "z = True\nif a > 0:\n    z = 3\nreturn z + b",
    "h = 1469598103934665603\nfor k in range(3):\n    h = (h ^ a) * 1099511628211\nreturn h >> 7",
    "x = a\nwhile 0 < x < 10:\n    x += 3\nelse:\n    x = x * 0.5\nreturn x",
    "s = np.float32(0)\nfor k in range(3):\n    s += np.float32(k) / np.float32(3)\nreturn s * np.float32(b)",
)
WHOLE_BODIES = {2, 6, 10}  # those of BODIES that are for whole numbers
PAIRS = [
    ("float32", "float32"),
    ("float64", "float32"),
    ("int32", "float32"),
    ("float32", "int64"),
    ("int64", "float64"),
    ("bool", "float64"),
    ("int64", "int64"),
    ("int32", "int64"),
    ("uint32", "uint32"),
    ("uint8", "int32"),
    ("bool", "int64"),
    ("uint64", "uint64"),
    ("complex64", "complex64"),
    ("complex64", "float32"),
]


def expressions(first, second):
    names = {first, second}
    if "complex64" in names:
        return [e for e in ANY if "float32(a)" not in e]
    made = [*ANY, *REAL]
    if not names & set(FLOATS):
        made += WHOLE
        if "uint64" in names:  # a GPU divides by floats here, in its own way
            made.remove("divmod(a, 5)[0] + divmod(a, 5)[1]")
        if "bool" in names:
            made = [e for e in made if e not in ("max(a, b)", "min(a, b, 3)", "~a")]
    return made


def rows(first, second):
    every = list(itertools.product(VALUES[first], VALUES[second]))
    chosen = every if len(every) <= ROWS else [every[n * len(every) // ROWS] for n in range(ROWS)]
    return [np.array([r[k] for r in chosen], np.dtype(t)) for k, t in enumerate((first, second))]


def on_the_cpu(made, a, b):
    """The tuples that ``made`` returns, and the dtypes of their parts."""
    compiled = numba.njit(error_model="numpy")(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [compiled(x, y) for x, y in zip(a, b)]
    (signature,) = compiled.nopython_signatures
    return results, [as_dtype(unliteral(t)) for t in signature.return_type]


def simulated(made, a, b, dtypes):
    """What a kernel stores for each part of the result of ``made``, in arrays of these dtypes."""
    device = cuda.jit(device=True)(made)
    names = [f"o{n}" for n in range(len(dtypes))]
    body = "t = cuda.threadIdx.x\nmade = device(a[t], b[t])\n" + "\n".join(
        f"{o}[t] = made[{n}]" for n, o in enumerate(names)
    )
    kernel = function(body, ("scalar", "scalar"), cuda=cuda, device=device, parameters=("a", "b", *names))
    out = [np.zeros(len(a), d) for d in dtypes]
    launch(kernel, 1, len(a), (a, b, *out))
    return out


def same(found, wanted):
    """Equal, or both NaN, with equal signs of zeros."""
    if wanted != wanted:
        return found != found
    return found == wanted and (
        not isinstance(wanted, (float, np.floating)) or math.copysign(1, found) == math.copysign(1, wanted)
    )


def compare(texts, made, first, second):
    a, b = rows(first, second)
    wanted, dtypes = on_the_cpu(made, a, b)
    found = simulated(made, a, b, dtypes)
    wrong = [
        f"{text} with a = {a[n]!r}, b = {b[n]!r}: {found[k][n]!r}, and numba gives {wanted[n][k]!r}"
        for k, text in enumerate(texts)
        for n in range(len(a))
        if not same(found[k][n], wanted[n][k])
    ]
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_expressions(first, second):
    every = expressions(first, second)
    for n in range(0, len(every), 16):  # one function returns several: that compiles faster
        texts = every[n : n + 16]
        made = function("return (" + ", ".join(f"({t})" for t in texts) + ",)\n", (first, second), numba=numba)
        compare(texts, made, first, second)


@pytest.mark.parametrize(
    ("first", "second"), [("float32", "float32"), ("int32", "float32"), ("int64", "int64"), ("uint8", "int32")]
)
def test_functions_with_variables_of_several_types(first, second):
    whole = not {first, second} & set(FLOATS)
    for n, body in enumerate(BODIES):
        if n in WHOLE_BODIES and not whole:
            continue
        if ">> 7" in body and first != "int64":
            continue  # beside a uint8 the CPU shifts as if without a sign; the PTX has shr.s64, as for int64
        lines = [
            f"return ({line[7:]},)" if line.startswith("return ") else line.replace("    return a", "    return (a,)")
            for line in body.splitlines()
        ]
        compare([body], function("\n".join(lines) + "\n", (first, second), numba=numba), first, second)


@pytest.mark.parametrize(
    "name",
    [
        "acos",
        "asin",
        "atan",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "expm1",
        "fabs",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
    ],
)
def test_math_functions(name):
    for dtype in FLOATS:
        x = np.array([*VALUES[dtype], 2.5, -0.5, 88.0, -104.0, 0.999], dtype)
        made = function(f"return (math.{name}(a),)\n", (dtype, dtype))
        wanted = [w for (w,) in on_the_cpu(made, x, x)[0]]
        found = simulated(made, x, x, [dtype])[0]
        for v, f, w in zip(x, found, wanted):
            close = (
                f == w
                or (f != f and w != w)
                or abs(f - w) <= 8 * np.spacing(max(abs(np.dtype(dtype).type(w)), np.dtype(dtype).type(1)))
            )
            assert close, f"math.{name}({v!r}) is {f!r}, and numba gives {w!r}"


@pytest.mark.parametrize("target", ["int8", "uint16", "float32", "bool"])
def test_stores_convert(target):
    for source in ("int8", "uint32", "float32", "float64"):
        x = np.array([v for v in VALUES[source] if source not in FLOATS or abs(v) < 100], source)
        if source in FLOATS and target.startswith("u"):
            x = np.abs(x)

        def store(x, out):
            for n in range(x.shape[0]):
                out[n] = x[n]

        def add(x, out):
            for n in range(x.shape[0]):
                out[n] += x[n]

        for body in (store, add):
            if body is add and (target in ("bool", "uint64") or source not in ("int8", "float32")):
                continue
            wanted, found = np.full(len(x), 3, target), np.full(len(x), 3, target)
            numba.njit(error_model="numpy")(body)(x, wanted)
            launch(cuda.jit(body), 1, 1, (x, found))
            assert np.array_equal(wanted, found), (source, target, body.__name__, x, wanted, found)
