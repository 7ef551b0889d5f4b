"""Every refusal is a sentence with the student's line, and says what to do where that is clear."""

from __future__ import annotations

import textwrap

import pytest

from autograder.source import SourceRefused, gather_text

HEAD = "import math\nimport numba\nimport numpy as np\nfrom numba import cuda\n"


def refusal(text: str, name: str = "k", kind: str = "kernel") -> SourceRefused:
    with pytest.raises(SourceRefused) as caught:
        gather_text(text, name, kind)
    found = caught.value
    assert found.sentence and not found.sentence.endswith(".") and "{" not in found.sentence.replace("{...}", "")
    assert str(found).count("\n") == 0
    return found


def kernel(body: str, above: str = "", decorator: str = "@cuda.jit", parameters: str = "X, Y") -> str:
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEAD}{above}{decorator}\ndef k({parameters}):\n{body}\n"


def test_the_sentence_of_the_design():
    found = refusal(HEAD + "\n@cuda.jit\ndef k(X):\n    X[0] = np.max(X)\n")
    assert str(found) == "line 8: `np.max` is not available inside a GPU kernel; keep a running maximum"
    assert (found.line, found.hint, found.untouched) == (8, "keep a running maximum", False)


# body, part of the sentence, part of the hint; the line is that of the last line of the body unless noted
BODIES = {
    "np.exp": ("X[0] = np.exp(X[1])", "`np.exp` is not available", "write math.exp"),
    "np.zeros": ("s = np.zeros(3)", "`np.zeros` is not available", "cuda.shared.array"),
    "np.finfo": ("m = np.finfo(np.float32).min", "`np.finfo` is not available", "as a constant"),
    "np.NINF": ("m = np.NINF", "`np.NINF` is not available", "-math.inf"),
    "np.linalg": ("m = np.linalg.norm(X)", "`np.linalg` is not available", ""),
    "math typo": ("m = math.exq(1)", "`math.exq` is not available", "did you mean `math.exp`?"),
    "math.fsum": ("m = math.fsum(X)", "`math.fsum` is not available", "add up in a loop"),
    "cuda typo": ("cuda.syncthread()", "`cuda.syncthread` is not available", "did you mean `cuda.syncthreads`?"),
    "cuda host": ("d = cuda.to_device(X)", "`cuda.to_device` is not available", "outside the kernel"),
    "cuda nested typo": (
        "cuda.atomic.ad(X, 0, 1)",
        "`cuda.atomic.ad` is not available",
        "did you mean `cuda.atomic.add`?",
    ),
    "cuda shared typo": (
        "s = cuda.shared.arry(3, np.float32)",
        "`cuda.shared.arry`",
        "did you mean `cuda.shared.array`?",
    ),
    "cuda.jit inside": ("f = cuda.jit(X)", "`cuda.jit` cannot be called", "above the kernel"),
    "numba.prange": ("for i in numba.prange(3):\n    X[i] = 1", "`numba.prange` is not available", "write range"),
    "not called": ("cuda.syncthreads", "`cuda.syncthreads` is named but not called", "write `cuda.syncthreads(...)`"),
    "module as value": ("m = math", "`math` is not a value", "`math.`"),
    "namespace as value": ("s = cuda.shared", "`cuda.shared` is not a value", ""),
    "function as value": ("f = math.exp", "`math.exp` is named but not called", ""),
    "builtin as value": ("f = max", "`max` is named but not called", ""),
    "index called": ("i = cuda.threadIdx()", "`cuda.threadIdx` cannot be called", "write `cuda.threadIdx.x`"),
    "index attribute": ("i = cuda.threadIdx.w", "`cuda.threadIdx.w` does not exist", "`.y` or `.z`"),
    "index subscript": ("i = cuda.threadIdx[0]", "`cuda.threadIdx[0]` is not a value", ""),
    "type subscript": ("i = np.float32[0]", "`np.float32[0]` is not a value", ""),
    "number called": ("i = cuda.laneid()", "`cuda.laneid` cannot be called", ""),
    "open": ("f = open('x')", "`open` is not available inside a GPU kernel", ""),
    "exec": ("exec('X[0] = 1')", "`exec` is not available inside a GPU kernel", ""),
    "getattr": ("getattr(X, 'tofile')('f')", "`getattr` is not available inside a GPU kernel", ""),
    "globals": ("globals()", "`globals` is not available inside a GPU kernel", ""),
    "sum": ("s = sum(X)", "`sum` is not available inside a GPU kernel", "add up in a loop"),
    "sorted": ("s = sorted(X)", "`sorted` is not available", "cannot sort"),
    "enumerate": ("for i, x in enumerate(X):\n    pass", "`enumerate` is not available", "range"),
    "__import__": ("__import__('os')", "two underscores are reserved", ""),
    "undefined": ("X[0] = tile", "`tile` is not defined", "did you mean `TILE`?"),
    "undefined math": ("X[0] = exp(1)", "`exp` is not defined", "from math import exp"),
    "undefined type": ("X[0] = float32(1)", "`float32` is not defined", "from numba import float32"),
    "look-alike": ("X[0] = m\u0430th.exp(1)", "is not defined", "the letter `\u0430` (cyrillic small letter a)"),
    "method max": ("m = X.max()", "`.max` of a value is not available inside a GPU kernel", "keep a running maximum"),
    "method tofile": ("X.tofile('f')", "`.tofile` of a value is not available", ""),
    "method astype": ("x = X.astype(np.float32)", "`.astype` of a value", "np.float32(x)"),
    "attribute typo": ("n = X.shpe[0]", "`.shpe` of a value", "did you mean `.shape`?"),
    "underscore attribute": ("X._data = 3", "cannot be set", ""),
    "dunder attribute": ("c = X.__class__", "attributes that begin with `_` cannot be used", ""),
    "dunder of a number": ("c = (1).__class__.__bases__", "attributes that begin with `_` cannot be used", ""),
    "underscore of a module": ("c = np._core", "`np._core` is not available", ""),
    "dunder of a module": ("c = math.__loader__", "`math.__loader__` is not available", ""),
    "attribute of a constant": ("c = TILE.real", "`TILE.real` is not available", ""),
    "attribute set": ("X.shape = (1, 2)", "`X.shape` cannot be set", "variables and array elements"),
    "constant set": ("PAIR[0] = 1", "`PAIR` cannot be changed", "write into an array"),
    "module set": ("math.pi[0] = 1", "`math.pi` cannot be changed", ""),
    "import": ("import os", "an import cannot stand inside a GPU kernel", "above the kernel"),
    "from import": ("from math import exp", "an import cannot stand inside a GPU kernel", "above the kernel"),
    "def": ("def f(x):\n    return x", "a function cannot be defined inside a GPU kernel", "device=True"),
    "class": ("class A:\n    pass", "a class cannot be defined", ""),
    "lambda": ("f = lambda x: x", "a lambda cannot be used", "device=True"),
    "global": ("global TILE", "`global` cannot be used", "array"),
    "nonlocal": ("nonlocal z", "`nonlocal` cannot be used|cannot be read", ""),
    "del": ("del X", "`del` cannot be used", ""),
    "with": ("with X:\n    pass", "`with` cannot be used", ""),
    "try": ("try:\n    X[0] = 1\nexcept ValueError:\n    pass", "`try` cannot be used", ""),
    "raise": ("raise ValueError('x')", "an exception cannot be raised", "return"),
    "match": ("match X[0]:\n    case 1:\n        pass", "`match` cannot be used", "elif"),
    "yield": ("yield X[0]", "`yield` cannot be used", "array"),
    "await": ("X[0] = await Y", "`async` and `await`|await", ""),
    "list": ("a = [0.0, 0.0]", "a list cannot be built", "cuda.local.array"),
    "list comprehension": ("a = [x for x in (1, 2)]", "a list cannot be built", "cuda.local.array"),
    "generator": ("a = max(x for x in (1, 2))", "a generator cannot be used", "loop"),
    "dict": ("a = {1: 2}", "a list cannot be built", ""),
    "set": ("a = {1, 2}", "a list cannot be built", ""),
    "starred call": ("X[0] = max(*PAIR)", "`*` cannot be used in a call", "every argument"),
    "double starred call": ("cuda.shared.array(**PAIR)", "`**` cannot be used in a call", ""),
    "starred target": ("a, *b = PAIR", "`*` cannot be used in an assignment", "every variable"),
    "starred tuple": ("a = (*PAIR, 1)", "`*` cannot be used inside a GPU kernel", ""),
    "f-string": ("a = f'{X}'", "an f-string can be used only in print", ""),
    "f-string format": ("print(f'{X[0]:>1000000}')", "the format `>1000000` cannot be used in print", "short"),
    "f-string nested format": ("print(f'{X[0]:{Y}}')", "a computed format cannot be used in print", ""),
    "f-string body": ("print(f'{X.tofile(1)}')", "`.tofile` of a value", ""),
    "text": ("a = 'abc'", "text cannot be used here", "print"),
    "text repeated": ("print('a' * 1000000000)", "text cannot be used here", ""),
    "text formatted": ("print('%1000000000d' % X[0])", "text cannot be used here", ""),
    "float text": ("a = float('1e5')", "text cannot be used here", ""),
    "print file": ("print(X[0], file=X)", "`print` takes no argument `file=`", ""),
    "bytes": ("a = b'abc'", "a bytes text cannot be used here", ""),
    "complex": ("a = 1j", "a complex number cannot be used here", ""),
    "ellipsis": ("a = ...", "cannot be used here", ""),
    "big integer": ("a = 1" + "0" * 30, "the number is too large", ""),
    "big power": ("a = 10 ** 10 ** 10", "is too large: whole numbers have at most 64 bits here", ""),
    "big shift": ("a = 1 << 1000000000", "is too large", ""),
    "big product": ("a = 4294967296 * 4294967296 * 4294967296", "is too large", ""),
    "tuple times": ("a = (0,) * 1000000000", "a tuple cannot be added or multiplied", ""),
    "matmul": ("a = X @ Y", "the matrix product `@` is not available", "loop"),
    "loop over array": ("for x in X:\n    pass", "a loop cannot run over `X`", "loop over range(...)"),
    "loop over shape": ("for n in X.shape:\n    pass", "a loop cannot run over `X.shape`", ""),
    "range alone": ("r = range(3)", "range can stand only in a `for`", ""),
    "range empty": ("for i in range():\n    pass", "range takes one, two or three numbers", ""),
    "range keyword": ("for i in range(stop=3):\n    pass", "takes no argument `stop=`", ""),
    "in array": ("a = 1 in X", "`in` needs a tuple written out", ""),
    "return value": ("return X[0]", "a kernel cannot return a value", "array"),
    "reserved local": ("__log = 3", "two underscores are reserved", ""),
    "reserved loop": ("for __t in range(3):\n    pass", "two underscores are reserved", ""),
    "reserved walrus": ("if (__t := 3):\n    pass", "two underscores are reserved", ""),
    "variable called": (
        "max = 3\nX[0] = max(1, 2)",
        "`max` is a variable in `k`, so it cannot be called",
        "another name",
    ),
    "variable hides module": (
        "math = 3\nX[0] = math.exp(1)",
        "`math` is a variable in `k`, so it hides the module",
        "another name",
    ),
    "parameter called": ("X(3)", "`X` is a variable in `k`, so it cannot be called", ""),
    "call of a call": ("math.exp(1)(2)", "cannot be called", "have a name"),
    "call of a subscript": ("X[0](2)", "cannot be called", ""),
    "launch inside": ("k2[1, 1](X)", "a kernel cannot launch another kernel", "device function"),
    "builtin keyword": ("a = max(X[0], key=3)", "`max` takes no argument `key=`", ""),
    "array keyword": ("a = cuda.shared.array(3, np.float32, order=1)", "takes no argument `order=`", "shape and dtype"),
    "array shape of the launch": (
        "a = cuda.shared.array(cuda.blockDim.x, np.float32)", "the shape of a shared array must be a constant", "THREADS"
    ),
    "array shape computed": ("n = max(4, 8)\na = cuda.local.array(n, np.float32)", "and `n` is none", "THREADS"),
    "array shape with arithmetic": ("n = 4\na = cuda.local.array(n + 1, np.float32)", "must be a constant", "THREADS"),
    "array shape of the data": ("a = cuda.shared.array((4, X.shape[0]), np.float32)", "must be a constant", "THREADS"),
    "array dtype builtin": ("a = cuda.shared.array(4, float)", "`float` is no type", "numba.float32"),
    "array without dtype": ("a = cuda.shared.array(4)", "needs a shape and a dtype", "numba.float32"),
    "maximum of a row": ("X[0] = max(X[1])", "with one argument is not available", "running maximum"),
    "minimum of a row": ("X[0] = min(X)", "with one argument is not available", "running minimum"),
    "barrier without cuda": ("syncthreads()", "`syncthreads` is not defined", "cuda.syncthreads"),
    "array dtype text": ("a = cuda.shared.array(3, 'object')", "text cannot be used here", ""),
    "private keyword": ("a = cuda.shfl_sync(_mask=1)", "takes no argument `_mask=`", ""),
    "list global": ("X[0] = DATA[0]", "`DATA` is a list", "numbers, tuples of numbers and types"),
    "string global": ("X[0] = NAME", "`NAME` is a string", "numbers, tuples of numbers and types"),
    "module global": ("X[0] = os.getpid()", "`os` is the module `os`, which cannot be used", "math"),
    "foreign function": ("X[0] = norm(X)", "`norm` comes from `scipy.linalg`", "copy it"),
    "plain helper": ("X[0] = plain(1)", "`plain` is a plain Python function", "@cuda.jit(device=True)"),
    "cpu helper": ("X[0] = fast(1)", "`@numba.njit` compiles for the CPU", "use @cuda.jit"),
    "class global": ("X[0] = Box(1)", "`Box` is a class", "def"),
    "helper as value": ("f = k2", "`k2` is named but not called", ""),
    "helper in numpy": ("X[0] = helper2(1)", "`np.sum` is not available", ""),
    "void called": ("a = numba.void(3)", "`numba.void` is only for signatures", ""),
    "call constant": ("X[0] = CALLED", "`CALLED` is the result of a call", "number"),
    "annotated element": ("X[0]: int = 3", "only a plain variable can have an annotation", ""),
    "annotation call": ("a: print('x') = 3", "the annotation `print('x')` is not available", "leave it out"),
}
ABOVE = """\
import os
from scipy.linalg import norm
TILE, PAIR, DATA, NAME = 256, (1, 2), [1, 2], "abc"
CALLED = os.getpid()
def plain(x):
    return x
@numba.njit
def fast(x):
    return x
class Box:
    pass
@cuda.jit
def k2(X):
    X[0] = 1
@cuda.jit(device=True)
def helper2(x):
    return np.sum(x)
"""


@pytest.mark.parametrize("case", BODIES.values(), ids=BODIES.keys())
def test_refused_in_a_body(case):
    body, sentence, hint = case
    found = refusal(kernel(body, ABOVE))
    assert any(part in found.sentence for part in sentence.split("|")), str(found)
    assert hint in found.hint, str(found)
    assert found.line and 5 <= found.line <= 6 + len((ABOVE + body).splitlines()), str(found)


@pytest.mark.parametrize(
    "body,offset",
    [
        ("X[0] = 1\nX[1] = np.max(X)", 1),
        ("X[0] = (1 +\n  np.sum(X))\nX[2] = 3", 1),
        ("if X[0] > 0:\n    pass\nelif X[0] in Y:\n    pass", 2),
        ("while True:\n    if X[0]:\n        del X\n", 2),
    ],
)
def test_the_line_is_the_students(body, offset):
    assert refusal(kernel(body)).line == 7 + offset


DEFINITIONS = {
    "default": (kernel("X[0] = n", parameters="X, n=3"), "a parameter cannot have a default value", "in the body"),
    "star": (kernel("X[0] = 1", parameters="X, *rest"), "`k` takes `*` parameters", "name every parameter"),
    "double star": (kernel("X[0] = 1", parameters="X, **rest"), "`k` takes `*` parameters", ""),
    "keyword only": (kernel("X[0] = 1", parameters="X, *, n"), "`k` has keyword-only parameters", ""),
    "reserved parameter": (kernel("X[0] = 1", parameters="X, __t"), "two underscores are reserved", ""),
    "annotation call": (kernel("X[0] = 1", parameters="X: print('x')"), "`print('x')`", "leave it out"),
    "annotation foreign": (kernel("X[0] = 1", "import os\n", parameters="X: os.name"), "`os` is the module `os`", ""),
    "annotation undefined": (kernel("X[0] = 1", parameters="X: Array"), "`Array` is not defined", ""),
    "no decorator": (HEAD + "def k(X):\n    X[0] = 1\n", "`k` is a plain Python function", "put @cuda.jit above it"),
    "two decorators": (kernel("X[0] = 1", decorator="@cuda.jit\n@cuda.jit"), "`k` has 2 decorators", "only @cuda.jit"),
    "njit": (kernel("X[0] = 1", decorator="@numba.njit"), "`@numba.njit` compiles for the CPU", "use @cuda.jit"),
    "njit by import": (
        kernel("X[0] = 1", "from numba import njit\n", "@njit()"),
        "`@njit` compiles for the CPU",
        "use @cuda.jit",
    ),
    "other decorator": (
        kernel("X[0] = 1", "from functools import lru_cache\n", "@lru_cache"),
        "`@lru_cache` does not make",
        "",
    ),
    "undefined decorator": (kernel("X[0] = 1", decorator="@cud.jit"), "`cud` is not defined", ""),
    "expression decorator": (
        kernel("X[0] = 1", decorator="@(lambda f: f)"),
        "does not make a GPU kernel",
        "use @cuda.jit",
    ),
    "called twice": (kernel("X[0] = 1", decorator="@cuda.jit()()"), "does not make a GPU kernel", ""),
    "bad option": (kernel("X[0] = 1", decorator="@cuda.jit(cache=True)"), "the option `cache`", "leave it out"),
    "link option": (kernel("X[0] = 1", decorator="@cuda.jit(link=['x.cu'])"), "the option `link`", "leave it out"),
    "computed option": (
        kernel("X[0] = 1", decorator="@cuda.jit(fastmath=print('x'))"),
        "is not written out",
        "True or False",
    ),
    "starred option": (kernel("X[0] = 1", decorator="@cuda.jit(**{})"), "the option `**`", ""),
    "signature code": (
        kernel("X[0] = 1", decorator="@cuda.jit(\"__import__('os').system('x')\")"),
        "is not made of numba's types",
        "",
    ),
    "signature call": (kernel("X[0] = 1", decorator='@cuda.jit("void(print(1))")'), "is not made of numba's types", ""),
    "signature attribute": (
        kernel("X[0] = 1", decorator='@cuda.jit("void(float32.__class__)")'),
        "is not made of numba's types",
        "",
    ),
    "signature expression": (kernel("X[0] = 1", decorator="@cuda.jit(print(1))"), "is not made of numba's types", ""),
    "signature name": (kernel("X[0] = 1", 'sig = "void(float32[:])"\n', "@cuda.jit(sig)"), "`sig` is a string", ""),
    "two signatures": (kernel("X[0] = 1", decorator="@cuda.jit('void()', 'void()')"), "takes one signature", ""),
    "async": (HEAD + "async def k(X):\n    pass\n", "`k` is an async function", "def"),
    "class": (HEAD + "class k:\n    pass\n", "`k` is a class", "def"),
    "lambda": (HEAD + "k = cuda.jit(lambda X: None)\n", "`k` is the result of a call", "def"),
    "number": (HEAD + "k = 3\n", "`k` is a number, not a GPU kernel", "@cuda.jit"),
    "module": (HEAD + "k = math\n", "`k` is something of a module", "@cuda.jit"),
    "list": (HEAD + "k = []\n", "`k` is a list", "@cuda.jit"),
    "in an if": (
        HEAD + "if cuda:\n    @cuda.jit\n    def k(X):\n        X[0] = 1\n",
        "`k` is defined inside an `if`",
        "top level",
    ),
    "in a loop": (
        HEAD + "for i in (1,):\n    @cuda.jit\n    def k(X):\n        X[0] = 1\n",
        "`k` is defined inside a loop",
        "top level",
    ),
    "in a function": (
        HEAD + "def make():\n    @cuda.jit\n    def k(X):\n        X[0] = 1\n    return k\nk = make()\n",
        "`k` is the result of a call",
        "",
    ),
    "missing": (HEAD, "there is no `k` in text", "write `def k(...):` with @cuda.jit above it"),
    "near": (HEAD + "@cuda.jit\ndef K(X):\n    X[0] = 1\n", "there is no `k` in text", "did you mean `K`?"),
    "deleted": (kernel("X[0] = 1") + "del k\n", "there is no `k`", ""),
    "overwritten": (kernel("X[0] = 1") + "k = None\n", "`k` is None", ""),
    "recursion": (
        kernel("X[0] = f(1)", "@cuda.jit(device=True)\ndef f(x):\n    return f(x)\n"),
        "`f` calls itself",
        "loop",
    ),
    "mutual recursion": (
        kernel(
            "X[0] = f(1)",
            "@cuda.jit(device=True)\ndef f(x):\n    return g(x)\n@cuda.jit(device=True)\ndef g(x):\n    return f(x)\n",
        ),
        "`f` calls itself",
        "",
    ),
    "kernel calls itself": (kernel("k(X, Y)"), "`k` calls itself", ""),
    "two things of one name": (
        kernel("X[0] = g(1) + f", "def f(x):\n    return x\ng = cuda.jit(device=True)(f)\nf = 3\n"),
        "`f` stands for two different things",
        "its own name",
    ),
    "np is something else": (
        kernel("X[0] = E + np", "E = np.float32(1)\nnp = 3\n"),
        "`np` cannot have a meaning of its own",
        "",
    ),
    "device function refused": (
        kernel("X[0] = f(1)", "@cuda.jit(device=True)\ndef f(x, y=2):\n    return x\n"),
        "default value",
        "",
    ),
    "decorated and wrapped": (
        kernel("X[0] = 1", decorator="").replace("\ndef k(", "\n@numba.njit\ndef k0(") + "k = cuda.jit(k0)\n",
        "`k0` has a decorator|is the result of a call",
        "",
    ),
    "syntax": (HEAD + "@cuda.jit\ndef k(X)\n    X[0] = 1\n", "text has a syntax error", "mend"),
    "global elsewhere": (
        kernel("X[0] = T", "T = 3\ndef change():\n    global T\n    T = 4\n"),
        "`T` is set inside a function",
        "number",
    ),
    "loop constant": (kernel("X[0] = T", "for T in (1, 2):\n    pass\n"), "`T` is set inside a loop", "number"),
    "uncertain constant": (
        kernel("X[0] = T", "T = 3\nif cuda.gpus:\n    T = 4\n"),
        "`T` is set inside an `if`",
        "number",
    ),
    "long tuple": (kernel("X[0] = T[0]", f"T = ({'1, ' * 2000})\n"), "`T` holds more than 1,024 numbers", ""),
    "big constant": (kernel("X[0] = T", "T = 1 << 100\n"), "`T` is an integer of 101 bits", ""),
    "constant overflow": (kernel("X[0] = T", "T = 10 ** 10 ** 10\n"), "grows beyond 1024 bits", ""),
    "division": (kernel("X[0] = T", "T = 1 / 0\n"), "`T` cannot be worked out: division by zero", ""),
    "star import": (
        kernel("X[0] = T", "from helpers import *\n"),
        "`T` is not defined, unless `from helpers import *` brings it",
        "copy it",
    ),
    "type parameters": (kernel("X[0] = 1").replace("def k(", "def k[T]("), "type parameters|syntax error", ""),
    "bidi": (kernel("X[0] = 1  # \u202e evil"), "holds an invisible character (U+202E)", "type it again"),
    "form feed": (kernel("X[0] = 1\n\x0c\nX[1] = 2"), "holds an invisible character (U+000C)", ""),
}


@pytest.mark.parametrize("case", DEFINITIONS.values(), ids=DEFINITIONS.keys())
def test_refused_in_a_definition(case):
    text, sentence, hint = case
    found = refusal(text)
    assert any(part in found.sentence for part in sentence.split("|")), str(found)
    assert hint in found.hint, str(found)


def test_an_unknown_kind_is_a_programming_error():
    with pytest.raises(ValueError, match="kind is"):
        gather_text(HEAD, "k", kind="gpu")
