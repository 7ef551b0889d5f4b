"""What calling a function may do to memory."""

from __future__ import annotations

import ast
import dis
from collections.abc import Callable
from types import FunctionType
from typing import Any

from autograder.simulator import names
from autograder.simulator.held import EVERYTHING, LOCAL, NOTHING, PURE_CALL, SHARED, STORES
from autograder.simulator.held import FENCES as ORDERS
from autograder.simulator.intrinsics import KernelName
from autograder.simulator.operations import BLOCK_OPERATIONS, FENCES

_ORDERING = {"syncthreads", "syncwarp", "threadfence_block", *BLOCK_OPERATIONS, *FENCES}
_PURE = {"grid", "gridsize"}
_LOUD = {*_ORDERING, "atomic", "store4", "sync"}  # names that a function which changes nothing does not use


def of_call(node: ast.Call, resolve: Callable[[ast.expr], tuple[bool, Any]]) -> str:
    """One of the effects of :mod:`autograder.simulator.held`."""
    known, target = resolve(node.func)
    if not known:
        return ORDERS if isinstance(node.func, ast.Attribute) and node.func.attr == "sync" else NOTHING
    if isinstance(target, KernelName):
        return _of_cuda(target)
    if names.is_device_function(target):
        return NOTHING if _quiet(target.fn, set()) else EVERYTHING
    return PURE_CALL if any(target is function for function in (min, max, int, abs)) else NOTHING


def _of_cuda(name: KernelName) -> str:
    dotted = name.dotted
    if dotted in _ORDERING or name.path[0] == "atomic":
        return ORDERS
    if dotted in ("shared.array", "local.array"):
        return SHARED if dotted == "shared.array" else LOCAL
    if dotted in _PURE:
        return PURE_CALL
    return STORES if dotted == "store4" else NOTHING


def _quiet(function: FunctionType, seen: set[FunctionType]) -> bool:
    """Whether a device function only computes and loads, itself and through others."""
    if function in seen:
        return True
    seen.add(function)
    code = function.__code__
    if _LOUD & {*code.co_names, *code.co_freevars}:
        return False
    if any(step.opname in ("STORE_SUBSCR", "STORE_SLICE") for step in dis.get_instructions(code)):
        return False
    for name in (*code.co_names, *code.co_freevars):
        try:
            value = names.lookup(function, name)
        except KeyError:
            continue
        if names.is_device_function(value) and not _quiet(value.fn, seen):
            return False
    return True
