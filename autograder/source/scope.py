"""The names that a notebook's cells define, found by reading them in order and running nothing.

Only what kernels may use is worked out (imports, numbers, functions). Everything else that binds a
name is noted as :class:`Foreign`, with what it is and where, for a good message.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache

from autograder.source import catalog, values
from autograder.source.cells import Cell, make_unit
from autograder.source.constants import evaluate
from autograder.source.values import Foreign, Function, Module, Value

_WRITE_NUMBER = "write it as a number, or as arithmetic on numbers, at the top level of a cell"
_MOVE = "move it to the top level of its cell"


@dataclass
class Scope:
    """What the cells define at their end.

    ``names`` maps each name to its value and ``places`` to where it was bound last (label, line);
    ``definitions`` lists every ``def`` of a name, in order; ``unreadable`` are cells that are no
    Python; ``stars`` are modules that were imported with ``*`` and whose names are not known.
    """

    names: dict[str, Value] = field(default_factory=dict)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    definitions: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    unreadable: list[Cell] = field(default_factory=list)
    stars: list[str] = field(default_factory=list)

    def get(self, name: str) -> Value | None:
        """The value of ``name``, None when nothing binds it."""
        value = self.names.get(name)
        if value is None and self.stars and not hasattr(builtins, name):
            return Foreign(
                f"is not defined, unless `from {self.stars[-1]} import *` brings it",
                "copy it into the notebook, above the kernel",
            )
        return value

    def notes_on(self, name: str) -> tuple[str, ...]:
        """A remark when ``name`` is defined more than once."""
        found = self.definitions.get(name, [])
        if len(found) < 2:
            return ()
        labels = [label for label, _ in found]
        where = f"{len(found)} times"
        if len(set(labels)) == 1:
            lines = _listed([str(line) for _, line in found])
            where = f"at lines {lines}{f' of {labels[0]}' if labels[0] else ''}"
        elif len(set(labels)) == len(labels):
            where = f"in {_listed(labels)}"
        return (f"`{name}` is defined {where}; the last one counts",)


def _listed(words: list[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}"


@cache
def _starred(home: str) -> dict[str, Value]:
    """What ``from home import *`` binds."""
    names = set(catalog.names_in(home))
    if home in ("math", "numpy"):  # these two may hide builtins such as max and pow
        found = importlib.import_module(home)
        names |= set(getattr(found, "__all__", None) or (n for n in dir(found) if n[0] != "_"))
    return {name: values.imported_from(home, name) for name in sorted(names)}


def setup_names() -> dict[str, Value]:
    """What the setup cell of every notebook defines for kernels."""
    return {name: Module(path) for name, path in catalog.SETUP_NAMES.items()}


def read(cells: Iterable[Cell], main: bool = True, setup: bool = False) -> Scope:
    """The scope after all ``cells``. ``main`` says whether ``__name__ == "__main__"`` holds there;
    with ``setup`` the names of the setup cell are there from the start."""
    scope = Scope(names=setup_names() if setup else {})
    for cell in cells:
        if cell.tree is None:
            scope.unreadable.append(cell)
        else:
            reader = _Reader(scope, cell, main)
            for statement in cell.tree.body:
                reader.statement(statement)
        if cell.setup:
            scope.names.update(setup_names())
    return scope


class _Reader:
    """Carries one cell's statements into a scope. ``inside`` names the block a statement stands in; ``touched``
    holds, in a branch that may not be taken, what the names that it changes were before."""

    def __init__(self, scope: Scope, cell: Cell, main: bool) -> None:
        self.scope = scope
        self.cell = cell
        self.main = main
        self.inside = ""
        self.touched: dict[str, Value | None] | None = None

    def put(self, name: str, value: Value | None) -> None:
        """Give ``name`` a value; None takes it away."""
        if self.touched is not None:
            self.touched.setdefault(name, self.scope.names.get(name))
        if value is None:
            self.scope.names.pop(name, None)
        else:
            self.scope.names[name] = value

    def bind(self, name: str, value: Value, node: ast.AST) -> None:
        line = getattr(node, "lineno", 0)
        if isinstance(value, Foreign) and not value.label:
            value = replace(value, line=line, label=self.cell.label)
        self.put(name, value)
        self.scope.places[name] = (self.cell.label, line)

    def statement(self, node: ast.stmt) -> None:
        handler: Callable[[ast.AST], None] = getattr(self, f"_{type(node).__name__}", self._other)
        handler(node)

    def block(self, body: list[ast.stmt], inside: str) -> None:
        outer, self.inside = self.inside, self.inside or inside
        for part in body:
            self.statement(part)
        self.inside = outer

    # imports
    def _Import(self, node: ast.Import) -> None:
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            self.bind(alias.asname or path, values.imported(path), node)

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        if module == "__future__":
            return
        for alias in node.names:
            if alias.name == "*":
                self.star(module, node)
            else:
                self.bind(alias.asname or alias.name, values.imported_from(module, alias.name), node)

    def star(self, module: str, node: ast.AST) -> None:
        home = catalog.canonical(module)
        if not catalog.is_module(home):
            self.scope.stars.append(module)
            return
        for name, value in _starred(home).items():
            self.bind(name, value, node)

    # assignments
    def _Assign(self, node: ast.Assign) -> None:
        self.walrus(node.value)
        value = evaluate(node.value, self.scope.get)
        for target in node.targets:
            self.assign(target, node.value, value, node)

    def assign(self, target: ast.expr, source: ast.expr | None, value: Value, node: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts: list[ast.expr] | None = None
            if (
                isinstance(source, (ast.Tuple, ast.List))
                and len(source.elts) == len(target.elts)
                and not any(isinstance(e, ast.Starred) for e in (*source.elts, *target.elts))
            ):
                parts = source.elts
            found: list[Value] = [Foreign("is set by unpacking", _WRITE_NUMBER)] * len(target.elts)
            if parts is not None:
                found = [evaluate(part, self.scope.get) for part in parts]
            elif (
                isinstance(value, values.Constant)
                and type(value.value) is tuple
                and len(value.value) == len(target.elts)
            ):
                found = [values.constant(item) for item in value.value]
            for index, element in enumerate(target.elts):
                self.assign(element, parts[index] if parts else None, found[index], node)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, None, Foreign("is set by unpacking", _WRITE_NUMBER), node)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.walrus(node.value)
            self.assign(node.target, node.value, evaluate(node.value, self.scope.get), node)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            expression = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            self.bind(node.target.id, evaluate(expression, self.scope.get), node)

    def _Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.put(target.id, None)

    def walrus(self, node: ast.AST) -> None:
        """Names that ``:=`` binds somewhere in an expression."""
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name):
                self.bind(part.target.id, evaluate(part.value, self.scope.get), part)

    # definitions
    def _FunctionDef(self, node: ast.FunctionDef) -> None:
        self.globals_of(node)
        self.scope.definitions.setdefault(node.name, []).append((self.cell.label, node.lineno))
        value: Value
        if self.inside:
            value = Foreign(f"is defined inside {self.inside}", _MOVE)
        elif not self.cell.keeps_source:
            value = Foreign(
                f"is in a cell that starts with `{self.cell.magic}`, which hides its text",
                f"take `{self.cell.magic}` off the cell and run it again",
            )
        else:
            value = Function(make_unit(self.cell, node), "@" if node.decorator_list else "")
        self.bind(node.name, value, node)

    def _AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.globals_of(node)
        self.bind(node.name, Foreign("is an async function", "write a plain `def`"), node)

    def _ClassDef(self, node: ast.ClassDef) -> None:
        self.globals_of(node)
        self.bind(node.name, Foreign("is a class", "write a plain `def`"), node)

    def globals_of(self, node: ast.AST) -> None:
        """A function that says ``global NAME`` may set it whenever it is called."""
        for part in ast.walk(node):
            if isinstance(part, ast.Global):
                for name in part.names:
                    self.bind(name, Foreign("is set inside a function", _WRITE_NUMBER), part)

    # blocks
    def _If(self, node: ast.If) -> None:
        self.walrus(node.test)
        chosen = self.truth(node.test)
        if chosen is not None:
            self.block(node.body if chosen else node.orelse, "an `if`")
            return
        first, second = self.branch(node.body), self.branch(node.orelse)
        for name in sorted(first.keys() | second.keys()):
            before = self.scope.names.get(name)
            one, other = first.get(name, before), second.get(name, before)
            if one == other:
                self.put(name, one)
                continue
            only = one if other is None else other
            nested = isinstance(only, Foreign) and None in (one, other)
            self.bind(name, only if nested else Foreign("is set inside an `if`", _WRITE_NUMBER), node)

    def branch(self, body: list[ast.stmt]) -> dict[str, Value | None]:
        """What ``body`` makes of the names that it changes (None: it takes the name away), which are then as they
        were. A copy of all names for every `if` would take hours for a cell with thousands of both."""
        outer, self.touched = self.touched, {}
        self.block(body, "an `if`")
        touched, self.touched = self.touched, outer
        left = {name: self.scope.names.get(name) for name in touched}
        for name, value in touched.items():
            if value is None:
                self.scope.names.pop(name, None)
            else:
                self.scope.names[name] = value
        return left

    def truth(self, test: ast.expr) -> bool | None:
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__":
            return self.main
        value = evaluate(test, self.scope.get)
        return bool(value.value) if isinstance(value, values.Constant) else None

    def _With(self, node: ast.With) -> None:
        for item in node.items:
            self.stored([item], "a `with`")
        self.block(node.body, "a `with`")

    def _Try(self, node: ast.Try) -> None:
        """The body is taken to succeed; a handler sets only names that nothing else sets."""
        self.block(node.body, "a `try`")
        kept = dict(self.scope.names)
        self.stored(list(node.handlers), "a `try`")
        self.scope.names.update(kept)
        self.block(node.orelse, "a `try`")
        self.block(node.finalbody, "a `try`")

    _TryStar = _Try

    def _For(self, node: ast.stmt) -> None:
        self.stored([node], "a loop")

    _While = _AsyncFor = _For

    def _Expr(self, node: ast.Expr) -> None:
        self.walrus(node.value)

    def _other(self, node: ast.stmt) -> None:
        self.stored([node], f"a `{type(node).__name__.lower()}`")

    def stored(self, nodes: list[ast.AST], inside: str) -> None:
        """Every name that ``nodes`` bind, with a value that is not worked out."""
        stack: list[ast.AST] = list(nodes)
        while stack:
            node = stack.pop()
            what = Foreign(f"is set inside {inside}", _WRITE_NUMBER)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.globals_of(node)
                self.scope.definitions.setdefault(node.name, []).append((self.cell.label, node.lineno))
                self.bind(node.name, Foreign(f"is defined inside {inside}", _MOVE), node)
                continue
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    self.bind(
                        alias.asname or alias.name.partition(".")[0],
                        Foreign(f"is imported inside {inside}", _MOVE),
                        node,
                    )
                continue
            if isinstance(node, ast.Lambda):
                continue
            if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                self.walrus(node)  # its loop variable is its own
                continue
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                self.bind(node.id, what, node)
            for bound in ("name", "rest"):  # except ... as name; case [*name]; case {**rest}
                if isinstance(getattr(node, bound, None), str):
                    self.bind(getattr(node, bound), what, node)
            stack.extend(ast.iter_child_nodes(node))
