"""A kernel's text as a shape: comments, spacing, docstrings and the student's own names are gone.

Two texts with one shape differ in nothing that matters to the kernel. For texts that are merely near each
other, the shape is cut into overlapping runs of tokens (shingles) and the two sets are compared.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

RUN = 8  # tokens of a shingle
LONGEST = 20_000  # characters of a cell that is looked at
_SKIPPED = frozenset({"annotation", "returns", "type_comment", "ctx", "type_params"})


@dataclass(frozen=True)
class Shape:
    """``digest`` is equal for texts that differ in names, comments and layout only; ``runs`` are the
    shingles' hashes; ``size`` is the number of tokens."""

    digest: str
    runs: frozenset[int]
    size: int


def definitions(texts: Iterable[str]) -> dict[str, ast.stmt]:
    """What the cells' ``texts`` define at their top level, by name; of several the last counts. A cell that
    is no valid Python defines nothing. Nothing is run."""
    return {name: node for text in texts for node in _parse(text) for name in _bound(node)}


def shape(name: str, known: Mapping[str, ast.stmt]) -> Shape | None:
    """The shape of the function ``name`` with the functions and constants that it names; None where there is
    no such function."""
    if not isinstance(known.get(name), ast.FunctionDef):
        return None
    wanted, queue = {name: known[name]}, [name]
    while queue:
        for part in ast.walk(wanted[queue.pop(0)]):
            if isinstance(part, ast.Name) and part.id in known and part.id not in wanted:
                wanted[part.id] = known[part.id]
                queue.append(part.id)
    whole = list({id(node): node for node in wanted.values()}.values())
    imported = {here: meant for node in whole for here, meant in _imported(node)}
    body = [node for node in whole if not isinstance(node, (ast.Import, ast.ImportFrom))]
    parts = [part for node in body for part in _in_order(node)]
    own = _own_names(parts)
    numbers = imported | {one: f"v{at}" for at, one in enumerate(own)}
    blank = imported | dict.fromkeys(own, "v")
    numbered = [_token(part, numbers) for part in parts]
    plain = [_token(part, blank) for part in parts]
    digest = hashlib.sha256("\n".join(numbered).encode("utf-8", "surrogatepass")).hexdigest()
    return Shape(digest, _runs(plain), len(plain))


def likeness(one: Shape, other: Shape) -> float:
    """From 0 (no run in common) to 1: runs in common as a share of the runs of both together."""
    if one.digest == other.digest:
        return 1.0
    together = len(one.runs | other.runs)
    return len(one.runs & other.runs) / together if together else 0.0


def _parse(text: str) -> list[ast.stmt]:
    if len(text) > LONGEST:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement of a module binds."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [name for name, _ in _imported(node)]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _imported(node: ast.stmt) -> list[tuple[str, str]]:
    """(name here, what it stands for) of an import: ("f32", "float32"), ("np", "numpy")."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return []
    return [(alias.asname or alias.name.split(".")[0], alias.name) for alias in node.names]


def _own_names(parts: Sequence[ast.AST]) -> list[str]:
    """The names that the text itself binds, in the order in which they appear."""
    names: dict[str, None] = {}
    for part in parts:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names[part.name] = None
        elif isinstance(part, ast.arg):
            names[part.arg] = None
        elif isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            names[part.id] = None
    return list(names)


def _token(node: ast.AST, names: dict[str, str]) -> str:
    kind = type(node).__name__
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.arg):
        return names.get(node.arg, node.arg)
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.FunctionDef):
        return f"def {names.get(node.name, node.name)}"
    if isinstance(node, ast.keyword):
        return f"{node.arg}="
    return kind


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a tree in the order of the text, without docstrings, annotations and contexts. Not
    recursive: a student's expression may be thousands deep."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        children = []
        for field in part._fields:
            if field in _SKIPPED:
                continue
            value = getattr(part, field, None)
            if isinstance(value, list):
                children += [
                    one for one in value if isinstance(one, ast.AST) and not (field == "body" and _is_text(one))
                ]
            elif isinstance(value, ast.AST):
                children.append(value)
        stack += reversed(children)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _runs(tokens: Sequence[str]) -> frozenset[int]:
    if len(tokens) < RUN:
        return frozenset()
    return frozenset(_hash("\n".join(tokens[at : at + RUN])) for at in range(len(tokens) - RUN + 1))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
