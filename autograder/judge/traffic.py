"""The traffic check: bytes and sectors of each array against the exercise's budget."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..exercises.model import Budget, Case, Check, Exercise
from ..simulator.trace import LineTraffic, Trace
from .launches import Launched, Program

SECTOR = 32  # bytes
WARP = 32  # lanes
TIMES = ("", "a first time", "a second time", "a third time", "a fourth time", "a fifth time")


@dataclass(frozen=True)
class Use:
    """How a launch used one global array in one direction; ``lines`` in order of the source."""

    array: str  # the exercise's name
    stores: bool
    size: int  # bytes of the array itself
    least_sectors: int  # of one sweep over it
    least_requests: int  # of one sweep, in requests as wide as the budget asks for
    lines: tuple[LineTraffic, ...]

    @property
    def bytes(self) -> int:
        return sum(line.bytes for line in self.lines)

    @property
    def sectors(self) -> int:
        return sum(line.sectors for line in self.lines)

    @property
    def requests(self) -> int:
        return sum(line.requests for line in self.lines)

    @property
    def times(self) -> float:
        """Bytes in multiples of the array's own size."""
        return self.bytes / self.size if self.size else 0.0


def problems(program: Program, launched: Launched) -> list[str]:
    """Everything in which a launch differs from its budget, as sentences, worst kind first."""
    if launched.problem:
        return [launched.problem]
    budget = program.exercise.allowed(launched.inputs)
    uses = account(program, launched)
    found = [sentence for use in uses for sentence in _over(program, use, budget)]
    found += [sentence for use in uses for sentence in _scattered(program, use, budget)]
    found += [sentence for use in uses for sentence in _narrow(program, use, budget)]
    return found


def borrowed(exercise: Exercise, check: Check) -> tuple[Case, ...]:
    """The cases of the exercise's other checks whose traffic counts in ``check`` as well, the first of them in its
    first group and the rest in its last."""
    found = [case for other in exercise.checks if other is not check for case in other.cases if case.counted]
    groups = (check.cases[0].group, check.cases[-1].group)
    return tuple(replace(case, group=groups[min(number, 1)]) for number, case in enumerate(found))


def account(program: Program, launched: Launched) -> list[Use]:
    """The uses of every global array of the exercise, loads before stores."""
    uses = []
    budget = program.exercise.allowed(launched.inputs)
    vector = budget.vector if budget is not None else 1
    for name, array in launched.inputs.arrays.items():
        for stores in (False, True):
            lines = tuple(
                line for line in _global_lines(launched.trace, stores) if program.contract(line.array) == name
            )
            sectors, requests = least_sectors(array, vector), least_requests(array, vector)
            uses.append(Use(name, stores, array.nbytes, sectors, requests, lines))
    return uses


def least_requests(array: np.ndarray, vector: int) -> int:
    """Requests of one sweep in which every lane takes ``vector`` neighbours of a row at a time.

    A row that does not start on a boundary of that many values is taken one value a lane; so are the
    values behind the last whole vector of the others, in one more request.
    """
    rows, length = _rows(array)
    whole, rest = divmod(length, vector)
    wide = -(-whole // WARP) + (rest > 0)
    narrow = -(-length // WARP)
    aligned = int((np.arange(rows, dtype=np.int64) * length % vector == 0).sum())
    return aligned * wide + (rows - aligned) * narrow


def _rows(array: np.ndarray) -> tuple[int, int]:
    """(rows, length of a row); a 1-D array has rows of one value."""
    length = array.shape[-1] if array.ndim > 1 else 1
    return (array.size // length if length else 0), length


def least_sectors(array: np.ndarray, vector: int = 1) -> int:
    """Sectors of one sweep when every warp takes 32 neighbours of a row at a time, from its start; with
    wider requests the values behind a row's last whole vector may lie in a sector that is met twice.

    The array starts 256-byte aligned; rows that do not fill whole sectors pay for their own
    misalignment. One value a row (a 1-D array) costs one sector each.
    """
    rows, length = _rows(array)
    begin = np.arange(rows, dtype=np.int64)[:, None] * length * array.itemsize
    first = np.arange(0, length, WARP, dtype=np.int64)
    last = np.minimum(first + WARP, length)
    low = (begin + first * array.itemsize) // SECTOR
    high = (begin + last * array.itemsize - 1) // SECTOR
    tails = rows if length % vector else 0
    return int((high - low + 1).sum()) + tails


def totals(trace: Trace | None) -> dict[str, int] | None:
    """The six totals of a trace, plain ints."""
    if trace is None:
        return None
    return {name: int(value) for name, value in asdict(trace.traffic).items()}


def ledger(program: Program, launched: Launched) -> tuple[dict[str, Any], ...]:
    """The trace's lines with the student's own line numbers; ``times`` is a line's bytes in multiples
    of the array's size (None for shared and local arrays), ``where`` names the line."""
    if launched.trace is None:
        return ()
    sizes = {program.own(name): array.nbytes for name, array in launched.inputs.arrays.items()}
    rows = []
    for line in launched.trace.lines:
        size = sizes.get(line.array) if line.space == "global" else None
        rows.append(
            {
                **asdict(line),
                "filename": "",
                "line": program.lines.number(line.line),
                "where": program.lines.name(line.line),
                "times": line.bytes / size if size else None,
            }
        )
    return tuple(rows)


def _global_lines(trace: Trace, stores: bool) -> Iterator[LineTraffic]:
    for line in sorted(trace.lines, key=lambda entry: entry.line):
        if line.space == "global" and (line.op != "load") == stores:
            yield line


def _allowed(use: Use, budget: Budget) -> float:
    return float((budget.stores if use.stores else budget.loads).get(use.array, 0.0))


def _over(program: Program, use: Use, budget: Budget) -> Iterator[str]:
    allowed = _allowed(use, budget)
    if use.times <= allowed * (1 + 1e-9) or not use.lines:
        return
    verb, own = ("writes" if use.stores else "reads"), program.own(use.array)
    if allowed == 0:
        rule = "may only be read" if use.stores else "may only be written"
        yield f"{program.lines.name(use.lines[0].line)} {verb} {own}, which {rule} in this exercise."
        return
    so_far = 0.0
    for line in use.lines:
        before, so_far = so_far, so_far + line.bytes / use.size
        if so_far > allowed * (1 + 1e-9):
            break
    share = line.bytes / use.size
    pass_number = math.floor(before + 1e-9) + 1
    if before and pass_number <= allowed + 1e-9:  # the line's own pass is allowed: the lines overlap
        yield _overlap(program, use, allowed)
        return
    if before and share <= 1 + 1e-9 and pass_number < len(TIMES):
        what = f"{verb} {own} {TIMES[pass_number]}"
    elif share > 1 + 1e-9:
        what = f"alone {verb} {own} {_times(share)} times over"
    else:
        what = f"{verb} {own} once more than allowed"
    yield (
        f"{program.lines.name(line.line)} {what}: {_times(use.times)} times its size in all, "
        f"{_times(allowed)} allowed ({use.bytes:,} bytes, {int(allowed * use.size):,} allowed)."
    )


def _overlap(program: Program, use: Use, allowed: float) -> str:
    """Several lines take together a little more than is allowed, none of them a whole pass more. Where
    one of them alone makes no whole number of sweeps, it is what is too much."""
    own, word = program.own(use.array), "written" if use.stores else "read"
    verb = "writes" if use.stores else "reads"
    ragged = [line for line in use.lines if line.bytes % use.size]
    again = TIMES[min(int(allowed) + 1, len(TIMES) - 1)]
    if len(ragged) == 1:
        why = f"{program.lines.name(ragged[0].line)} {verb} some of it {again}"
    else:
        why = f"some of it is {word} {again}"
    return (
        f"{own} is {word} {_times(use.times)} times over in {_lines(program, use)}; {allowed:g} allowed "
        f"({use.bytes:,} bytes, {int(allowed * use.size):,} allowed): {why}."
    )


def _lines(program: Program, use: Use) -> str:
    """ "lines 7 and 9", with the cell of those that stand in another."""
    names = list(dict.fromkeys(program.lines.name(line.line) for line in use.lines))
    numbers = [name.removeprefix("line ") for name in names]
    if len(names) > 1 and all(number.isdigit() for number in numbers):
        return f"lines {', '.join(numbers[:-1])} and {numbers[-1]}"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _scattered(program: Program, use: Use, budget: Budget) -> Iterator[str]:
    """Sectors beyond what the bytes need: lanes of a warp that are not neighbours."""
    allowed = _allowed(use, budget)
    most = int(allowed * use.least_sectors + 1e-6)
    if not budget.coalesced or not use.lines or use.times > allowed * (1 + 1e-9) or use.sectors <= most:
        return
    worst = max(use.lines, key=lambda line: line.sectors * SECTOR / max(line.bytes, 1))
    verb, own = ("writes" if use.stores else "reads"), program.own(use.array)
    yield (
        f"{program.lines.name(worst.line)} {verb} {own} in scattered pieces: {use.sectors:,} sectors in all, "
        f"{most:,} are enough for those bytes ({_times(use.sectors / most)} times). Let neighbouring "
        "threads take neighbouring columns."
    )


def _narrow(program: Program, use: Use, budget: Budget) -> Iterator[str]:
    """Requests beyond what the bytes need: lanes that take fewer values than they could."""
    allowed = _allowed(use, budget)
    most = int(allowed * use.least_requests + 1e-6)
    if budget.vector <= 1 or not use.lines or use.times > allowed * (1 + 1e-9) or use.requests <= most:
        return
    worst = max(use.lines, key=lambda line: line.requests)
    verb, own = ("writes" if use.stores else "reads"), program.own(use.array)
    others = f" of {use.requests:,} in all" if worst.requests != use.requests else ""
    call = "store4" if use.stores else "load4"
    yield (
        f"{program.lines.name(worst.line)} {verb} {own} in {worst.requests:,} requests{others}; {most:,} in all are "
        f"enough with {4 * budget.vector}-byte {'stores' if use.stores else 'loads'} ({call})."
    )


def _times(value: float) -> str:
    """3.0, 2.06, 256.0: one decimal, more where one would hide the excess."""
    short = f"{value:,.1f}"
    return short if abs(float(short.replace(",", "")) - value) < 5e-3 * value else f"{value:,.2f}"
