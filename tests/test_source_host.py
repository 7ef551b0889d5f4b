"""Host functions: what they may say, what they give, and that nothing makes them run away."""

from __future__ import annotations

import time

import pytest

from autograder.source import HostError, HostStepLimit, SourceRefused, gather_text, run_host


def run(text: str, *args, name: str = "f", step_limit: int = 100_000):
    source = gather_text(text, name, "host")
    assert gather_text(source.text, name, "host").text == source.text
    return run_host(source, args, step_limit)


def body(lines: str, parameters: str = "n", above: str = "") -> str:
    return f"{above}def f({parameters}):\n" + "".join(f"    {line}\n" for line in lines.split("\n"))


VALUES = {
    "formula": (body("return 3 * rows * n * 4 + rows * n * 4", "rows, n"), (8, 4096), 8 * 4096 * 16),
    "docstring": (body("'''Bytes.'''\ntotal = 4 * n\nreturn total"), (5,), 20),
    "if": (
        body("if n <= 4096 and n > 0:\n    return 'row_cache'\nelif n == 0:\n    return ''\nreturn 'warp'"),
        (5000,),
        "warp",
    ),
    "for": (
        body("total = 0\nfor i in range(1, n, 2):\n    if i == 5:\n        continue\n    total += i\nreturn total"),
        (10,),
        20,
    ),
    "for else": (body("for i in range(n):\n    if i == 100:\n        break\nelse:\n    return -1\nreturn i"), (3,), -1),
    "while": (body("tiles = 0\nwhile tiles * 256 < n:\n    tiles += 1\nreturn tiles"), (1000,), 4),
    "while break": (body("i = 0\nwhile True:\n    i += 1\n    if i > n:\n        break\nreturn i"), (3,), 4),
    "tuple loop": (body("t = 0\nfor a, b in ((1, 2), (3, n)):\n    t += a * b\nreturn t"), (4,), 14),
    "math": (body("return math.ceil(n / 32) + math.floor(2.5) + math.sqrt(16)", above="import math\n"), (33,), 8.0),
    "math by import": (body("return ceil(n / 32) + pi", above="from math import ceil, pi\n"), (33,), 5.141592653589793),
    "builtins": (
        body("return max(n, 3) + min(1, 2) + abs(-4) + round(2.6) + int(7.9) + len((1, 2)) + pow(2, 3)"),
        (1,),
        3 + 1 + 4 + 3 + 7 + 2 + 8,
    ),
    "divmod": (body("q, r = divmod(n, 32)\nreturn q + (r > 0)"), (65,), 3),
    "sum": (
        body("return sum(4 * i for i in range(n) if i % 2) + max(i for i in (1, 5, 3)) + sum([j for j in range(2)])"),
        (5,),
        16 + 5 + 1,
    ),
    "nested sum": (body("return sum(i * j for i in range(n) for j in range(i))"), (4,), 11),
    "conditional": (body("return -(-n // 256) if n > 0 else 0"), (257,), 2),
    "comparison": (body("return 0 < n <= 10 and not n == 7"), (5,), True),
    "constants": (body("return n * SIZE + PAIR[1]", above="SIZE = 2 ** 2\nPAIR = (1, 2)\n"), (3,), 14),
    "numpy constants": (body("return np.pi > 3 and np.inf > n", above="import numpy as np\n"), (3,), True),
    "helper": (body("return half(n) + half(n=4)", above="def half(n, by=2):\n    return n // by\n"), (9,), 6),
    "default": (body("return n * size", "n, size=4"), (3,), 12),
    "walrus": (body("return t + 1 if (t := n * 2) > 3 else 0"), (3,), 7),
    "bits": (body("return (n << 3 | 1) ^ 2 & 3 >> 1"), (1,), 9 ^ (2 & 1)),
    "print": (body("print('n is', n)\nreturn n"), (1,), 1),
    "assert": (body("assert n > 0, 'rows'\nreturn n"), (1,), 1),
    "annotated": (body("total: int = n\nreturn total", "n: int"), (1,), 1),
    "nothing": (body("n + 1\nx = 3"), (1,), None),
    "tuple": (body("return n, n + 1"), (1,), (1, 2)),
    "float": (body("return float('inf') if n else float('-inf')"), (0,), float("-inf")),
    "chained": (body("a = b = n\n(c, d) = a, b\nreturn a + b + c + d"), (2,), 8),
}


@pytest.mark.parametrize("case", VALUES.values(), ids=VALUES.keys())
def test_values(case):
    text, args, expected = case
    value = run(text, *args)
    assert value == expected and type(value) is type(expected)
    plain: dict = {}
    exec(gather_text(text, "f", "host").text, plain)
    assert plain["f"](*args) == expected
    assert gather_text(text, "f", "host").load()(*args) == expected


REFUSED = {
    "import": ("import os\nreturn 1", "an import cannot stand"),
    "open": ("return open('x')", "`open` is not available"),
    "list": ("return [1, 2][0]", "a list cannot be used"),
    "list alone": ("x = [i for i in range(n)]\nreturn 1", "only in sum, min or max"),
    "generator alone": ("x = (i for i in range(n))\nreturn 1", "only in sum, min or max"),
    "dict": ("return {1: 2}[1]", "a dict cannot be used"),
    "lambda": ("return (lambda: 1)()", "cannot be called|cannot be defined"),
    "def": ("def g():\n    return 1\nreturn g()", "a function cannot be defined"),
    "attribute": ("return n.real", "is not available"),
    "dunder": ("return n.__class__", "is not available"),
    "numpy": ("return np.ceil(n)", "`np.ceil` is not available"),
    "factorial": ("return math.factorial(n)", "`math.factorial` is not available"),
    "cuda": ("return cuda.grid(1)", "`cuda.grid` is not available"),
    "f-string": ("return f'{n:>1000000000}'", "an f-string cannot be used"),
    "long text": (f"return '{'a' * 500}'", "text cannot be used"),
    "bytes": ("return b'x'", "cannot be used"),
    "try": ("try:\n    return 1\nexcept Exception:\n    return 2", "`try`"),
    "raise": ("raise ValueError", "an exception"),
    "global": ("global T\nreturn 1", "`global`"),
    "del": ("del n\nreturn 1", "`del`"),
    "subscript store": ("n[0] = 1\nreturn 1", "cannot be set"),
    "range value": ("return range(n)", "range can stand only"),
    "loop over text": ("for c in 'abc':\n    pass\nreturn 1", "a loop cannot run over"),
    "undefined": ("return rows * n", "`rows` is not defined"),
    "function value": ("f2 = max\nreturn 1", "`max` is named but not called"),
    "slice": ("return (1, 2, 3)[0:2]", "a slice cannot be used"),
    "starred": ("return max(*(1, 2))", "`*` cannot be used"),
    "matmul": ("return n @ n", "matrix product"),
    "tuple times": ("return (0,) * n", "a tuple cannot"),
    "recursion": ("return f(n - 1)", "`f` calls itself"),
    "big constant": ("return 1 << 10 ** 9", "is too large"),
    "await": ("return await n", "async|await"),
    "type": ("return np.float32(n)", "`np.float32` is not available"),
    "kernel": ("return k(n)", "`k` has the decorator `@cuda.jit`"),
    "eval": ("return eval('1')", "`eval` is not available"),
    "yield": ("yield n", "`yield`"),
    "print file": ("print(n, file=n)\nreturn 1", "takes no argument"),
    "module value": ("m = math\nreturn 1", "`math` is not a value"),
    "method": ("return n.bit_length()", "cannot be called|is not available"),
}
ABOVE = "import math\nimport numpy as np\nfrom numba import cuda\n@cuda.jit\ndef k(x):\n    x[0] = 1\n"


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_refused(case):
    lines, sentence = case
    with pytest.raises(SourceRefused) as caught:
        gather_text(body(lines, above=ABOVE), "f", "host")
    assert any(part in caught.value.sentence for part in sentence.split("|")), str(caught.value)
    assert caught.value.line and "GPU" not in caught.value.sentence


@pytest.mark.parametrize(
    "head,sentence",
    [
        ("@cuda.jit\ndef f(n):\n    return n", "decorator"),
        ("def f(*n):\n    return 1", "takes `*` parameters"),
        ("def f(n=print(1)):\n    return 1", "default value"),
        ("def f(n: os.x):\n    return 1", "os"),
        ("def f(n):\n    raise NotImplementedError()", "line 7 still raises NotImplementedError"),
        ("f = 3", "is a number, not a function"),
        ("f = cuda.jit(h)", "is the result of a call"),
    ],
)
def test_refused_definitions(head, sentence):
    with pytest.raises(SourceRefused, match=None) as caught:
        gather_text(f"import math\nimport os\nfrom numba import cuda\n\n\n{head}\n", "f", "host")
    assert sentence in str(caught.value)


ERRORS = {
    "division": ("return 1 / (n - n)", "`1 / (n - n)`: division by zero", 1),
    "unset": ("if n > 5:\n    t = 1\nreturn t", "`t` has no value yet", 3),
    "domain": ("return math.sqrt(-n)", "has no value there|nonnegative", 1),
    "overflow": ("return math.exp(n * 1000.0)", "too large for a float", 1),
    "text arithmetic": ("return 'a' * n", "one side is a string", 1),
    "text sum": ("return 'a' + 'b'", "one side is a string", 1),
    "compare text": ("return 'a' < n", "not supported", 1),
    "index": ("return (1, 2)[n]", "outside the tuple", 1),
    "index of number": ("return n[0]", "only a tuple has elements", 1),
    "range float": ("for i in range(n / 2):\n    pass", "range takes whole numbers", 1),
    "range zero": ("for i in range(0, n, 0):\n    pass", "must not be zero", 1),
    "unpack": ("a, b = n, 1, 2", "2 values are wanted", 1),
    "assert": ("assert n < 0", "`assert n < 0` does not hold", 1),
    "max of one": ("return max(n)", "at least two numbers", 1),
    "complex": ("return (-n) ** 0.5", "not a real number", 1),
    "too few": ("return g(n)", "`g` takes 2 arguments, and 1 was given", 1),
    "unknown keyword": ("return g(n, c=3)", "`g` takes 2 arguments, and 2 were given", 1),
    "int of nan": ("return int(float('nan'))", "cannot convert", 1),
    "None arithmetic": ("return h(n) + 1", "one side is None", 1),
    "tuple arithmetic": ("t = (1, n)\nreturn t + t", "one side is a tuple", 2),
}


@pytest.mark.parametrize("case", ERRORS.values(), ids=ERRORS.keys())
def test_errors_are_sentences_with_a_line(case):
    lines, sentence, line = case
    above = "import math\ndef g(a, b):\n    return a\ndef h(a):\n    a + 1\n"
    with pytest.raises(HostError) as caught:
        run(body(lines, above=above), 3)
    assert any(part in str(caught.value) for part in sentence.split("|")), str(caught.value)
    assert caught.value.line == 6 + line and caught.value.place.line and "\n" not in str(caught.value)


def test_wrong_number_of_arguments_from_outside():
    with pytest.raises(HostError, match="`f` takes 1 argument, and 2 were given"):
        run(body("return n"), 1, 2)
    with pytest.raises(HostError, match="`f` takes 2 arguments, and 1 was given"):
        run(body("return n", "n, d"), 1)


RUNAWAY = {
    "while": "while True:\n    pass",
    "for": "for i in range(10 ** 18):\n    pass",
    "sum": "return sum(i for i in range(10 ** 18))",
    "nested": "t = 0\nfor i in range(n * 10 ** 6):\n    for j in range(10 ** 6):\n        t += 1\nreturn t",
    "empty ranges": "for i in range(10 ** 15):\n    for j in range(0):\n        pass",
    "filter": "return sum(1 for i in range(10 ** 18) if i < 0)",
    "else": "while n < 10:\n    n = n - 1\nelse:\n    pass",
}


@pytest.mark.parametrize("lines", RUNAWAY.values(), ids=RUNAWAY.keys())
def test_endless_loops_stop(lines):
    start = time.process_time()
    with pytest.raises(HostStepLimit) as caught:
        run(body(lines), 3)
    assert "stopped after 100,000 steps" in str(caught.value) and caught.value.line
    assert time.process_time() - start < 5


GROWING = {
    "square": "x = n\nfor i in range(10 ** 6):\n    x = x * x\nreturn x",
    "power": "return n ** (n ** (n ** n))",
    "shift": "return 1 << n ** 40",
    "pow": "return pow(n, 10 ** 10)",
    "round": "return round(n, -10 ** 9)",
    "sum": "return sum(n ** 640 for i in range(5000))",
    "aug": "x = n\nwhile True:\n    x **= x",
    "min": "return max(n ** 400, 1) * n ** 400",
    "add": "x = n ** 600\nwhile True:\n    x += x",
}


@pytest.mark.parametrize("lines", GROWING.values(), ids=GROWING.keys())
def test_numbers_stay_bounded(lines):
    start = time.process_time()
    with pytest.raises(HostError) as caught:
        run(body(lines), 3)
    assert "1024 bits" in str(caught.value) or "small whole number" in str(caught.value), str(caught.value)
    assert time.process_time() - start < 2


def test_a_kernel_is_no_host_function_and_text_is_checked_again():
    kernel = gather_text("from numba import cuda\n@cuda.jit\ndef k(X):\n    X[0] = 1\n", "k")
    with pytest.raises(ValueError, match="k is a kernel"):
        run_host(kernel, [])
    from autograder.source import KernelSource

    with pytest.raises(SourceRefused):
        run_host(KernelSource("f", "host", "def f():\n    return open('x')\n"), [])


def test_numpy_numbers_from_outside_are_plain_numbers():
    import numpy as np

    value = run(body("return n * n * n * n"), np.int64(2**20))
    assert type(value) is int and value == 2**80


@pytest.mark.parametrize(
    "lines",
    ["t = (1, n)\nfor i in range(10 ** 6):\n    t = (t, t)\nreturn t == t", "a = (n,)\nwhile True:\n    a = (a, 1)"],
)
def test_tuples_stay_small(lines):
    with pytest.raises(HostError, match="the tuple holds more than 1,024 values"):
        run(body(lines), 3)
