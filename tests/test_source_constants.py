"""Constants above a kernel: worked out without running anything, and spelt as the live value is."""

from __future__ import annotations

import textwrap

import pytest

from autograder.source import KernelSource, gather_text

HEAD = "import math\nimport numba\nimport numpy as np\nfrom numba import cuda\n"


def kernel(body: str, above: str = "", decorator: str = "@cuda.jit", parameters: str = "X, Y") -> str:
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEAD}{above}\n{decorator}\ndef k({parameters}):\n{body}\n"


def gather(text: str) -> KernelSource:
    source = gather_text(text, "k")
    assert gather_text(source.text, "k").text == source.text
    return source


CONSTANTS = {
    "256": "256",
    "1 << 8": "256",
    "2 ** 10 - 1": "1023",
    "-3": "-3",
    "0xFF": "255",
    "True": "True",
    "1e-5": "1e-05",
    "-math.inf": "float('-inf')",
    "float('nan')": "float('nan')",
    "-np.inf": "float('-inf')",
    "math.pi / 2": "1.5707963267948966",
    "math.log2(math.e)": "1.4426950408889634",
    "np.float32(0.1)": "np.float32(0.1)",
    "np.float32(1) / 3": "np.float32(0.33333334)",
    "np.float32(-np.inf)": "np.float32(float('-inf'))",
    "np.finfo(np.float32).min": "np.float32(-3.4028235e+38)",
    "float(np.finfo(np.float32).max)": "3.4028234663852886e+38",
    "np.int32(7)": "np.int32(7)",
    "np.bool_(1)": "np.bool_(True)",
    "(1, 2.5)": "(1, 2.5)",
    "(4,)": "(4,)",
    "()": "()",
    "((1, 2), (3,))": "((1, 2), (3,))",
    "len((1, 2, 3))": "3",
    "min(3, 2) + max((4, 5))": "7",
    "round(2.5)": "2",
    "int(1e3)": "1000",
    "(1, 2)[1]": "2",
    "1 if 2 > 1 else 3": "1",
    "not 0": "True",
    "1 < 2 < 3": "True",
    "3 and 4": "4",
    "math.sqrt(16)": "4.0",
    "sum((1, 2, 3))": "6",
    "7 // 2 % 2": "1",
    "abs(-2) | 1": "3",
    "pow(2, 3)": "8",
    "np.sqrt(4.0)": "np.float64(2.0)",
    "2 ** 63": "9223372036854775808",
    "np.iinfo(np.int32).max": "2147483647",
    "np.finfo('float32').tiny": "np.float32(1.1754944e-38)",
    "np.float32('-inf')": "np.float32(float('-inf'))",
    "divmod(7, 2)": "(3, 1)",
    "float(3)": "3.0",
    "bool(2)": "True",
    "~5": "-6",
}


@pytest.mark.parametrize("expression", CONSTANTS)
def test_a_constant_has_one_spelling_read_and_live(expression):
    text = kernel("X[0] = 1 if C == 0 else C", f"C = {expression}\n")
    source = gather(text)
    assert f"\nC = {CONSTANTS[expression]}\n" in source.text
    live: dict = {}
    exec(f"{HEAD}C = {expression}", live)
    from autograder.source import values

    assert values.constant(live["C"]).code == CONSTANTS[expression]
    loaded = source.load().py_func.__globals__["C"]
    assert type(loaded) is type(live["C"]) and (loaded == live["C"] or loaded != loaded)


def test_constants_follow_the_order_of_the_text():
    source = gather(kernel("X[0] = A + B + C + D + E", "A, B = 1, 2\nA, B = B, A\nC = D = A\nD += 5\nE: int = D * 2\n"))
    assert "A = 2\nB = 1\nC = 2\nD = 7\nE = 14\n" in source.text
