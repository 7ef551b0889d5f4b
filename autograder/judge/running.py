"""Where the running state (m, d) of a kernel first goes wrong, found by watching its own variables.

A failing case is run once more, one row of it, while Python's trace hook looks at the local variables of
the kernel and at what it has read of X. A variable is taken for m or d only when it has proved to be
one: after its first read it held exactly the maximum, and the sum of exp(x - m), of what the thread itself or
the whole block had read so far. From there on the first state that is neither, and after which none is right
again, is the divergence. Whenever any of that is in doubt nothing is said.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np

from ..simulator.sites import ADDRESS_BITS, GLOBAL_BASE, LOAD, STORE, VALUE_MARK
from . import launches, narrate
from .carried import carried
from .launches import Launched, Program
from .outputs import number

LONGEST = 2_200  # values of a row that is watched
LOOKS = 300_000  # lines that are looked at, at most
STEP_LIMIT = 400_000
CLOSE = 1e-3  # relative; float32 sums in any order are a hundred times closer

Way = list[list[int]]  # the columns that a state covers after a thread's first read, its second, …


@dataclass
class _State:
    """Variables after line ``line`` was run: those that changed there are in ``changed``."""

    line: int
    changed: frozenset[str]
    values: dict[str, float]


@dataclass
class _Stretch:
    """From one read of a thread to its next: the columns it read, and its states until then."""

    columns: list[int]  # in the order of reading
    states: list[_State] = field(default_factory=list)


@dataclass
class _Watch:
    """The trace hook of one launch. ``threads`` holds each thread's stretches, in the order of its reads;
    a thread whose first pass is over (it reads a column again, or writes) is in ``over``."""

    filename: str
    name: str
    variables: frozenset[str]
    chosen: frozenset[int]  # the threads that are looked at
    threads: dict[int, list[_Stretch]] = field(default_factory=dict)
    over: set[int] = field(default_factory=set)
    read: dict[int, set[int]] = field(default_factory=dict)  # all columns of a thread's first pass
    looks: int = 0
    _position: int = 0
    _running: int = 0
    _last: dict[int, tuple[int, dict[str, float]]] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename != self.filename or code.co_name != self.name or self.looks > LOOKS:
            return None
        thread = frame.f_locals.get("__t")
        return self._line if thread is not None and thread.linear in self.chosen else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        names = frame.f_locals
        thread = names["__t"]
        if event not in ("line", "return"):
            return self._line
        self.looks += 1
        self._reads(thread.machine)
        self._look(thread.linear, frame.f_lineno, names)
        return self._line if self.looks <= LOOKS else None

    def _reads(self, machine: Any) -> None:
        """Take in what was logged since the last look: whose reads of X, or stores, they were."""
        events = machine.events
        if len(events) < self._position:
            self._position = 0
        fresh = events[self._position :]
        self._position = len(events)
        X = next(a for a in machine.memory.allocations if a.space == "global")
        previous = -1  # site of the entry before: four entries of load4 are one read
        for entry in fresh:
            if entry <= VALUE_MARK:
                continue
            if entry < 0:
                self._running, previous = -1 - entry, -1
                continue
            site, address = entry >> ADDRESS_BITS, entry & ((1 << ADDRESS_BITS) - 1)
            kind, together = machine.sites[site].kind, site == previous
            previous = site
            if kind not in (LOAD, STORE) or address < GLOBAL_BASE or self._running in self.over:
                continue
            if kind == STORE or not X.address <= address < X.address + X.nbytes:
                self.over.add(self._running)
            else:
                self._read((address - X.address) // X.dtype.itemsize, together)

    def _read(self, column: int, together: bool) -> None:
        known = self.read.setdefault(self._running, set())
        if column in known:
            self.over.add(self._running)
            return
        known.add(column)
        stretches = self.threads.setdefault(self._running, [])
        if together and stretches:
            stretches[-1].columns.append(column)
        else:
            stretches.append(_Stretch([column]))

    def _look(self, linear: int, line: int, names: dict[str, Any]) -> None:
        before, old = self._last.get(linear, (0, {}))
        # Since Python 3.13 `names` is a view whose keys() is a list.
        now = {name: float(names[name]) for name in self.variables if name in names and _is_float(names[name])}
        self._last[linear] = (line, now)
        stretches = self.threads.get(linear)
        if not stretches or linear in self.over:
            return
        changed = frozenset(name for name, value in now.items() if not _same(old.get(name), value))
        if changed or not stretches[-1].states:
            stretches[-1].states.append(_State(before, changed, now))


def divergence(program: Program, launched: Launched, row: int) -> str:
    """A sentence about the first wrong state in output row ``row`` of a failing launch; "" when the kernel
    has no such variables, or they cannot be told from others."""
    exercise, inputs = program.exercise, launched.inputs
    X = next(iter(inputs.arrays.values()))
    known = exercise.by_rows and X.ndim == 2 and row < X.shape[0] and X.shape[1] <= LONGEST
    if not known or launched.trace is None or program.filename is None or np.isnan(X[row]).any():
        return ""
    names = carried(program.kernel)
    if len(names) < 2:
        return ""
    watch = _Watch(program.filename, exercise.name, names, _telling(program, launched, int(X[row].argmax())))
    one = replace(inputs, arrays={name: array[row : row + 1].copy() for name, array in inputs.arrays.items()})
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        run = launches.launch(program, one, step_limit=STEP_LIMIT)
    finally:
        sys.settrace(before)
    if run.trace is None or watch.looks > LOOKS:
        return ""
    found = _first(watch, X[row].astype(np.float64), names)
    if found is None:
        return ""
    alone = narrate.tile_of(exercise, inputs) == 1  # a thread has the whole row: its number says nothing
    return found.sentence(program, row, "" if alone else f", thread {found.thread}")


def _telling(program: Program, launched: Launched, column: int) -> frozenset[int]:
    """Threads that are likely to read the largest value of a row, at ``column``, and the first thread."""
    _, block = program.exercise.launch(launched.inputs)
    threads = int(np.prod(block))
    n = next(iter(launched.inputs.arrays.values())).shape[-1]
    return frozenset({0, column % threads, column // 4 % threads, column // -(-n // threads)})


@dataclass(frozen=True)
class _Wrong:
    """The first wrong state of one thread."""

    step: int  # of the thread's reads, from 0
    thread: int
    column: int
    name: str
    found: float
    expected: float
    line: int  # 0: the variable was not assigned after the read

    def sentence(self, program: Program, row: int, thread: str) -> str:
        where = f" ({program.lines.name(self.line)})" if self.line and program.lines.number(self.line) else ""
        is_now = "is" if self.line else "is still"
        return (
            f"The running state first goes wrong in {program.exercise.axes[0]} {row}{thread}, after "
            f"{program.exercise.along} {self.column}{where}: {self.name} {is_now} {number(self.found)} where "
            f"{number(self.expected)} is expected."
        )


def _first(watch: _Watch, values: np.ndarray, names: frozenset[str]) -> _Wrong | None:
    """The first wrong state of any thread, where it is clear which variables hold the state."""
    rounds = _rounds(watch)
    found: dict[tuple[str, str], list[_Wrong]] = {}
    sound: set[tuple[str, str]] = set()
    for thread in sorted(watch.chosen & watch.threads.keys()):
        stretches = watch.threads[thread]
        own = _so_far([stretch.columns for stretch in stretches])
        if len(stretches) < 2:
            continue  # nothing can go wrong after the first read
        for pair in itertools.permutations(sorted(names), 2):
            way = next((way for way in (own, rounds) if _locks(stretches, pair, values[way[0]])), None)
            if way is None:
                continue
            wrong = _follow(stretches, pair, way, values, thread, (own, rounds))
            if wrong is None:
                sound.add(pair)
            else:
                found.setdefault(pair, []).append(wrong)
    if sound - found.keys():
        return None  # the state may be in those, and they are right
    chosen = ("m", "d") if ("m", "d") in found else next(iter(found)) if len(found) == 1 else None
    return min(found[chosen], key=lambda one: (one.step, one.thread)) if chosen is not None else None


def _so_far(groups: Sequence[Sequence[int]]) -> Way:
    """All columns of the first 1, 2, … groups."""
    result: list[list[int]] = []
    for group in groups:
        result.append([*(result[-1] if result else []), *group])
    return result


def _rounds(watch: _Watch) -> Way:
    """What the whole block has read when each of its threads has made 1, 2, … reads."""
    most = max((len(stretches) for stretches in watch.threads.values()), default=0)
    groups = [
        [column for stretches in watch.threads.values() if k < len(stretches) for column in stretches[k].columns]
        for k in range(most)
    ]
    return _so_far(groups)


def _locks(stretches: Sequence[_Stretch], pair: tuple[str, str], x: np.ndarray) -> bool:
    """Whether the pair is exactly the state of what was read first."""
    return any(_matches(state, pair, x, exactly=True) for state in stretches[0].states)


def _follow(
    stretches: Sequence[_Stretch], pair: tuple[str, str], way: Way, values: np.ndarray, thread: int, ways: Sequence[Way]
) -> _Wrong | None:
    """Where the state that was right after the first read goes wrong for good; None when it does not."""
    for step in range(1, len(stretches)):
        x = values[way[step]]
        if any(_matches(state, pair, x) for state in stretches[step].states):
            continue
        if _recovers(stretches, pair, values, step, ways):
            return None
        return _wrong(stretches, pair, x, step, thread)
    return None


def _recovers(
    stretches: Sequence[_Stretch], pair: tuple[str, str], values: np.ndarray, step: int, ways: Sequence[Way]
) -> bool:
    """Whether any later state is a right one after all, in whichever way of counting: then the kernel only
    corrects its state at another moment than was thought."""
    for later in range(step, len(stretches)):
        for way in ways:
            for columns in way[max(later - 3, step) : later + 1]:
                if any(_matches(state, pair, values[columns]) for state in stretches[later].states):
                    return True
    everything = values[ways[-1][-1]]
    return any(_matches(state, pair, everything) for state in stretches[-1].states)


def _matches(state: _State, pair: tuple[str, str], x: np.ndarray, exactly: bool = False) -> bool:
    """Whether d is the sum of exp(x - m) and, ``exactly``, m the maximum."""
    m, d = (state.values.get(name, math.nan) for name in pair)
    top = float(x.max()) if x.size else -math.inf
    if top == -math.inf:
        return not exactly and d == 0.0 and m == -math.inf
    if not math.isfinite(m) or m < top - 80.0 or (exactly and np.float32(m) != np.float32(top)):
        return False
    expected = float(np.exp(x - m).sum())
    return abs(d - expected) <= CLOSE * expected


def _wrong(
    stretches: Sequence[_Stretch], pair: tuple[str, str], x: np.ndarray, step: int, thread: int
) -> _Wrong:
    last = stretches[step].states[-1]
    m, d = (last.values.get(name, math.nan) for name in pair)
    top = float(x.max())
    if np.float32(m) != np.float32(top):
        name, found, expected = pair[0], m, top
    else:
        name, found, expected = pair[1], d, float(np.exp(x - top).sum())
    lines = [state.line for state in stretches[step].states if name in state.changed]
    column = max(stretches[step].columns)
    return _Wrong(step, thread, column, name, found, expected, lines[-1] if lines else 0)


def _is_float(value: Any) -> bool:
    return isinstance(value, (float, np.floating))


def _same(a: float | None, b: float) -> bool:
    return a is not None and (a == b or (a != a and b != b))
