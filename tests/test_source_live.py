"""What the student's notebook sees is what the instructor's file gives: the same text, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.source import SourceRefused, gather_notebook

ROOT = Path(__file__).resolve().parents[1]

SETUP = """\
import os
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import math
import numba
import numpy as np
from numba import cuda
from autograder.simulator import install
install()
"""

# Gathers the named objects as they are now and prints one JSON line.
PROBE = """\
import json as _json
from autograder.source import gather_live as _gather, SourceRefused as _Refused
def _one(obj, kind):
    try:
        s = _gather(obj, kind)
        return {"text": s.text, "name": s.name, "digest": s.digest, "lines": s.lines, "labels": s.labels, "notes": s.notes}
    except _Refused as r:
        return {"refused": str(r), "sentence": r.sentence, "hint": r.hint, "line": r.line, "label": r.label, "untouched": r.untouched}
"""


def code(source: str, grade_id: str | None = None, tags: list[str] | None = None) -> dict:
    metadata: dict = {}
    if grade_id:
        metadata["nbgrader"] = {"grade_id": grade_id, "schema_version": 3}
    if tags:
        metadata["tags"] = tags
    return {
        "cell_type": "code",
        "id": f"c{abs(hash((source, grade_id))) % 10**8}",
        "metadata": metadata,
        "source": source,
        "execution_count": None,
        "outputs": [],
    }


def markdown(source: str) -> dict:
    return {"cell_type": "markdown", "id": f"m{abs(hash(source)) % 10**8}", "metadata": {}, "source": source}


class Book:
    """A notebook under construction; ``check`` adds a probe cell, ``run`` executes it for real."""

    def __init__(self, *cells: str, setup: bool = True) -> None:
        self.cells: list[dict] = [code(SETUP, tags=["setup"])] if setup else []
        self.cells += [code(cell) for cell in cells]
        self.cells.append(code(PROBE, grade_id="probe"))
        self.checks: list[tuple[str, str, str]] = []

    def add(self, *sources: str) -> Book:
        self.cells += [code(source) for source in sources]
        return self

    def check(self, name: str, kind: str = "kernel") -> Book:
        grade_id = f"check_{len(self.checks)}"
        self.checks.append((grade_id, name, kind))
        self.cells.append(code(f'print("PROBE" + _json.dumps(_one({name}, "{kind}")))', grade_id=grade_id))
        return self

    def notebook(self) -> dict:
        return {"cells": self.cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}

    def file(self) -> list[dict]:
        found = []
        for grade_id, name, kind in self.checks:
            try:
                s = gather_notebook(self.notebook(), name, kind, before=grade_id)
                found.append(
                    {
                        "text": s.text,
                        "name": s.name,
                        "digest": s.digest,
                        "lines": list(s.lines),
                        "labels": list(s.labels),
                        "notes": list(s.notes),
                    }
                )
            except SourceRefused as r:
                found.append(
                    {
                        "refused": str(r),
                        "sentence": r.sentence,
                        "hint": r.hint,
                        "line": r.line,
                        "label": r.label,
                        "untouched": r.untouched,
                    }
                )
        return found

    def live(self) -> list[dict]:
        nbformat = pytest.importorskip("nbformat")
        nbclient = pytest.importorskip("nbclient")
        notebook = nbformat.from_dict(self.notebook())
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
        client.execute(env={**os.environ, "PYTHONPATH": path})
        found = []
        for cell in notebook.cells:
            if cell.cell_type != "code" or not cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith(
                "check_"
            ):
                continue
            printed = "".join(
                o.get("text", "") for o in cell.outputs if o.output_type == "stream" and o.name == "stdout"
            )
            errors = [o for o in cell.outputs if o.output_type == "error"]
            assert printed.startswith("PROBE"), errors
            found.append(json.loads(printed[5:]))
        return found


def same(book: Book) -> list[dict]:
    """Run the book for real and compare; returns what the file gives."""
    live, file = book.live(), book.file()
    assert len(live) == len(file)
    for one, other in zip(live, file):
        if "text" in other:
            assert one.get("text") == other["text"], one
            assert (one["name"], one["digest"], one["lines"]) == (other["name"], other["digest"], other["lines"])
        else:
            assert "refused" in one, one
            assert (one["sentence"], one["line"], one["untouched"]) == (
                other["sentence"],
                other["line"],
                other["untouched"],
            )
    return file


def test_everything_people_write_gives_the_same_text_live_and_from_the_file():
    book = Book(
        "%matplotlib inline\n!echo hello\nimport numba as nb\nfrom numba import cuda as cu, float32, types\nfrom math import exp",
        "\n\n# constants\nTILE = 256\nTPB = TILE // 2\nNEG = -math.inf\nEPS = np.float32(1e-5)\nHALF = np.float32(1) / 3\n"
        "LOWEST = np.finfo(np.float32).min\nSHAPE = (TPB, 2)\nLOG2E = math.log2(math.e)\nF = np.float32\nNAN = float('nan')\n"
        "mx = max\nflag = True\nA, B = 3, 4.5\nTILE_BYTES = TILE * 4",
        "@cuda.jit(device=True)\ndef helper(x):   # trailing comment  \n    return x + B\n\n\ndef _raw(a, b):\n"
        "    '''doc'''\n    return helper(mx(a, b)) * EPS\n\nmerge = cuda.jit(device=True)(_raw)",
        "  \n@cu.jit\ndef bare(X, out):\n\ti = cu.grid(1)\n\tif i < X.shape[0]:\n\t\tout[i] = exp(X[i])\n",
    )
    book.check("bare")
    book.add(
        'x = %pwd\n%time y = 3\n@cuda.jit("void(float32[:, :], float32[:, :])", fastmath=True)\n'
        "def full(X, Y):\n    s = nb.cuda.shared.array(shape=TPB, dtype=F)\n    t = cuda.local.array(SHAPE, float32)\n"
        "    u = cuda.local.array(4, types.float64)\n    m = NEG\n    while m < LOWEST:\n        m = merge(m, X[0, A])\n"
        "    Y[0, 0] = m * LOG2E + HALF if flag else NAN\n    print('debug', m, f'{m:.3f}')",
    )
    book.check("full")
    book.add("%%capture\nTILE = 64\n@cuda.jit()\ndef captured(X, out):\n    out[0] = X[0] * TILE\n")
    book.check("captured").check("bare").check("full")
    book.add("def plain_kernel(X, out):\n    out[0] = merge(X[0], TPB)\nrenamed = cuda.jit(plain_kernel)")
    book.check("renamed")
    book.add(
        "from numba.cuda import syncthreads, shared, threadIdx as tid, grid, atomic\nfrom numba.cuda import jit as gpu\n"
        "@gpu\ndef members(X):\n    s = shared.array(32, float32)\n    s[tid.x] = X[grid(1)]\n    syncthreads()\n"
        "    atomic.add(X, 0, s[0])"
    ).check("members")
    book.add("B = 5\n@cuda.jit(device=True)\ndef helper(x):\n    return x - B").check("full")
    book.add("@cuda.jit\ndef bare(X, out):\n    out[0] = 1").check("bare")
    book.add(
        "def bytes_of(rows, n, size=4):\n    return _each(rows) * n * size * A\ndef _each(rows):\n"
        "    return sum(1 for r in range(rows))"
    ).check("bytes_of", "host")
    found = same(book)
    assert all("text" in one for one in found), [one.get("refused") for one in found]
    full = found[1]["text"]
    assert full.startswith("import math\n") is False  # `full` names no math itself, only numbers made from it
    assert "NEG = float('-inf')" in full and "EPS = np.float32(1e-05)" in full and "import numpy as np" in full
    assert "def helper(x):   # trailing comment  \n" in full
    assert "_raw = cuda.jit(device=True)(_raw)\nmerge = _raw\n" in full
    assert "TILE = 64" in found[2]["text"] and "x - B" in found[7]["text"] and "B = 5" in found[7]["text"]
    assert found[8]["notes"] == ["`bare` is defined in cell 5 and cell 20; the last one counts"]
    assert "from numba.cuda import threadIdx as tid\n" in found[6]["text"]


REFUSED_BOTH_WAYS = {
    "stub": "@cuda.jit\ndef k(X):\n    # YOUR CODE HERE\n    raise NotImplementedError()",
    "pass": "@cuda.jit\ndef k(X):\n    pass",
    "numpy call": "\n\n@cuda.jit\ndef k(X, out):\n    out[0] = np.max(X)",
    "plain": "def k(X):\n    X[0] = 1",
    "cpu": "@numba.njit\ndef k(X):\n    X[0] = 1",
    "list": "data = [1, 2]\n@cuda.jit\ndef k(X):\n    X[0] = data[0]",
    "array": "data = np.zeros(3)\n@cuda.jit\ndef k(X):\n    X[0] = data[0]",
    "plain helper": "def h(x):\n    return x\n@cuda.jit\ndef k(X):\n    X[0] = h(1)",
    "nested": "if True:\n    @cuda.jit\n    def k(X):\n        X[0] = 1",
    "loop constant": "for T in (1, 2):\n    pass\n@cuda.jit\ndef k(X):\n    X[0] = T",
    "call constant": "T = len([1, 2])\n@cuda.jit\ndef k(X):\n    X[0] = T",
    "string": "T = 'abc'\n@cuda.jit\ndef k(X):\n    X[0] = T",
    "redefined plain number": "@cuda.jit\ndef k(X):\n    X[0] = 1\nk = 3",
    "magic inside": "@cuda.jit\ndef k(X):\n    %time X[0] = 1\n    X[1] = 2",
    "alias of nested": "array = cuda.local.array\n@cuda.jit\ndef k(X):\n    X[0] = array(3, np.float32)[0]",
    "two underscores": "@cuda.jit\ndef k(X):\n    __t = 3",
    "undefined": "@cuda.jit\ndef k(X):\n    X[0] = mat.exp(1)",
    "class": "class k:\n    pass",
    "lambda": "k = cuda.jit(lambda X: None)",
    "fsum": "from math import fsum\n@cuda.jit\ndef k(X):\n    X[0] = fsum(X)",
}


@pytest.fixture(scope="module")
def refusals() -> tuple[Book, list[dict], list[dict]]:
    """One notebook, run once: every refusal, then constants that only the running notebook knows, then lines."""
    book = Book()
    for source in REFUSED_BOTH_WAYS.values():
        book.add(source).check("k")
    book.add("TILE = 256", "@cuda.jit\ndef k(X):\n    X[0] = TILE").check("k")
    book.add("globals()['TILE'] = 128").check("k")
    book.add("%time TILE = 64").check("k")
    book.add("exec('from math import log')").add("@cuda.jit\ndef k(X):\n    X[0] = log(X[1])").check("k")
    book.add("exec('@cuda.jit\\ndef h(x):\\n    return x')").add("@cuda.jit\ndef k(X):\n    X[0] = h(1)").check("k")
    book.add("if cuda:\n    from math import sin").add("@cuda.jit\ndef k(X):\n    X[0] = sin(1)").check("k")
    book.add("\n\n\n# a comment\n@cuda.jit\ndef lined(X):\n    X[0] = 1\n").check("lined")
    book.add("\n\n@cuda.jit\ndef bad(X):\n    X[0] = np.sum(X)\n").check("bad")
    return book, book.live(), book.file()


def test_what_is_refused_live_is_refused_from_the_file(refusals):
    _, live, file = refusals
    differ = []
    for label, one, other in zip(REFUSED_BOTH_WAYS, live, file):
        assert "refused" in one and "refused" in other, (label, one, other)
        assert one["untouched"] == other["untouched"] == (label in ("stub", "pass")), label
        if (one["sentence"], one["line"]) != (other["sentence"], other["line"]):
            differ.append((label, one["refused"], other["refused"]))
    # these are seen differently: the live object is already something else, or the cell failed
    assert {label for label, _, _ in differ} <= {"redefined plain number", "magic inside", "class", "lambda"}, differ


def test_constants_that_only_the_live_notebook_knows_are_refused_live_too(refusals):
    _, live, file = refusals
    known, changed, hidden = live[len(REFUSED_BOTH_WAYS) :][:3]
    assert "TILE = 256" in known["text"]
    assert "is 128 now, and the text of the notebook says 256" in changed["refused"]
    assert "is 64 now" in hidden["refused"]
    imported, made, branch = live[len(REFUSED_BOTH_WAYS) + 3 :][:3]
    assert imported["refused"].endswith(
        "`log` is set in a way that the text of the notebook does not show; "
        "write `from math import log` in a cell above the kernel"
    )
    assert "`h` has no text that can be found" in made["refused"]
    assert "`sin` is set inside an `if`" in branch["refused"]
    assert all("refused" in one for one in file[len(REFUSED_BOTH_WAYS) + 3 :][:3])


def test_labels_and_lines_are_those_of_the_typed_cell(refusals):
    book, live, file = refusals
    assert [n for n in live[-2]["lines"] if n] == [5, 6, 7] == [n for n in file[-2]["lines"] if n]
    number = len(book.cells)
    assert {label for label in live[-2]["labels"] if label} == {f"cell In[{number - 3}]"}
    assert {label for label in file[-2]["labels"] if label} == {f"cell {number - 3}"}
    sentence = "`np.sum` is not available inside a GPU kernel; add up in a loop"
    assert live[-1]["refused"] == f"line 5 of cell In[{number - 1}]: {sentence}"
    assert file[-1]["refused"] == f"line 5 of cell {number - 1}: {sentence}"


IN_PROCESS = r"""
import os
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import math, sys
import numba, numpy as np
from numba import cuda
from autograder.source import gather_live, gather_script, SourceRefused
TILE = 8
@cuda.jit
def good(X, out):
    out[0] = X[0] * TILE
def outer():
    n = 3
    @cuda.jit
    def closure(X):
        X[0] = n
    return closure
@cuda.jit(device=True)
def pair(a, b):
    return a, b
def helper_text(x):
    return x
class FakeCUDAKernel:
    py_func = good.py_func
def words(obj, kind="kernel"):
    try:
        return gather_live(obj, kind).text
    except SourceRefused as refusal:
        return str(refusal)
source = gather_live(good)
assert source.text == gather_script(__file__, "good").text, source.text
assert source.origin == os.path.basename(__file__)
assert gather_live(source.load()).text == source.text
assert "defined inside another function" in words(outer())
assert words(FakeCUDAKernel()).startswith("what was given is a FakeCUDAKernel, not a GPU kernel")
assert words(None).startswith("what was given is None"), words(None)
assert words([1]).startswith("what was given is a list")
assert words(3).startswith("what was given is an int")
assert "compiled for the CPU" in words(numba.njit(helper_text))
assert "not a GPU kernel" in words(int)
assert "no text that can be found" in words(eval("lambda x: x"))
assert "pair" in words(pair)
assert words(os.path.join).startswith("`join` is a plain Python function") or "a" in words(os.path.join)
scope = {"cuda": cuda}
exec("@cuda.jit\ndef hidden(X):\n    X[0] = 1", scope)
assert "no text that can be found" in words(scope["hidden"])
from helper_module import helper
@cuda.jit
def foreign(X):
    X[0] = helper(X[1])
assert "`helper` comes from `helper_module`" in words(foreign), words(foreign)
print("fine")
"""


def test_live_objects_of_a_module(tmp_path):
    (tmp_path / "main.py").write_text(IN_PROCESS)
    (tmp_path / "helper_module.py").write_text(
        "from numba import cuda\n@cuda.jit(device=True)\ndef helper(x):\n    return x\n"
    )
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "fine", done.stderr
    assert done.stderr == ""


def test_importing_the_package_does_not_import_numba():
    script = "import sys; import autograder.source; assert 'numba' not in sys.modules and 'IPython' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60)
