"""The exercises of lab 3: merge two states; then those of a row in a tree, by shuffles, with wide loads, many rows a
block; a prediction, and a row to break one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from . import battery, families, merging
from .battery import LONG, Line
from .bugs import (
    lab3_answers,
    merge,
    online_softmax_grid_stride,
    online_softmax_tree,
    online_softmax_vec4,
    online_softmax_warp,
)
from .cases import break_cases, host_cases, one_row, rows_case, with_block
from .declare import break_it, formula, softmax
from .model import Break, Budget, Case, Check, Exercise, Inputs
from .shapes import block_a_row, four_checks
from .texts import variants

LAB = "lab3_merge_reduce"
THREADS = 256
BLOCKS = 4
"""Blocks of the grid-stride exercise, whatever the number of rows."""


def nan_first(rng: np.random.Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """Ordinary rows; every odd row has one NaN, in a column that is the first of four: whichever way the
    columns are dealt out, it is the first value that its thread meets."""
    X = families.ordinary(rng, rows, n, tile)
    for row in range(1, rows, 2):
        X[row, 4 * int(rng.integers(0, n // 4))] = np.nan
    return X


SOFTMAX = (
    *battery.SOFTMAX,
    Line("one NaN, short row", "edge", "short", nan_first,
         "The NaN is the first value of its thread: the merge with the empty state must not lose it.", rows=2),
)  # fmt: skip

_TWO_READS = Budget(loads={"X": 2}, stores={"Y": 1})

MERGE = Exercise(
    id="lab3.merge",
    lab=LAB,
    kind="device",
    name="merge",
    title="Merge two states",
    parameters=("m1", "d1", "m2", "d2"),
    outputs=("OM", "OD"),
    launch=merging.launch,
    reference=merging.reference,
    budget=None,
    checks=(Check("values", 2, merging.VALUES), Check("rescale", 2, merging.RESCALE)),
    bugs=merge.BUGS,
    variants=variants("lab3.merge"),
    read="lesson 03, sections 'Where the rule comes from' and 'Where it breaks: two empty states'",
    harness=merging.HARNESS,
    where=merging.where,
)

TREE = softmax(
    "lab3.online_softmax_tree",
    title="Online softmax, pairs in a shared tree",
    launch=block_a_row(THREADS),
    budget=_TWO_READS,
    checks=four_checks(
        (1, 2, 1, 1),
        battery.plain_battery(families.ordinary, THREADS, output="Y", extra=(LONG,)),
        battery.loud_battery(SOFTMAX, THREADS, rows=1, tiles=1, output="Y"),
        families.easy,
        tile=THREADS,
        output="Y",
        aligned=((2, 1024),),
        ragged=((2, 1000), (1, 300)),
        safety=((1, 512), (2, 300), (1, 40)),
    ),
    bugs=online_softmax_tree.BUGS,
    read="lesson 03, section 'A tree of pairs in shared memory'",
    lab=LAB,
)


def in_blocks(check: Check, blocks: Mapping[str, int], otherwise: int) -> Check:
    """``check`` with the block of each case: the one of ``blocks`` under its name, or ``otherwise``.

    Raises KeyError when ``blocks`` names a case that is not there.
    """
    unknown = set(blocks) - {case.name for case in check.cases}
    if unknown:
        raise KeyError(f"the check {check.name!r} has no case {sorted(unknown)}")
    chosen = [(case, blocks.get(case.name, otherwise)) for case in check.cases]
    cases = tuple(with_block(case, block, f"{case.name}, {block} threads") for case, block in chosen)
    return replace(check, cases=cases)


THREE_WARPS = 96
"""A block whose number of warps is no power of two."""

_BLOCKS = {
    "values": {"ragged 1x1": 32, "ragged 1x5": 256, "ragged 1x31": 64, "ragged 2x257": 256, "ragged 1x1000": 1024,
               "ordinary 3x512": 256, "ragged 2x100": 32, "ragged 1x200": 64, "ragged 1x40": 1024},
    "rescale": {"loud +20, last tile": 256, "rising ramp": 64, "constant row": 32, "quiet, near -200": 256,
                "one finite value": 256, "far below, near -20000": 1024},
    "traffic": {"about 2x1024": 256, "about 2x1000": 256},
    "safety": {"about 1x512": 256, "about 1x40": 320},
}  # fmt: skip

WARP = softmax(
    "lab3.online_softmax_warp",
    title="Online softmax, warp shuffles in two levels",
    launch=block_a_row(THREADS),
    budget=_TWO_READS,
    checks=tuple(
        in_blocks(check, _BLOCKS[check.name], otherwise=THREE_WARPS)
        for check in four_checks(
            (1, 2, 1, 1),
            battery.plain_battery(families.ordinary, THREADS, output="Y", extra=((2, 100), (1, 200), (1, 40), LONG)),
            battery.loud_battery(SOFTMAX, THREE_WARPS, rows=1, tiles=2, output="Y"),
            families.easy,
            tile=THREADS,
            output="Y",
            aligned=((2, 1024), (1, 960)),
            ragged=((2, 1000), (1, 300)),
            safety=((1, 512), (2, 300), (1, 40)),
        )
    ),
    bugs=online_softmax_warp.BUGS,
    read="lesson 03, sections 'Shuffles: registers trade places' and 'Two levels'",
    lab=LAB,
)


def _one(name: str, group: str, reason: str, family, n: int, tile: int = 0, **settings: float) -> Case:
    """A row of n whose tile is as long as its whole groups of four, unless another is given."""
    return rows_case(name, group, reason, family, 1, n, tile=tile or n // 4 * 4, output="Y", settings=settings)


IN_THE_TAIL = (
    _one("loud +200, in the tail", "loud", "The maximum is among the last three values, behind the wide loads.",
         families.loud_last, 515, by=200.0),
    _one("short row near -120, with a tail", "quiet",
         "All threads but a few are idle, and one value is left for the tail.",
         families.near, 37, level=-120.0),
    _one("finite only in the tail", "empty", "All that the wide loads bring is -inf.",
         families.empty_first_tiles, 514),
)  # fmt: skip

TWO_LOADS = (
    _one("loud +200, first of two loads", "loud",
         "A thread's first four values hold the maximum, its next four lie 200 below: m must not follow them down.",
         families.loud_first, 1100, tile=64, by=200.0),
    _one("loud +20, second of two loads", "loud",
         "The maximum moves with the second load of a thread, and what it has summed must follow.",
         families.loud_last, 1100, tile=4 * THREADS, by=20.0),
)  # fmt: skip

VEC4 = softmax(
    "lab3.online_softmax_vec4",
    title="Online softmax, 16-byte loads",
    launch=block_a_row(THREADS),
    budget=Budget(loads={"X": 2}, stores={"Y": 1}, vector=4),
    checks=four_checks(
        (1, 1, 2, 1),
        battery.plain_battery(families.ordinary, THREADS, output="Y", extra=((3, 102), (2, 1030), LONG)),
        (*battery.loud_battery(SOFTMAX, THREADS, rows=1, tiles=1, output="Y"), *IN_THE_TAIL, *TWO_LOADS),
        families.easy,
        tile=THREADS,
        output="Y",
        aligned=((2, 1024), (3, 200)),
        ragged=((2, 1001), (1, 301)),
        safety=((1, 1024), (2, 301), (1, 120)),
    ),
    bugs=online_softmax_vec4.BUGS,
    read="lesson 03, sections '16 bytes at a time' and 'Where it breaks: alignment'",
    lab=LAB,
)


def four_blocks(inputs: Inputs) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """``[4, 256]``, for any number of rows."""
    return (BLOCKS,), (THREADS,)


def quiet_after_loud(rng: np.random.Generator, rows: int, n: int, tile: int) -> np.ndarray:
    """N(0, 1) around 250 in the first rows, one for each block, and around -250 in those that come after."""
    level = np.where(np.arange(rows) < BLOCKS, 250.0, -250.0)[:, None]
    return (level + rng.normal(size=(rows, n)).clip(-3.0, 3.0)).astype(np.float32)


_LOUD_ROWS = rows_case(
    "quiet rows after loud ones", "quiet",
    "A block's second row lies 500 below its first: nothing of the first may be left in m or d.",
    quiet_after_loud, BLOCKS + 2, 70, tile=THREADS, output="Y",
)  # fmt: skip

_HALF = {"tile": THREADS // 2, "tiles": 1, "output": "Y"}
_BY_FIVE = ("loud +20, last tile", "rising ramp", "short row near -120", "quiet, near -200")
_MANY_ROWS = battery.loud_battery(
    tuple(line for line in SOFTMAX if line.name in _BY_FIVE), rows=BLOCKS + 1, **_HALF
)
_ONE_ROW = battery.loud_battery(tuple(line for line in SOFTMAX if line.name not in _BY_FIVE), rows=1, **_HALF)

GRID_STRIDE = softmax(
    "lab3.online_softmax_grid_stride",
    title="Online softmax, many rows a block",
    launch=four_blocks,
    budget=_TWO_READS,
    tile=THREADS,
    checks=four_checks(
        (1, 1, 1, 1),
        battery.plain_battery(families.ordinary, THREADS, output="Y", extra=((9, 40), LONG)),
        (*_MANY_ROWS, *_ONE_ROW, _LOUD_ROWS),
        families.easy,
        tile=THREADS,
        output="Y",
        aligned=((2, 512),),
        ragged=((9, 100), (5, 300)),
        safety=((9, 40), (2, 300)),
    ),
    bugs=online_softmax_grid_stride.BUGS,
    read="lesson 03, section 'Few blocks, many rows'",
    lab=LAB,
)


def _sizes(rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    drawn = tuple((int(rng.integers(1, 200)), 1024 * int(rng.integers(1, 9))) for _ in range(3))
    return ((8, 4096), (1, 1024), (3, 2048), *drawn)


PREDICT_REQUESTS = formula(
    "lab3.predict_requests",
    lab=LAB,
    name="vec4_load_requests",
    title="Predict the load requests with 16-byte loads",
    parameters=("rows", "n"),
    reference=lambda inputs: 2 * inputs.scalars["rows"] * inputs.scalars["n"] // 128,
    checks=(Check("answer", 1, host_cases(_sizes, 6)),),
    bugs=lab3_answers.PREDICT_REQUESTS,
    read="lesson 03, sections '16 bytes at a time' and 'Where it breaks: alignment'",
)

BREAKING_VALUE = break_it(
    "lab3.breaking_value",
    lab=LAB,
    title="Break it: a row that shows that d was added",
    checks=(Check("answer", 1, break_cases((1024, 700, 1500))),),
    bugs=lab3_answers.BREAKING,
    read="lesson 03, sections 'Where the rule comes from' and 'Where it breaks: two empty states'",
    breaks=Break(
        of=TREE.id,
        wrong=next(bug.text for bug in TREE.bugs if bug.id == "lanes_d_added"),
        right=next(variant.text for variant in TREE.variants if variant.id == "plain"),
        inputs=one_row,
        recognise=lab3_answers.breaking,
        hint="What it leaves out is a factor e^(m of the thread − m of the row) on each thread's d: "
        "when is that not 1?",
    ),
)

EXERCISES = (MERGE, TREE, WARP, VEC4, GRID_STRIDE, PREDICT_REQUESTS, BREAKING_VALUE)
