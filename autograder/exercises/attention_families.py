"""Families of attention inputs, each made to bring one kind of mistake to light.

Every family is a function ``(rng, n_q, n_k) -> Logits`` that uses no randomness but ``rng``. Q and K hold
multiples of 1/16 and every scale is a power of two, or 3 or 5 times one, so a score comes out the same
in float32 in whatever order its 64 products are added, and with the scale multiplied into Q, into K or
into the sum. What is left of rounding is that of exp and of the sums over keys, and the gate can be
tight. Whether a mistake shows is not left to chance: the key and the query that matter are set.

The first dimensions are noise, the last eight have a purpose: a query and a key that both have a value
in one of them add it to their score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

WIDTH = 64
"""Width of a head: of a query, a key, a value and an output."""

KEY_TILE = 32
NOISE = 56
"""Dimensions 0 to 55 are noise; 56 to 63 are free for a purpose."""

UNIT = 16.0  # Q and K are multiples of 1/16
LEVEL = WIDTH - 1  # the dimension in which all keys are low
MASK = WIDTH - 2  # the dimension in which masked keys hold -inf, and every query 1
SCALES = (1 / 16, 3 / 32, 5 / 64, 3 / 16)
"""Scales that are exact in float32; none is the 1/8 that a head of 64 usually has."""


@dataclass(frozen=True)
class Logits:
    """What makes the scores: Q float32 [n_q, 64], K float32 [n_k, 64], and the scale."""

    Q: np.ndarray
    K: np.ndarray
    scale: float


def ordinary(rng: Generator, n_q: int, n_k: int, scale: float = 0.0) -> Logits:
    """Scores near N(0, 1), and for most queries one key between 4 and 6, which points the query's way.

    That key is in the last tile for queries 0, 2, 4… and in the first for the others; for query 0 in the
    upper half of the last tile. ``scale`` 0 draws one that is not 1/8.
    """
    scale = scale or _scale(rng)
    Q = _noise(rng, n_q, WIDTH, 0.125 / scale)
    K = _noise(rng, n_k, WIDTH)
    start = last_tile_start(n_k)
    late = [int(j) for j in rng.permutation(np.arange(start, n_k))]
    early = [int(j) for j in rng.permutation(np.arange(0, min(n_k, KEY_TILE)))]
    upper = next(j for j in late if j >= start + (n_k - start) // 2)
    late.remove(upper)
    late.append(upper)
    taken: set[int] = set()
    for query in range(n_q):
        free = [j for j in (late if query % 2 == 0 else early) if j not in taken]
        if free:
            taken.add(free[-1])
            wanted = rng.uniform(4.0, 6.0) / (scale * float((Q[query] ** 2).sum()))
            K[free[-1]] = _units(wanted * Q[query])
    return _logits(Q, K, scale)


def easy(rng: Generator, n_q: int, n_k: int) -> Logits:
    """Scores on which little can go wrong, at the usual scale of 1/8: the largest is that of key 0, then
    come keys 1 to 7, the rest of the first tile, and all later tiles. No maximum moves after the first
    tile, a thread's own neither when it takes every 8th key in order. Every key counts."""
    scale = 0.125
    Q, K = _noise(rng, n_q, NOISE, 0.0625), _noise(rng, n_k, NOISE)
    Q[:, LEVEL] = 16.0
    K[:, LEVEL] = 0.0
    K[:KEY_TILE, LEVEL] = 0.5
    K[:8, LEVEL] = 0.75
    K[0, LEVEL] = 1.0
    Q[:, LEVEL] += rng.integers(0, 4, size=n_q)  # so that d differs from query to query
    return _logits(Q, K, scale)


def loud(rng: Generator, n_q: int, n_k: int, by: float = 20.0, places: tuple[str, ...] = ("last",)) -> Logits:
    """Scores near N(0, 1), and for each query one key of its own about ``by`` above the others.

    Query r has it at ``places[r]`` (the last one for all further queries): "last" is key n_k - 3, "first"
    is in the first tile and "middle" in the second.
    """
    scale = _scale(rng)
    Q, K = _noise(rng, n_q, NOISE, 0.125 / scale), _noise(rng, n_k, NOISE)
    for query in range(n_q):
        place = places[min(query, len(places) - 1)]
        first = {"last": n_k - 3, "first": 0, "middle": KEY_TILE}[place]
        key = first if place == "last" else first + int(rng.integers(0, KEY_TILE))
        Q[query, NOISE + query] = 16.0
        K[key, NOISE + query] = float(_units((by + rng.uniform(1.0, 3.0)) / scale / 16.0))
    return _logits(Q, K, scale)


def ramp(rng: Generator, n_q: int, n_k: int) -> Logits:
    """Scores that rise by 1/2 or more with every key (another slope for each query), plus less than that
    in noise: the maximum moves at nearly every key and in every tile."""
    scale = _scale(rng)
    Q, K = _noise(rng, n_q, NOISE, 0.025 / scale), _noise(rng, n_k, NOISE)
    Q[:, NOISE] = _units((0.5 + np.arange(n_q)) / scale)
    K[:, NOISE] = np.arange(n_k)
    return _logits(Q, K, scale)


def near(rng: Generator, n_q: int, n_k: int, level: float = -200.0) -> Logits:
    """Scores near N(0, 1) around ``level``, which no key leaves."""
    scale = _scale(rng)
    Q, K = _noise(rng, n_q, NOISE, 0.125 / scale), _noise(rng, n_k, NOISE)
    Q[:, LEVEL] = 16.0
    K[:, LEVEL] = float(_units(level / scale / 16.0))
    return _logits(Q, K, scale)


def far_below(rng: Generator, n_q: int, n_k: int, level: float = -2.0e4) -> Logits:
    """Every other score exactly ``level`` and the rest 1,000 below it for query 0; twice, three times… that
    for the queries after it, so that no maximum serves two of them.

    At this depth float32 has few digits left for small differences, so there are none.
    """
    scale = 0.125
    Q, K = np.zeros((n_q, WIDTH)), _noise(rng, n_k, NOISE)
    Q[:, LEVEL] = 40.0 * (1 + np.arange(n_q))
    K[:, LEVEL] = level / scale / 40.0
    K[int(rng.integers(0, 2)) :: 2, LEVEL] -= 1000.0 / scale / 40.0
    return _logits(Q, K, scale)


def masked(rng: Generator, n_q: int, n_k: int, lane: bool = False) -> Logits:
    """Scores near N(0, 1), and -inf for all keys of the first tile, for every query; with ``lane``
    instead for every 8th key, from one that the seed draws."""
    scale = _scale(rng)
    Q, K = _noise(rng, n_q, NOISE, 0.125 / scale), _noise(rng, n_k, NOISE)
    Q[:, MASK] = 1.0
    if lane:
        K[int(rng.integers(0, 8)) :: 8, MASK] = -np.inf
    else:
        K[:KEY_TILE, MASK] = -np.inf
    return _logits(Q, K, scale)


def constant(rng: Generator, n_q: int, n_k: int) -> Logits:
    """All keys are one key: a query has one score, and its output is the mean of V."""
    scale = _scale(rng)
    Q = _noise(rng, n_q, WIDTH, 0.125 / scale)
    return _logits(Q, np.repeat(_noise(rng, 1, WIDTH), n_k, axis=0), scale)


def one_nan(rng: Generator, n_q: int, n_k: int) -> Logits:
    """Ordinary inputs; every odd query has one NaN. Query 0 has none, so that leaving the output as it
    was is wrong here too."""
    made = ordinary(rng, n_q, n_k)
    for query in range(1, n_q, 2):
        made.Q[query, int(rng.integers(0, WIDTH))] = np.nan
    return made


def last_tile_start(n_k: int) -> int:
    """The first key of the last tile (the ragged one, where there is one)."""
    return (n_k - 1) // KEY_TILE * KEY_TILE


def values(rng: Generator, n_k: int) -> np.ndarray:
    """V, float32 [n_k, 64]: N(0, 1) around 1/2, within 3 of it. No column's mean is near 0."""
    return (0.5 + rng.normal(size=(n_k, WIDTH)).clip(-3.0, 3.0)).astype(np.float32)


def _scale(rng: Generator) -> float:
    return float(SCALES[int(rng.integers(0, len(SCALES)))])


def _noise(rng: Generator, count: int, width: int, spread: float = 1.0) -> np.ndarray:
    """N(0, spread) in multiples of 1/16 within 2 spreads, float64 [count, 64]; 0 from ``width`` on."""
    made = np.zeros((count, WIDTH))
    made[:, :width] = _units(spread * rng.normal(size=(count, width)).clip(-2.0, 2.0))
    return made


def _units(numbers: np.ndarray | float) -> np.ndarray:
    """The nearest multiples of 1/16."""
    return np.round(np.asarray(numbers) * UNIT) / UNIT


def _logits(Q: np.ndarray, K: np.ndarray, scale: float) -> Logits:
    return Logits(np.ascontiguousarray(Q, np.float32), np.ascontiguousarray(K, np.float32), scale)
