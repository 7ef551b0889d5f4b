"""Kernels that would get out, remember, hang, swallow memory or go by what they should not know."""

from __future__ import annotations

import math

from autograder.exercises import get
from hostile.code import SPAWN, touch
from hostile.model import FULL, LAB2, LESS, NOTHING, Attack, Marks, code_cell, find, right

HEAD = "import math\nimport numba\nimport numpy as np\nfrom numba import cuda\n"
PARAMETERS = {"row_max": "X, out", "row_sum": "X, out", "safe_softmax": "X, Y"}


def kernel(exercise: str, body: str, above: str = "", parameters: str = "") -> str:
    """A kernel of this body, with an assignment to its output at the end."""
    given = parameters or PARAMETERS[exercise]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    store = "Y[0, 0] = 1.0" if exercise == "safe_softmax" else "out[0] = 1.0"
    return f"{HEAD}{above}\n\n@cuda.jit\ndef {exercise}({given}):\n{lines}    {store}\n"


def refused(name: str, tries: str, body: str, says: str, above: str = "", parameters: str = "") -> Attack:
    """A kernel that the source rules turn away."""

    def cell(exercise: str) -> str:
        return kernel(exercise, body, above, parameters and f"{PARAMETERS[exercise]}, {parameters}")

    return Attack(name, tries, cell=cell, says=says)


def runs(name: str, tries: str, text: str, earns: Marks, exercise: str = "row_max", says: str = "") -> Attack:
    """A kernel that is simulated."""
    return Attack(name, tries, exercise=exercise, cell=lambda _: text, earns=earns, says=says)


def chain(links: int) -> str:
    """Tuples of tuples: 2 ** links numbers, if somebody writes them out."""
    return "a0 = 1\n" + "".join(f"a{n} = (a{n - 1}, a{n - 1})\n" for n in range(1, links))


def calls(depth: int) -> str:
    """Device functions, each of which calls the one before."""
    first = "@cuda.jit(device=True)\ndef f0(x):\n    return x\n"
    return first + "".join(
        f"\n\n@cuda.jit(device=True)\ndef f{n}(x):\n    return f{n - 1}(x)\n" for n in range(1, depth)
    )


def learnt(exercise: str) -> str:
    """A kernel that has the right results of the published seed in a table, by shape and row."""
    asked = get(f"lab1.{exercise}")
    rows = {}
    for check in asked.checks:
        for case in check.cases:
            inputs = case.make(0)
            rows[inputs.arrays["X"].shape] = [float(value) for value in asked.reference(inputs)["out"]]
    lines = ["row = cuda.blockIdx.x", "rows, n = X.shape", "out[row] = 0.0"]
    for (count, n), found in sorted(rows.items()):
        for row, value in enumerate(found):
            shown = repr(value) if math.isfinite(value) else f"float('{value}')"
            lines += [f"if rows == {count} and n == {n} and row == {row}:", f"    out[row] = {shown}"]
    return f"{HEAD}\n\n@cuda.jit\ndef {exercise}(X, out):\n" + "".join(f"    {line}\n" for line in lines)


def with_line(exercise: str, line: str, before: str) -> str:
    """The right kernel with one line more."""
    text = right(exercise)
    at = text.index(before)
    indent = " " * (at - text.rindex("\n", 0, at) - 1)
    return f"{text[:at]}{line}\n{indent}{text[at:]}"


def bug(exercise: str, name: str, lab: str = "lab1") -> str:
    return next(one.text for one in get(f"{lab}.{exercise}").bugs if one.id == name)


def exchanged(made: dict) -> None:
    """Before `traffic` the kernel that is right is exchanged for one that moves little."""
    at, _ = find(made, "safe_softmax_traffic")
    made["cells"].insert(at, code_cell(bug("safe_softmax", "first_tile_maximum")))


def exchanged_below(made: dict) -> None:
    """Below its last check the kernel is exchanged for a right one."""
    at, _ = find(made, "safe_softmax_safety")
    made["cells"].insert(at + 1, code_cell(right("safe_softmax")))


PRINTED = "T = (" + "1234567, " * 1000 + ")"
MOVES_TWICE = """import math
import numba
from numba import cuda

T = 256


@cuda.jit(device=True)
def largest(red, t):
    half = T // 2
    while half > 0:
        if t < half:
            red[t] = max(red[t], red[t + half])
        cuda.syncthreads()
        half //= 2
    m = red[0]
    cuda.syncthreads()
    return m


@cuda.jit
def online_softmax_tiled(X, Y):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    n = X.shape[1]
    red = cuda.shared.array(T, numba.float32)
    first = numba.float32(-math.inf)
    if t < n:
        first = X[row, t]
    red[t] = first
    cuda.syncthreads()
    m = largest(red, t)
    mine = first
    d = numba.float32(0.0)
    if first != -math.inf:
        d = math.exp(first - m)
    for j in range(t + T, n, T):
        x = X[row, j]
        mine = max(mine, x)
        if x != -math.inf:
            d += math.exp(x - m)
    red[t] = mine
    cuda.syncthreads()
    top = largest(red, t)
    if top != m:  # the maximum was not in the first tile: all over again, a third time
        m = top
        d = numba.float32(0.0)
        for j in range(t, n, T):
            x = X[row, j]
            if x != -math.inf:
                d += math.exp(x - m)
    red[t] = d
    cuda.syncthreads()
    half = T // 2
    while half > 0:
        if t < half:
            red[t] = red[t] + red[t + half]
        cuda.syncthreads()
        half //= 2
    d = red[0]
    for j in range(t, n, T):
        Y[row, j] = math.exp(X[row, j] - m) / d
"""
ENDLESS = """from numba import cuda


@cuda.jit(device=True)
def wait():
    while True:
        cuda.syncthreads()  # </td></table><script>alert('hostile')</script>


@cuda.jit
def row_sum(X, out):
    wait()
    out[cuda.blockIdx.x] = 1.0
"""
LOCAL_ARRAYS = """import numba
from numba import cuda


@cuda.jit
def row_max(X, out):
    big = cuda.local.array(524288, numba.uint8)
    big[0] = 1
    out[cuda.blockIdx.x] = X[cuda.blockIdx.x, 0]
"""
WRITES = "out[row] = best"

ATTACKS = (
    # out of the kernel
    refused("exit in a kernel", "the end of the judge", "os._exit(1)", "`os` is the module `os`", above="import os\n"),
    refused("file in a kernel", "a file", touch("kernel"), "`open` is not available"),
    refused(
        "process in a kernel",
        "a process that stays",
        SPAWN.splitlines()[1],
        "not available",
        above=SPAWN.splitlines()[0] + "\n",
    ),
    refused("class of an array", "the classes of Python", "X.__class__.__base__.__subclasses__()", "begin with `_`"),
    refused("dunder in full width", "the same in letters that look alike", "X.＿＿class＿＿", "begin with `_`"),
    refused("eval in full width", "the same in letters that look alike", "ｅval('1')", "`eval` is not available"),
    refused("module of a builtin", "a module through a builtin", "print.__self__", "not available"),
    refused("format", "attributes through a format", "print('{0.__class__}'.format(X))", "text"),
    refused("simulator", "the simulator's own state", "cuda.simulator.kernel", "not available"),
    refused("NumPy's files", "a file through NumPy", f"X.tofile({str(touch('tofile'))!r})", "`.tofile`"),
    refused("import in a kernel", "a module", "import os", "an import cannot stand"),
    refused(
        "frame in a default",
        "a call when the kernel is made",
        "pass",
        "default value",
        parameters=f"z={touch('default')}",
    ),
    refused(
        "call in an annotation", "a call when the kernel is made", "pass", "not", parameters=f"z: {touch('note')} = 1"
    ),
    # memory between launches
    refused("list as memory", "an earlier case's input", "seen.append(X[0, 0])", "list", above="seen = []\n"),
    refused("array as memory", "an earlier case's input", "seen[0] = X[0, 0]", "seen", above="seen = np.zeros(10)\n"),
    refused(
        "device array as memory",
        "an earlier case's input",
        "seen[0] = X[0, 0]",
        "seen",
        above="seen = cuda.to_device(np.zeros(9))\n",
    ),
    refused(
        "default as memory", "an earlier case's input", "seen[0] = X[0, 0]", "default value", parameters="seen=[0]"
    ),
    refused("global as memory", "an earlier case's input", "global seen\nseen = 1", "`global`"),
    # names and sizes
    Attack(
        "Cyrillic name",
        "a kernel whose name looks alike",
        exercise="row_max",
        cell=lambda exercise: right(exercise).replace("row_max", "r\u043ew_max"),
        says="there is no `row_max`",
    ),
    refused(
        "recursion",
        "a stack without an end",
        "f(1.0)",
        "calls itself",
        above="@cuda.jit(device=True)\ndef f(x):\n    return f(x)\n",
    ),
    refused("deep calls", "a stack without an end", "f59(1.0)", "more than 50 functions", above=calls(60)),
    refused("huge sum", "hours for a constant", "x = C", "`C`", above="C = sum(range(10**12))\n"),
    refused("huge power", "a number that fills the memory", "x = C", "`C`", above="C = 10**10**10\n"),
    refused("huge tuple", "a tuple that fills the memory", "x = C", "`C`", above="C = (0,) * 10**9\n"),
    refused("huge number in a kernel", "a number that fills the memory", "x = 10**10**10", "too large"),
    refused("deep brackets", "a parser that gives up", "x = " + "(" * 3000 + "1" + ")" * 3000, "cannot be read"),
    refused(
        "chain of tuples",
        "years for the shape of an array",
        chain(60) + "s = cuda.shared.array(a59, numba.float32)",
        "must be a constant",
    ),
    # simulated
    runs("endless barrier", "a judge that never ends, and a script", ENDLESS, NOTHING, "row_sum", "was stopped after"),
    runs("local arrays", "all memory", LOCAL_ARRAYS, NOTHING, says="524,288"),
    runs(
        "shared arrays",
        "all memory",
        kernel("row_max", "s = cuda.shared.array(2**40, numba.float32)\ns[0] = 1.0"),
        NOTHING,
        says="shared memory of",
    ),
    runs(
        "prints without an end",
        "a page that fills the disk, and the hidden numbers on it",
        with_line("row_max", "print(7 * 142857143, T, best)", "parts[t] = best").replace(
            "\n\n\n", f"\n\n{PRINTED}\n\n\n", 1
        ),
        FULL,
    ),
    runs("learnt results", "full marks for a table of the published results", learnt("row_max"), NOTHING),
    runs(
        "writes to its input",
        "an input that suits the answer",
        with_line("row_max", "X[row, 0] = best", WRITES),
        {"values": NOTHING, "rescale": FULL, "traffic": NOTHING},
        says="changed its input",
    ),
    runs(
        "writes behind its output",
        "another array",
        with_line("row_max", "out[row + 4096] = best\n        out[-1 - row] = best", WRITES),
        {"values": FULL, "safety": NOTHING},
    ),
    runs(
        "what was left in shared memory",
        "an earlier block's result",
        kernel("row_max", "s = cuda.shared.array(128, numba.float32)\nout[cuda.blockIdx.x] = s[0]"),
        NOTHING,
    ),
    Attack(
        "two kernels",
        "full marks for a kernel that is right and another that moves little",
        exercise="safe_softmax",
        cell=lambda exercise: right(exercise),
        forge=exchanged,
        earns={"values": FULL, "rescale": LESS, "traffic": FULL, "safety": FULL},
    ),
    Attack(
        "kernel below its checks",
        "full marks for a kernel that no check saw",
        exercise="safe_softmax",
        forge=exchanged_below,
    ),
    Attack(
        "reads again where it must",
        "full marks without rescaling: a third pass when the maximum has moved",
        lab=LAB2,
        exercise="online_softmax_tiled",
        cell=lambda _: MOVES_TWICE,
        earns={"values": FULL, "rescale": FULL, "traffic": NOTHING, "safety": FULL},
        says="",
    ),
)
