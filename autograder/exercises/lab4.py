"""The exercises of lab 4: one pass, with the row kept in shared memory or in registers."""

from __future__ import annotations

import numpy as np

from . import battery, families
from .bugs import lab4_answers, softmax_register_cache, softmax_row_cache
from .cases import host_cases, rows_case
from .declare import formula, softmax
from .model import Budget, Case, Check, Inputs
from .shapes import block_a_row, four_checks

LAB = "lab4_one_pass"
THREADS = 256
ROW_CACHE = 4096
"""Floats of a row that the shared cache must hold: 16 KiB, so that three blocks fit where 48 KiB are free."""
SLOTS = 32
REGISTER_CACHE = THREADS * SLOTS
"""Floats of a row that the registers of one block must hold: 8,192."""


def _values(lengths: tuple[tuple[int, int], ...], longest: int) -> tuple[Case, ...]:
    """Ordinary rows in full tiles, then of the (rows, n) in ``lengths``, then the two longest."""
    made = {"family": families.ordinary, "tile": THREADS, "output": "Y"}
    return (
        rows_case("ordinary 2x512", "ordinary", "Full tiles and nothing unusual: the kernel must be right at all.",
                  rows=2, n=512, counted=True, **made),
        *(
            rows_case(f"ragged {rows}x{n}", "ragged",
                      f"A row of {n} does not fill its tiles or warps: the tail must count, and only the tail.",
                      rows=rows, n=n, **made)
            for rows, n in lengths
        ),
        rows_case(f"longest but one 1x{longest - 1}", "longest",
                  "All of the cache but one place: the last of it is not in the row.", rows=1, n=longest - 1, **made),
        rows_case(f"longest 1x{longest}", "longest", "The longest row that must fit: every place of the cache is used.",
                  rows=1, n=longest, **made),
    )  # fmt: skip


RAGGED = ((1, 1), (1, 31), (2, 257), (1, 1000))

ROW = softmax(
    "lab4.softmax_row_cache",
    lab=LAB,
    title="One pass, the row in shared memory",
    launch=block_a_row(THREADS),
    budget=Budget(loads={"X": 1}, stores={"Y": 1}),
    checks=four_checks(
        (2, 2, 2, 1),
        _values(RAGGED, ROW_CACHE),
        battery.loud_battery(battery.SOFTMAX, THREADS, rows=1, tiles=1, output="Y"),
        families.easy,
        tile=THREADS,
        output="Y",
        aligned=((2, 1024),),
        ragged=((2, 1000), (1, 300)),
        safety=((1, 2600), (2, 40)),
    ),
    bugs=softmax_row_cache.BUGS,
    read="lesson 04, sections 'Keep the row: shared memory' and 'Where it breaks: whose values are these?'",
)

REGISTERS = softmax(
    "lab4.softmax_register_cache",
    lab=LAB,
    title="One pass, the row in registers",
    launch=block_a_row(THREADS),
    budget=Budget(loads={"X": 1}, stores={"Y": 1}),
    checks=four_checks(
        (2, 2, 2, 1),
        _values(RAGGED, REGISTER_CACHE),
        battery.loud_battery(battery.SOFTMAX, THREADS, rows=1, tiles=1, output="Y"),
        families.easy,
        tile=THREADS,
        output="Y",
        aligned=((2, 1024),),
        ragged=((2, 1000), (1, 300)),
        safety=((1, 4500), (2, 40)),
    ),
    bugs=softmax_register_cache.BUGS,
    read="lesson 04, sections 'Keep the row: registers' and 'Which numbers a thread keeps'",
)


def _lengths(rng: np.random.Generator) -> tuple[tuple[int], ...]:
    """Around the boundary, far from it, and four that the seed draws: two on each side, one near and one far."""
    near = (int(rng.integers(ROW_CACHE + 1, REGISTER_CACHE)),), (int(rng.integers(REGISTER_CACHE + 2, 12_288)),)
    far = (int(rng.integers(2, ROW_CACHE)),), (int(rng.integers(12_289, 10**6)),)
    return ((REGISTER_CACHE,), (REGISTER_CACHE + 1,), (1,), (ROW_CACHE + 1,), (2**20,), *near, *far)


def _choice(inputs: Inputs) -> str:
    return "register_cache" if inputs.scalars["n"] <= REGISTER_CACHE else "warp"


CHOOSE = formula(
    "lab4.choose_softmax",
    lab=LAB,
    name="choose_softmax",
    title="Choose the kernel for a row length",
    parameters=("n",),
    reference=_choice,
    checks=(Check("answer", 2, host_cases(_lengths, 9, names=("n",))),),
    bugs=lab4_answers.CHOOSE_SOFTMAX,
    read="lesson 04, section 'Choosing'",
)


def _sizes(rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    drawn = tuple((int(rng.integers(1, 1000)), 8 * int(rng.integers(1, 1025))) for _ in range(3))
    return ((8, 4096), (1, 8), (3, 1000), *drawn)


def _one_pass_sectors(inputs: Inputs) -> int:
    """X read once and Y written once, eight floats to a sector; n is a multiple of 8."""
    return 2 * inputs.scalars["rows"] * (inputs.scalars["n"] // 8)


PREDICT_SECTORS = formula(
    "lab4.predict_sectors",
    lab=LAB,
    name="one_pass_sectors",
    title="Predict the sectors of one pass",
    parameters=("rows", "n"),
    reference=_one_pass_sectors,
    checks=(Check("answer", 1, host_cases(_sizes, 6)),),
    bugs=lab4_answers.PREDICT_SECTORS,
    read="lesson 04, section 'Two instruments'",
)

EXERCISES = (PREDICT_SECTORS, ROW, REGISTERS, CHOOSE)
