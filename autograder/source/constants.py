"""The value of an expression at the top level of a notebook, worked out without running the notebook."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.source import bounded, catalog, values
from autograder.source.values import (
    Constant,
    Foreign,
    Function,
    Member,
    Module,
    Value,
    constant,
    named,
    renamed,
)

Lookup = Callable[[str], Value | None]

_DTYPES = {f"numpy.{n}": getattr(np, n) for n in sorted(catalog.DTYPE_NAMES | {"bool_"})}
# NumPy on one number, as people write it for a constant; inside a kernel it is refused.
_NUMPY_FUNCTIONS = {
    f"numpy.{n}": getattr(np, n) for n in ("sqrt", "exp", "log", "log2", "log10", "ceil", "floor", "abs", "negative")
}
_KINDS = {
    "List": "a list",
    "ListComp": "a list",
    "Dict": "a dict",
    "DictComp": "a dict",
    "Set": "a set",
    "SetComp": "a set",
    "Lambda": "a lambda",
    "JoinedStr": "a string",
}
_LIMITS = {"numpy.finfo": np.finfo, "numpy.iinfo": np.iinfo}
_LIMIT_NAMES = ("max", "min", "eps", "tiny", "smallest_normal", "bits")


class _NotConstant(Exception):
    """The expression is no number that can be worked out; ``what`` completes "`name` ..."."""

    def __init__(
        self,
        what: str,
        hint: str = "write it as a number, or as arithmetic on numbers: the notebook's text is read without being run",
    ) -> None:
        self.what = what
        self.hint = hint


def evaluate(node: ast.expr, lookup: Lookup) -> Value:
    """What ``node`` stands for: a number, or a known module, member or function under another name.

    ``lookup(name)`` gives the value of a name so far, None when it has none. Never raises.
    """
    try:
        reached = _reach(node, lookup)
        if isinstance(reached, Member) and catalog.is_nested(reached.path):
            return renamed(reached.path)
        if reached is not None:
            return reached
        if isinstance(node, ast.Call):
            made = _jitted(node, lookup)
            if made is not None:
                return made
        return constant(_number(node, lookup))
    except _NotConstant as reason:
        return Foreign(reason.what, reason.hint)
    except RecursionError:
        return Foreign("is nested too deeply")


def too_large(node: ast.expr, bits: int) -> bool:
    """True when ``node`` is arithmetic on literal numbers whose value needs more than ``bits`` bits."""
    try:
        value = _evaluated(node, lambda name: None)
    except bounded.OutOfBounds:
        return True
    except (_NotConstant, RecursionError, *bounded.ERRORS):
        return False
    return type(value) is int and value.bit_length() > bits


def _reach(node: ast.expr, lookup: Lookup) -> Value | None:
    """The value of a name or of a dotted path below a module, None for any other expression."""
    if isinstance(node, ast.Name):
        value = lookup(node.id)
        if value is not None:
            return value
        path = f"builtins.{node.id}"
        known = path in catalog.ALLOWED or path in bounded.FUNCTIONS
        return Member(path) if known else Foreign("is not defined")
    if isinstance(node, ast.Attribute):
        base = _reach(node.value, lookup)
        if isinstance(base, Module):
            return named(f"{base.path}.{node.attr}")
        if isinstance(base, Member) and base.use == catalog.NAMESPACE:
            return named(f"{base.path}.{node.attr}")
    return None


def _jitted(node: ast.Call, lookup: Lookup) -> Function | None:
    """``cuda.jit(f)``, ``cuda.jit(...)(f)`` or ``cuda.jit(f, device=True)`` for a plain function f."""
    maker: ast.expr = node
    outer: list[ast.Call] = []
    while isinstance(maker, ast.Call):
        outer.append(maker)
        maker = maker.func
    if _reach(maker, lookup) != Member(catalog.JIT) or len(outer) > 2:
        return None
    first = node.args[0] if node.args else None
    function = _reach(first, lookup) if first is not None else None
    if not isinstance(function, Function) or function.jit:
        return None
    device = any(
        k.arg == "device" and isinstance(k.value, ast.Constant) and k.value.value is True
        for call in outer
        for k in call.keywords
    )
    return Function(function.unit, "device" if device else "kernel")


def _number(node: ast.expr, lookup: Lookup) -> Any:
    try:
        return _evaluated(node, lookup)
    except bounded.ERRORS as error:
        raise _NotConstant(f"cannot be worked out: {bounded.sentence(error)}") from None


def _evaluated(node: ast.expr, lookup: Lookup) -> Any:
    if isinstance(node, ast.Constant):
        if type(node.value) in (int, float, bool, str) or node.value is None:
            return node.value
        raise _NotConstant("is not a real number")
    if isinstance(node, ast.Tuple):
        return tuple(_evaluated(item, lookup) for item in node.elts)
    if isinstance(node, ast.UnaryOp):
        return bounded.unary(type(node.op), _evaluated(node.operand, lookup))
    if isinstance(node, ast.BinOp):
        return bounded.binary(type(node.op), _evaluated(node.left, lookup), _evaluated(node.right, lookup))
    if isinstance(node, ast.BoolOp):
        stop = isinstance(node.op, ast.Or)
        value = None
        for part in node.values:
            value = _evaluated(part, lookup)
            if bool(value) is stop:
                break
        return value
    if isinstance(node, ast.Compare):
        left = _evaluated(node.left, lookup)
        for operation, right_node in zip(node.ops, node.comparators, strict=True):
            right = _evaluated(right_node, lookup)
            if not bounded.compare(type(operation), left, right):
                return False
            left = right
        return True
    if isinstance(node, ast.IfExp):
        return _evaluated(node.body if _evaluated(node.test, lookup) else node.orelse, lookup)
    if isinstance(node, ast.Subscript):
        base, index = _evaluated(node.value, lookup), _evaluated(node.slice, lookup)
        if type(base) is tuple and type(index) in (int, bool):
            return base[index]
    if isinstance(node, ast.Call):
        return _called(node, lookup)
    reached = _reach(node, lookup)
    if isinstance(reached, Constant):
        return reached.value
    if isinstance(node, ast.Attribute):
        limit = _limit(node, lookup)
        if limit is not None:
            return limit
    if isinstance(reached, Foreign):
        raise _NotConstant(f"uses `{ast.unparse(node)[:60]}`, which {reached.what}")
    kind = _KINDS.get(type(node).__name__)
    if kind:
        raise _NotConstant(f"is {kind}", values.ONLY_NUMBERS)
    raise _NotConstant("is not a plain number")


def _limit(node: ast.Attribute, lookup: Lookup) -> Any:
    """``np.finfo(np.float32).min`` and its like."""
    call = node.value
    if not (isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords):
        return None
    maker, argument = _reach(call.func, lookup), call.args[0]
    if isinstance(argument, ast.Constant):  # np.finfo("float32")
        kind = f"numpy.{argument.value}"
    else:
        kind = getattr(_reach(argument, lookup), "path", "")
    if isinstance(maker, Member) and maker.path in _LIMITS and kind in _DTYPES and node.attr in _LIMIT_NAMES:
        return getattr(_LIMITS[maker.path](_DTYPES[kind]), node.attr)
    return None


def _called(node: ast.Call, lookup: Lookup) -> Any:
    function = _reach(node.func, lookup)
    path = function.path if isinstance(function, Member) else ""
    call = bounded.FUNCTIONS.get(path) or _DTYPES.get(path) or _NUMPY_FUNCTIONS.get(path)
    if call is None or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        raise _NotConstant("is the result of a call")
    values = [_evaluated(argument, lookup) for argument in node.args]
    if path in _DTYPES:  # np.float32("-inf")
        values = [bounded.to_float(value) if type(value) is str else value for value in values]
    if path.startswith("numpy.") and not all(bounded.is_number(v) for v in values):
        raise _NotConstant("is the result of a call")
    with np.errstate(all="ignore"):
        return call(*values)
