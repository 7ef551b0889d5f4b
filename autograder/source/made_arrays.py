"""The shape and the dtype of ``cuda.shared.array`` and ``cuda.local.array``, which numba's compiler must know.

The simulator makes an array of any shape; the compiler takes a whole number written out, the name of
one above the kernel, a variable that is set to such a number once, and tuples of these. Arithmetic on
a name (``THREADS + 1``) it refuses, even where every part is constant.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any

from autograder.source import constants
from autograder.source.advice import short
from autograder.source.values import MAX_BITS, Constant, Member

if TYPE_CHECKING:
    from autograder.source.kernel_rules import KernelRules

LONGEST_CHAIN = 50  # of variables from the shape to the number

_CPU_TYPES = {"builtins.float": "numba.float32", "builtins.int": "numba.int32", "builtins.bool": "numba.boolean"}


def check_array(rules: KernelRules, node: ast.Call) -> None:
    """Raises SourceRefused when the compiler would not take the array that ``node`` makes. The
    arguments themselves have been looked at before."""
    given: dict[str, ast.expr] = dict(zip(("shape", "dtype", "alignment"), node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    if "shape" not in given or "dtype" not in given:
        raise rules.refuse(node, f"`{short(node)}` needs a shape and a dtype", "write `(THREADS, numba.float32)`")
    space = "local" if short(node.func).endswith("local.array") else "shared"
    least = 1 if space == "local" else 0
    _check_shape(rules, given["shape"], space, least)
    _check_dtype(rules, given["dtype"])


def _check_shape(rules: KernelRules, shape: ast.expr, space: str, least: int) -> None:
    if _fixed(rules, shape):
        sizes = _sizes(rules, shape)
        if sizes is not None and any(size < least for size in sizes):
            raise rules.refuse(shape, f"the shape `{short(shape)}` of a {space} array is not positive")
        return
    hint = "write `THREADS`, a number named above the kernel"
    names = [part for part in ast.walk(shape) if isinstance(part, ast.Name)]
    constant = all(part.id not in rules.locals and isinstance(rules.reach(part), Constant) for part in names)
    if isinstance(shape, ast.BinOp) and constant:
        hint = f"name the number above the kernel: `SIZE = {short(shape)}`; then write `SIZE`"
    raise rules.refuse(
        shape,
        f"the shape of a {space} array must be a constant that the compiler can see, and `{short(shape)}` is none",
        hint,
    )


def _check_dtype(rules: KernelRules, dtype: ast.expr) -> None:
    value = rules.reach(dtype) if isinstance(dtype, (ast.Name, ast.Attribute)) else None
    path = value.path if isinstance(value, Member) else ""
    if path in _CPU_TYPES:
        raise rules.refuse(
            dtype, f"`{short(dtype)}` is no type that the compiler takes for an array", f"write `{_CPU_TYPES[path]}`"
        )
    number = isinstance(dtype, ast.Constant) and type(dtype.value) is not str
    if path == "numba.void" or number or isinstance(value, Constant) or isinstance(dtype, ast.Tuple):
        raise rules.refuse(dtype, f"`{short(dtype)}` is no dtype", "write `numba.float32`")


def _fixed(rules: KernelRules, node: ast.expr, inside: bool = False) -> bool:
    """Whether the compiler knows the value of ``node``, which stands ``inside`` a tuple or is the whole shape.
    No tuple stands in a tuple: a chain of them would have to be looked at twice for every link."""
    for _ in range(LONGEST_CHAIN):
        if not isinstance(node, ast.Name) or node.id not in rules.locals:
            break
        if node.id not in rules.set_once:
            return False
        node = rules.set_once[node.id]
    if isinstance(node, ast.Tuple):
        return not inside and all(_fixed(rules, item, inside=True) for item in node.elts)
    if isinstance(node, ast.Name):
        value = None if node.id in rules.locals else rules.reach(node)
        return isinstance(value, Constant) and _whole(value.value) and not (inside and type(value.value) is tuple)
    if isinstance(node, ast.Subscript):  # PAIR[0]
        base = rules.reach(node.value) if isinstance(node.value, ast.Name) else None
        index = node.slice
        return isinstance(base, Constant) and isinstance(index, ast.Constant) and type(index.value) is int
    return _whole(_literal(node))


def _whole(value: Any) -> bool:
    """A Python int, or a tuple of them: NumPy's integers are no constants to the compiler."""
    return type(value) is int or (type(value) is tuple and all(type(item) is int for item in value))


def _literal(node: ast.expr) -> Any:
    """The value of arithmetic on written-out numbers, which Python itself works out; else None."""
    found = constants.evaluate(node, lambda name: None)
    names = any(isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(node))
    return found.value if isinstance(found, Constant) and not names and not constants.too_large(node, MAX_BITS) else None


def _sizes(rules: KernelRules, node: ast.expr) -> tuple[int, ...] | None:
    """The numbers of a shape, None where a variable stands in it."""
    if isinstance(node, ast.Tuple):
        parts = [_sizes(rules, item) for item in node.elts]
        return None if None in parts else tuple(size for part in parts for size in part or ())
    value = _literal(node)
    if isinstance(node, ast.Name) and node.id not in rules.locals:
        reached = rules.reach(node)
        value = reached.value if isinstance(reached, Constant) else None
    if type(value) is tuple:
        return value
    return (value,) if type(value) is int else None


def set_once(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """What each variable is set to that one plain assignment sets, and nothing else."""
    arguments = function.args
    stores = Counter(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    found: dict[str, ast.expr] = {}
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            stores[part.id] += 1
        if isinstance(part, ast.Assign) and len(part.targets) == 1 and isinstance(part.targets[0], ast.Name):
            found[part.targets[0].id] = part.value
    return {name: value for name, value in found.items() if stores[name] == 1}
