"""Work out a host function step by step, with a bound on steps and on the size of numbers.

The function's text is interpreted, never run, so an endless loop or a giant number ends as a sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.source import bounded
from autograder.source import scope as scopes
from autograder.source.advice import short
from autograder.source.bounded import FUNCTIONS
from autograder.source.cells import MAX_FILE, make_cell
from autograder.source.gather import gather_text
from autograder.source.model import KernelSource
from autograder.source.values import Constant, Function, Member, Module, Value, named

STEP_LIMIT = 2_000_000
_MAX_TUPLE = 1024  # values in a tuple and in its tuples


@dataclass(frozen=True)
class HostPlace:
    """Where a host function stopped: ``line`` counts in ``KernelSource.text``, from 1."""

    line: int


class HostError(RuntimeError):
    """A host function has no value for some arguments.

    ``sentence`` (also ``str()``) says why, without the place; ``line`` is the student's line (None when
    unknown) and ``label`` the student's cell or file; ``place`` has the line of the text, as the
    simulator's errors have.
    """

    def __init__(self, sentence: str, line: int | None = None, label: str = "", place: HostPlace | None = None) -> None:
        self.sentence = sentence
        self.line = line or None
        self.label = label
        self.place = place
        super().__init__(sentence)


class HostStepLimit(HostError):
    """A host function takes more steps than allowed: an endless or a very long loop."""


def run_host(source: KernelSource, args: Sequence[int | float | bool | str], step_limit: int = STEP_LIMIT) -> Any:
    """The value that the host function gives for ``args``: a number, a string, a bool, a tuple or None.

    At most ``step_limit`` expressions and statements are worked out, and whole numbers stay below 1,024
    bits. Raises HostError (HostStepLimit for too many steps) with a sentence, SourceRefused when the
    text is not a host function, and ValueError when ``source`` is a kernel.
    """
    return next(run_host_over(source, [args], step_limit))


def run_host_over(
    source: KernelSource, calls: Iterable[Sequence[int | float | bool | str]], step_limit: int = STEP_LIMIT
) -> Iterator[Any]:
    """:func:`run_host` for many calls, one value each, with ``step_limit`` for all of them together."""
    if source.kind != "host":
        raise ValueError(f"{source.name} is a {source.kind} function, not a host function")
    gather_text(source.text, source.name, "host")
    cell = make_cell(source.text, "", limit=MAX_FILE)
    machine = _Machine(source, scopes.read([cell], main=False), step_limit)
    function = machine.scope.get(source.name)
    assert isinstance(function, Function)
    for args in calls:
        given = [arg.item() if isinstance(arg, np.generic) else arg for arg in args]  # no silent 64-bit overflow
        try:
            value = machine.call(function, given, {}, None)
        except RecursionError:
            raise HostError("the expressions are nested too deeply") from None
        yield value


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


@dataclass
class _Frame:
    """The variables of one call; ``own`` are the names that the function assigns somewhere."""

    function: Function
    own: frozenset[str]
    variables: dict[str, Any] = field(default_factory=dict)


class _Machine:
    def __init__(self, source: KernelSource, scope: scopes.Scope, step_limit: int) -> None:
        self.source = source
        self.scope = scope
        self.steps_left = step_limit
        self.step_limit = step_limit

    def error(
        self, frame: _Frame | None, node: ast.AST | None, sentence: str, kind: type[HostError] = HostError
    ) -> HostError:
        line = 0
        if frame is not None and node is not None:
            line = frame.function.unit.line(getattr(node, "lineno", 1))
        place = HostPlace(line) if line else None
        return kind(sentence, self.source.user_line(line), self.source.user_label(line), place)

    def step(self, frame: _Frame, node: ast.AST) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise self.error(
                frame,
                node,
                f"stopped after {self.step_limit:,} steps; does the loop end, and can it be written as a formula?",
                HostStepLimit,
            )

    # calls
    def call(
        self, function: Function, args: list[Any], keywords: dict[str, Any], at: tuple[_Frame, ast.AST] | None
    ) -> Any:
        node = function.unit.node
        assert node is not None
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        frame = _Frame(function, frozenset(names) | _assigned(node))
        given = dict(zip(names, args, strict=False)) | keywords
        defaults = dict(zip(names[len(names) - len(node.args.defaults) :], node.args.defaults, strict=True))
        missing = [n for n in names if n not in given and n not in defaults]
        if len(args) > len(names) or missing or set(given) - set(names) or (set(names[: len(args)]) & set(keywords)):
            takes = f"{len(names)} argument{'s' * (len(names) != 1)}"
            count = len(args) + len(keywords)
            where = at if at is not None else (frame, node)
            raise self.error(
                *where, f"`{node.name}` takes {takes}, and {count} {'was' if count == 1 else 'were'} given"
            )
        for name in names:
            frame.variables[name] = given[name] if name in given else self.value(frame, defaults[name])
        try:
            self.block(frame, node.body)
        except _Return as result:
            return result.value
        return None

    # statements
    def block(self, frame: _Frame, body: list[ast.stmt]) -> None:
        for node in body:
            self.step(frame, node)
            self.statement(frame, node)

    def statement(self, frame: _Frame, node: ast.stmt) -> None:
        if isinstance(node, ast.Return):
            raise _Return(None if node.value is None else self.value(frame, node.value))
        if isinstance(node, ast.Assign):
            value = self.value(frame, node.value)
            for target in node.targets:
                self.assign(frame, target, value)
        elif isinstance(node, ast.AugAssign):
            assert isinstance(node.target, ast.Name)
            left = self.name(frame, node.target)
            right = self.value(frame, node.value)
            frame.variables[node.target.id] = self.guard(
                frame, node, lambda: bounded.binary(type(node.op), left, right)
            )
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(frame, node.target, self.value(frame, node.value))
        elif isinstance(node, ast.If):
            self.block(frame, node.body if self.value(frame, node.test) else node.orelse)
        elif isinstance(node, (ast.For, ast.While)):
            self.loop(frame, node)
        elif isinstance(node, ast.Expr):
            self.value(frame, node.value)
        elif isinstance(node, ast.Break):
            raise _Break
        elif isinstance(node, ast.Continue):
            raise _Continue
        elif isinstance(node, ast.Assert) and not self.value(frame, node.test):
            raise self.error(frame, node, f"`assert {short(node.test)}` does not hold")

    def loop(self, frame: _Frame, node: ast.For | ast.While) -> None:
        for _ in self.rounds(frame, node):
            try:
                self.block(frame, node.body)
            except _Continue:
                continue
            except _Break:
                return
        self.block(frame, node.orelse)

    def rounds(self, frame: _Frame, node: ast.For | ast.While) -> Iterator[None]:
        if isinstance(node, ast.While):
            while self.value(frame, node.test):
                self.step(frame, node)
                yield
        else:
            for item in self.items(frame, node.iter):
                self.step(frame, node)
                self.assign(frame, node.target, item)
                yield

    def items(self, frame: _Frame, node: ast.expr) -> Any:
        """What a loop runs over: a range, which is never written out, or a tuple."""
        if isinstance(node, ast.Call) and self.reach(frame, node.func) == Member("builtins.range"):
            ends = [self.value(frame, argument) for argument in node.args]
            if not all(type(end) in (int, bool) for end in ends):
                raise self.error(frame, node, "range takes whole numbers; write n // 2 or int(...)")
            return self.guard(frame, node, lambda: range(*ends))
        value = self.value(frame, node)
        if type(value) is not tuple:
            raise self.error(frame, node, f"a loop cannot run over `{short(node)}`")
        return value

    def assign(self, frame: _Frame, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            frame.variables[target.id] = value
            return
        assert isinstance(target, (ast.Tuple, ast.List))
        if type(value) is not tuple or len(value) != len(target.elts):
            raise self.error(frame, target, f"{len(target.elts)} values are wanted here")
        for element, item in zip(target.elts, value, strict=True):
            self.assign(frame, element, item)

    # expressions
    def guard(self, frame: _Frame, node: ast.AST, work: Any) -> Any:
        try:
            return work()
        except HostError:
            raise
        except bounded.ERRORS as error:
            raise self.error(frame, node, f"`{short(node)}`: {bounded.sentence(error)}") from None

    def reach(self, frame: _Frame, node: ast.expr) -> Value | None:
        if isinstance(node, ast.Name) and node.id not in frame.own:
            return self.scope.get(node.id) or Member(f"builtins.{node.id}")
        if isinstance(node, ast.Attribute):
            base = self.reach(frame, node.value)
            return named(f"{base.path}.{node.attr}") if isinstance(base, Module) else None
        return None

    def name(self, frame: _Frame, node: ast.Name) -> Any:
        if node.id in frame.variables:
            return frame.variables[node.id]
        value = self.reach(frame, node)
        if isinstance(value, Constant):
            return value.value
        raise self.error(frame, node, f"`{node.id}` has no value yet; set it before the `if` or the loop")

    def value(self, frame: _Frame, node: ast.expr) -> Any:
        self.step(frame, node)
        return getattr(self, f"_{type(node).__name__}")(frame, node)

    def _Constant(self, frame: _Frame, node: ast.Constant) -> Any:
        return node.value

    def _Name(self, frame: _Frame, node: ast.Name) -> Any:
        return self.name(frame, node)

    def _Attribute(self, frame: _Frame, node: ast.Attribute) -> Any:
        value = self.reach(frame, node)
        assert isinstance(value, Constant)
        return value.value

    def _Tuple(self, frame: _Frame, node: ast.Tuple) -> Any:
        made = tuple(self.value(frame, element) for element in node.elts)
        if bounded.leaves(made, _MAX_TUPLE) > _MAX_TUPLE:
            raise self.error(frame, node, f"the tuple holds more than {_MAX_TUPLE:,} values")
        return made

    def _BinOp(self, frame: _Frame, node: ast.BinOp) -> Any:
        left, right = self.value(frame, node.left), self.value(frame, node.right)
        return self.guard(frame, node, lambda: bounded.binary(type(node.op), left, right))

    def _UnaryOp(self, frame: _Frame, node: ast.UnaryOp) -> Any:
        value = self.value(frame, node.operand)
        return self.guard(frame, node, lambda: bounded.unary(type(node.op), value))

    def _BoolOp(self, frame: _Frame, node: ast.BoolOp) -> Any:
        value = None
        for part in node.values:
            value = self.value(frame, part)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _Compare(self, frame: _Frame, node: ast.Compare) -> bool:
        left = self.value(frame, node.left)
        for operation, side in zip(node.ops, node.comparators, strict=True):
            right = self.value(frame, side)
            if not self.guard(frame, node, lambda o=operation, a=left, b=right: bounded.compare(type(o), a, b)):
                return False
            left = right
        return True

    def _IfExp(self, frame: _Frame, node: ast.IfExp) -> Any:
        return self.value(frame, node.body if self.value(frame, node.test) else node.orelse)

    def _NamedExpr(self, frame: _Frame, node: ast.NamedExpr) -> Any:
        value = self.value(frame, node.value)
        self.assign(frame, node.target, value)
        return value

    def _Subscript(self, frame: _Frame, node: ast.Subscript) -> Any:
        base, index = self.value(frame, node.value), self.value(frame, node.slice)
        if type(base) is not tuple or type(index) not in (int, bool):
            raise self.error(frame, node, f"`{short(node)}`: only a tuple has elements, counted in whole numbers")
        return self.guard(frame, node, lambda: base[index])

    def _Call(self, frame: _Frame, node: ast.Call) -> Any:
        function = self.reach(frame, node.func)
        if len(node.args) == 1 and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
            args: list[Any] = [self.comprehended(frame, node.args[0])]
        else:
            args = [self.value(frame, argument) for argument in node.args]
        keywords = {k.arg: self.value(frame, k.value) for k in node.keywords if k.arg is not None}
        if isinstance(function, Function):
            return self.call(function, args, keywords, (frame, node))
        assert isinstance(function, Member)
        if function.path == "builtins.print":
            return None
        return self.guard(frame, node, lambda: FUNCTIONS[function.path](*args))

    def comprehended(self, frame: _Frame, node: ast.GeneratorExp | ast.ListComp) -> Iterator[Any]:
        """The values of ``expression for i in range(n)``, one at a time."""
        inner = _Frame(
            frame.function,
            frame.own | {n.id for loop in node.generators for n in ast.walk(loop.target) if isinstance(n, ast.Name)},
            dict(frame.variables),
        )

        def level(depth: int) -> Iterator[Any]:
            if depth == len(node.generators):
                yield self.value(inner, node.elt)
                return
            loop = node.generators[depth]
            for item in self.items(inner, loop.iter):
                self.step(inner, node)
                self.assign(inner, loop.target, item)
                if all(self.value(inner, test) for test in loop.ifs):
                    yield from level(depth + 1)

        return level(0)


def _assigned(node: ast.FunctionDef) -> frozenset[str]:
    """Names that a function assigns outside comprehensions: local, as in Python."""
    found: set[str] = set()
    stack: list[ast.AST] = list(node.body)
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        if not isinstance(part, (ast.ListComp, ast.GeneratorExp)):
            stack.extend(ast.iter_child_nodes(part))
    return frozenset(found)
