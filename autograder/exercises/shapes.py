"""Launch shapes and check lists that exercises have in common."""

from __future__ import annotations

from collections.abc import Callable

from . import cases
from .cases import Family
from .model import Case, Check, Inputs

Launch = Callable[[Inputs], tuple[tuple[int, ...], tuple[int, ...]]]
Points = tuple[float, float, float, float]
Sizes = tuple[tuple[int, int], ...]


def block_a_row(threads: int) -> Launch:
    """``[rows, threads]``; a case that names its own block gets that instead."""

    def launch(inputs: Inputs) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (inputs.arrays["X"].shape[0],), (inputs.block or threads,)

    return launch


def thread_a_row(threads: int) -> Launch:
    """``[ceil(rows / threads), threads]``."""

    def launch(inputs: Inputs) -> tuple[tuple[int, ...], tuple[int, ...]]:
        rows = inputs.arrays["X"].shape[0]
        return ((rows + threads - 1) // threads,), (threads,)

    return launch


def four_checks(
    points: Points,
    values: tuple[Case, ...],
    rescale: tuple[Case, ...],
    family: Family,
    *,
    tile: int,
    output: str,
    aligned: Sizes,
    ragged: Sizes,
    safety: Sizes,
    settings: dict[str, float] | None = None,
) -> tuple[Check, ...]:
    """`values`, `rescale`, `traffic`, `safety`, worth ``points`` in that order.

    ``aligned`` and ``ragged`` are the (rows, n) whose traffic is counted, ``safety`` those that run in
    several thread orders; all three take their rows from ``family`` (with ``settings``), in sizes near
    these. It should be an easy one: a case counts only when its output is right, and a kernel that is
    wrong on loud rows alone may still move the right bytes.
    """
    sized = {"family": family, "tile": tile, "output": output, "settings": settings}
    return (
        Check("values", points[0], values),
        Check("rescale", points[1], rescale),
        Check(
            "traffic",
            points[2],
            (
                *cases.sized_cases(
                    aligned, "aligned", "Full tiles: nothing is moved that is not used.", **sized
                ),
                *cases.sized_cases(
                    ragged, "ragged", "The tail may not cost more than its own values.", **sized
                ),
            ),
        ),
        Check(
            "safety",
            points[3],
            cases.sized_cases(
                safety,
                "safety",
                "Full tiles or blocks, a ragged one, and fewer values than threads, in several thread orders.",
                **sized,
            ),
        ),
    )
