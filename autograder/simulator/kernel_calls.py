"""What the functions and values of the ``cuda`` module give, by their arguments' types, and what they refuse."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simulator import kinds, libdevice, names, signatures
from autograder.simulator.errors import KernelTypeError
from autograder.simulator.intrinsics import KernelName
from autograder.simulator.kinds import BOOL, FLOAT16, FLOAT32, INT32, INT64, NONE, UINT32, Kind, number

if TYPE_CHECKING:
    from autograder.simulator.expressions import Expressions

_GRID_BITS = {"threadIdx": 10, "blockDim": 11, "blockIdx": 31, "gridDim": 31}
_SHUFFLED = ("int32", "int64", "float32", "float64")
_ATOMIC_WHOLE = frozenset(("int32", "uint32", "int64", "uint64"))
_ATOMIC = {**dict.fromkeys(("add", "sub", "max", "min", "nanmax", "nanmin"), _ATOMIC_WHOLE | {"float32", "float64"}),
           **dict.fromkeys(("and_", "or_", "xor", "exch", "cas", "compare_and_swap"), _ATOMIC_WHOLE),
           **dict.fromkeys(("inc", "dec"), frozenset(("uint32", "uint64")))}
_RESULTS = {"ballot_sync": INT32, "all_sync": BOOL, "any_sync": BOOL, "eq_sync": BOOL, "match_any_sync": INT32,
            "match_all_sync": kinds.tuple_of((INT32, BOOL)), "activemask": UINT32, "lanemask_lt": UINT32,
            "syncthreads_count": INT32, "syncthreads_and": INT32, "syncthreads_or": INT32, "syncthreads": NONE,
            "syncwarp": NONE, "store4": NONE}
_PREDICATES = {"ballot_sync": 1, "all_sync": 1, "any_sync": 1, "eq_sync": 1, "syncthreads_count": 0,
               "syncthreads_and": 0, "syncthreads_or": 0}  # which argument is the predicate


def value_of(name: KernelName) -> Kind | None:
    """A value of the module, such as ``threadIdx.x``."""
    head, *rest = name.path
    if head in _GRID_BITS:
        return Kind("dim3", _GRID_BITS[head]) if not rest else number("int32", _GRID_BITS[head])
    return number("int32", 6) if head in ("laneid", "warpsize") else None


def result(dotted: str, node: ast.Call, arguments: Sequence[Kind | None], keywords: dict[str | None, Kind | None],
           at: Expressions) -> Kind | None:
    """The kind that ``cuda.<dotted>(…)`` gives. Raises KernelTypeError for arguments that a GPU's does not take."""
    if dotted in ("grid", "gridsize"):
        count = at.constant(node.args[0]) if node.args else 1
        each = number("int64", 42)
        return each if count == 1 else kinds.tuple_of([each] * count) if count in (2, 3) else None
    if dotted in ("shared.array", "local.array"):
        return _new_array(node, at)
    if dotted == "const.array_like":
        return arguments[0] if arguments else None
    if dotted == "load4":
        return kinds.tuple_of([FLOAT32] * 4)
    if dotted.startswith("shfl_"):
        return _shuffled(dotted, keywords.get("value", arguments[1] if len(arguments) > 1 else None))
    if dotted.startswith("atomic."):
        return _atomic(dotted, arguments[0] if arguments else keywords.get("ary"))
    if dotted.startswith("fp16."):
        return BOOL if dotted[5:] in ("heq", "hne", "hge", "hgt", "hle", "hlt") else FLOAT16
    at_position = _PREDICATES.get(dotted)
    if at_position is not None:
        found = keywords.get("predicate", arguments[at_position] if len(arguments) > at_position else None)
        if found is not None and found.scalar and not found.whole:
            raise KernelTypeError(f"`cuda.{dotted}` takes a whole number or a comparison as its predicate, "
                                  f"not {found.name}")
    scalars = [a for a in arguments if a is not None and a.scalar]
    if f"cuda.{dotted}" in signatures.PLANNERS and not keywords and len(scalars) == len(arguments) > 0:
        node.plan = signatures.plan(f"cuda.{dotted}", scalars)
        return node.plan.result
    return _RESULTS.get(dotted)


def _new_array(node: ast.Call, at: Expressions) -> Kind | None:
    given = dict(zip(("shape", "dtype"), node.args)) | {k.arg: k.value for k in node.keywords if k.arg}
    shape, dtype = given.get("shape"), given.get("dtype")
    if shape is None or dtype is None:
        return None
    kind = at.kind(shape)
    if kind is None or not (kind.whole or kind.name == "tuple"):
        return None
    return kinds.array(_element(dtype, at), 1 if kind.whole else len(kind.items), 20)


def _element(node: ast.expr, at: Expressions) -> Kind | None:
    if isinstance(node, ast.Attribute) and node.attr == "dtype":
        base = at.kind(node.value)
        return base.items[0] if base is not None and base.name == "array" else None
    known, value = (True, node.value) if isinstance(node, ast.Constant) else at.resolve(node)
    if not known:
        return None
    try:
        return kinds.of_dtype(np.dtype(names.dtype_name(value)))
    except TypeError:
        return None


def _shuffled(dotted: str, value: Kind | None) -> Kind | None:
    if value is not None and value.scalar and value.name not in _SHUFFLED:
        raise KernelTypeError(f"`cuda.{dotted}` passes an int32, int64, float32 or float64, not {value.name}; "
                              "convert the value first")
    return value


def _atomic(dotted: str, array: Kind | None) -> Kind | None:
    if array is None or array.name != "array" or array.items[0] is None:
        return None
    element, allowed = array.items[0].name, _ATOMIC.get(dotted[7:])
    if allowed is not None and element not in allowed:
        raise KernelTypeError(f"`cuda.{dotted}` does not work on an array of {element} on a GPU; it takes "
                              f"{', '.join(sorted(allowed))}")
    return array.items[0]


def of_python(target: Any, arguments: Sequence[Kind | None]) -> Kind | None:
    """``len``, ``enumerate`` and ``zip``; None for every other function."""
    if target is len and arguments and arguments[0] is not None:
        return number("int64", arguments[0].bits or 6)
    if target is enumerate and len(arguments) == 1:
        return kinds.iterable(kinds.tuple_of((number("int64", 42), kinds.element_of(arguments[0]))))
    if target is zip:
        return kinds.iterable(kinds.tuple_of([kinds.element_of(a) for a in arguments]))
    return None


def of_libdevice(name: str) -> Kind | None:
    made = libdevice.RESULTS.get(name.removeprefix("libdevice."))
    return INT64 if made == "int64" else None if made is None else number(made)
