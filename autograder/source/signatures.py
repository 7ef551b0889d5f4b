"""Signatures of kernels: ``"void(float32[:, :], float32[:, ::1])"`` and the same as an expression.

numba evaluates a signature given as text, so the text is held to the grammar of types.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from autograder.source import catalog
from autograder.source.advice import short
from autograder.source.values import Member

if TYPE_CHECKING:
    from autograder.source.rules import Rules

_TUPLES = frozenset({"Tuple", "UniTuple"})
_WRITE = 'write it as "void(float32[:, :])", or leave it out'
_MAX = 1000  # characters


def check_signature(rules: Rules, node: ast.expr) -> None:
    """Refuses ``node``, an argument of ``@cuda.jit`` or an annotation, unless it is made of numba types."""
    if isinstance(node, ast.Constant) and type(node.value) is str:
        if not _is_signature_text(node.value):
            raise rules.refuse(node, f"the signature `{node.value[:60]}` is not made of numba's types", _WRITE)
        return
    if isinstance(node, ast.List):
        for element in node.elts:
            check_signature(rules, element)
    elif not _is_type(rules, node):
        raise rules.refuse(node, f"the signature `{short(node)}` is not made of numba's types", _WRITE)


def _is_signature_text(text: str) -> bool:
    if len(text) > _MAX:
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = set(catalog.names_in("numba.types")) | _TUPLES
    return _fits(tree.body, lambda n: isinstance(n, ast.Name) and n.id in names)


def _is_type(rules: Rules, node: ast.expr) -> bool:
    def known(part: ast.expr) -> bool:
        if isinstance(part, ast.Attribute) and part.attr in _TUPLES:
            base = rules.reach(part.value)
            return getattr(base, "path", "") == "numba.types"
        if not isinstance(part, (ast.Name, ast.Attribute)):
            return False
        value = rules.reach(part)
        return isinstance(value, Member) and value.use == catalog.TYPE

    return _fits(node, known)


def _fits(node: ast.expr, known: object, depth: int = 0) -> bool:
    """The grammar: a type, type[:, ::1], type(type, ...), (type, ...), UniTuple(type, 2)."""
    assert callable(known)
    if depth > 10:
        return False
    if isinstance(node, (ast.Name, ast.Attribute)):
        return bool(known(node))
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return all(_is_axis(p) for p in parts) and len(parts) <= 8 and _fits(node.value, known, depth + 1)
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(_fits(e, known, depth + 1) for e in node.elts)
    if isinstance(node, ast.Call):
        return (
            not node.keywords
            and _fits(node.func, known, depth + 1)
            and all(
                _fits(a, known, depth + 1)
                or (isinstance(a, ast.Constant) and type(a.value) is int and 0 < a.value <= 64)
                for a in node.args
            )
        )
    return False


def _is_axis(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Slice)
        and node.lower is None
        and node.upper is None
        and (node.step is None or (isinstance(node.step, ast.Constant) and node.step.value == 1))
    )
