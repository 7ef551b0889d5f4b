"""Types of the expressions of a kernel, inferred from the types of its arguments as numba does.

``Inference(function, parameters, ask).run(definition)`` walks the syntax tree and leaves at each expression its
``typed`` kind (kinds.Kind, or None where it is not known), at a call of a builtin its ``plan`` (signatures.Plan), at a
call of a device function its ``target``, and at statements where two paths meet with a variable in two types the
``casts`` that bring it to one. numba gives each assignment its own type and unifies where paths meet, so this is
done by following the program: a branch's variables are joined after it, a loop's until nothing changes. Operations
and indices that numba's types do not have are refused with a sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from autograder.simulator import kinds
from autograder.simulator.expressions import Expressions, refuse
from autograder.simulator.kinds import Kind

Env = dict[str, "Kind | None"]
Casts = list[tuple[str, "str | tuple[str, ...]"]]  # variable, and the type or a tuple's types that it is brought to
_ROUNDS = 8  # a loop's variables settle sooner; what has not is left unknown


class Inference(Expressions):
    """One function. ``returns`` is the kind of what it returns, after ``run``."""

    def __init__(self, function: FunctionType, parameters: dict[str, Kind | None], local: set[str],
                 ask: Callable[[FunctionType, Sequence[Kind | None]], tuple[FunctionType, Kind | None]]) -> None:
        super().__init__(function, local, ask)
        self.env: Env | None = dict(parameters)
        self.leaving: list[tuple[list[tuple[ast.stmt, Env]], list[tuple[ast.stmt, Env]]]] = []
        self.results: list[tuple[ast.Return, Kind | None]] = []
        self.returns: Kind | None = None
        self.hidden: set[str] = set()

    def run(self, node: ast.FunctionDef) -> None:
        for part in ast.walk(node):
            if isinstance(part, (ast.Nonlocal, ast.Global)):
                self.hidden |= set(part.names)
        self.block(node.body)
        final: dict[int, tuple[ast.Return, Kind | None]] = {id(n): (n, k) for n, k in self.results}
        found = list(final.values())
        joined = [k for _, k in found]
        if self.env is not None:
            joined.append(kinds.NONE)
        self.returns = joined[0] if joined else kinds.NONE
        for kind in joined[1:]:
            self.returns = kinds.unify(self.returns, kind)
        for statement, kind in found:
            statement.cast = _cast(kind, self.returns)

    # statements
    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if self.env is None:
                return  # never reached: numba does not look at it either
            getattr(self, f"do_{type(statement).__name__}", self.do_other)(statement)

    def do_other(self, node: ast.stmt) -> None:
        """A statement without rules of its own: whatever it assigns is unknown afterwards."""
        stored = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        for name in (*stored, getattr(node, "name", None)):
            if isinstance(name, str):
                self.set(name, None)

    def do_Pass(self, node: ast.stmt) -> None:
        return

    def do_Expr(self, node: ast.Expr) -> None:
        self.kind(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        value = self.kind(node.value)
        for target in node.targets:
            self.assign(target, value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.kind(node.value))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        old = self.loaded(node.target)
        value = self.kind(node.value)
        if isinstance(node.op, ast.Div) and old is not None and value is not None and old.whole and value.whole:
            target = ast.unparse(node.target)
            raise refuse(node, f"`{ast.unparse(node)}` divides an integer in place, which numba-cuda cannot compile; "
                               f"write `{target} = {target} / {ast.unparse(node.value)}`, a float64, or use `//=`")
        node.old, node.typed = old, self.binary(node, node.op, old, value)
        self.assign(node.target, node.typed)

    def assign(self, target: ast.expr, value: Kind | None) -> None:
        if isinstance(target, ast.Name):
            self.set(target.id, value)
        elif isinstance(target, ast.Subscript):
            self.stored(target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items: Sequence[Kind | None] = (
                value.items if value is not None and value.name == "tuple" and len(value.items) == len(target.elts)
                else [kinds.element_of(value)] * len(target.elts))
            for part, kind in zip(target.elts, items):
                self.assign(part, kind)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, None)

    def set(self, name: str, value: Kind | None) -> None:
        if self.env is not None:
            self.env[name] = None if name in self.hidden else value

    def do_Return(self, node: ast.Return) -> None:
        self.results.append((node, kinds.NONE if node.value is None else self.kind(node.value)))
        self.env = None

    def do_Raise(self, node: ast.Raise) -> None:
        self.env = None

    def do_Break(self, node: ast.Break) -> None:
        if self.leaving and self.env is not None:
            self.leaving[-1][0].append((node, dict(self.env)))
        self.env = None

    def do_Continue(self, node: ast.Continue) -> None:
        if self.leaving and self.env is not None:
            self.leaving[-1][1].append((node, dict(self.env)))
        self.env = None

    def do_If(self, node: ast.If) -> None:
        self.kind(node.test)
        before = dict(self.env or {})
        self.env = dict(before)
        self.block(node.body)
        first = self.env
        self.env = before
        self.block(node.orelse)
        second = self.env
        self.env = _join([first, second])
        node.casts = (_casts(first, self.env), _casts(second, self.env))

    def do_While(self, node: ast.While) -> None:
        self.loop(node, lambda: self.kind(node.test))

    def do_For(self, node: ast.For) -> None:
        kind = self.kind(node.iter)
        if kind is not None and kind.name == "tuple" and len({k.name for k in kind.items if k is not None}) > 1:
            raise refuse(node, f"`{ast.unparse(node.iter)}` has parts of several types; a loop on a GPU needs them to "
                               "be of one type: convert them first")
        element = kinds.element_of(kind)
        self.loop(node, lambda: self.assign(node.target, element))

    def loop(self, node: ast.While | ast.For, begin: Callable[[], Any]) -> None:
        """``begin`` is what happens at the head of each round: the test, or the assignment of the loop variable."""
        entry = dict(self.env or {})
        head: Env = dict(entry)
        grown: set[str] = set()
        for number in range(_ROUNDS):
            self.env = dict(head)
            breaks: list[tuple[ast.stmt, Env]] = []
            again: list[tuple[ast.stmt, Env]] = []
            self.leaving.append((breaks, again))
            begin()
            self.block(node.body)
            self.leaving.pop()
            back = self.env
            joined = _join([head, back, *(e for _, e in again)])
            assert joined is not None
            _widen(head, joined, grown, node)
            if joined == head:
                break
            head = {n: None if number == _ROUNDS - 2 and head.get(n) != k else k for n, k in joined.items()}
        node.entry_casts, node.back_casts = _casts(entry, head), _casts(back, head)
        for statement, env in again:
            statement.casts = _casts(env, head)
        self.env = dict(head)
        if isinstance(node, ast.While):
            self.kind(node.test)
            if isinstance(node.test, ast.Constant) and node.test.value:
                self.env = None
        self.block(node.orelse)
        ended = self.env
        self.env = _join([ended, *(e for _, e in breaks)])
        node.end_casts = _casts(ended, self.env)
        for statement, env in breaks:
            statement.casts = _casts(env, self.env)


def _join(envs: Sequence[Env | None]) -> Env | None:
    """What holds where several paths meet; None where none of them arrives."""
    arriving = [e for e in envs if e is not None]
    if not arriving:
        return None
    made = dict(arriving[0])
    for env in arriving[1:]:
        for name, kind in env.items():
            made[name] = kinds.unify(made[name], kind) if name in made else kind
    return made


def _cast(before: Kind | None, after: Kind | None) -> str | tuple[str, ...] | None:
    if before is None or after is None or before == after:
        return None
    if before.scalar and after.scalar:
        return after.name if kinds.carrier(before.name) != kinds.carrier(after.name) else None
    if before.name == after.name == "tuple":
        parts = tuple(_cast(b, a) for b, a in zip(before.items, after.items))
        if any(parts) and not any(isinstance(p, tuple) for p in parts):
            return tuple(str(p or "") for p in parts)
    return None


def _casts(before: Env | None, after: Env | None) -> Casts:
    if before is None or after is None:
        return []
    made = ((n, _cast(before[n], kind)) for n, kind in after.items() if n in before)
    return [(n, c) for n, c in made if c is not None]


def _widen(head: Env, joined: Env, grown: set[str], node: ast.While | ast.For) -> None:
    """Whole numbers that grow from round to round: by small steps, fewer than 2**31 of them, or without bounds."""
    for name, kind in joined.items():
        old = head.get(name)
        if kind is None or old is None or not kind.whole or kind.bits <= old.bits:
            continue
        linear = _adds_small_steps(name, node)
        if name in grown and linear and kind.name == old.name:
            joined[name] = old
        else:
            joined[name] = kinds.number(kind.name, max(old.bits, 31) + 31 if linear else 64)
            grown.add(name)


def _adds_small_steps(name: str, node: ast.While | ast.For) -> bool:
    def small(value: ast.expr) -> bool:
        kind = getattr(value, "typed", None)
        inside = any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))
        return kind is not None and kind.whole and kind.bits <= 31 and not inside

    for part in ast.walk(node):
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name) and part.target.id == name:
            if not isinstance(part.op, (ast.Add, ast.Sub)) or not small(part.value):
                return False
        elif isinstance(part, ast.Assign) and any(
                isinstance(n, ast.Name) and n.id == name for t in part.targets for n in ast.walk(t)):
            value = part.value
            step = (isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub))
                    and isinstance(value.left, ast.Name) and value.left.id == name and small(value.right))
            if not step and not small(value):
                return False
    return True
