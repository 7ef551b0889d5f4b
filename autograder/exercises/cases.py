"""Making cases: inputs from a family of rows, a size and a seed.

The same seed gives the same rows; another seed gives fresh rows of the same families, in the same
sizes. A case's numbers depend on its own name and the seed only, so adding one case changes no other.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from .model import Case, Inputs

Family = Callable[..., np.ndarray]

Sizes = Callable[[np.random.Generator], tuple[tuple[int, ...], ...]]


def generator(seed: int, name: str) -> np.random.Generator:
    """The random numbers of one case. ``seed`` is any integer; it is taken modulo 2^64."""
    return np.random.default_rng([seed % 2**64, zlib.crc32(name.encode())])


def rows_case(
    name: str,
    group: str,
    reason: str,
    family: Family,
    rows: int,
    n: int,
    *,
    tile: int,
    output: str,
    settings: dict[str, float] | None = None,
) -> Case:
    """A case with X float32 [rows, n] from ``family``, and the array ``output`` filled with NaN:
    [rows] when it is called "out", [rows, n] otherwise."""
    make = partial(_rows_inputs, name, family, rows, n, tile, output, settings or {})
    return Case(name, group, reason, make)


def _rows_inputs(name, family, rows, n, tile, output, settings, seed: int) -> Inputs:
    X = np.ascontiguousarray(family(generator(seed, name), rows, n, tile, **settings))
    shape = (rows,) if output == "out" else (rows, n)
    return Inputs(arrays={"X": X, output: np.full(shape, np.nan, dtype=np.float32)})


def sized_cases(
    sizes: Iterable[tuple[int, int]], group: str, reason: str, family: Family, *, tile: int, output: str
) -> tuple[Case, ...]:
    """One case for each (rows, n), named after its size: "2x300"."""
    return tuple(
        rows_case(f"{rows}x{n}", group, reason, family, rows, n, tile=tile, output=output)
        for rows, n in sizes
    )


def host_cases(sizes: Sizes, count: int, names: tuple[str, ...] = ("rows", "n")) -> tuple[Case, ...]:
    """Cases of a host function ``f(rows, n)``; ``sizes`` draws the ``count`` argument tuples of one seed,
    whose values are called ``names``."""
    return tuple(
        Case(
            f"size {index + 1}",
            "answer",
            "The formula must hold for every size.",
            partial(_host_inputs, sizes, index, names),
        )
        for index in range(count)
    )


def _host_inputs(sizes: Sizes, index: int, names: tuple[str, ...], seed: int) -> Inputs:
    return Inputs(scalars=dict(zip(names, sizes(generator(seed, "sizes"))[index], strict=True)))
