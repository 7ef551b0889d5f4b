"""From the threads' logs to arrays: which access belongs to which warp request.

The lanes of a warp that execute the same source instruction in the same round of every loop around it
form one request, as they would after a GPU has reconverged. Loop rounds are counted from the log's own
loop entries, so lanes that skip a round or leave a loop early do not shift the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from autograder.simulator.machine import Machine
from autograder.simulator.sites import (
    ADDRESS_BITS,
    ADDRESS_MASK,
    ATOMIC,
    BARRIER,
    FENCE,
    LOOP_ENTER,
    LOOP_STEP,
    VALUE_MARK,
    WARP,
)

_PACK_LIMIT = 1 << 62


@dataclass(frozen=True)
class Batch:
    """The memory accesses of some whole blocks, or of a part of one; parallel int64 arrays in program order of each
    thread.

    site: site instance; kind: LOAD, STORE or ATOMIC; address: bytes; thread: linear in its block;
    block: linear block index; warp: number of the warp in the batch; round: the rounds of all loops
    around the access as one number; interval: block barriers the thread had passed; sync: warp
    operations it had passed; fence: fences it had passed that other blocks can rely on; position: order in the
    thread's log; value: a hash of what a store wrote, else 0.
    """

    site: np.ndarray
    kind: np.ndarray
    address: np.ndarray
    thread: np.ndarray
    block: np.ndarray
    warp: np.ndarray
    round: np.ndarray
    interval: np.ndarray
    sync: np.ndarray
    fence: np.ndarray
    position: np.ndarray
    value: np.ndarray

    def __len__(self) -> int:
        return len(self.site)

    def take(self, which: np.ndarray) -> Batch:
        """The accesses selected by a boolean or index array."""
        return Batch(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def joined(self, other: Batch) -> Batch:
        """These accesses, then those of ``other``."""
        return Batch(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in self.__dataclass_fields__))


@dataclass
class Standing:
    """How far the threads of a block have come whose log is taken in pieces: counts by thread, int64.

    ``rounds`` gives, for each loop that was entered, the rounds since then.
    """

    position: np.ndarray
    passed: dict[int, np.ndarray]
    rounds: dict[int, np.ndarray] = field(default_factory=dict)

    @classmethod
    def at_start(cls, threads: int) -> Standing:
        return cls(np.zeros(threads, np.int64), {kind: np.zeros(threads, np.int64) for kind in (BARRIER, WARP, FENCE)})


def gather(machine: Machine, logs: list[tuple[int, np.ndarray]], standing: Standing | None = None) -> Batch:
    """Turn ``logs``, each (linear block, int64 log entries of all its threads), into a Batch.

    With ``standing`` there is one log, the next piece of its block's; ``standing`` is brought up to date.
    """
    count = len(machine.threads)
    raw = np.concatenate([log for _, log in logs]) if logs else np.empty(0, np.int64)
    blocks = np.array([b for b, _ in logs], dtype=np.int64)
    nth = np.repeat(np.arange(len(logs)), [len(log) for _, log in logs])
    # a thread's mark holds for the entries after it; each block's log begins with one
    marks = (raw < 0) & (raw > VALUE_MARK)
    last = np.maximum.accumulate(np.where(marks, np.arange(len(raw)), 0))
    thread = -1 - raw[last] if len(raw) else raw
    keep = np.flatnonzero(raw >= 0)
    owner = nth[keep] * count + thread[keep]
    # NumPy sorts 16-bit keys by radix, several times faster
    narrow = np.uint16 if len(logs) * count < 1 << 16 else np.int64
    order = np.argsort(owner.astype(narrow), kind="stable")
    keep, owner = keep[order], owner[order]
    events = raw[keep]
    site = events >> ADDRESS_BITS
    kind = np.array([s.kind for s in machine.sites], dtype=np.int64)[site] if len(site) else site
    access = np.flatnonzero(kind <= ATOMIC)
    where = owner[access]
    follows = np.append(raw, 0)[keep[access] + 1]
    block, thread = where // count, where % count
    edges = np.searchsorted(owner, np.arange(len(logs) * count + 1))
    starts = edges[where]

    def passed(which: int) -> np.ndarray:
        """How many events of one kind the thread had logged before each access."""
        before = standing.passed[which][thread] if standing is not None else 0
        if not (kind == which).any():
            return np.zeros(len(access), np.int64) + before
        counted = np.concatenate([[0], np.cumsum(kind == which)])
        if standing is not None:
            standing.passed[which] = standing.passed[which] + np.diff(counted[edges])
        return counted[access] - counted[starts] + before

    position = access - starts
    if standing is not None:
        position = position + standing.position[thread]
        standing.position = standing.position + np.diff(edges)
    return Batch(
        site=site[access], kind=kind[access], address=(events & ADDRESS_MASK)[access],
        thread=thread, block=blocks[block] if len(block) else block,
        warp=block * ((count + 31) // 32) + thread // 32,
        round=_rounds(machine, site, kind, access, edges, standing),
        interval=passed(BARRIER), sync=passed(WARP), fence=passed(FENCE), position=position,
        value=np.where(follows <= VALUE_MARK, VALUE_MARK + 1 - follows, 0))


def _rounds(machine: Machine, site: np.ndarray, kind: np.ndarray, access: np.ndarray, edges: np.ndarray,
            standing: Standing | None) -> np.ndarray:
    number = np.zeros(len(access), dtype=np.int64)
    if not len(site):
        return number
    used = distinct(site[kind == LOOP_STEP])[0]
    if standing is not None:
        used = np.union1d(used, np.array(list(standing.rounds), dtype=np.int64))
    at = site[access]
    size = 1
    for step in used:  # instances are numbered from the outside in, so the order is outermost first
        inside = np.array([step in loops for loops in machine.loops])[at]
        if standing is None and not inside.any():
            continue
        counted = np.cumsum(site == step)
        # the entry of a loop is logged by the site just before its LOOP_STEP site
        entered = (site == step - 1) & (kind == LOOP_ENTER)
        if standing is None:
            base = np.maximum.accumulate(np.where(entered, counted, 0))
        else:
            base = _base_of_piece(counted, entered, edges, int(step), standing)
        if not inside.any():
            continue
        rounds = (counted - base)[access]
        most = int(rounds[inside].max()) + 1
        if size * most >= _PACK_LIMIT >> 20:
            number = compact(number)[0]
            size = int(number.max()) + 1
        number = np.where(inside, number * most + rounds, number)
        size *= most
    return number


def _base_of_piece(counted: np.ndarray, entered: np.ndarray, edges: np.ndarray, step: int,
                   standing: Standing) -> np.ndarray:
    """What to take from the count of a loop's rounds at each event, where threads may have entered the loop in an
    earlier piece of the log; the rounds that they have come to are noted in ``standing``."""
    held = standing.rounds.get(step, np.zeros(len(edges) - 1, np.int64))
    present = np.flatnonzero(edges[1:] > edges[:-1])
    first, last = edges[present], edges[present + 1] - 1
    base_at = np.where(entered, counted, 0)
    began_before = ~entered[first]
    before_first = np.concatenate([[0], counted])[first]
    base_at[first[began_before]] = (before_first - held[present])[began_before]
    resets = entered.copy()
    resets[first] = True
    base = base_at[np.maximum.accumulate(np.where(resets, np.arange(len(resets)), 0))]
    held = held.copy()
    held[present] = (counted - base)[last]
    standing.rounds[step] = held
    return base


def pack(*columns: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """Combine non-negative int64 columns into one sortable key: (key, the size of each column)."""
    sizes = tuple(int(c.max()) + 1 if len(c) else 1 for c in columns)
    key = np.zeros(len(columns[0]), dtype=np.int64)
    total = 1
    for column, size in zip(columns, sizes):
        total *= size
        if total >= _PACK_LIMIT:
            raise OverflowError("key too wide")
        key = key * size + column
    return key, sizes


def unpack(key: np.ndarray, sizes: tuple[int, ...]) -> list[np.ndarray]:
    """The columns that ``pack`` combined."""
    columns = []
    for size in reversed(sizes):
        columns.append(key % size)
        key = key // size
    return columns[::-1]


def distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct values and how often each stands there. NumPy's own ``unique`` hashes, which is many times
    slower here."""
    if not len(values):
        return values, np.empty(0, np.int64)
    ordered = np.sort(values)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def compact(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace values by their rank: (ranks, the sorted distinct values)."""
    if not len(column):
        return column.astype(np.int64), column
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    ranks = np.empty(len(column), np.int64)
    ranks[order] = np.cumsum(first) - 1
    return ranks, ordered[first]


def groups(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(order that sorts by the columns, start of each run of equal columns)."""
    try:
        key, _ = pack(*columns)
        order = np.argsort(key, kind="stable")
        key = key[order]
        change = np.flatnonzero(key[1:] != key[:-1]) + 1
    except OverflowError:
        order = np.lexsort(columns[::-1])
        change = np.flatnonzero(np.any([c[order][1:] != c[order][:-1] for c in columns], axis=0)) + 1
    return order, np.concatenate([[0], change]).astype(np.int64)


def requests(batch: Batch) -> np.ndarray:
    """Number of the warp request that each access belongs to."""
    try:
        key, _ = pack(batch.warp, batch.site, batch.round)
    except OverflowError:
        key, _ = pack(batch.warp, batch.site, compact(batch.round)[0])
    return compact(key)[0]
