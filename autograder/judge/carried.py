"""Which variables of a kernel carry something from one round of a loop to the next."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any


def carried(kernel: Any) -> frozenset[str]:
    """The variables of a loaded kernel that are changed in a loop, and always out of what they were: by
    ``d += …``, ``d = d * …``, or ``m = m_new`` where ``m_new`` was made of m. Empty when the text cannot be
    found."""
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", None) or kernel
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return frozenset()
    made: dict[str, list[tuple[ast.expr, bool]]] = {}
    for loop in ast.walk(tree):
        if isinstance(loop, (ast.For, ast.While)):
            for name, value, augmented in _assignments(loop):
                made.setdefault(name, []).append((value, augmented))

    def keeps(name: str, value: ast.expr, augmented: bool) -> bool:
        if augmented or name in _read(value):
            return True
        return isinstance(value, ast.Name) and any(name in _read(other) for other, _ in made.get(value.id, ()))

    return frozenset(name for name, values in made.items() if all(keeps(name, *one) for one in values))


def _read(value: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}


def _assignments(loop: ast.AST) -> Iterator[tuple[str, ast.expr, bool]]:
    """(name, value, whether it is augmented) of every assignment to a plain name in a loop."""
    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.value, True
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr, bool]]:
    if isinstance(target, ast.Name):
        yield target.id, value, False
    elif isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for n, part in enumerate(target.elts):
            yield from _pairs(part, value.elts[n] if same else value)
