"""The exercises of lab 1: a row maximum, a row sum, and safe softmax in three passes."""

from __future__ import annotations

import numpy as np

from . import battery, families, references
from .battery import LONG
from .bugs import answers, row_max, row_sum, safe_softmax
from .cases import host_cases
from .declare import formula, softmax
from .model import Budget, Check, Exercise
from .shapes import block_a_row, four_checks
from .texts import variants

LAB = "lab1_three_pass"
REDUCE_THREADS = 128
THREADS = 256

_REDUCTION = {
    "lab": LAB,
    "kind": "kernel",
    "parameters": ("X", "out"),
    "outputs": ("out",),
    "launch": block_a_row(REDUCE_THREADS),
    "budget": Budget(loads={"X": 1}, stores={"out": 1}),
}

_SIZED = {"tile": REDUCE_THREADS, "output": "out"}

_SIZES = {
    "aligned": ((2, 4096),),
    "ragged": ((3, 1000), (2, 200)),
    "safety": ((1, 512), (2, 300), (1, 40)),
}

ROW_MAX = Exercise(
    id="lab1.row_max",
    name="row_max",
    title="Row maximum",
    reference=lambda inputs: {"out": references.row_max(inputs.arrays["X"])},
    checks=four_checks(
        (1, 1, 1, 1),
        battery.plain_battery(families.ordinary, **_SIZED),
        battery.loud_battery(battery.MAXIMUM, rows=3, tiles=2, **_SIZED),
        families.easy,
        **_SIZED,
        **_SIZES,
    ),
    bugs=row_max.BUGS,
    variants=variants("lab1.row_max"),
    read="lesson 01, sections 'Reductions: eight numbers to one' and 'Where it breaks: the padding value'",
    **_REDUCTION,
)

ROW_SUM = Exercise(
    id="lab1.row_sum",
    name="row_sum",
    title="Row sum",
    reference=lambda inputs: {"out": references.row_sum(inputs.arrays["X"])},
    checks=four_checks(
        (1, 1, 1, 1),
        battery.plain_battery(families.positive, **_SIZED),
        battery.loud_battery(battery.SUM, rows=3, tiles=2, **_SIZED),
        families.positive,
        **_SIZED,
        **_SIZES,
    ),
    bugs=row_sum.BUGS,
    variants=variants("lab1.row_sum"),
    read="lesson 01, section 'Reductions: eight numbers to one'",
    **_REDUCTION,
)

SAFE_SOFTMAX = softmax(
    "lab1.safe_softmax",
    lab=LAB,
    title="Safe softmax in three passes",
    launch=block_a_row(THREADS),
    budget=Budget(loads={"X": 3}, stores={"Y": 1}),
    checks=four_checks(
        (2, 2, 2, 1),
        battery.plain_battery(families.ordinary, THREADS, output="Y", extra=(LONG,)),
        battery.loud_battery(battery.SOFTMAX, THREADS, rows=1, tiles=1, output="Y"),
        families.easy,
        tile=THREADS,
        output="Y",
        aligned=((2, 1024),),
        ragged=((2, 1000), (1, 300)),
        safety=((1, 512), (2, 300), (1, 40)),
    ),
    bugs=safe_softmax.BUGS,
    read=(
        "lesson 01, sections 'Overflow: where the literal formula breaks' and "
        "'Where it breaks: one buffer, two reductions'"
    ),
)


def _sizes(rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    drawn = tuple((int(rng.integers(2, 200)), int(rng.integers(2, 5000))) for _ in range(3))
    return ((8, 4096), (1, 1), (3, 1000), *drawn)


PREDICT_BYTES = formula(
    "lab1.predict_bytes",
    lab=LAB,
    name="three_pass_bytes",
    title="Predict the bytes of three passes",
    parameters=("rows", "n"),
    reference=lambda inputs: references.three_pass_bytes(inputs.scalars["rows"], inputs.scalars["n"]),
    checks=(Check("answer", 1, host_cases(_sizes, 6)),),
    bugs=answers.PREDICT_BYTES,
    read="lesson 01, section 'Counting transfers: the film'",
)

EXERCISES = (ROW_MAX, ROW_SUM, SAFE_SOFTMAX, PREDICT_BYTES)
