"""Run the threads of a block cooperatively and in a fixed order.

A thread runs until it needs others: at a block barrier or a warp operation it yields. Warp operations
are answered as soon as every lane that must take part has arrived; a barrier opens when every thread
that is still running waits at one. What a GPU would hang on or leave undefined becomes a finding,
and the block goes on as well as it can.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from autograder.simulator import warp
from autograder.simulator.findings import who
from autograder.simulator.machine import Machine
from autograder.simulator.sites import ADDRESS_BITS
from autograder.simulator.thread import Dim3, Thread

if TYPE_CHECKING:
    from autograder.simulator.stream import Stream


def thread_order(order: str | int, count: int) -> list[int]:
    """The order in which threads (or blocks) are resumed. Raises ValueError for an unknown order."""
    if order == "forward":
        return list(range(count))
    if order == "reverse":
        return list(range(count - 1, -1, -1))
    if isinstance(order, int) and not isinstance(order, bool):
        numbers = list(range(count))
        random.Random(order).shuffle(numbers)
        return numbers
    raise ValueError(f'order must be "forward", "reverse" or a whole number, not {order!r}')


def by_warps(threads: list[Thread]) -> list[list[Thread]]:
    """The threads in the same order, cut where a warp is complete: into warps where they come warp by warp, else
    not at all."""
    groups = [list(group) for _, group in groupby(threads, key=lambda t: t.warp)]
    return groups if len(groups) == len({t.warp for t in threads}) else [threads]


def run_block(machine: Machine, block: Dim3, order: Sequence[int], args: Sequence[Any], stream: Stream,
              number: int) -> None:
    """Run one block, the ``number``-th of the grid, to its end; ``stream`` takes its log when that grows long.
    Exceptions of a thread come out as they are; ``machine.current`` is then the thread that raised."""
    kernel, threads, log = machine.kernel, machine.threads, machine.log
    due, groups = stream.due, by_warps([threads[n] for n in order])
    for thread in threads:
        thread.begin_block(block)
    if not machine.cooperative:
        for group in groups:
            for thread in group:
                machine.current = thread
                log(thread.mark)
                kernel(thread, 0, *args)
                thread.state = "done"
            if due():
                stream.rest(number)
        return
    for thread in threads:
        thread.resume = kernel(thread, 0, *args).send
    ready = [threads[n] for n in order]
    position = {n: k for k, n in enumerate(order)}
    shuffled = False  # warps answer one by one; then the order must be restored
    at_barrier: list[Thread] = []
    in_warp: list[Thread] = []
    while ready or at_barrier or in_warp:
        for group in groups if len(ready) == len(threads) else (ready,):
            for thread in group:
                machine.current = thread
                log(thread.mark)
                try:
                    wait = thread.waits = thread.resume(thread.answer)
                except StopIteration:
                    thread.state = "done"
                    continue
                if type(wait) is int:
                    log(wait)
                    at_barrier.append(thread)
                    continue
                thread.answer = None
                if wait[1][0] in ("count", "and", "or"):
                    log(wait[0])
                    at_barrier.append(thread)
                else:
                    in_warp.append(thread)
            if due():
                stream.rest(number)
        machine.steps += len(ready)
        if machine.steps > machine.step_limit and (at_barrier or in_warp):
            last = (in_warp or at_barrier)[0]
            machine.out_of_steps(last, last.waits if type(last.waits) is int else last.waits[0])
        ready = []
        if in_warp:
            shuffled = True
            ready, in_warp = warp.answer(machine, in_warp, force=False)
            if not ready:  # nothing else in the block can move either
                ready, in_warp = warp.answer(machine, in_warp, force=True)
        elif at_barrier:
            _open_barrier(machine, at_barrier)
            ready, at_barrier = at_barrier, []
        if len(ready) > 1 and shuffled:
            ready.sort(key=lambda t: position[t.linear])


def _open_barrier(machine: Machine, waiting: list[Thread]) -> None:
    """All running threads wait at barriers: check that a GPU would let them pass, and answer."""
    machine.barriers += 1
    first = waiting[0].waits
    plain = type(first) is int
    if plain and len(waiting) == len(machine.threads) and all([t.waits == first for t in waiting]):
        return
    _check_barrier(machine, waiting)
    votes = [t for t in waiting if type(t.waits) is not int]
    if votes:
        values = [bool(t.waits[1][1]) for t in votes]
        answers = {"count": sum(values), "and": int(all(values)), "or": int(any(values))}
        for thread in votes:
            thread.answer = answers[thread.waits[1][0]]


def _check_barrier(machine: Machine, waiting: list[Thread]) -> None:
    lines: dict[int, list[Thread]] = {}
    for thread in waiting:
        code = thread.waits if type(thread.waits) is int else thread.waits[0]
        lines.setdefault(code, []).append(thread)
    ordered = sorted(lines)
    places = tuple(machine.place(code, lines[code][0]) for code in ordered[:2])
    if len(ordered) > 1:
        first, second = (lines[code] for code in ordered[:2])
        machine.findings.add(
            "synccheck",
            f"line {places[0].line}: {len(first)} threads (first {who(places[0])}) wait at this barrier "
            f"while {len(second)} threads (first {who(places[1])}) wait at the one in line "
            f"{places[1].line}. Every thread of a block must reach the same barrier: move it out of "
            "the branch or the loop.",
            places, key=("two", *(c >> ADDRESS_BITS for c in ordered)))
        return
    # A thread that has left by `return` counts as arrived, and so does a whole warp that is gone. A lane that
    # went around the barrier while others of its warp wait there is what compute-sanitizer reports.
    warps = {t.warp for t in waiting}
    gone = [t for t in machine.threads if t.state == "done" and not t.left and t.warp in warps]
    if gone:
        first = machine.place(ordered[0], gone[0])
        machine.findings.add(
            "synccheck",
            f"line {places[0].line}: {len(waiting)} threads (first {who(places[0])}) wait at this barrier, "
            f"but {len(gone)} threads of the same warps (first {who(first)}) go around it. Every thread of a "
            "block must reach the barrier: move it out of the branch or the loop.",
            places, key=("gone", ordered[0] >> ADDRESS_BITS))
