"""What types numba-cuda's compiler gives to operators, builtins, ``math`` functions and small functions.

    NUMBA_ENABLE_CUDASIM=0 python tests/compiler_types.py > tests/compiler_types.json

needs numba-cuda, and neither a GPU nor NVVM: only the typing is asked. ``test_simulator_types`` holds the simulator to
the stored answers, and the stored answers to the compiler that is installed.
"""

import itertools
import json
import math
import operator
import re
import sys

import numpy as np

NAMES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128").split()
OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "<<": "lshift",
    ">>": "rshift",
    "&": "and_",
    "|": "or_",
    "^": "xor",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "==": "eq",
    "!=": "ne",
}
UNARY = {
    "neg": operator.neg,
    "invert": operator.invert,
    "abs": abs,
    "int": int,
    "float": float,
    "bool": bool,
    "round": round,
}
LETTERS = dict(zip([*NAMES, "None"], "b 1 2 4 8 u v w x h f d F D -".split()))  # one for each type in the stored tables

PI, COUNT, HALF, PAIR = math.pi, 7, np.float32(0.5), (1, 2.5)  # constants that the functions below name

_PAIRS = (
    ("float32", "float32"),
    ("int32", "float32"),
    ("float32", "int64"),
    ("float64", "float32"),
    ("uint32", "int64"),
    ("bool", "int64"),
    ("uint8", "float32"),
    ("int16", "float32"),
)
_ARRAYS = (
    ("@float32", "@float32"),
    ("@int32", "@float32"),
    ("@float32", "@int64"),
    ("@uint8", "@int8"),
    ("@bool", "@bool"),
)
_EXPRESSIONS = (
    "a * PI",
    "a * COUNT",
    "a * HALF",
    "PAIR[1] * b",
    "a + b * 2",
    "(a - b) / 2",
    "-(a * b)",
    "(a < b) + 1",
    "a * (b > 0)",
    "a if a > b else b",
    "a if a > b else 0.0",
    "a and b",
    "a or 2.5",
    "0 < a < b",
    "numba.float32(a) * np.float32(b)",
    "numba.int32(a) + numba.int32(b)",
    "np.uint8(a) * 2",
    "int(a) // 2",
    "float(b) + 1",
    "a ** 2",
    "a ** 0.5",
    "2 ** b",
    "(a, b)",
    "(a, b, 1.5)[1]",
    "divmod(a, b)",
    "abs(a - b)",
    "round(b)",
    "math.floor(b)",
    "math.exp(b)",
    "a / 3",
    "1 / b",
)
_BODIES = (
    "x = 0\nif b > 0:\n    x = a\nreturn x",
    "x = 0\nx = a\nreturn x",
    "x = 0\nfor k in range(3):\n    x += a\nreturn x",
    "x = a\nfor k in range(3):\n    x += 1.0\nreturn x",
    "x = np.float32(0)\nfor k in range(3):\n    x += a * b\nreturn x",
    "x = 0\nk = 0\nwhile k < 4:\n    if k == 2:\n        x = a\n        break\n    k += 1\nreturn x",
    "x = 1\nfor k in range(4):\n    if k == 1:\n        continue\n    x = x + a\nreturn x",
    "x, y = a, b\nx, y = y, x\nreturn x",
    "x, y = 0, 0\nif a > b:\n    x, y = a, b\nreturn x + y",
    "if a > b:\n    return a\nreturn b",
    "if a > b:\n    return a, b\nreturn b, a",
    "x = a\nif a > b:\n    x = b\nelif a < b:\n    x = 1.5\nreturn x",
    "x = a\nwhile x < 10:\n    x += 1\n    if x > 5:\n        break\nelse:\n    x = 0.5\nreturn x",
    "s = 0\nfor i, v in enumerate((a, a)):\n    s += i * v\nreturn s",
    "x = a\nx -= b\nx *= 2\nreturn x",
    "x = a\nx //= 2\nx %= 5\nreturn x",
    "z = a > b\nfor k in range(2):\n    z = z and k < a\nreturn z",
    "m = np.float32(0)\nfor k in range(3):\n    m = max(m, np.float32(a))\nreturn m",
    "for k in range(3):\n    z = a\nreturn z",
)
_ON_ARRAYS = (
    "x[i] + y[i]",
    "x[i] * 2",
    "x[i] - 1.0",
    "-x[i]",
    "x.shape[0]",
    "len(x)",
    "x[i] if i > 0 else 0",
    "x[i] and y[i]",
    "s = 0\nfor v in x:\n    s += v\nreturn s",
    "s = x[0]\nfor k in range(x.shape[0]):\n    s = s + x[k] * y[k]\nreturn s",
    "x[i] = y[i]\nreturn x[i]",
    "x[i] += y[i]\nreturn x[i]",
    "row = x[1:]\nreturn row[0]",
    "x.dtype.type(2)",
    "x[i] * i",
    "n = x.shape[0]\nreturn x[n - 1] / n",
    "cuda.atomic.add(x, i, y[i])",
)
REFUSED = (
    ("a & b", ("float32", "int64")),
    ("a << 1", ("float32",)),
    ("~a", ("float64",)),
    ("a % b", ("complex64", "complex64")),
    ("a < b", ("complex64", "float32")),
    ("x[i]", ("@float32", "@float32", "float32")),
    ("x[y[0]]", ("@float32", "@float32", "int64")),
    ("x[i > 0]", ("@float32", "@float32", "int64")),
    ("x[i] = 1j\nreturn 0", ("@float32", "@float32", "int64")),
    ("math.floor(a)", ("complex64",)),
    ("float(a)", ("bool",)),
    ("x[math.floor(y[0])]", ("@float32", "@float32", "int64")),
    ("cuda.shfl_sync(0xffffffff, a, 0)", ("float16",)),
    ("cuda.shfl_sync(0xffffffff, a > 0, 0)", ("float32",)),
    ("cuda.ballot_sync(0xffffffff, a)", ("float32",)),
    ("cuda.syncthreads_count(a)", ("float64",)),
    ("cuda.selp(a > 0, a, b)", ("float32", "float64")),
    ("cuda.atomic.add(x, i, 1)", ("@uint8", "@uint8", "int64")),
    ("cuda.atomic.inc(x, i, 1)", ("@int32", "@int32", "int64")),
    ("math.gcd(a, b)", ("int64", "int64")),
)


def cases() -> list[tuple[str, tuple[str, ...]]]:
    """(an expression or a body, types of its parameters): ``a, b`` are scalars, ``x, y`` arrays of the type after @ and
    ``i`` an int64."""
    made = [(s, p) for s in _EXPRESSIONS + _BODIES for p in _PAIRS]
    made += [(s, (*p, "int64")) for s in _ON_ARRAYS for p in _ARRAYS]
    return [c for n, c in enumerate(made) if n % 3 == 0 or c[1] == _PAIRS[1]]


def function(body: str, types: tuple[str, ...], parameters: tuple[str, ...] = (), **names: object):
    """A function made of a case; its source text can be found as ``inspect`` looks for it."""
    import linecache

    parameters = parameters or (("x", "y", "i") if types[0].startswith("@") else ("a", "b")[: len(types)])
    body = body if "\n" in body else f"return {body}"
    text = f"def made({', '.join(parameters)}):\n    " + body.replace("\n", "\n    ") + "\n"
    filename = f"<case {body!r} {types}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    space = {"math": math, "np": np, "PI": PI, "COUNT": COUNT, "HALF": HALF, "PAIR": PAIR, **names}
    exec(compile(text, filename, "exec"), space)
    return space["made"]


def _answer(found: object) -> str:
    text = re.sub(r"Literal\[(int|bool)\]\([^)]*\)", lambda m: "int64" if m[1] == "int" else "bool", str(found))
    same = re.fullmatch(r"UniTuple\((\w+) x (\d+)\)", text)
    return f"Tuple({', '.join([same[1]] * int(same[2]))})" if same else text


def tables() -> dict[str, str]:
    """For each operator and function the letter of the result's type, for all types or pairs of types in order."""
    from numba.cuda import types
    from numba.cuda.descriptor import cuda_target

    context = cuda_target.typing_context
    context.refresh()
    kinds = [types.boolean if n == "bool" else getattr(types, n) for n in NAMES]

    def asked(function: object, *args: object) -> str:
        try:
            made = context.resolve_function_type(function, args, {})
        except Exception:
            made = None
        return LETTERS.get(str(made.return_type) if made is not None else "None", "?")

    def pairs(function: object) -> str:
        return "".join(asked(function, a, b) for a, b in itertools.product(kinds, kinds))

    made = {op: pairs(getattr(operator, name)) for op, name in OPERATORS.items()}
    made["unify"] = "".join(LETTERS[str(context.unify_types(a, b))] for a, b in itertools.product(kinds, kinds))
    made |= {name: "".join(asked(f, k) for k in kinds) for name, f in UNARY.items()}
    for name in sorted(n for n in dir(math) if callable(getattr(math, n)) and not n.startswith("_")):
        f = getattr(math, name)
        one, two = "".join(asked(f, k) for k in kinds), pairs(f)
        if set(one) - {"-"}:
            made[f"math.{name}"] = one
        elif set(two) - {"-"}:
            made[f"math.{name} of two"] = two
    return made


def returned(body: str, types: tuple[str, ...]) -> str:
    """The type that the compiler gives to what a case returns, or "refused"."""
    import numba
    from numba import cuda
    from numba.cuda import types as t
    from numba.cuda.compiler import compile_cuda

    def kind(name: str) -> object:
        scalar = t.boolean if name.lstrip("@") == "bool" else getattr(t, name.lstrip("@"))
        return t.Array(scalar, 1, "C") if name.startswith("@") else scalar

    try:
        made = compile_cuda(function(body, types, numba=numba, cuda=cuda), None, tuple(map(kind, types)), cc=(8, 0))
    except Exception:
        return "refused"
    return _answer(made.signature.return_type)


if __name__ == "__main__":
    every = cases() + list(REFUSED)
    every = every if len(sys.argv) < 2 else every[:: int(sys.argv[1])]
    found = {"tables": tables(), "functions": [[b, list(t), returned(b, t)] for b, t in every]}
    print(json.dumps(found, indent=0))
