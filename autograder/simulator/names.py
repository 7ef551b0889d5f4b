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

from autograder.simulator import libdevice, signatures, values
from autograder.simulator.errors import KernelError
from autograder.simulator.gpumath import f64
from autograder.simulator.intrinsics import KernelName

NUMBERS = (bool, int, float, complex, np.generic)


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
    """Whether calling it converts a number: a NumPy scalar type, or a numba type of one."""
    if isinstance(value, type):
        if not issubclass(value, (np.number, np.bool_)):
            return False
    elif type(value).__name__ not in ("Float", "Integer", "IntegerLiteral", "Boolean", "Complex"):
        return False
    try:
        return dtype_name(value) in values.CONVERT
    except TypeError:
        return False


def dtype_name(value: Any) -> str:
    """The name of the dtype that a numpy or numba type, a dtype or a string stands for. Raises TypeError for others."""
    if isinstance(value, (type, np.dtype, str)):
        return np.dtype(value).name
    try:
        return np.dtype(str(value)).name
    except ValueError:  # NumPy takes the text of a numba record for a list of fields
        raise TypeError(f"{value} is no type of a number") from None


def cast(value: Any) -> Callable[[Any], Any]:
    return values.CONVERT[dtype_name(value)]


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


def constant(function: FunctionType, local: set[str], node: ast.expr) -> tuple[bool, Any]:
    """(True, number) for a literal, a name that stands for a number, minus such or a cast of such."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, NUMBERS), in_register(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        known, value = constant(function, local, node.operand)
        if not known or isinstance(value, bool) or (isinstance(value, int) and abs(value) >= 2**63):
            return False, None
        return True, -value
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        known, target = resolve(function, local, node.func)
        if known and is_cast(target) and dtype_name(target) in ("float16", "float32", "float64"):
            known, value = constant(function, local, node.args[0])
            if known and not isinstance(value, (complex, np.complexfloating)):
                with np.errstate(all="ignore"):
                    return True, cast(target)(value)
        return False, None
    known, value = resolve(function, local, node)
    return (True, in_register(value)) if known and isinstance(value, NUMBERS) else (False, None)


def in_register(value: Any) -> Any:
    """A number, or a tuple of them, as a simulated register holds it; anything else as it is."""
    if type(value) is float:
        return f64(value)
    if type(value) is complex:
        return np.complex128(value)
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    if isinstance(value, np.bool_):
        return bool(value)
    return tuple(in_register(v) for v in value) if type(value) is tuple else value


def function_name(value: Any) -> str | None:
    """"max", "math.exp", "libdevice.expf" for a function that ``replacement`` has its own for, None for any other.

    Raises KernelError for a ``math`` or ``libdevice`` function that cannot be used in a kernel.
    """
    if _hashable(value) and value in signatures.BUILTINS:
        return signatures.BUILTINS[value]
    name = getattr(value, "__name__", "")
    if getattr(value, "__module__", "") == "numba.cuda.libdevice":
        if name not in libdevice.FUNCTIONS:
            raise KernelError(f"`libdevice.{name}` is not available in the simulator")
        return f"libdevice.{name}"
    if callable(value) and name and getattr(math, name, None) is value:
        if name not in signatures.DYNAMIC_MATH:
            raise KernelError(f"`math.{name}` is not available inside a GPU kernel")
        return f"math.{name}"
    return None


def replacement(value: Any, called: bool) -> tuple[str, Any] | None:
    """(label, object) for a builtin, ``math`` or ``libdevice`` function that differs on the GPU, None for the rest.

    ``called``: whether it stands in a call; a type such as ``int`` that does not may be a dtype, and stays.
    Raises KernelError for a function that a GPU does not have.
    """
    if value is sum:
        return "sum", signatures.total
    name = function_name(value)
    if name is None or (isinstance(value, type) and not called):
        return None
    if name.startswith("libdevice."):
        return name.replace(".", "_"), libdevice.FUNCTIONS[name[10:]]
    if name.startswith("math."):
        return name.replace(".", "_"), signatures.DYNAMIC_MATH[name[5:]]
    return name, signatures.DYNAMIC[value]
