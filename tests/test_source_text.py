"""The canonical text of a kernel, and everything that people write and that must be accepted."""

from __future__ import annotations

import inspect
import linecache
import pickle
import textwrap

import numpy as np
import pytest

from autograder.source import KernelSource, SourceRefused, catalog, gather_live, gather_script, gather_text
from autograder.source.gather import is_setup_script

HEAD = "import math\nimport numba\nimport numpy as np\nfrom numba import cuda\n"


def kernel(body: str, above: str = "", decorator: str = "@cuda.jit", parameters: str = "X, Y") -> str:
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEAD}{above}\n{decorator}\ndef k({parameters}):\n{body}\n"


def gather(text: str, name: str = "k", kind: str = "kernel") -> KernelSource:
    """The source; gathering its own text again must give that text."""
    source = gather_text(text, name, kind)
    assert gather_text(source.text, name, kind).text == source.text
    assert len(source.lines) == len(source.labels) == source.text.count("\n")
    for number, line in enumerate(source.text.splitlines(), start=1):
        if source.user_line(number):
            assert text.replace("\r\n", "\n").split("\n")[source.user_line(number) - 1] == line
    return source


def test_the_text_is_canonical():
    text = """
import numpy as np, math as m
from numba import cuda as gpu
import numba as nb
from math import exp, inf
OTHER = 3
NEG = -inf
SIZE = 2 ** 5   # lanes
PAIR = (1, 2.5, (SIZE,))
EPS = np.float32(1e-5)

@gpu.jit(device=True)
def inner(x):
    return exp(x) + PAIR[1]

def unused(x):
    return x

@gpu.jit(device=True)
def outer(x): return inner(x) * EPS

@gpu.jit("void(float32[:])", fastmath=True)
def k(X):
    '''doc'''
    i = nb.cuda.grid(1)  # a comment
    X[i] = outer(m.sqrt(X[i])) if X[i] > NEG else SIZE
"""
    source = gather(text)
    assert (
        source.text
        == """\
import math as m
import numba as nb
import numba.cuda
import numpy as np
from math import exp
from numba import cuda as gpu

EPS = np.float32(1e-05)
NEG = float('-inf')
PAIR = (1, 2.5, (32,))
SIZE = 32


@gpu.jit(device=True)
def inner(x):
    return exp(x) + PAIR[1]


@gpu.jit(device=True)
def outer(x): return inner(x) * EPS


@gpu.jit("void(float32[:])", fastmath=True)
def k(X):
    '''doc'''
    i = nb.cuda.grid(1)  # a comment
    X[i] = outer(m.sqrt(X[i])) if X[i] > NEG else SIZE
"""
    )
    assert source.lines[-1] == 26 and source.user_line(0) == source.user_line(999) == 0
    assert source.user_line(1) == 0 and source.user_line(15) == 13


def test_equality_digest_and_pickle_depend_on_the_text_only():
    one, other = (
        gather_text(kernel("X[0] = 1"), "k", origin="a"),
        gather_text("\n\n" + kernel("X[0] = 1"), "k", origin="b"),
    )
    assert one == other and hash(one) == hash(other) and one.digest == other.digest and one.lines != other.lines
    assert one.digest != gather_text(kernel("X[0] = 2"), "k").digest
    assert pickle.loads(pickle.dumps(one)).lines == one.lines
    assert KernelSource.from_json(one.as_json()) == one
    refusal = SourceRefused("no", line=3, hint="do", label="cell 1", untouched=True)
    again = pickle.loads(pickle.dumps(refusal))
    assert (str(again), again.line, again.hint, again.untouched) == (str(refusal), 3, "do", True)


ACCEPTED = {
    "plain decorator": kernel("X[0] = 1"),
    "called decorator": kernel("X[0] = 1", decorator="@cuda.jit()"),
    "jit by import": kernel("X[0] = 1", "from numba.cuda import jit\n", "@jit"),
    "jit through numba": kernel("X[0] = 1", decorator="@numba.cuda.jit"),
    "signature text": kernel("X[0] = 1", decorator='@cuda.jit("void(float32[:], float32[:, ::1])")'),
    "signature parts": kernel("X[0] = 1", decorator='@cuda.jit("(f4[:], f4[:])")'),
    "signature expression": kernel(
        "X[0] = 1", "from numba import float32, void\n", "@cuda.jit(void(float32[:], float32[::1]))"
    ),
    "signature list": kernel("X[0] = 1", decorator="@cuda.jit([numba.void(numba.float32[:, :], numba.f8)])"),
    "signature types": kernel("X[0] = 1", "from numba import types\n", "@cuda.jit((types.float32[:], types.f4[:]))"),
    "options": kernel("X[0] = 1", decorator="@cuda.jit(fastmath=True, debug=False, opt=True, inline='always')"),
    "device": kernel("return X + Y, X", decorator="@cuda.jit(device=True)"),
    "annotations": kernel("X[0] = 1", parameters="X: np.ndarray, Y: 'float32[:]', n: int, s: numba.float32[:, :]"),
    "positional only": kernel("X[0] = 1", parameters="X, Y, /"),
    "pi and inf": kernel("X[0] = math.pi - math.inf + np.inf * np.nan + math.e - math.tau"),
    "float of text": kernel("m = float('-inf')\nX[0] = float(' NaN ') + m + float('inf')"),
    "math": kernel("X[0] = math.exp(X[1]) + math.log2(2.0) + math.sqrt(abs(X[2])) + math.floor(1.5)"),
    "math by import": kernel("X[0] = exp(X[1]) + root(X[2])", "from math import exp, sqrt as root\n"),
    "math star": kernel("X[0] = exp(X[1]) + pi", "from math import *\n"),
    "types": kernel("X[0] = np.float32(1) + numba.float64(2) + np.int32(3) + np.single(4) + numba.f4(5)"),
    "arrays": kernel(
        """
        s = cuda.shared.array(128, numba.float32)
        t = cuda.shared.array(shape=(4, 32), dtype=np.float32)
        u = cuda.local.array(TILE, dtype="float32")
        v = cuda.local.array((2, TILE), F)
        w = cuda.shared.array(0, X.dtype)
        s[0] = t[0, 1] + u[1] + v[1, 2]
        X[0] = s[0] + w.size
        """,
        "TILE = 4\nF = np.float32\n",
    ),
    "indices": kernel("""
        i = cuda.grid(1)
        x, y = cuda.grid(2)
        t = cuda.threadIdx
        j = cuda.blockIdx.x * cuda.blockDim.x + t.x + cuda.laneid + cuda.warpsize
        for r in range(cuda.blockIdx.x, X.shape[0], cuda.gridDim.x):
            X[r, j] = Y[r][j] + i + x + y
        """),
    "barriers and warps": kernel("""
        cuda.syncthreads()
        v = cuda.shfl_down_sync(0xFFFFFFFF, X[0], 16)
        v += cuda.shfl_xor_sync(mask=-1, value=v, lane_mask=1)
        cuda.syncwarp()
        if cuda.any_sync(cuda.activemask(), v > 0) and cuda.ballot_sync(-1, True) != 0:
            cuda.atomic.add(X, (0, 1), v)
            cuda.atomic.max(X, 0, v)
        cuda.threadfence()
        """),
    "control flow": kernel(
        """
        n = X.shape[0]
        i = 0
        while i < n and not (n == 3 or n != 4):
            i += 1
            if i % 2 == 0:
                continue
            elif i > 7:
                break
            else:
                pass
        else:
            n = -i
        for a in (1, 2, 3):
            X[a] **= 2
        for s in STRIDES:
            X[s] //= 2
        for _ in range(8):
            n <<= 1
        m = n if n > 3 else ~n
        if (last := m) >= 1 <= 4:
            return
        return None
        """,
        "STRIDES = (16, 8, 4, 2, 1)\n",
    ),
    "unpacking": kernel("a = b = 0.0\na, (b, c) = 1, (2, 3)\n[d, e] = a, b\nX[0], Y[0] = a, b + c + d + e"),
    "annotated local": kernel("m: float = 0.0\nn: np.int32\nn = 3\nX[0] = m + n"),
    "print": kernel("print('x', X[0], f'{X[1]:.3f} {X[2]}', f'{X[0]!r:>10}')"),
    "assert": kernel("assert X[0] > 0, 'must be positive'\nX[0] = 1"),
    "slices": kernel("row = X[cuda.blockIdx.x, :]\nhalf = row[1:row.size // 2:2]\nY[:] = half[0]"),
    "shapes": kernel("n, d = X.shape\nX[0] = n + d + X.size + X.ndim + len(X) + X.strides[0] + X.itemsize"),
    "in a tuple": kernel("X[0] = 1 if X[1] in (1, 2) or X[2] not in (3,) else 0\nif X is not None:\n    pass"),
    "builtins": kernel(
        "X[0] = max(X[1], 2) + min(1, X[2], 3) + abs(-1) + int(2.5) + bool(1) + round(2.5) + pow(2, 3)\n"
        "q, r = divmod(7, 2)"
    ),
    "variables named like builtins": kernel("max = X[0]\nsum = 0.0\nsum += max\nid = 3\nX[0] = sum + id"),
    "parameter named like the decorator's module": kernel("X[0] = cuda", parameters="X, cuda, n: np.int32"),
    "own variable hides nothing": kernel("np = 3\nX[0] = np"),
    "tabs and comments": f"{HEAD}@cuda.jit\ndef k(X):\n\t# first\n\tX[0] = 1\t\n\n\t# last\n\tX[1] = 2   \n",
    "unicode names": kernel("δ = X[0]\nX[1] = δ * µ", "µ = 3\n"),
    "windows lines": kernel("X[0] = 1").replace("\n", "\r\n"),
    "continuation": kernel("X[0] = 1 + \\\n    2\nX[1] = (3 +\n  4)"),
    "one line": f"{HEAD}@cuda.jit\ndef k(X): X[0] = 1; X[1] = 2",
    "wrapped": kernel("X[0] = 1", decorator="") + "kk = cuda.jit(k)\n",
    "docstring": kernel("'''A text with \\d and %s {x} — fine.'''\nX[0] = 1"),
    "trailing semicolon": kernel("X[0] = 1;"),
    "constant on a condition": kernel("X[0] = T", "if cuda.is_available():\n    T = 3\nelse:\n    T = 3\n"),
    "main guard": kernel("X[0] = T", "T = 3\nif __name__ == '__main__':\n    T = 4\n"),
    "try import": kernel("X[0] = m.exp(1)", "try:\n    import math as m\nexcept ImportError:\n    m = None\n"),
    "with": kernel("X[0] = T", "with open('f') as f:\n    T = 3\n"),
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(text):
    name = "kk" if "kk = " in text else "k"
    source = gather_text(text, name)
    assert gather_text(source.text, source.name).text == source.text
    made = source.load()
    assert made.py_func.__name__ == "k"
    assert inspect.getsource(made.py_func) in source.text
    assert gather_live(made).text == source.text


def test_functions_come_before_what_calls_them_and_once():
    above = "".join(
        f"@cuda.jit(device=True)\ndef {n}(x):\n    return {body}\n"
        for n, body in (("d", "b(x) + c(x)"), ("c", "a(x)"), ("b", "a(x)"), ("a", "x"))
    )
    source = gather(kernel("X[0] = d(X[0])", above))
    assert [line[4] for line in source.text.splitlines() if line.startswith("def ")] == ["a", "b", "c", "d", "k"]


def test_the_last_definition_counts_and_is_noted():
    source = gather(kernel("X[0] = 1") + "@cuda.jit\ndef k(X):\n    X[0] = 2\n")
    assert "X[0] = 2" in source.text and "X[0] = 1" not in source.text
    assert source.notes == ("`k` is defined at lines 7 and 10; the last one counts",)


def test_device_functions_through_cuda_jit_calls():
    above = (
        "def f(x):\n    return x\ndef g(x):\n    return x\nff = cuda.jit(device=True)(f)\n"
        "gg = cuda.jit(g, device=True)\nalias = ff\n"
    )
    source = gather(kernel("X[0] = ff(1) + gg(2) + alias(3)", above))
    assert "f = cuda.jit(device=True)(f)\nalias = f\nff = f\n" in source.text
    assert "g = cuda.jit(device=True)(g)\ngg = g\n" in source.text
    made = source.load()
    assert gather_live(made).text == source.text


def test_an_intrinsic_of_the_course_is_one_entry_of_the_list(monkeypatch):
    text = kernel("X[0] = load8(X, 0)[0]", "from autograder.kernels import load8\n")
    with pytest.raises(SourceRefused, match="`load8` comes from `autograder.kernels`"):
        gather_text(text, "k")
    monkeypatch.setitem(catalog.ALLOWED, "autograder.kernels.load8", catalog.FUNCTION)
    assert "from autograder.kernels import load8\n" in gather_text(text, "k").text
    assert "from autograder.kernels import load4\n" in gather_text(text.replace("load8", "load4"), "k").text


def test_a_percent_script_has_the_names_of_its_setup_cell(tmp_path):
    path = tmp_path / "lab.py"
    path.write_text(
        '# %% tags=["setup"]\n# setup\n\n# %% nbgrader={"grade_id": "k", "solution": true}\n'
        "@cuda.jit\ndef k(X):\n    X[0] = math.exp(X[1]) + np.float32(1)\n\n# %%\n# !ls\n",
        encoding="utf-8",
    )
    source = gather_script(path, "k")
    assert source.text.startswith("import math\nimport numpy as np\nfrom numba import cuda\n\n\n@cuda.jit")
    assert source.origin == "lab.py" and set(source.labels) == {"", "lab.py"} and source.lines[-1] == 7
    assert not is_setup_script("x = 1\n# setup the thing\n")
    with pytest.raises(SourceRefused, match="`cuda` is not defined; add `from numba import cuda` above the kernel"):
        gather_text("@cuda.jit\ndef k(X):\n    X[0] = 1\n", "k")


def test_load_runs_in_a_namespace_of_its_own():
    source = gather(kernel("X[0] = C * math.exp(0.0)", "C = 3\n"))
    made = source.load()
    names = made.py_func.__globals__
    assert set(names["__builtins__"]) >= {"range", "max", "print"} and "open" not in names["__builtins__"]
    assert made is not source.load()
    filename = made.py_func.__code__.co_filename
    assert linecache.getline(filename, made.py_func.__code__.co_firstlineno) == "@cuda.jit\n"
    linecache.checkcache()
    assert linecache.getlines(filename)


def test_load_and_launch_and_error_lines():
    from autograder.simulator import launch

    text = kernel(
        "i = cuda.grid(1)\nif i < X.size:\n    Y[i] = f(X[i])",
        "TWO = np.float32(2)\n@cuda.jit(device=True)\ndef f(x):\n    return x * TWO\n",
    )
    source = gather(text)
    X, Y = np.arange(5, dtype=np.float32), np.full(5, np.nan, np.float32)
    launch(source.load(), 1, 32, (X, Y))
    assert Y.tolist() == [0, 2, 4, 6, 8]
    broken = gather(kernel("i = cuda.grid(1)\nY[i] = X[i] + undefined_yet\nundefined_yet = 3"))
    with pytest.raises(UnboundLocalError) as caught:
        launch(broken.load(), 1, 32, (X, Y))
    assert broken.user_line(caught.value.place.line) == 9


def test_a_source_changed_by_hand_does_not_load():
    source = gather(kernel("X[0] = 1"))
    for text in (
        source.text + "import os\n",
        "import os\n" + source.text,
        source.text.replace("X[0] = 1", "X.tofile('f')"),
        source.text + "print('hello')\n",
        source.text.replace("import cuda", "import cuda as cuda"),
    ):
        with pytest.raises(SourceRefused):
            KernelSource("k", "kernel", text).load()
    with pytest.raises(SourceRefused):
        KernelSource("other", "kernel", source.text).load()


def test_the_same_text_under_the_same_name_has_the_same_file_name():
    source = gather(kernel("X[0] = 1"))
    before = len(linecache.cache)
    source.load(), source.load()
    assert len(linecache.cache) <= before + 1


def test_the_list_names_what_numba_and_the_simulator_have():
    import math

    import numba

    from autograder.simulator.gpumath import FUNCTIONS
    from autograder.simulator.intrinsics import KERNEL_ONLY

    for name in catalog.names_in("numba.types"):
        assert getattr(numba, name) is getattr(numba, catalog.canonical(f"numba.{name}").rpartition(".")[2]), name
    for name in catalog.names_in("numpy"):
        if f"numpy.{name}" in catalog.CONSTANTS:
            assert getattr(np, name) == getattr(math, name) or name == "nan"
        else:
            assert getattr(np, name) is getattr(np, catalog.canonical(f"numpy.{name}").rpartition(".")[2]), name
    cuda_names = {p.split(".")[2] for p in catalog.ALLOWED if p.startswith("numba.cuda.")}
    assert cuda_names - {"jit"} <= set(KERNEL_ONLY), cuda_names - set(KERNEL_ONLY)
    math_names = {p[5:] for p, use in catalog.ALLOWED.items() if p.startswith("math.") and use == catalog.FUNCTION}
    assert math_names <= set(FUNCTIONS), math_names - set(FUNCTIONS)
