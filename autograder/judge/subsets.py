"""Which part of a row a kernel may have counted: by column, by tile, by thread, by place in a group of four.

A mistake in a loop or a reduction leaves out, or counts twice, columns that are easy to name. Each
:class:`Part` is one such guess: a weight for every column and the words for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

WARP = 32
FOURS = 4


@dataclass(frozen=True)
class Part:
    """``weights`` is float64 [n]: how often each column counts. ``words`` complete "counts …"."""

    words: str
    weights: np.ndarray

    @property
    def columns(self) -> np.ndarray:
        """Boolean [n]: the columns that count once or more."""
        return self.weights > 0


def parts(values: np.ndarray, threads: int, along: str, vector: bool = False) -> Iterator[Part]:
    """The guesses for a row, float64 [n], that ``threads`` threads walk with a stride of their number
    (1: one thread has the row), those that need least words first. ``vector``: in groups of four."""
    n = len(values)
    column = np.arange(n)
    for words, mask in _by_column(column, n, threads, along):
        yield from _part(words, mask)
    if threads > 1:
        for words, mask in _by_thread(column % threads, threads):
            yield from _part(f"{words} (threads walking by {threads:,})", mask)
    if vector:
        for words, mask in _by_thread(column // FOURS % threads, threads):
            yield from _part(f"{words} (threads walking by groups of four)", mask)
        yield from _fours(column, along)
    yield from _records(values, threads, along)


def _part(words: str, mask: np.ndarray) -> Iterator[Part]:
    if mask.any() and not mask.all():
        yield Part(words, mask.astype(np.float64))


def _by_column(column: np.ndarray, n: int, threads: int, along: str) -> Iterator[tuple[str, np.ndarray]]:
    step = threads if threads > 1 else WARP
    whole = n // step * step
    if n % step and whole:
        left = f"the last {n - whole}, which fill no whole tile, are left out"
        yield f"{along}s 0 to {whole - 1} only: {left}", column < whole
        yield f"{along}s {whole} to {n - 1} only: the last tile and nothing before it", column >= whole
    yield f"all {along}s but the last", column < n - 1
    yield f"all {along}s but the first", column > 0
    for edge in range(WARP, n, WARP):
        yield f"{along}s 0 to {edge - 1} only", column < edge
        yield f"{along}s {edge} to {n - 1} only", column >= edge


def _by_thread(thread: np.ndarray, threads: int) -> Iterator[tuple[str, np.ndarray]]:
    """The columns of some of the threads, as a reduction that stops early, starts late or stays in a warp
    leaves them."""
    for power in range(threads.bit_length()):
        edge = 1 << power
        if edge < threads:
            last = f"threads 0 to {edge - 1}" if edge > 1 else "thread 0"
            yield f"what {last} read only", thread < edge
            yield f"what threads {edge} to {threads - 1} read only", thread >= edge
    for power in range(1, 6):
        step = 1 << power
        if step < threads:
            yield f"what every {_ordinal(step)} thread read only (0, {step}, {2 * step}, …)", thread % step == 0
    for warp in range(1, threads // WARP):
        yield f"what warp {warp} read only", thread // WARP == warp
        yield f"all but what warp {warp} read", thread // WARP != warp


def _ordinal(number: int) -> str:
    return {2: "2nd", 32: "32nd"}.get(number, f"{number}th")


def _fours(column: np.ndarray, along: str) -> Iterator[Part]:
    """One of four counted twice and another never, or one never."""
    place = column % FOURS
    if len(column) <= FOURS:
        return
    for lost in range(FOURS):
        yield Part(f"all {along}s but number {lost} (from 0) of each group of four", (place != lost).astype(np.float64))
        for twice in range(FOURS):
            if twice != lost:
                words = f"number {twice} (from 0) of each group of four twice and number {lost} never"
                yield Part(words, (place != lost).astype(np.float64) + (place == twice))


def _records(values: np.ndarray, threads: int, along: str) -> Iterator[Part]:
    """The terms at which a thread's running maximum moves, or is met again."""
    if np.isnan(values).any():
        return
    new, again = np.zeros(len(values), bool), np.zeros(len(values), bool)
    for first in range(min(threads, len(values))):
        own = values[first::threads]
        before = np.concatenate(([-np.inf], np.maximum.accumulate(own)[:-1]))
        new[first::threads] = (own > before) & (before > -np.inf)
        again[first::threads] = (own == before) & (own > -np.inf)
    yield from _part(f"all {along}s but those at which the running maximum moves", ~new)
    yield from _part(f"all {along}s but those that equal the running maximum", ~again)
