"""Warp operations: shuffles, votes, matches and syncwarp, with the GPU's rules for masks.

The lanes that name each other in a mask take part together. A lane in the mask that has returned,
waits elsewhere, or a caller that is not in its own mask, is a synccheck finding; a value read from
such a lane is undefined on a GPU and NaN (or a large odd integer) here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.simulator.findings import who
from autograder.simulator.machine import Machine
from autograder.simulator.sites import ADDRESS_BITS
from autograder.simulator.thread import Thread

FULL = 0xFFFFFFFF


def answer(machine: Machine, waiting: list[Thread], *, force: bool) -> tuple[list[Thread], list[Thread]]:
    """Answer what can be answered: (threads that may go on, threads that still wait).

    With ``force`` nothing else in the block can move, so incomplete groups are answered too, each
    with a finding.
    """
    ready: list[Thread] = []
    still: list[Thread] = []
    groups: dict[tuple[int, str, int], list[Thread]] = {}
    for thread in waiting:
        operation = thread.waits[1]
        groups.setdefault((thread.warp, operation[0], int(operation[1]) & FULL), []).append(thread)
    forced = False
    for (number, name, mask), lanes in groups.items():
        if name == "active":
            _active(lanes)
            ready += lanes
            continue
        present = {t.laneid: t for t in lanes}
        alive = machine.live_mask(number)
        needed = mask & alive
        here = sum(1 << n for n in present)
        complete = here & needed == needed
        if not complete and (not force or forced):
            still += lanes
            continue
        forced = forced or not complete
        machine.note_warp_operation(number, here, alive)
        _note_faults(machine, number, mask, alive, here, lanes)
        for thread in lanes:
            machine.log(thread.mark)
            machine.log(thread.waits[0])
            thread.answer = _OPERATIONS[name](thread, present)
            ready.append(thread)
    return ready, still


def _active(lanes: list[Thread]) -> None:
    """``activemask`` asks which lanes are here together: those that wait at the same call now."""
    together: dict[int, int] = {}
    for thread in lanes:
        together[thread.waits[0]] = together.get(thread.waits[0], 0) | 1 << thread.laneid
    for thread in lanes:
        thread.answer = together[thread.waits[0]]


def _note_faults(machine: Machine, warp: int, mask: int, alive: int, here: int, lanes: list[Thread]) -> None:
    first = lanes[0]
    code = first.waits[0]
    site = code >> ADDRESS_BITS
    what = machine.sites[site].text
    place = machine.place(code, first)
    outside = [t for t in lanes if not mask >> t.laneid & 1]
    if outside:
        machine.findings.add(
            "synccheck",
            f"line {place.line}: `{what}` is called by lane {outside[0].laneid} ({who(machine.place(code, outside[0]))}), "
            f"which is not in its own mask {mask:#010x}. Name every calling lane in the mask.",
            (place,), key=("mask", site))
    # Lanes that have returned or never existed may be named, as on the GPU; reading one is caught where it happens.
    elsewhere = mask & alive & ~here
    if elsewhere:
        lane = (elsewhere & -elsewhere).bit_length() - 1
        machine.findings.add(
            "synccheck",
            f"line {place.line}: `{what}` names lane {lane} of warp {warp} in its mask {mask:#010x}, but that lane waits "
            "somewhere else. Every lane in the mask must make the same call: keep the call outside of branches, or "
            "give a mask of the lanes that take part.",
            (place,), key=("lanes", site))


def _undefined(value: Any) -> Any:
    return type(value)(np.nan) if isinstance(value, (float, np.floating)) else type(value)(0x5A5A5A5A)


def _fetch(thread: Thread, present: dict[int, Thread], source: int, mine: Any) -> Any:
    mask = int(thread.waits[1][1]) & FULL
    other = present.get(source)
    if other is None or not mask >> source & 1:
        machine = thread.machine
        code = thread.waits[0]
        place = machine.place(code, thread)
        machine.findings.add(
            "synccheck",
            f"line {place.line}: `{machine.sites[code >> ADDRESS_BITS].text}` reads lane {source}, which takes no part "
            f"in it, in {who(place)}. The value is undefined on a GPU: only lanes that are running and in the "
            "mask may be read.",
            (place,), key=("read", code >> ADDRESS_BITS))
        return _undefined(mine)
    return other.waits[1][2]


def _shuffle(choose: Callable[[int, int], int]) -> Callable[[Thread, dict[int, Thread]], Any]:
    def run(thread: Thread, present: dict[int, Thread]) -> Any:
        _, _, mine, argument = thread.waits[1]
        source = choose(thread.laneid, int(argument))
        if not 0 <= source < 32:  # beyond the warp's end the lane keeps its own value
            return mine
        return _fetch(thread, present, source, mine)

    return run


def _votes(thread: Thread, present: dict[int, Thread]) -> list[tuple[int, Any]]:
    mask = int(thread.waits[1][1]) & FULL
    return [(n, t.waits[1][2]) for n, t in sorted(present.items()) if mask >> n & 1]


def _signed(mask: int) -> int:
    """A mask of lanes as numba gives it, an int32: negative when lane 31 is in it."""
    return mask - (1 << 32) if mask >> 31 else mask


def _match_all(thread: Thread, present: dict[int, Thread]) -> tuple[int, bool]:
    values = _votes(thread, present)
    same = all(v == values[0][1] for _, v in values)
    return (_signed(sum(1 << n for n, _ in values)) if same else 0), same


_OPERATIONS: dict[str, Callable[[Thread, dict[int, Thread]], Any]] = {
    "syncwarp": lambda t, p: None,
    "idx": _shuffle(lambda lane, n: n % 32),
    "up": _shuffle(lambda lane, n: lane - n),
    "down": _shuffle(lambda lane, n: lane + n),
    "xor": _shuffle(lambda lane, n: lane ^ n),
    "all": lambda t, p: all(bool(v) for _, v in _votes(t, p)),
    "any": lambda t, p: any(bool(v) for _, v in _votes(t, p)),
    "eq": lambda t, p: len({bool(v) for _, v in _votes(t, p)}) == 1,
    "ballot": lambda t, p: _signed(sum(1 << n for n, v in _votes(t, p) if v)),
    "match_any": lambda t, p: _signed(sum(1 << n for n, v in _votes(t, p) if v == t.waits[1][2])),
    "match_all": _match_all,
}
