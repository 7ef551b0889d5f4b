"""The exercises of lab 2: online softmax, one thread a row and then tile by tile."""

from __future__ import annotations

import numpy as np

from . import battery, families, references
from .battery import LONG
from .bugs import answers, lab2_breaking, online_softmax_rows, online_softmax_tiled
from .cases import break_cases, host_cases, one_row
from .declare import break_it, formula, softmax
from .model import Break, Budget, Check
from .shapes import block_a_row, four_checks, thread_a_row
from .texts import kernel_text

LAB = "lab2_online_softmax"
ROWS_A_BLOCK = 64
THREADS = 256
SHORT_TILE = 32
"""Stands for the tile where a thread has a row to itself: only its order matters then, so the rows of
the loud battery can be short. A kernel without the row guard walks 62 rows that are not there."""


ROWS = softmax(
    "lab2.online_softmax_rows",
    lab=LAB,
    title="Online softmax, one thread a row",
    launch=thread_a_row(ROWS_A_BLOCK),
    budget=Budget(loads={"X": 2}, stores={"Y": 1}, coalesced=False),
    checks=four_checks(
        (2, 2, 1, 1),
        battery.plain_battery(families.ordinary, THREADS, output="Y", extra=((64, 4), (131, 3))),
        battery.loud_battery(battery.SOFTMAX, SHORT_TILE, rows=2, tiles=2, output="Y"),
        families.easy,
        settings={"first": 1},
        tile=SHORT_TILE,
        output="Y",
        aligned=((64, 64),),
        ragged=((70, 33),),
        safety=((64, 12), (70, 9), (1, 40)),
    ),
    bugs=online_softmax_rows.BUGS,
    read="lesson 02, sections 'Where the recurrence comes from' and 'One thread a row: right, and slow'",
)

TILED = softmax(
    "lab2.online_softmax_tiled",
    lab=LAB,
    title="Online softmax, tile by tile",
    launch=block_a_row(THREADS),
    budget=Budget(loads={"X": 2}, stores={"Y": 1}),
    checks=four_checks(
        (2, 3, 2, 1),
        battery.plain_battery(families.ordinary, THREADS, output="Y", extra=(LONG,)),
        battery.loud_battery(battery.SOFTMAX, THREADS, rows=1, tiles=1, output="Y"),
        families.easy,
        tile=THREADS,
        output="Y",
        aligned=((2, 1024),),
        ragged=((2, 1000), (1, 300)),
        safety=((1, 512), (2, 300), (1, 40)),
    ),
    bugs=online_softmax_tiled.BUGS,
    read="lesson 02, sections 'Tiles: correct, then add' and 'Order matters: correct first'",
)


def _sizes(rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    drawn = tuple((32 * int(rng.integers(1, 40)), 8 * int(rng.integers(1, 600))) for _ in range(3))
    return ((64, 1024), (32, 8), (96, 1000), *drawn)


PREDICT_SECTORS = formula(
    "lab2.predict_sectors",
    lab=LAB,
    name="rows_kernel_load_sectors",
    title="Predict the load sectors of one thread a row",
    parameters=("rows", "n"),
    reference=lambda inputs: references.rows_kernel_load_sectors(inputs.scalars["rows"], inputs.scalars["n"]),
    checks=(Check("answer", 1, host_cases(_sizes, 6)),),
    bugs=answers.PREDICT_SECTORS,
    read="lesson 02, section 'One thread a row: right, and slow'",
)

_BREAK = {
    "lab": LAB,
    "checks": (Check("answer", 1, break_cases((1024, 700, 1500))),),
    "read": "lesson 02, section 'Order matters: correct first'",
}
_KERNELS = {
    "of": TILED.id,
    "wrong": next(bug.text for bug in TILED.bugs if bug.id == "d_not_rescaled"),
    "right": kernel_text(TILED.id, "tile_by_tile"),
    "inputs": one_row,
}

BREAKING_VALUE = break_it(
    "lab2.breaking_value",
    title="Break it: a row that shows the missing rescale",
    bugs=lab2_breaking.BREAKING,
    breaks=Break(
        **_KERNELS,
        recognise=lab2_breaking.breaking,
        hint="What it leaves out is a factor e^(m − m_new) on d: let the maximum move far, after the first tile.",
    ),
    **_BREAK,
)

FORGIVING_VALUE = break_it(
    "lab2.forgiving_value",
    title="Break it: a row that hides the missing rescale",
    bugs=lab2_breaking.FORGIVING,
    breaks=Break(
        **_KERNELS,
        exposes=False,
        recognise=lab2_breaking.forgiving,
        hint="What it leaves out is a factor e^(m − m_new) on d: when is that exactly 1?",
    ),
    **_BREAK,
)

EXERCISES = (ROWS, TILED, PREDICT_SECTORS, BREAKING_VALUE, FORGIVING_VALUE)
