"""Kernel arguments: NumPy arrays become watched global arrays, numbers stay numbers."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from autograder.simulator import kinds
from autograder.simulator.arrays import DeviceArray
from autograder.simulator.errors import LaunchError
from autograder.simulator.fresh import mask_of, root_of
from autograder.simulator.kinds import Kind
from autograder.simulator.memory import Memory
from autograder.simulator.names import in_register

# first and one-past-last byte address, the array, its place among the arguments, and how many bytes into its
# own 256-byte aligned memory it starts
Span = tuple[int, int, np.ndarray, int, int]


def bind_arguments(memory: Memory, function: FunctionType, args: Sequence[Any],
                   names: Sequence[str] | None) -> list[Any]:
    """Arguments as the kernel sees them. Raises LaunchError when their number does not fit.

    A kernel that looks at an array as another dtype gets NumPy memory in place of lists of scalars.
    """
    parameters = list(inspect.signature(function).parameters)
    if names is None:
        names = parameters
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    if not len(required) <= len(args) <= len(parameters):
        raise LaunchError(f"`{function.__name__}` takes {len(parameters)} arguments "
                          f"({', '.join(parameters)}) but was given {len(args)}")
    spans: list[Span] = []
    made: list[Any] = []
    for n, arg in enumerate(args):
        host = _host_array(arg)
        made.append(None if host is not None else in_register(arg))
        if host is not None:
            start, end = _extent(host)
            spans.append((start, end, host, n, _lead(arg, start)))
    flat = not {"view", "real", "imag"}.isdisjoint(function.__code__.co_names)
    for group in _overlapping(spans):
        called = [names[n] if n < len(names) else f"argument {n}" for n in range(len(args))]
        _bind_group(memory, flat, args, group, made, called)
    return made


def kinds_of(function: FunctionType, args: Sequence[Any], bound: Sequence[Any]) -> list[Kind | None]:
    """The kind of each parameter of ``function``, from the arguments as given and as bound."""
    found = [kinds.array(kinds.of_dtype(b.dtype), b.ndim, kinds.ladder(max(b.shape, default=0)))
             if isinstance(b, DeviceArray) else kinds.of_value(a, coarse=True) for a, b in zip(args, bound)]
    missing = function.__code__.co_argcount - len(found)
    left_out = (function.__defaults__ or ())[-missing:] if missing > 0 else ()
    return found + [kinds.of_value(v, coarse=True) for v in left_out]


def _host_array(arg: Any) -> np.ndarray | None:
    """The NumPy memory behind an argument; None for numbers and what the kernel takes as it is."""
    inner = getattr(arg, "_ary", arg)  # numba's simulated device arrays wrap an ndarray
    inner = getattr(inner, "_ary", inner)
    if isinstance(inner, np.ndarray) and inner.ndim > 0 and inner.dtype.kind in "biufc":
        return inner.view(np.ndarray)
    if isinstance(inner, np.ndarray) and inner.dtype.kind == "O":
        raise LaunchError("an array of Python objects cannot be passed to a kernel; use a numeric dtype")
    return None


def _lead(arg: Any, start: int) -> int:
    """A part of a device array starts where it lies in it; a host array is copied to memory of its own."""
    root = root_of(arg)
    return 0 if root is None else (start - root.__array_interface__["data"][0]) % 256


def _extent(a: np.ndarray) -> tuple[int, int]:
    """First and one-past-last byte address of the elements."""
    low = high = a.__array_interface__["data"][0]
    if a.size:
        for n, stride in zip(a.shape, a.strides):
            low += min(0, (n - 1) * stride)
            high += max(0, (n - 1) * stride)
    return low, high + (a.itemsize if a.size else 0)


def _overlapping(spans: list[Span]) -> list[list[Span]]:
    groups: list[list[Span]] = []
    end = -1
    for span in sorted(spans, key=lambda s: (s[0], s[1])):
        if groups and span[0] < end:
            groups[-1].append(span)
        else:
            groups.append([span])
        end = max(end, span[1])
    return sorted(groups, key=lambda g: min(s[3] for s in g))


def _bind_group(memory: Memory, keep_flat: bool, args: Sequence[Any], group: list[Span], made: list[Any],
                names: list[str]) -> None:
    """Arguments that share memory share one allocation; alone, an array has its own."""
    low = min(s[0] for s in group)
    high = max(s[1] for s in group)
    lead = max(s[4] for s in group if s[0] == low)
    base = memory.reserve_global(high - low + lead) + lead
    dtypes = {s[2].dtype for s in group}
    owner = min(group, key=lambda s: s[0])[2]
    for dtype in sorted(dtypes, key=str):
        if any((s[0] - low) % dtype.itemsize or any(t % dtype.itemsize for t in s[2].strides)
               for s in group if s[2].dtype == dtype):
            raise LaunchError(f"an array of {dtype} whose elements are not aligned cannot be passed to a kernel")
        first = min((s for s in group if s[2].dtype == dtype), key=lambda s: s[0])
        start = low if len(dtypes) == 1 else first[0]
        stop = high if len(dtypes) == 1 else max(s[1] for s in group if s[2].dtype == dtype)
        flat = _flat(owner if len(dtypes) == 1 else first[2], start, stop, dtype)
        alone = len(dtypes) == 1 and not keep_flat
        same = [s for s in group if s[2].dtype == dtype]
        shape = first[2].shape if len(same) == 1 and first[2].flags.c_contiguous else flat.shape
        allocation = memory.allocate(names[min(s[3] for s in same)], "global", dtype, shape, base + start - low,
                                     list(flat) if alone else flat, flat if alone else None)
        if alone and len(same) == 1:
            allocation.unwritten = mask_of(args[first[3]])
        for _, _, a, n, _ in group:
            if a.dtype == dtype:
                at = a.__array_interface__["data"][0] - start
                made[n] = memory.array(allocation, a.shape, at // dtype.itemsize,
                                       tuple(s // dtype.itemsize for s in a.strides))


def _flat(a: np.ndarray, start: int, stop: int, dtype: np.dtype) -> np.ndarray:
    """The bytes from ``start`` to ``stop`` as a flat array of ``dtype`` over the same memory as ``a``."""
    count = (stop - start) // dtype.itemsize
    if not count:
        return np.empty(0, dtype)
    if a.flags.c_contiguous and a.dtype == dtype and a.size == count:
        return a.reshape(-1)
    lowest = a[tuple(slice(None, None, -1) if s < 0 else slice(None) for s in a.strides)]
    return np.lib.stride_tricks.as_strided(lowest.reshape(-1)[:1] if lowest.flags.c_contiguous else lowest,
                                           (count,), (dtype.itemsize,))


def write_back(memory: Memory) -> None:
    """Copy what the kernel wrote into the caller's arrays. Read-only arrays are left alone."""
    for allocation in memory.allocations:
        host = allocation.host
        if host is not None and host.size and host.flags.writeable and isinstance(allocation.data, list):
            host[:] = np.array(allocation.data, dtype=allocation.dtype)
