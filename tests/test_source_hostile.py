"""Text made to hang, crash or escape: refused by a sentence, quickly, on every Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.source import SourceRefused, gather_notebook, gather_text

ROOT = Path(__file__).resolve().parents[1]
HEAD = "import math\nimport numpy as np\nfrom numba import cuda\n"
TOP = HEAD + "@cuda.jit\ndef k(X):\n    X[0] = "

EXPRESSIONS = {
    "unary": "-" * 50_000 + "1",
    "not": "not " * 20_000 + "1",
    "brackets": "(" * 3_000 + "1" + ")" * 3_000,
    "few brackets": "(" * 190 + "1" + ")" * 190,
    "sum": "1" + "+1" * 20_000,
    "power": "2" + "**2" * 20_000,
    "conditional": "1 if 1 else " * 10_000 + "1",
    "lambda": "lambda: " * 10_000 + "1",
    "attributes": "X" + ".a" * 20_000,
    "calls": "X" + "()" * 20_000,
    "subscripts": "X" + "[0]" * 20_000,
    "calls in calls": "max(" * 150 + "1" + ")" * 150,
    "comparisons": "1" + " < 1" * 20_000,
    "and": "1" + " and 1" * 20_000,
    "text": "'a' " * 20_000,
    "f-string": 'f"' + "{1}" * 10_000 + '"',
    "nested f-string": "f'{" * 100 + "1" + "}'" * 100,
    "hex": "0x" + "f" * 50_000,
    "digits": "9" * 50_000,
    "float": "1" * 300 + "." + "0" * 1000,
    "tuple": "(" + "1, " * 20_000 + ")",
    "list": "[" + "1, " * 20_000 + "]",
    "walrus": "(a := " * 100 + "1" + ")" * 100,
    "null": "1\0",
    "surrogate": "'\ud800'",
    "long name": "a" * 50_000,
    "unclosed": "(" * 150,
    "unclosed calls": "max(" * 150 + " = ",
    "unclosed dicts": "{1: " * 150,
    "unclosed text": "'" + "a" * 50_000,
    "starred": "max(" + "*X, " * 5_000 + ")",
    "await": "await " * 5_000 + "X",
}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_monstrous_expressions_end_quickly(expression):
    start = time.process_time()
    with_constant = f"{HEAD}C = {expression}\n@cuda.jit\ndef k(X):\n    X[0] = C\n"
    for text, kind in (
        (TOP + expression + "\n", "kernel"),
        (with_constant, "kernel"),
        (f"def k():\n    return {expression}\n", "host"),
    ):
        try:
            gather_text(text, "k", kind)
        except SourceRefused as refusal:
            assert len(str(refusal)) < 1000 and "\n" not in str(refusal)
            str(refusal).encode("utf-8", "backslashreplace")
    assert time.process_time() - start < 6


STATEMENTS = {
    "elif": "if 1: pass\n    " + "elif 1: pass\n    " * 5_000,
    "indents": "".join("\n" + "    " * (n + 1) + "if 1:" for n in range(98)) + "\n" + "    " * 99 + "pass",
    "targets": "a = " * 10_000 + "1",
    "many lines": "X[0] = 1\n    " * 5_000,
    "decorators": "1",
    "del": "del " + "X, " * 5_000,
    "global": "global " + ", ".join(f"a{n}" for n in range(5_000)),
    "imports": "import os\n    " * 5_000,
    "with": "with " + ", ".join(["X"] * 300) + ": pass",
    "handlers": "try: pass\n    " + "except A: pass\n    " * 2_000,
    "match": "match X:\n        case " + "[" * 100 + "]" * 100 + ": pass",
    "parameters": "1",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_monstrous_statements_end_quickly(name):
    start = time.process_time()
    body = STATEMENTS[name]
    text = f"{HEAD}@cuda.jit\ndef k(X):\n    {body}\n"
    if name == "decorators":
        text = HEAD + "@cuda.jit\n" * 5_000 + "def k(X):\n    X[0] = 1\n"
    if name == "parameters":
        text = f"{HEAD}@cuda.jit\ndef k({', '.join(f'a{n}' for n in range(5_000))}):\n    a0[0] = 1\n"
    try:
        gather_text(text, "k")
    except SourceRefused as refusal:
        assert len(str(refusal)) < 1000
    assert time.process_time() - start < 5


def test_huge_texts_are_refused():
    for text in (
        "x = 1\n" * 300_000,
        "#" * 2_000_000,
        f"{HEAD}@cuda.jit\ndef k(X):\n    X[0] = 1\n" + "    # a comment\n    X[0] = 1\n" * 5_000,
    ):
        start = time.process_time()
        with pytest.raises(SourceRefused, match="is longer than|are longer than"):
            gather_text(text, "k")
        assert time.process_time() - start < 5


def test_huge_cells_and_many_cells_end_quickly():
    start = time.process_time()
    kernel = {"cell_type": "code", "metadata": {}, "source": HEAD + "@cuda.jit\ndef k(X):\n    X[0] = T\n"}
    cells = [
        {"cell_type": "code", "metadata": {}, "source": source}
        for source in (
            ["T = 5", "T = 6\n" * 100_000]
            + [f"T = {n}\n%magic\nx = = 3\n" * 20 for n in range(300)]
            + ["!ls (\n" * 2_000]
            + ["(" * 150 + "\n%a" * 200]
            + [f"x{n} = {n}" for n in range(2_000)]
        )
    ]
    assert "T = 5\n" in gather_notebook({"cells": [*cells, kernel]}, "k").text
    assert time.process_time() - start < 20


def test_many_functions_end():
    text = (
        HEAD
        + "".join(f"@cuda.jit(device=True)\ndef f{n}(x):\n    return f{n + 1}(x)\n" for n in range(500))
        + ("@cuda.jit(device=True)\ndef f500(x):\n    return x\n@cuda.jit\ndef k(X):\n    X[0] = f0(1)\n")
    )
    with pytest.raises(SourceRefused, match="calls more than 50 functions"):
        gather_text(text, "k")
    wide = HEAD + "".join(
        f"@cuda.jit(device=True)\ndef f{n}(x):\n    return {' + '.join(f'f{m}(x)' for m in range(n + 1, 25)) or 'x'}\n"
        for n in range(25)
    )
    start = time.process_time()
    source = gather_text(wide + "@cuda.jit\ndef k(X):\n    X[0] = f0(1)\n", "k")
    assert source.text.count("def ") == 26 and time.process_time() - start < 5


ESCAPES = [
    "().__class__.__base__.__subclasses__()",
    "X.__array_interface__",
    "cuda.__builtins__",
    "math.__dict__",
    "np.load('x')",
    "np.ctypeslib",
    "np.float32.__mro__",
    "np.float32.mro()",
    "np.float32.from_bytes(1)",
    "cuda.jit.__globals__",
    "cuda.cudadrv",
    "numba.core",
    "X.ctypes.data",
    "X.base",
    "X.dtype.type",
    "X.dtype.fields",
    "X.tofile('x')",
    "X.dump('x')",
    "X.data",
    "X.flat[0]",
    "(X.dtype).newbyteorder()",
    "print.__self__",
    "max.__self__",
    "f'{X.__class__}'",
    "'{0.__class__}'.format(X)",
    "cuda.threadIdx.__class__",
    "cuda.shared.__init__",
    "__builtins__",
    "__loader__",
    "__name__",
    "_",
    "(lambda: X)()",
    "[x for x in X]",
    "eval('1')",
    "compile('1', '', 'eval')",
    "vars()",
    "type(X)",
    "breakpoint()",
    "input()",
    "help()",
    "memoryview(X)",
    "super()",
    "object()",
    "isinstance(X, int)",
    "\uff4dath.exp(1).__class__",
    "X.\uff3f\uff3fclass\uff3f\uff3f",
    "\uff3f\uff3fimport\uff3f\uff3f('os')",
    "e\u200bval('1')",
    "os.system('x')",
    "cuda.current_context()",
    "cuda.gpus",
    "cuda.simulator",
    "cuda.np.load('x')",
]


@pytest.mark.parametrize("expression", ESCAPES)
def test_ways_out_are_closed(expression):
    for text in (
        TOP + expression + "\n",
        f"{HEAD}C = {expression}\n@cuda.jit\ndef k(X):\n    X[0] = C\n",
        f"{HEAD}@cuda.jit\ndef k(X, n={expression}):\n    X[0] = n\n",
        f"{HEAD}@cuda.jit({expression})\ndef k(X):\n    X[0] = 1\n",
        f"{HEAD}@cuda.jit\ndef k(X: {expression}):\n    X[0] = 1\n",
        f"{HEAD}def k(X):\n    return {expression}\n",
    ):
        for kind in ("kernel", "host"):
            with pytest.raises(SourceRefused):
                gather_text(text, "k", kind)


def test_full_width_letters_mean_what_python_reads():
    source = gather_text(TOP + "\uff4d\uff41th.exp(X[1])\n", "k")
    assert "import math\n" in source.text and "\uff4d\uff41th.exp" in source.text


THREAD = r"""
import json, sys, threading
from autograder.source import SourceRefused, gather_text
texts = json.load(sys.stdin)
def work():
    for text in texts:
        try:
            gather_text(text, "k")
        except SourceRefused:
            pass
    print("alive")
threading.stack_size(1024 * 1024)  # as small as Windows gives
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_nothing_crashes_the_interpreter_in_a_thread_with_a_small_stack():
    texts = [TOP + e + "\n" for name, e in EXPRESSIONS.items() if name != "surrogate"]
    done = subprocess.run(
        [sys.executable, "-c", THREAD],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "alive", done.stderr[-2000:]
    assert done.stderr == ""
