"""The kind of each expression: see ``inference``, which follows the statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from autograder.simulator import kernel_calls, kinds, names, signatures, values
from autograder.simulator.errors import KernelError, KernelTypeError
from autograder.simulator.intrinsics import KernelName
from autograder.simulator.kinds import BOOL, Kind, number

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
Ask = Callable[[FunctionType, "Sequence[Kind | None]"], "tuple[FunctionType, Kind | None]"]


def refuse(node: ast.AST, sentence: str, kind: type[KernelError] = KernelTypeError) -> KernelError:
    error = kind(f"line {node.lineno}: {sentence}")
    error.line = node.lineno
    return error


class Expressions:
    """``kind`` gives the kind of an expression, and leaves it in the node's attribute ``typed``."""

    env: dict[str, Kind | None] | None

    def __init__(self, function: FunctionType, local: set[str], ask: Ask) -> None:
        self.function, self.local, self.ask = function, local, ask

    def kind(self, node: ast.expr) -> Kind | None:
        made = getattr(self, f"of_{type(node).__name__}", self.of_other)(node)
        node.typed = made
        return made

    def of_other(self, node: ast.expr) -> Kind | None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.kind(part)
        return None

    def resolve(self, node: ast.expr) -> tuple[bool, Any]:
        return names.resolve(self.function, self.local, node)

    def constant(self, node: ast.expr) -> Any:
        """The value of a literal, a constant name, or minus such; None for anything else."""
        known, value = names.constant(self.function, self.local, node)
        return value if known else None

    # leaves
    def of_Constant(self, node: ast.Constant) -> Kind | None:
        return kinds.of_value(node.value)

    def of_Name(self, node: ast.Name) -> Kind | None:
        if node.id in self.local:
            return (self.env or {}).get(node.id)
        known, value = self.resolve(node)
        return kinds.of_value(value) if known else None

    def of_Attribute(self, node: ast.Attribute) -> Kind | None:
        known, value = self.resolve(node)
        if known:
            return kernel_calls.value_of(value) if isinstance(value, KernelName) else kinds.of_value(value)
        base = self.kind(node.value)
        return None if base is None else _attribute(base, node.attr)

    def of_Tuple(self, node: ast.Tuple) -> Kind | None:
        return kinds.tuple_of([self.kind(e) for e in node.elts])

    # operators
    def of_BinOp(self, node: ast.BinOp) -> Kind | None:
        return self.binary(node, node.op, self.kind(node.left), self.kind(node.right))

    def binary(self, node: ast.AST, operator: ast.operator, left: Kind | None, right: Kind | None) -> Kind | None:
        op = OPERATORS.get(type(operator))
        if op is None or left is None or right is None:
            return None
        if not (left.scalar and right.scalar):
            both = left.name == right.name == "tuple" and op == "+"
            return kinds.tuple_of(left.items + right.items) if both else None
        rule = kinds.RULES[op](left.name, right.name)
        if rule is None:
            raise refuse(node, values.refusal(op, left.name, right.name))
        amount = getattr(node, "right", getattr(node, "value", None))
        made = number(rule[2])
        return number(rule[2], _bits(op, left, right, self.constant(amount))) if made.whole else made

    def of_UnaryOp(self, node: ast.UnaryOp) -> Kind | None:
        operand = self.kind(node.operand)
        if isinstance(node.op, ast.Not):
            return BOOL
        if operand is None or not operand.scalar:
            return None
        invert = isinstance(node.op, ast.Invert)
        if not operand.whole:
            if invert:
                raise refuse(node, f"`~` is not defined for {operand.name} on a GPU")
            return operand
        if operand.name == "bool":
            return BOOL if invert else number("int64", 1)
        return number("uint64" if operand.name in kinds.UNSIGNED else "int64", operand.bits + invert)

    def of_Compare(self, node: ast.Compare) -> Kind | None:
        operands = [self.kind(e) for e in (node.left, *node.comparators)]
        plain = True
        for operator, left, right in zip(node.ops, operands, operands[1:]):
            op = OPERATORS.get(type(operator))
            if op is None:
                continue
            if left is None or right is None or not (left.scalar and right.scalar):
                plain = plain and left is not None and right is not None
                continue
            if kinds.RULES[op](left.name, right.name) is None:
                raise refuse(node, values.refusal(op, left.name, right.name))
        return BOOL if plain else None

    def of_BoolOp(self, node: ast.BoolOp) -> Kind | None:
        return self._either([self.kind(e) for e in node.values])

    def of_IfExp(self, node: ast.IfExp) -> Kind | None:
        self.kind(node.test)
        return self._either([self.kind(node.body), self.kind(node.orelse)])

    @staticmethod
    def _either(found: Sequence[Kind | None]) -> Kind | None:
        made = found[0]
        for kind in found[1:]:
            made = kinds.unify(made, kind)
        return made

    def of_NamedExpr(self, node: ast.NamedExpr) -> Kind | None:
        made = self.kind(node.value)
        if self.env is not None:
            self.env[node.target.id] = made
        return made

    # comprehensions; their variables are known only inside
    def of_GeneratorExp(self, node: Any) -> Kind | None:
        before = dict(self.env or {})
        for part in node.generators:
            element = kinds.element_of(self.kind(part.iter))
            self._bind(part.target, element)
            for test in part.ifs:
                self.kind(test)
        made = [self.kind(getattr(node, n)) for n in ("key", "value", "elt") if hasattr(node, n)]
        self.env = before
        return kinds.iterable(made[0]) if len(made) == 1 else None

    of_ListComp = of_SetComp = of_DictComp = of_GeneratorExp

    def _bind(self, target: ast.expr, kind: Kind | None) -> None:
        if isinstance(target, ast.Name) and self.env is not None:
            self.env[target.id] = kind
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = kind.items if kind is not None and kind.name == "tuple" else ()
            for n, part in enumerate(target.elts):
                self._bind(part, items[n] if n < len(items) else None)

    def of_Lambda(self, node: ast.Lambda) -> Kind | None:
        return None

    # arrays and tuples
    def of_Subscript(self, node: ast.Subscript) -> Kind | None:
        return self.loaded(node)

    def loaded(self, node: ast.expr) -> Kind | None:
        """The kind of what is read from a name, or from an element or a part of an array or tuple."""
        if not isinstance(node, ast.Subscript):
            return self.kind(node)
        base = self.kind(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [self._index(p) for p in parts]
        if base is None:
            return None
        if base.name == "tuple":
            at = self.constant(node.slice)
            if isinstance(at, (int, np.integer)) and -len(base.items) <= at < len(base.items):
                return base.items[int(at)]
            return kinds.element_of(base)
        if base.name != "array":
            return None
        for part, kind in zip(parts, found):
            self.check_index(node, part, kind)
        return _element_or_part(base, parts, found)

    def _index(self, part: ast.expr) -> Kind | None:
        if isinstance(part, ast.Slice):
            for end in (part.lower, part.upper, part.step):
                if end is not None:
                    self.kind(end)
            return None
        return self.kind(part)

    def check_index(self, node: ast.expr, part: ast.expr, kind: Kind | None) -> None:
        if kind is None or not kind.scalar or kind.name in kinds.WIDTH:
            return
        advice = ("write int(…) around it" if kind.name == "bool" else
                  "cut it to a whole number with int(…)" if kind.name in kinds.FLOATS else "use a whole number")
        raise refuse(part, f"`{ast.unparse(node)}` has an index of type {kind.name}; an index must be an integer "
                           f"on a GPU: {advice}")

    def stored(self, node: ast.Subscript, value: Kind | None) -> None:
        """An assignment to an element or a part of an array."""
        base = self.kind(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            kind = self._index(part)
            if base is not None and base.name == "array":
                self.check_index(node, part, kind)
        if base is None or base.name != "array" or base.items[0] is None or value is None or not value.scalar:
            return
        if value.name in kinds.COMPLEX and base.items[0].name not in kinds.COMPLEX:
            raise refuse(node, f"a {value.name} cannot be stored in an array of {base.items[0].name} on a GPU; store "
                               "its real or imaginary part")

    # calls
    def of_Call(self, node: ast.Call) -> Kind | None:
        starred = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        arguments = [self.kind(a) for a in node.args]
        keywords = {k.arg: self.kind(k.value) for k in node.keywords}
        known, target = self.resolve(node.func)
        if not known:
            return self._method(node, arguments)
        if isinstance(target, KernelName):
            try:
                return kernel_calls.result(target.dotted, node, arguments, keywords, self)
            except KernelTypeError as error:
                raise refuse(node, str(error)) from None
        if names.is_device_function(target):
            node.target, made = self.ask(target.fn, self._by_parameter(target.fn, arguments, keywords, starred))
            return made
        if names.is_cast(target):
            name = names.dtype_name(target)
            return number(name, arguments[0].bits) if arguments and arguments[0] is not None and arguments[0].whole \
                else number(name)
        if starred or keywords:
            return None
        return self._known_function(node, target, arguments)

    def _known_function(self, node: ast.Call, target: Any, arguments: list[Kind | None]) -> Kind | None:
        try:
            name = names.function_name(target)
        except KernelError as error:
            raise refuse(node, str(error), KernelError) from None
        if name is None:
            return kernel_calls.of_python(target, arguments)
        if name.startswith("libdevice."):
            return kernel_calls.of_libdevice(name)
        if name in ("max", "min") and len(arguments) == 1 and arguments[0] is not None and arguments[0].name == "tuple":
            arguments = list(arguments[0].items)
            node.spread = True
        if not arguments or any(a is None or not a.scalar for a in arguments):
            return None
        try:
            made = signatures.plan(name, arguments)
        except KernelTypeError as error:
            raise refuse(node, str(error)) from None
        node.plan = made
        return None if made is None else made.result

    @staticmethod
    def _by_parameter(function: FunctionType, arguments: Sequence[Kind | None], keywords: dict[str | None, Kind | None],
                      starred: bool) -> list[Kind | None]:
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if starred:
            return [None] * len(parameters)
        given: dict[str, Kind | None] = dict(zip(parameters, arguments))
        defaults = function.__defaults__ or ()
        for name, value in zip(code.co_varnames[code.co_argcount - len(defaults): code.co_argcount], defaults):
            given.setdefault(name, kinds.of_value(value))
        given.update({k: v for k, v in keywords.items() if k is not None})
        return [given.get(p) for p in parameters]

    def _method(self, node: ast.Call, arguments: list[Kind | None]) -> Kind | None:
        function = node.func
        if not isinstance(function, ast.Attribute):
            self.kind(function)
            return None
        owner = function.value
        if function.attr == "type" and isinstance(owner, ast.Attribute) and owner.attr == "dtype":  # X.dtype.type(0)
            base = self.kind(owner.value)
            return base.items[0] if base is not None and base.name == "array" else None
        base = self.kind(owner)
        if base is not None and base.name == "array" and function.attr in ("reshape", "ravel", "transpose"):
            count = {"ravel": 1, "transpose": base.ndim}.get(function.attr) or (
                len(arguments[0].items) if len(arguments) == 1 and arguments[0] is not None
                and arguments[0].name == "tuple" else len(arguments))
            return Kind("array", 64, base.items, count)
        if base is not None and base.scalar and not arguments and function.attr in ("conjugate", "item"):
            return base
        return None


def _element_or_part(base: Kind, parts: Sequence[ast.expr], found: Sequence[Kind | None]) -> Kind | None:
    """What an array gives for an index, its parts and their kinds; None where an index may be anything."""
    plain, whole = 0, True
    for part, kind in zip(parts, found):
        if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is Ellipsis):
            whole = False
        elif kind is not None and kind.name == "tuple" and len(parts) == 1:
            plain += len(kind.items)
        elif kind is None and len(parts) < base.ndim:
            return None
        else:
            plain += 1
    left = base.ndim - plain
    if left < 0:
        return None  # one too many: the launch tells
    return base.items[0] if left == 0 and whole else Kind("array", base.bits, base.items, left)


def _attribute(base: Kind, name: str) -> Kind | None:
    if base.name == "array":
        size = number("int64", base.bits)
        if name in ("shape", "strides"):
            return kinds.tuple_of([number("int64", base.bits + 4)] * base.ndim)
        if name in ("size", "nbytes"):
            return number("int64", min(base.bits * base.ndim + 4, 64))
        if name == "ndim":
            return number("int64", 4)
        return base if name == "T" else size if name == "itemsize" else None
    if base.name == "dim3" and name in ("x", "y", "z"):
        return number("int32", base.bits)
    if base.scalar and name in ("real", "imag"):
        return Kind("float32" if base.name == "complex64" else "float64") if base.name in kinds.COMPLEX else base
    return None


def _bits(op: str, left: Kind, right: Kind, amount: Any) -> int:
    """Bits of a whole number that an operator gives; more than 64 where it may not fit in a register."""
    a, b = left.bits, right.bits
    if op in ("+", "-"):
        return max(a, b) + 1
    if op == "*":
        return a + b
    if op == "//" or op == ">>":
        return a
    if op == "%":
        return b
    if op == "<<":
        return a + int(amount) if isinstance(amount, (int, np.integer)) and 0 <= amount < 64 else 64
    if op == "&":
        small = [k.bits for k, v in ((left, None), (right, amount)) if isinstance(v, (int, np.integer)) and v >= 0]
        return small[0] if small else max(a, b)
    return max(a, b) if op in ("|", "^") else 64
