"""What a name in a kernel stands for, and what it becomes on the simulated GPU."""

from __future__ import annotations

import ast
import builtins
import math
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from autograder.simulator import allocation, gpumath, libdevice
from autograder.simulator.errors import KernelError
from autograder.simulator.intrinsics import KernelName

BUILTINS = {max: gpumath.maximum, min: gpumath.minimum, int: gpumath.to_int}


def python_function(kernel: Any) -> FunctionType:
    """The plain function behind a ``@cuda.jit`` object. Raises KernelError for anything else."""
    function = getattr(kernel, "py_func", kernel)
    if not isinstance(function, FunctionType):
        raise KernelError(f"{kernel!r} is not a kernel; decorate a function with @cuda.jit")
    return function


def is_device_function(value: Any) -> bool:
    """True for what ``@cuda.jit`` gives (numba's simulator classes have ``fn`` and ``_device``)."""
    return hasattr(value, "_device") and isinstance(getattr(value, "fn", None), FunctionType)


def lookup(function: FunctionType, name: str) -> Any:
    """What a free name of ``function`` means now. Raises KeyError when it is not defined."""
    code = function.__code__
    if name in code.co_freevars:
        cell = function.__closure__[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise KeyError(name) from None
    if name in function.__globals__:
        return function.__globals__[name]
    return vars(builtins)[name]


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_cuda(value: Any) -> bool:
    return isinstance(value, ModuleType) and value is sys.modules.get("numba.cuda")


def is_cast(value: Any) -> bool:
    if isinstance(value, type):
        return issubclass(value, np.number)
    return type(value).__name__ in ("Float", "Integer", "IntegerLiteral") and hasattr(value, "bitwidth")


def dtype_name(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


def cast(value: Any) -> Callable[[Any], Any]:
    return allocation.converter(np.dtype(dtype_name(value)))


def resolve(function: FunctionType, local: set[str], node: ast.expr) -> tuple[bool, Any]:
    """(True, object) for a global name or a chain of attributes of a module, else (False, None)."""
    if isinstance(node, ast.Name):
        if node.id in local:
            return False, None
        try:
            return True, lookup(function, node.id)
        except KeyError:
            return False, None
    if isinstance(node, ast.Attribute):
        known, base = resolve(function, local, node.value)
        if known and is_cuda(base):
            found = getattr(base, node.attr, None)
            return True, found if is_device_function(found) else KernelName((node.attr,))
        if known and isinstance(base, KernelName):
            return True, KernelName((*base.path, node.attr))
        if known and isinstance(base, ModuleType):
            if not hasattr(base, node.attr):
                raise KernelError(f"line {node.lineno}: `{ast.unparse(node)}` does not exist")
            return True, getattr(base, node.attr)
    return False, None


def replacement(value: Any) -> tuple[str, Any] | None:
    """(label, object) for a builtin or a ``math`` function that differs on the GPU, None for the rest.

    Raises KernelError for a ``math`` function that a GPU does not have.
    """
    if _hashable(value) and value in BUILTINS:
        return value.__name__, BUILTINS[value]
    name = getattr(value, "__name__", "")
    if getattr(value, "__module__", "") == "numba.cuda.libdevice":
        if name not in libdevice.FUNCTIONS:
            raise KernelError(f"`libdevice.{name}` is not available in the simulator")
        return f"libdevice_{name}", libdevice.FUNCTIONS[name]
    if callable(value) and name and getattr(math, name, None) is value:
        if name not in gpumath.FUNCTIONS:
            raise KernelError(f"`math.{name}` is not available inside a GPU kernel")
        return f"math_{name}", gpumath.FUNCTIONS[name]
    return None
