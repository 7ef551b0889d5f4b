"""The exercises of lab 5: bytes first, then online attention, then the input that exposes a wrong kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from . import attention_battery as battery
from . import attention_families as families
from . import attention_reference as references
from .bugs import lab5_answers, online_attention, online_attention_tiles
from .cases import break_cases, host_cases
from .declare import break_it, formula
from .model import Break, Budget, Check, Exercise, Inputs
from .texts import kernel_text, variants

LAB = "lab5_online_attention"
QUERY_TILE = 16
THREADS = 128


def _n_and_d(rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    drawn = tuple((int(rng.integers(1, 10_000)), 8 * int(rng.integers(1, 33))) for _ in range(3))
    return ((4096, 64), (256, 64), (1, 1), *drawn)


def _with_tile(rng: np.random.Generator) -> tuple[tuple[int, int, int], ...]:
    """Tiles that divide n, that do not, that are n and that are larger."""
    drawn = tuple(
        (int(rng.integers(100, 10_000)), 8 * int(rng.integers(1, 33)), int(rng.integers(2, 99))) for _ in range(3)
    )
    return ((4096, 64, 4096), (4096, 64, 16), (1000, 64, 64), (5, 32, 16), *drawn)


NAIVE_BYTES = formula(
    "lab5.naive_bytes",
    lab=LAB,
    name="naive_bytes",
    title="Predict the bytes of attention with a matrix",
    parameters=("n", "d"),
    reference=lambda inputs: references.naive_bytes(**inputs.scalars),
    checks=(Check("answer", 1, host_cases(_n_and_d, 6, names=("n", "d"))),),
    bugs=lab5_answers.NAIVE_BYTES,
    read="lesson 05, section 'The matrix is not needed'",
)

ONLINE_BYTES = formula(
    "lab5.online_bytes",
    lab=LAB,
    name="online_bytes",
    title="Predict the bytes of online attention",
    parameters=("n", "d", "query_tile"),
    reference=lambda inputs: references.online_bytes(**inputs.scalars),
    checks=(Check("answer", 1, host_cases(_with_tile, 7, names=("n", "d", "query_tile"))),),
    bugs=lab5_answers.ONLINE_BYTES,
    read="lesson 05, section 'The matrix is not needed'",
)


def _blocks(inputs: Inputs) -> int:
    return -(-inputs.arrays["Q"].shape[0] // QUERY_TILE)


def _launch(inputs: Inputs) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (_blocks(inputs),), (THREADS,)


def _budget(inputs: Inputs) -> Budget:
    blocks = _blocks(inputs)
    return Budget(loads={"Q": 1, "K": blocks, "V": blocks}, stores={"O": 1})


def _of_inputs(what, inputs: Inputs) -> np.ndarray:
    arrays = inputs.arrays
    return what(arrays["Q"], arrays["K"], arrays["V"], inputs.scalars["scale"])


def _row_values(inputs: Inputs, row: int) -> np.ndarray:
    arrays = inputs.arrays
    return references.scores(arrays["Q"][row : row + 1], arrays["K"], inputs.scalars["scale"])[0]


def _keep(inputs: Inputs, keys: np.ndarray) -> Inputs:
    arrays = inputs.arrays
    return replace(inputs, arrays={**arrays, "K": arrays["K"][keys], "V": arrays["V"][keys]})


ATTENTION = Exercise(
    id="lab5.online_attention",
    lab=LAB,
    kind="kernel",
    name="online_attention",
    title="Online attention",
    parameters=("Q", "K", "V", "O", "scale"),
    outputs=("O",),
    launch=_launch,
    reference=lambda inputs: {"O": _of_inputs(references.attention, inputs)},
    budget=_budget,
    checks=(
        Check("values", 3, battery.cases(battery.VALUES)),
        Check("rescale", 4, battery.cases(battery.RESCALE)),
        Check("traffic", 2, battery.cases(battery.TRAFFIC)),
        Check("safety", 2, battery.cases(battery.SAFETY)),
    ),
    bugs=online_attention.BUGS + online_attention_tiles.BUGS,
    variants=variants("lab5.online_attention"),
    read="lesson 05, sections 'The same recurrence, with an output' and 'Tiles of queries, tiles of keys'",
    magnitude=lambda inputs: {"O": _of_inputs(references.magnitude, inputs)},
    reduced=lambda inputs: inputs.arrays["K"].shape[0],
    axes=("query", "dimension"),
    row_values=_row_values,
    along="key",
    tile=families.KEY_TILE,
    keep=_keep,
)

BREAKING_VALUE = break_it(
    "lab5.breaking_value",
    lab=LAB,
    title="Break it: O that is never rescaled",
    checks=(Check("answer", 1, break_cases((40, 70))),),
    bugs=lab5_answers.BREAKING_VALUE,
    read="lesson 05, section 'The loud key'",
    breaks=Break(
        of="lab5.online_attention",
        wrong=online_attention.O_NOT_RESCALED,
        right=kernel_text("lab5.online_attention", "plain"),
        inputs=battery.breaking_inputs,
        hint="O goes wrong only when the maximum moves: which tile must it move in?",
        noun="scores",
        recognise=partial(lab5_answers.recognise, families.KEY_TILE),
    ),
)

EXERCISES = (NAIVE_BYTES, ONLINE_BYTES, ATTENTION, BREAKING_VALUE)
