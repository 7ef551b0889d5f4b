"""A device function is judged through a kernel of the course that calls it."""

import numpy as np
import pytest

from autograder.exercises.model import Case, Check, Exercise, Harness, Inputs, NamedBug
from autograder.judge import bugs, compose, core
from autograder.source import SourceRefused, gather_live, gather_notebook, gather_script, gather_text

HARNESS = Harness(
    "call_merge",
    ("S", "OUT"),
    """import math
from numba import cuda


@cuda.jit
def call_merge(S, OUT):
    i = cuda.grid(1)
    if i < S.shape[0]:
        m, d = merge(S[i, 0], S[i, 1], S[i, 2], S[i, 3])
        OUT[i, 0] = m
        OUT[i, 1] = d + math.exp(-200.0)
""",
    gives="a pair (m, d)",
)
RIGHT = """import math
from numba import cuda


@cuda.jit(device=True)
def weight(a, b):
    return math.exp(a - b)


@cuda.jit(device=True)
def merge(ma, da, mb, db):
    top = max(ma, mb)
    return top, da * weight(ma, top) + db * weight(mb, top)
"""


def reference(inputs):
    S = inputs.arrays["S"].astype(np.float64)
    m = np.maximum(S[:, 0], S[:, 2])
    return {"OUT": np.stack([m, S[:, 1] * np.exp(S[:, 0] - m) + S[:, 3] * np.exp(S[:, 2] - m)], axis=1)}


def make(seed):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(40, 4)).astype(np.float32)
    S[:, 1::2] = rng.uniform(1, 2, size=(40, 2))
    return Inputs({"S": S, "OUT": np.full((40, 2), np.nan, np.float32)})


SWAPPED = RIGHT.replace("da * weight(ma, top) + db * weight(mb, top)", "da * weight(mb, top) + db * weight(ma, top)")
EXERCISE = Exercise(
    id="labx.merge", lab="labx", kind="device", name="merge", title="Merge", parameters=("m1", "d1", "m2", "d2"),
    outputs=("OUT",), launch=lambda inputs: ((2,), (32,)), reference=reference, budget=None,
    checks=(Check("values", 2, (Case("pairs", "pairs", "Any pairs.", make),)),),
    bugs=(NamedBug("sides_swapped", "sides swapped", "Each factor is on the other side.", SWAPPED, frozenset({"values"})),),
    harness=HARNESS, axes=("pair", "part"), reduced=lambda inputs: 2,
)  # fmt: skip


@pytest.fixture(autouse=True)
def only_this_exercise(monkeypatch):
    monkeypatch.setattr(core, "parse", lambda check_id: (EXERCISE, EXERCISE.checks))
    monkeypatch.setattr(bugs.exercises, "get", lambda exercise_id: EXERCISE)
    bugs._program.cache_clear()
    bugs._ran.cache_clear()


def verdict(text):
    return core.judge(gather_text(text, "merge", kind="device", origin="mine.py"), "labx.merge")


def test_a_right_function_earns_everything():
    report = verdict(RIGHT)
    assert report.passed and report.points == 2.0, report.message


def test_a_wrong_one_is_told_in_the_exercises_words_and_named():
    report = verdict(SWAPPED.replace("top", "best"))
    assert "pair " in report.message and ", part 1: expected " in report.message
    assert [bug["id"] for bug in report.checks[0].bugs] == ["sides_swapped"]


def test_lines_are_the_students_own():
    source = gather_text(RIGHT, "merge", kind="device", origin="mine.py")
    whole = compose.harnessed(source, HARNESS)
    assert whole.kind == "kernel" and whole.name == "call_merge"
    lines = whole.text.splitlines()
    for n, line in enumerate(lines, start=1):
        if whole.user_line(n):
            assert RIGHT.splitlines()[whole.user_line(n) - 1] == line
    assert whole.user_line(lines.index("def merge(ma, da, mb, db):") + 1) == 11
    assert whole.user_line(lines.index("def call_merge(S, OUT):") + 1) == 0
    divides = RIGHT.replace("top = max(ma, mb)", "top = ma[0]")
    assert verdict(divides).message.startswith("pairs: line 12")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    return top, da * weight(ma, top) + db * weight(mb, top)\n", "    return top\n", "must return a pair (m, d)"),
        ("    return top, da * weight(ma, top) + db * weight(mb, top)\n", "    top += 1\n", "must return a pair (m, d)"),
        ("    return top, da", "    return top, top, da", "must return a pair (m, d)"),
        ("def merge(ma, da, mb, db):\n", "def merge(ma, da, mb):\n    db = da\n", "must take 4 parameters (m1, d1, m2, d2); yours takes 3"),
    ],
)
def test_what_cannot_be_called_is_a_sentence(old, new, words):
    assert RIGHT.count(old) == 1
    report = verdict(RIGHT.replace(old, new))
    assert not report.passed and report.points == 0.0
    assert words in report.message and "Traceback" not in report.message


def test_a_name_that_the_harness_needs_is_refused():
    taken = RIGHT.replace("weight", "call_merge")
    assert "needs the name `call_merge` for itself; give yours another name" in verdict(taken).error
    other = verdict("math = 3\n" + RIGHT.replace("import math\n", "").replace("math.exp(a - b)", "a - b + math"))
    assert "needs the name `math`" in other.error


KERNEL = RIGHT.replace("@cuda.jit(device=True)\ndef merge", "@cuda.jit\ndef merge").replace("    return top, da", "    da = da")
PLAIN = RIGHT.replace("@cuda.jit(device=True)\ndef merge", "def merge")
REFUSED = {KERNEL: "`merge` is a kernel, and a device function is wanted; put @cuda.jit(device=True) above it",
           PLAIN: "`merge` is a plain Python function; put @cuda.jit(device=True) above it"}  # fmt: skip


@pytest.mark.parametrize("text", [KERNEL, PLAIN], ids=["kernel", "plain"])
def test_what_is_no_device_function_is_refused_in_text_script_and_notebook(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    notebook = {"cells": [{"cell_type": "code", "source": text, "metadata": {}}]}
    for gather in (
        lambda: gather_text(text, "merge", kind="device"),
        lambda: gather_script(path, "merge", kind="device"),
        lambda: gather_notebook(notebook, "merge", kind="device"),
    ):
        with pytest.raises(SourceRefused) as refusal:
            gather()
        assert REFUSED[text] in str(refusal.value)


def test_a_live_device_function_is_gathered_and_a_kernel_refused(tmp_path, monkeypatch):
    import importlib.util

    def module(name, text):
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made

    source = gather_live(module("device_right", RIGHT).merge, kind="device")
    assert source.kind == "device" and source == gather_text(RIGHT, "merge", kind="device")
    with pytest.raises(SourceRefused, match="is a kernel, and a device function is wanted"):
        gather_live(module("device_kernel", KERNEL).merge, kind="device")
    with pytest.raises(SourceRefused, match=r"put @cuda.jit\(device=True\) above it"):
        gather_live(module("device_plain", PLAIN).merge, kind="device")


def test_a_device_function_says_what_it_is_when_a_kernel_was_asked_for():
    assert gather_text(RIGHT, "merge").kind == "device"
    with pytest.raises(SourceRefused, match="is a device function, and a plain function is wanted"):
        gather_text("from numba import cuda\ndef f(a):\n    return a\nf = cuda.jit(device=True)(f)\n", "f", kind="host")
