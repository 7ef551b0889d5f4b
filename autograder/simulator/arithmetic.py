"""The rewriter's part that makes operators, constants and calls of builtins compute as a GPU does."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.simulator import kinds, names, values
from autograder.simulator.building import Builder
from autograder.simulator.expressions import OPERATORS
from autograder.simulator.gpumath import f64
from autograder.simulator.kinds import Kind

_RING = ("+", "-", "*", "&", "|", "^")  # what Python's integers do as a register does, as long as the result fits
_LABELS = {"//": "floor_divide", "%": "modulo", "**": "power", "<<": "shift_left", ">>": "shift_right", "+": "add",
           "-": "subtract", "*": "multiply", "&": "and", "|": "or", "^": "xor"}


@dataclass(frozen=True)
class Side:
    """An operand: as rewritten, as it stood in the source (None where it stood nowhere), and its kind."""

    made: ast.expr
    original: ast.expr | None
    kind: Kind | None


def kind_of(node: ast.AST) -> Kind | None:
    """What ``inference`` has found for an expression; None where it was not looked at."""
    return getattr(node, "typed", None)


class Arithmetic(Builder):
    """Visits expressions that ``inference`` has annotated with their kinds; what has none is computed dynamically."""

    def side(self, node: ast.expr) -> Side:
        kind = kind_of(node)
        return Side(self.visit(node), node, kind)

    # constants
    def constant_of(self, node: ast.expr | None) -> tuple[bool, Any]:
        if node is None:
            return False, None
        known, value = names.constant(self.function, self.locals, node)
        if known:
            for part in ast.walk(node):
                if isinstance(part, ast.Attribute):
                    self.resolve(part)  # notes what the chain stood for
        return known, value

    def number(self, value: Any, at: ast.AST) -> ast.expr:
        """A constant as a register holds it."""
        if type(value) in (int, bool):
            return self.place(ast.Constant(value), at)
        return self.place(self.bind(f"k_{type(value).__name__}_{_identifier(value)}", value), at)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self.number(names.in_register(node.value), node) if type(node.value) in (float, complex) else node

    # conversions
    def converted(self, side: Side, name: str, at: ast.AST) -> ast.expr:
        """An operand turned into the type ``name``, at once where it is a constant."""
        kind = side.kind
        if kind is not None and kind.name == name:
            return side.made
        known, value = self.constant_of(side.original)
        if known:
            with np.errstate(all="ignore"):
                return self.number(values.CONVERT[name](value), at)
        if kind is not None and kind.name in kinds.SIGNED and name in kinds.SIGNED and kind.bits < kinds.SIGNED[name]:
            return side.made
        if kind is not None and name == "float64" and kind.scalar and kind.name not in kinds.COMPLEX:
            return self.call(self.bind("float64", f64), [side.made], at)
        return self.as_type(side.made, name, at)

    def as_type(self, made: ast.expr, to: str | tuple[str, ...], at: ast.AST) -> ast.expr:
        """A value, or a tuple's parts, turned into a type."""
        if isinstance(to, tuple):
            return self.call(self.bind(f"to_{'_'.join(to)}", values.as_common(to)), [made], at)
        return self.call(self.bind(f"to_{to}", values.CONVERT[to]), [made], at)

    def casts(self, found: Sequence[tuple[str, Any]], at: ast.AST) -> list[ast.stmt]:
        """Statements that bring variables to the type they have where two paths meet."""
        made = []
        for name, to in found:
            value = self.as_type(ast.Name(name, ast.Load()), to, at)
            made.append(self.place(ast.Assign([ast.Name(name, ast.Store())], value), at))
        return made

    # operators
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self.binary(node, node.op, self.side(node.left), self.side(node.right))

    def dynamic(self, operator: ast.AST, left: ast.expr, right: ast.expr, at: ast.AST) -> ast.expr:
        function = values.dynamic(OPERATORS[type(operator)])
        return self.call(self.bind(f"dynamic_{type(operator).__name__}", function), [left, right], at)

    def binary(self, node: ast.AST, operator: ast.operator, left: Side, right: Side) -> ast.expr:
        """``left operator right``, where ``node`` is the expression or the augmented assignment."""
        op, a, b = OPERATORS.get(type(operator)), left.kind, right.kind
        plain = self.place(ast.BinOp(left.made, operator, right.made), node)
        if op is None or (a is not None and b is not None and not (a.scalar and b.scalar)):
            return plain
        if a is None or b is None:
            return self.dynamic(operator, left.made, right.made, node)
        rule = kinds.RULES[op](a.name, b.name)
        assert rule is not None  # inference has refused the others
        if rule[2] in kinds.WIDTH:
            return self.whole(node, operator, rule, left, right)
        if rule[2] == "bool":
            return plain
        if op in ("//", "%", "**"):
            function = values.operation(op, rule[2], rule[0])
            sides = [self.converted(left, rule[0], node), self.converted(right, rule[1], node)]
            return self.call(self.bind(f"{_LABELS[op]}_{rule[2]}_{rule[1]}", function), sides, node)
        sides = [self.beside(left, b, rule[2], node), self.beside(right, a, rule[2], node)]
        return self.place(ast.BinOp(sides[0], operator, sides[1]), node)

    def beside(self, side: Side, other: Kind, name: str, at: ast.AST) -> ast.expr:
        """An operand, beside one of kind ``other``, of an operator that gives the float or complex type ``name``."""
        assert side.kind is not None
        if side.kind.whole and other.name == name in ("float32", "float64") and not self.constant_of(side.original)[0]:
            return side.made  # NumPy converts a whole number beside a float, faster than a call
        return self.converted(side, name, at)

    def whole(self, node: ast.AST, operator: ast.operator, rule: kinds.Rule, left: Side, right: Side) -> ast.expr:
        """An operator whose result is a whole number."""
        op, sides = OPERATORS[type(operator)], []
        for side, name in zip((left, right), rule):
            assert side.kind is not None
            changed = side.kind.name == "bool" or (side.kind.name, name) == ("uint64", "int64")
            sides.append(self.converted(side, name, node) if changed else side.made)
        if rule[2] == "int64":
            known, value = self.constant_of(right.original)
            divided = op in ("//", "%") and known and value not in (0, -1)
            shifted = op in ("<<", ">>") and known and 0 <= value < 64
            if (op in _RING or divided or shifted) and (kind_of(node) or kinds.INT64).bits < 64:
                return self.place(ast.BinOp(sides[0], operator, sides[1]), node)
        function = values.operation(op, rule[2], rule[0])
        return self.call(self.bind(f"{_LABELS[op]}_{rule[2]}", function), sides, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        known, value = self.constant_of(node)
        if known:
            return self.number(value, node)
        side, invert = self.side(node.operand), isinstance(node.op, ast.Invert)
        kind = side.kind
        plain = self.place(ast.UnaryOp(node.op, side.made), node)
        if isinstance(node.op, ast.Not) or (kind is not None and kind.scalar and not kind.whole):
            return plain
        if isinstance(node.op, ast.UAdd):
            return self.converted(side, "int64", node) if kind is not None and kind.name == "bool" else side.made
        if kind is None or not kind.scalar:
            function = values.invert if invert else values.negate
            return self.call(self.bind(function.__name__, function), [side.made], node)
        if kind.name == "bool" and invert:
            return self.place(ast.UnaryOp(ast.Not(), side.made), node)
        if kind.name in kinds.SIGNED and (invert or kind.bits < kinds.SIGNED[kind.name]):
            return plain
        function = values.invert_in(kind.name) if invert else values.negate_in(kind.name)
        return self.call(self.bind(f"{'invert' if invert else 'minus'}_{kind.name}", function), [side.made], node)

    # comparisons
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [self.side(e) for e in (node.left, *node.comparators)]
        ways = [self.way(op, a.kind, b.kind) for op, a, b in zip(node.ops, sides, sides[1:])]
        if all(way == "plain" for way in ways):
            return self.place(ast.Compare(sides[0].made, node.ops, [s.made for s in sides[1:]]), node)
        parts: list[ast.expr] = []
        left = sides[0]
        for n, (op, way) in enumerate(zip(node.ops, ways)):
            right = following = sides[n + 1]
            if n + 1 < len(ways) and not self.constant_of(right.original)[0]:  # the middle of a chain: evaluated once
                name = self.temporary()
                following = Side(ast.Name(name, ast.Load()), right.original, right.kind)
                right = Side(ast.NamedExpr(ast.Name(name, ast.Store()), right.made), right.original, right.kind)
            parts.append(self.compared(node, op, way, left, right))
            left = following
        return parts[0] if len(parts) == 1 else self.place(ast.BoolOp(ast.And(), parts), node)

    def way(self, operator: ast.cmpop, a: Kind | None, b: Kind | None) -> str:
        """The type in which operands are compared; "plain" where Python compares them so, "dynamic" if unknown."""
        op = OPERATORS.get(type(operator))
        if op is None or (a is not None and b is not None and not (a.scalar and b.scalar)):
            return "plain"
        if a is None or b is None:
            return "plain" if kinds.NONE in (a, b) else "dynamic"
        rule = kinds.RULES[op](a.name, b.name)
        assert rule is not None  # inference has refused the others
        return "plain" if a.name == b.name or (a.whole and b.whole and rule[0] != "float64") else rule[0]

    def compared(self, node: ast.AST, operator: ast.cmpop, way: str, left: Side, right: Side) -> ast.expr:
        if way == "dynamic":
            return self.dynamic(operator, left.made, right.made, node)
        made = (left.made, right.made) if way == "plain" else (
            self.compared_side(left, right, way, node), self.compared_side(right, left, way, node))
        return self.place(ast.Compare(made[0], [operator], [made[1]]), node)

    def compared_side(self, side: Side, other: Side, name: str, at: ast.AST) -> ast.expr:
        """One side of a comparison. A float32 that meets a constant which float32 can hold stays one: it is faster."""
        assert side.kind is not None and other.kind is not None
        if name == "float64":
            for single, constant in ((side, other), (other, side)):
                known, value = self.constant_of(constant.original)
                if single.kind == kinds.FLOAT32:
                    with np.errstate(all="ignore"):
                        if known and np.float64(np.float32(value)) == np.float64(value):
                            return side.made if single is side else self.number(np.float32(value), at)
            if side.kind.whole and other.kind.name == "float64" and side.kind.bits <= 53:
                return side.made
        return self.converted(side, name, at)

    # two values, one of which is taken
    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        sides = [self.side(e) for e in node.values]
        made = self.place(ast.BoolOp(node.op, [s.made for s in sides]), node)
        wanted = kind_of(node)
        if wanted is None or not wanted.scalar or not any(_differs(s.kind, wanted) for s in sides):
            return made
        return self.as_type(made, wanted.name, node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test, wanted = self.visit(node.test), kind_of(node)
        sides = [self.side(node.body), self.side(node.orelse)]
        one = wanted is not None and wanted.scalar
        made = [self.converted(s, wanted.name, node) if one and _differs(s.kind, wanted) else s.made for s in sides]
        return self.place(ast.IfExp(test, *made), node)

    # calls
    def planned(self, node: ast.Call) -> ast.expr:
        """A call of a builtin or ``math`` function whose arguments' types are known."""
        plan, originals = node.plan, node.args
        if getattr(node, "spread", False):  # max((a, b)): the tuple's parts are the arguments
            if not isinstance(node.args[0], ast.Tuple):
                label, function = names.replacement(self.resolve(node.func)[1], True)
                return self.call(self.bind(f"dynamic_{label}", function), [self.visit(node.args[0])], node)
            originals = node.args[0].elts
        arguments = []
        for original, name in zip(originals, plan.convert):
            side = self.side(original)
            arguments.append(self.converted(side, name, node) if name and _needs(side.kind, name) else side.made)
        label = next((k[2:] for k, v in self.bound.items() if v is plan.function), None)
        if label is None:
            label = f"{getattr(plan.function, '__name__', 'call').strip('<>')}_{len(self.bound)}"
        return self.call(self.bind(label, plan.function), arguments, node)


def _differs(kind: Kind | None, wanted: Kind) -> bool:
    return kind is not None and kinds.carrier(kind.name) != kinds.carrier(wanted.name)


def _needs(kind: Kind | None, name: str) -> bool:
    """Whether an argument of ``kind`` must be converted to become one of type ``name``."""
    if kind is None or kinds.carrier(kind.name) != kinds.carrier(name):
        return True
    fits = kind.name in kinds.SIGNED and kind.bits < kinds.WIDTH.get(name, 0)
    return name in kinds.WIDTH and kind.name != name and not fits


def _identifier(value: Any) -> str:
    return "".join(c if c.isalnum() else {"-": "m", ".": "p", "+": "q"}.get(c, "_") for c in repr(complex(value)))
