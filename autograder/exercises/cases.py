"""Making cases: inputs from a family of rows, a size and a seed.

The same seed gives the same rows; another seed gives fresh rows of the same families, in the same
sizes. A case's numbers depend on its own name and the seed only, so adding one case changes no other.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
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
    counted: bool = False,
) -> Case:
    """A case with X float32 [rows, n] from ``family``, and the array ``output`` filled with NaN:
    [rows] when it is called "out", [rows, n] otherwise. ``counted`` as in :class:`Case`."""
    make = partial(_rows_inputs, name, family, rows, n, tile, output, settings or {})
    return Case(name, group, reason, make, counted)


def _rows_inputs(name, family, rows, n, tile, output, settings, seed: int) -> Inputs:
    X = np.ascontiguousarray(family(generator(seed, name), rows, n, tile, **settings))
    shape = (rows,) if output == "out" else (rows, n)
    return Inputs(arrays={"X": X, output: np.full(shape, np.nan, dtype=np.float32)})


def sized_cases(
    sizes: Iterable[tuple[int, int]],
    group: str,
    reason: str,
    family: Family,
    *,
    tile: int,
    output: str,
    settings: dict[str, float] | None = None,
) -> tuple[Case, ...]:
    """One case for each (rows, n), named after that size: "about 2x300". Seed 0 has exactly that size,
    another seed one that :func:`drawn_size` draws near it, so that no kernel can go by the shape."""
    return tuple(
        Case(
            f"about {rows}x{n}",
            group,
            reason,
            partial(_sized_inputs, f"{rows}x{n}", family, rows, n, tile, output, settings or {}),
        )
        for rows, n in sizes
    )


def _sized_inputs(name, family, rows, n, tile, output, settings, seed: int) -> Inputs:
    if seed % 2**64:
        rows, n = drawn_size(generator(seed, f"size of {name}"), rows, n, tile)
    return _rows_inputs(name, family, rows, n, tile, output, settings, seed)


def drawn_size(rng: np.random.Generator, rows: int, n: int, tile: int) -> tuple[int, int]:
    """A size near (rows, n) that is of the same kind.

    A multiple of the tile stays one and never grows beyond n (but for two tiles, which may be three). Any
    other n keeps its number of tiles and its remainder modulo 8, so that rows stay aligned as they were,
    and is a multiple of 32 if it was one. Whole warps of rows stay as many.
    """
    whole = n // tile
    if n % tile == 0:
        lengths = [tile * k for k in ((2, 3) if whole == 2 else range(whole - whole // 4, whole + 1))]
    else:
        step = 32 if n % 32 == 0 else 8
        reach = max(step, n // 16) // step * step
        near = range(n - reach, n + reach + 1, step)
        lengths = [k for k in near if 2 * k >= n and k // tile == whole and k % tile and (k % 32 == 0) == (n % 32 == 0)]
    if rows % 32 == 0:
        counts = [rows]
    else:
        counts = list(range(rows, rows + (2 if rows < 32 else 6)))
    return int(rng.choice(counts)), int(rng.choice(lengths))


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


def break_cases(lengths: Iterable[int]) -> tuple[Case, ...]:
    """Cases of a break-it exercise: the student's ``value(i, n)`` for each length n."""
    return tuple(
        Case(
            f"n = {n:,}",
            "answer",
            "The values must do what is asked at every length.",
            partial(_length_inputs, n),
        )
        for n in lengths
    )


def _length_inputs(n: int, seed: int) -> Inputs:
    return Inputs(scalars={"n": n})


def one_row(values: np.ndarray, output: str = "Y") -> Inputs:
    """The values, float [n], as the one row of X float32 [1, n]; ``output`` [1, n] of NaN."""
    X = np.ascontiguousarray(np.asarray(values)[None, :], dtype=np.float32)
    return Inputs(arrays={"X": X, output: np.full(X.shape, np.nan, dtype=np.float32)})


def with_block(case: Case, block: int, name: str = "") -> Case:
    """``case`` with ``block`` threads a block, under another name where one is given."""
    return replace(case, name=name or case.name, make=partial(_in_block, case.make, block))


def _in_block(make: Callable[[int], Inputs], block: int, seed: int) -> Inputs:
    return replace(make(seed), block=block)


def _host_inputs(sizes: Sizes, index: int, names: tuple[str, ...], seed: int) -> Inputs:
    return Inputs(scalars=dict(zip(names, sizes(generator(seed, "sizes"))[index], strict=True)))
