"""What the body of a function may contain: the part that kernels and host functions share.

Anything that has no rule is refused, so a new Python syntax is refused until somebody thinks about
it. The first thing refused, in the order of the text, becomes a :class:`SourceRefused`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from autograder.source import advice, catalog, constants
from autograder.source.advice import short
from autograder.source.cells import Unit
from autograder.source.model import SourceRefused
from autograder.source.values import (
    MAX_BITS,
    Constant,
    Foreign,
    Function,
    Member,
    Module,
    Value,
    named,
)


@dataclass
class Uses:
    """What a function names outside itself: ``names`` in order of first use; ``numba_cuda`` is True
    when it reaches ``numba.cuda`` through the module ``numba``; ``device`` when it is a device function."""

    names: dict[str, Value] = field(default_factory=dict)
    numba_cuda: bool = False
    device: bool = False


@dataclass(frozen=True)
class Surroundings:
    """Where a function's free names come from. ``lookup(name)`` gives a value or None; ``known()`` lists
    names to suggest."""

    lookup: Callable[[str], Value | None]
    known: Callable[[], list[str]]


class Rules:
    """Walks one function. Subclasses add ``expr_*`` and ``stmt_*`` methods and the words."""

    where = ""  # "inside a GPU kernel"
    host = False
    refused: Mapping[str, tuple[str, str]] = MappingProxyType({})  # node class -> sentence with {where}, hint

    def __init__(self, unit: Unit, surroundings: Surroundings) -> None:
        self.unit = unit
        self.surroundings = surroundings
        self.uses = Uses()
        if unit.problem is not None or unit.node is None:
            sentence, line, hint = unit.problem or (f"`{unit.name}` cannot be read", unit.first, "")
            raise SourceRefused(sentence, line=line, hint=hint, label=unit.label)
        self.node = unit.node
        self.locals: set[str] = set()  # decorators, annotations and defaults are read outside the function

    def refuse(self, node: ast.AST, sentence: str, hint: str = "") -> SourceRefused:
        line = self.unit.line(getattr(node, "lineno", 1))
        return SourceRefused(sentence.replace("{where}", self.where), line=line, hint=hint, label=self.unit.label)

    # names
    def own_names(self) -> set[str]:
        """Names that are local to the function, its parameters included."""
        arguments = self.node.args
        found = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        stack: list[ast.AST] = list(self.node.body)
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.add(node.id)
            if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                continue  # its variable is its own
            stack.extend(ast.iter_child_nodes(node))
        return found

    def value_of(self, node: ast.Name) -> Value:
        """What a free name stands for; it is noted as used. Refuses an undefined one."""
        name = node.id
        self.reserved(node, name)
        value = self.surroundings.lookup(name)
        if value is None:
            if self.is_builtin(name):
                return Member(f"builtins.{name}")
            known = [*self.locals, *self.surroundings.known()]
            raise self.refuse(node, *advice.undefined(name, known, self.host))
        if isinstance(value, Foreign):
            raise self.refuse(node, f"`{name}` {value.what}", value.hint)
        self.uses.names.setdefault(name, value)
        return value

    def is_builtin(self, name: str) -> bool:
        return f"builtins.{name}" in catalog.ALLOWED

    def reserved(self, node: ast.AST, name: str) -> None:
        if name.startswith("__"):
            raise self.refuse(node, f"`{name}` cannot be used: names that begin with two underscores are reserved")

    def reach(self, node: ast.expr) -> Value | None:
        """The value of a free name or of a dotted path below a module; None for any other expression."""
        if isinstance(node, ast.Name):
            return None if node.id in self.locals else self.value_of(node)
        if isinstance(node, ast.Attribute):
            base = self.reach(node.value)
            if isinstance(base, Module) or (isinstance(base, Member) and base.use == catalog.NAMESPACE):
                value = named(f"{base.path}.{node.attr}")
                self.reached(node, base, value)
                return value
        return None

    def reached(self, node: ast.Attribute, base: Module | Member, value: Value) -> None:
        """Refuses a member that may not be used; notes ``numba.cuda``."""
        if isinstance(value, Module):
            self.uses.numba_cuda |= base.path == "numba" and value.path == "numba.cuda"
        elif isinstance(value, Member) and value.use is None:
            raise self.refuse(node, *advice.unavailable(value.path, self.host))

    def peek(self, node: ast.expr) -> Value | None:
        """As :meth:`reach`, but nothing is refused or noted."""
        if isinstance(node, ast.Name):
            return self.surroundings.lookup(node.id)
        base = self.peek(node.value) if isinstance(node, ast.Attribute) else None
        return named(f"{base.path}.{node.attr}") if isinstance(base, Module) else None

    # the signature of the def
    def whole(self) -> Uses:
        """Parameters and body, after the decorators."""
        unwritten(self.unit)
        self.reserved(self.node, self.node.name)
        self.parameters()
        self.locals = self.own_names()
        self.body(self.node.body)
        return self.uses

    def parameters(self) -> None:
        """Plain positional parameters only; defaults as :meth:`default` allows."""
        arguments = self.node.args
        if arguments.vararg or arguments.kwarg:
            raise self.refuse(self.node, f"`{self.node.name}` takes `*` parameters", "name every parameter")
        if arguments.kwonlyargs:
            raise self.refuse(self.node, f"`{self.node.name}` has keyword-only parameters", "take the `*` out")
        if getattr(self.node, "type_params", None):
            raise self.refuse(
                self.node, f"`{self.node.name}` has type parameters", "take the `[...]` after the name out"
            )
        for argument in (*arguments.posonlyargs, *arguments.args):
            self.reserved(argument, argument.arg)
            self.annotation(argument.annotation)
        self.annotation(self.node.returns)
        for default in arguments.defaults:
            self.default(default)

    def annotation(self, node: ast.expr | None) -> None:
        """An annotation of a parameter is evaluated when the function is made, so it is checked too."""
        if node is None or (isinstance(node, ast.Constant) and (node.value is None or type(node.value) is str)):
            return
        value = self.reach(node) if isinstance(node, ast.Name) else None
        if not (isinstance(value, Member) and value.use == catalog.TYPE):
            raise self.refuse(node, f"the annotation `{short(node)}` is not available {{where}}", "leave it out")

    def default(self, node: ast.expr) -> None:
        raise self.refuse(node, "a parameter cannot have a default value {where}", "write the value in the body")

    # statements
    def body(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        self.dispatch("stmt_", node)

    def dispatch(self, prefix: str, node: ast.AST) -> None:
        kind = type(node).__name__
        handler: Callable[[Any], None] | None = getattr(self, prefix + kind, None)
        if handler is None:
            sentence, hint = self.refused.get(kind, (f"`{short(node)}` is not available {{where}}", ""))
            raise self.refuse(node, sentence, hint)
        handler(node)

    def stmt_Pass(self, node: ast.stmt) -> None:
        pass

    stmt_Break = stmt_Continue = stmt_Pass

    def stmt_Expr(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and (type(value.value) is str or value.value is ...):
            return  # a docstring, or `...`
        self.expr(value)

    def stmt_Assign(self, node: ast.Assign) -> None:
        self.expr(node.value)
        for target in node.targets:
            self.target(target)

    def stmt_AugAssign(self, node: ast.AugAssign) -> None:
        self.operator(node, node.op)
        self.expr(node.value)
        self.target(node.target)

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.refuse(node, "only a plain variable can have an annotation {where}", "leave it out")
        if node.value is not None:
            self.expr(node.value)
        self.target(node.target)
        for part in ast.walk(node.annotation):  # never evaluated for a local variable
            if not isinstance(part, (ast.Name, ast.Attribute, ast.Constant, ast.Load, ast.Subscript)):
                raise self.refuse(
                    node, f"the annotation `{short(node.annotation)}` is not available {{where}}", "leave it out"
                )

    def target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name):
            self.reserved(node, node.id)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for element in node.elts:
                self.target(element)
        elif isinstance(node, ast.Starred):
            raise self.refuse(node, "`*` cannot be used in an assignment {where}", "name every variable")
        elif isinstance(node, ast.Attribute):
            raise self.refuse(
                node, f"`{short(node)}` cannot be set {{where}}", "only variables and array elements can be"
            )
        else:
            self.store(node)

    def store(self, node: ast.expr) -> None:
        raise self.refuse(node, f"`{short(node)}` cannot be set {{where}}", "use a plain variable")

    def stmt_If(self, node: ast.If) -> None:
        self.expr(node.test)
        self.body(node.body)
        self.body(node.orelse)

    stmt_While = stmt_If  # type: ignore[assignment]  # the same three fields

    def stmt_For(self, node: ast.For) -> None:
        self.iterable(node.iter)
        self.target(node.target)
        self.body(node.body)
        self.body(node.orelse)

    def iterable(self, node: ast.expr) -> None:
        """A loop runs over ``range(...)`` or a tuple."""
        if isinstance(node, ast.Call) and self.reach(node.func) == Member("builtins.range"):
            self.arguments(node)
            if not 1 <= len(node.args) <= 3:
                raise self.refuse(node, "range takes one, two or three numbers")
            return
        value = self.reach(node) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Tuple) or (isinstance(value, Constant) and type(value.value) is tuple):
            self.expr(node)
            return
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            self.expr(node)  # refuse what is wrong inside it first
        raise self.refuse(node, f"a loop cannot run over `{short(node)}` {{where}}", "loop over range(...)")

    def arguments(self, node: ast.Call, keywords: bool = False) -> None:
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self.refuse(argument, "`*` cannot be used in a call {where}", "write every argument")
            self.expr(argument)
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse(node, "`**` cannot be used in a call {where}", "write every argument")
            if not keywords or keyword.arg.startswith("_"):
                raise self.refuse(
                    node,
                    f"`{short(node.func)}` takes no argument `{keyword.arg}=` {{where}}",
                    "pass it by position" if not keywords else "",
                )
            self.expr(keyword.value)

    # expressions
    def expr(self, node: ast.expr) -> None:
        self.dispatch("expr_", node)

    def expr_Name(self, node: ast.Name) -> None:
        self.reserved(node, node.id)
        if node.id not in self.locals:
            self.as_value(node, self.value_of(node))

    def as_value(self, node: ast.expr, value: Value) -> None:
        """Refuses what has no value of its own: a module, a function that is not called."""
        text = short(node)
        if isinstance(value, Function) or (
            isinstance(value, Member) and value.use in (catalog.FUNCTION, catalog.DECORATOR)
        ):
            raise self.refuse(node, f"`{text}` is named but not called", f"write `{text}(...)`")
        if isinstance(value, Module) or (isinstance(value, Member) and value.use == catalog.NAMESPACE):
            raise self.refuse(node, f"`{text}` is not a value", f"write `{text}.` and the name of what you need")
        if isinstance(value, Member) and value.use is None:
            raise self.refuse(node, *advice.unavailable(value.path, self.host))

    def expr_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if type(value) is int and value.bit_length() > MAX_BITS:
            raise self.refuse(node, f"the number is too large: whole numbers have at most {MAX_BITS} bits here")
        if type(value) in (int, float, bool) or value is None:
            return
        what = {str: "text", bytes: "a bytes text", complex: "a complex number"}.get(type(value), "`...`")
        self.odd_constant(node, what)

    def odd_constant(self, node: ast.Constant, what: str) -> None:
        raise self.refuse(node, f"{what} cannot be used here")

    def expr_Tuple(self, node: ast.Tuple) -> None:
        for element in node.elts:
            self.expr(element)

    def expr_BoolOp(self, node: ast.BoolOp) -> None:
        for value in node.values:
            self.expr(value)

    def expr_BinOp(self, node: ast.BinOp) -> None:
        self.operator(node, node.op)
        for side in (node.left, node.right):
            self.expr(side)
            if isinstance(side, ast.Tuple):
                raise self.refuse(node, "a tuple cannot be added or multiplied {where}", "work on single numbers")
        if isinstance(node.op, (ast.Pow, ast.LShift, ast.Mult)) and constants.too_large(node, MAX_BITS):
            raise self.refuse(node, f"`{short(node)}` is too large: whole numbers have at most {MAX_BITS} bits here")

    def operator(self, node: ast.AST, operation: ast.operator) -> None:
        if isinstance(operation, ast.MatMult):
            raise self.refuse(node, "the matrix product `@` is not available {where}", "write the loop")

    def expr_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.expr(node.operand)

    def expr_IfExp(self, node: ast.IfExp) -> None:
        for part in (node.test, node.body, node.orelse):
            self.expr(part)

    def expr_Compare(self, node: ast.Compare) -> None:
        self.expr(node.left)
        for operation, side in zip(node.ops, node.comparators, strict=True):
            if isinstance(operation, (ast.In, ast.NotIn)) and not isinstance(side, ast.Tuple):
                raise self.refuse(node, "`in` needs a tuple written out {where}", "compare in a loop")
            self.expr(side)

    def expr_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.expr(node.value)
        self.target(node.target)


def is_empty(node: ast.FunctionDef) -> bool:
    """True for a body that does nothing: a docstring, ``pass``, ``...`` or a bare ``return``."""
    return all(
        isinstance(s, ast.Pass)
        or (isinstance(s, ast.Return) and s.value is None)
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in node.body
    )


def unwritten(unit: Unit) -> None:
    """Raises SourceRefused (``untouched``) when a function is still the stub that was handed out."""
    node = unit.node
    if node is None:
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Raise) and part.exc is not None:
            raised = part.exc.func if isinstance(part.exc, ast.Call) else part.exc
            if isinstance(raised, ast.Name) and raised.id == "NotImplementedError":
                line = unit.line(part.lineno)
                raise SourceRefused(
                    f"`{unit.name}` is not written yet: line {line} still raises NotImplementedError",
                    line=line,
                    label=unit.label,
                    untouched=True,
                )
    if is_empty(node):
        raise SourceRefused(
            f"`{unit.name}` is not written yet: its body does nothing",
            line=unit.line(node.lineno),
            label=unit.label,
            untouched=True,
        )
