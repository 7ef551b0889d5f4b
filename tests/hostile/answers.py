"""Functions that are only calculated: formulas, and inputs that should break a kernel."""

from __future__ import annotations

from hostile.code import touch
from hostile.model import LAB2, Attack


def formula(name: str, tries: str, body: str, says: str, above: str = "", parameters: str = "rows, n") -> Attack:
    text = f"{above}def three_pass_bytes({parameters}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return Attack(name, tries, exercise="predict_bytes", cell=lambda _: text, says=says)


def value(name: str, tries: str, body: str, says: str, exercise: str = "breaking_value") -> Attack:
    text = f"import math\n\n\ndef {exercise}(i, n):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return Attack(name, tries, lab=LAB2, exercise=exercise, cell=lambda _: text, says=says)


ATTACKS = (
    formula("formula opens a file", "a file", f"{touch('formula')}\nreturn 1", "cannot be called"),
    formula("formula without an end", "all time", "while True:\n    pass", "steps"),
    formula("formula of a giant", "all memory", "a = 3\nwhile True:\n    a = a * a", "1024 bits"),
    formula(
        "formula of nested tuples",
        "a judge that cannot say what it got",
        "t = (1,)\nfor k in range(1000):\n    t = (t,)\nreturn t",
        "must be a number",
    ),
    formula(
        "formula that equals everything",
        "an object",
        "return Same()",
        "`Same` is a class",
        above="class Same:\n    __eq__ = lambda *a: True\n\n\n",
    ),
    formula("formula of NaN", "a number that no comparison holds for", "return float('nan')", "not a finite number"),
    formula(
        "formula with a default",
        "a call when the function is made",
        "return z",
        "default value",
        parameters=f"rows, n, z={touch('formula default')}",
    ),
    formula(
        "formula that knows the sizes",
        "full marks for the published sizes",
        "return 16 * 8 * 4096 if n == 4096 else 16 if n == 1 else 0",
        "too small",
    ),
    value("value from a module", "a module", "import os\nreturn os.getpid()", "an import cannot stand"),
    value("value without an end", "all time", "while True:\n    pass", "steps"),
    value("value of NaN", "a row that no kernel gets right", "return math.nan", "is NaN"),
    value(
        "value of a giant",
        "a number that fits no float",
        "a = 9\nfor k in range(8):\n    a = a * a\nreturn a",
        "beyond",
        "forgiving_value",
    ),
    value(
        "value through a class", "the classes of Python", "return i.__class__(1)", "cannot be called", "forgiving_value"
    ),
    value("value of infinity", "a row that hides every mistake", "return -math.inf", "finite", "forgiving_value"),
)
