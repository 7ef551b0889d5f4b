"""Simulate one launch: check the configuration, run every block, account for every access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.simulator.arguments import bind_arguments, kinds_of, write_back
from autograder.simulator.arrays import DeviceArray
from autograder.simulator.declared import as_declared
from autograder.simulator.errors import LaunchError
from autograder.simulator.machine import SHARED_LIMIT, Machine
from autograder.simulator.names import python_function
from autograder.simulator.sanitizer import Sanitizer
from autograder.simulator.scheduler import run_block, thread_order
from autograder.simulator.stream import Stream
from autograder.simulator.template import specialise
from autograder.simulator.thread import Dim3, Thread
from autograder.simulator.touching import TouchRecord
from autograder.simulator.trace import ArrayInfo, Place, Touches, Trace
from autograder.simulator.traffic import Ledger

_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_BLOCK_LIMITS = (1024, 1024, 64)


def dimensions(value: Any, what: str, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    """Three integers from an integer or a sequence of one to three. Raises LaunchError."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3 or not all(
            isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in parts):
        raise LaunchError(f"{what} must be a whole number or up to three of them, not {value!r}")
    full = tuple(int(n) for n in parts) + (1,) * (3 - len(parts))
    for n, limit, axis in zip(full, limits, "xyz"):
        if n < 1:
            raise LaunchError(f"{what} {full} is empty: every dimension must be at least 1")
        if n > limit:
            raise LaunchError(f"{what} {full} is too large: {axis} may be at most {limit}")
    return full


def launch(kernel: Any, grid: Any, block: Any, args: Sequence[Any], *, names: Sequence[str] | None = None,
           order: str | int = "forward", step_limit: int | None = None, touches: bool = False,
           stop_at_first: bool = False, record: bool = True, dynamic_shared: int = 0) -> Trace:
    """Run ``kernel[grid, block](*args)`` on the simulator and return what it did.

    kernel: what ``@cuda.jit`` gives, or a plain function. grid, block: an integer or up to three.
    args: NumPy arrays of any dtype and strides (written in place), simulated device arrays, numbers.
    names: names of the parameters for messages. order: "forward", "reverse" or a seed; the order in
    which blocks and the threads of a block are resumed. step_limit: most loop rounds and resumptions of
    all threads together. touches: also keep each global access of the first block. stop_at_first: raise
    MemoryFault at the first access outside an array instead of noting it. record: with False nothing is
    counted and only memcheck and synccheck are reported. dynamic_shared: bytes.

    Raises LaunchError for what a GPU would refuse, KernelError for what has no meaning on one,
    StepLimit, and whatever the kernel itself raises; each with ``.place`` where known.
    """
    function = python_function(kernel)
    full_grid = dimensions(grid, "the grid", _GRID_LIMITS)
    full_block = dimensions(block, "the block", _BLOCK_LIMITS)
    count = int(np.prod(full_block))
    if count > 1024:
        raise LaunchError(f"the block {full_block} has {count} threads; a block may have at most 1024")
    if not 0 <= dynamic_shared <= SHARED_LIMIT:
        raise LaunchError(f"dynamic shared memory of {dynamic_shared} bytes: 0 to {SHARED_LIMIT} are allowed")
    machine = Machine(full_grid, full_block, record=record, step_limit=step_limit,
                      stop_at_first=stop_at_first, dynamic_shared=dynamic_shared)
    args = as_declared(kernel, args)
    bound = bind_arguments(machine.memory, function, args, names)
    machine.debug = bool(getattr(kernel, "_debug", False))
    machine.bind(specialise(function, kinds_of(function, args, bound)))
    ledger, sanitizer = Ledger(machine), Sanitizer(machine)
    seen = _run(machine, bound, order, ledger, sanitizer, touches)
    write_back(machine.memory)
    return Trace(
        kernel=function.__name__, grid=full_grid, block=full_block, arrays=_array_infos(bound),
        traffic=ledger.traffic(), lines=ledger.lines(), findings=tuple(machine.findings.kept),
        findings_total=machine.findings.total, steps=max(ledger.events, machine.steps),
        accesses=ledger.accesses, barriers=machine.barriers, touches=seen)


def _run(machine: Machine, args: Sequence[Any], order: str | int, ledger: Ledger, sanitizer: Sanitizer,
         touches: bool) -> Touches | None:
    gx, gy, gz = machine.grid
    blocks = gx * gy * gz
    within = thread_order(order, machine.block[0] * machine.block[1] * machine.block[2])
    machine.threads = [Thread(machine, n) for n in range(len(within))]
    seen = TouchRecord(machine, args) if touches else None
    stream = Stream(machine, ledger, sanitizer, seen.add if seen is not None else None)
    with np.errstate(all="ignore", divide="raise" if machine.debug else "ignore"):
        for n in thread_order(order, blocks) if order != "forward" else range(blocks):
            machine.new_block()
            try:
                run_block(machine, Dim3(n % gx, n // gx % gy, n // (gx * gy)), within, args, stream, n)
            except Exception as error:
                _locate(error, machine)
                raise
            machine.end_block(n)
            if machine.record:
                stream.end_block(n)
        stream.finish()
    return seen.touches() if seen is not None else None


def _locate(error: Exception, machine: Machine) -> None:
    """Attach the kernel's own line, block and thread to an exception that has none."""
    if getattr(error, "place", None) is not None:
        return
    files = {site.filename for site in machine.sites} | {machine.kernel.__code__.co_filename}
    trace, at = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            at = trace
        trace = trace.tb_next
    if at is None:
        return
    import linecache

    filename, thread = at.tb_frame.f_code.co_filename, machine.current
    error.place = Place(at.tb_frame.f_code.co_name, filename, at.tb_lineno,
                        linecache.getline(filename, at.tb_lineno).strip(),
                        tuple(thread.blockIdx) if thread else None,
                        tuple(thread.threadIdx) if thread else None)


def _array_infos(args: Sequence[Any]) -> tuple[ArrayInfo, ...]:
    return tuple(
        ArrayInfo(a.allocation.name, "global", tuple(a.shape), str(a.dtype),
                  a.address + a.offset * a.itemsize, a.allocation.nbytes, a.strides)
        for a in args if isinstance(a, DeviceArray))
