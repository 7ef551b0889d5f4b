"""What a host function (a byte formula, a choice) may contain: numbers, ``if``, loops, ``math``."""

from __future__ import annotations

import ast

from autograder.source import advice, catalog
from autograder.source.advice import short
from autograder.source.bounded import FUNCTIONS
from autograder.source.kernel_rules import REFUSED as _KERNEL
from autograder.source.rules import Rules, Uses
from autograder.source.values import Constant, Function, Member, Module, Value

MAX_TEXT = 200  # characters of a string
_REDUCERS = ("builtins.sum", "builtins.min", "builtins.max")

_DEFINE = ("a function cannot be defined inside a function here", "define it above, at the top level of its cell")
REFUSED = {
    **_KERNEL,
    "Import": ("an import cannot stand inside the function", "move it above"),
    "ImportFrom": ("an import cannot stand inside the function", "move it above"),
    "FunctionDef": _DEFINE,
    "ClassDef": ("a class cannot be used {where}", "use numbers"),
    "Lambda": _DEFINE,
    "Global": ("`global` cannot be used {where}", "return the value"),
    "Nonlocal": ("`nonlocal` cannot be used {where}", "return the value"),
    "Raise": ("an exception cannot be raised {where}", "return a number"),
    "List": ("a list cannot be used {where}", "use a tuple, or add up in a loop"),
    "ListComp": ("a list can stand only in sum, min or max {where}", "add up in a loop"),
    "GeneratorExp": ("it can stand only in sum, min or max {where}", "add up in a loop"),
    "Dict": ("a dict cannot be used {where}", "use `if`"),
    "Set": ("a set cannot be used {where}", "use a tuple"),
    "DictComp": ("a dict cannot be used {where}", "use `if`"),
    "SetComp": ("a set cannot be used {where}", "use a tuple"),
    "Yield": ("`yield` cannot be used {where}", "return the value"),
    "YieldFrom": ("`yield` cannot be used {where}", "return the value"),
    "JoinedStr": ("an f-string cannot be used {where}", "return a plain number or text"),
    "Attribute": ("only math has names after a dot {where}", ""),
}


class HostRules(Rules):
    """The rules for one host function."""

    where = "in a function that is only calculated"
    host = True
    refused = REFUSED

    def run(self) -> Uses:
        """What the function uses. Raises SourceRefused with the first thing that is not allowed."""
        for decorator in self.node.decorator_list:
            raise self.refuse(
                decorator,
                f"`{self.node.name}` has the decorator `@{short(decorator)}`",
                "it is a plain function: take the decorator off",
            )
        return self.whole()

    def is_builtin(self, name: str) -> bool:
        return name in catalog.HOST_BUILTINS

    def annotation(self, node: ast.expr | None) -> None:
        if isinstance(node, ast.Name) and node.id == "str" and self.surroundings.lookup("str") is None:
            return
        super().annotation(node)

    def default(self, node: ast.expr) -> None:
        value = node.operand if isinstance(node, ast.UnaryOp) else node
        if not (isinstance(value, ast.Constant) and type(value.value) in (int, float, bool)):
            raise self.refuse(node, f"the default value `{short(node)}` is not a plain number", "write a number")
        self.expr(node)

    def reached(self, node: ast.Attribute, base: Module | Member, value: Value) -> None:
        if isinstance(value, Member) and value.path not in FUNCTIONS:
            raise self.refuse(node, *advice.unavailable(value.path, host=True))

    def as_value(self, node: ast.expr, value: Value) -> None:
        if isinstance(value, Member) and value.path not in FUNCTIONS:
            raise self.refuse(node, *advice.unavailable(value.path, host=True))
        if not isinstance(value, Constant):
            super().as_value(node, value)
            raise self.refuse(node, f"`{short(node)}` is named but not called", f"write `{short(node)}(...)`")

    # statements
    def stmt_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.expr(node.value)

    def stmt_Assert(self, node: ast.Assert) -> None:
        self.expr(node.test)
        if node.msg is not None:
            self.expr(node.msg)

    def store(self, node: ast.expr) -> None:
        raise self.refuse(node, f"`{short(node)}` cannot be set {{where}}", "use a plain variable")

    # expressions
    def expr_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is str and len(node.value) <= MAX_TEXT:
            return
        super().expr_Constant(node)

    def odd_constant(self, node: ast.Constant, what: str) -> None:
        raise self.refuse(node, f"{what} cannot be used {{where}}", "use numbers and short texts")

    def expr_Attribute(self, node: ast.Attribute) -> None:
        value = self.reach(node)
        if value is None:
            raise self.refuse(node, f"`{short(node)}` is not available {{where}}", "use numbers and math")
        self.as_value(node, value)

    def expr_Subscript(self, node: ast.Subscript) -> None:
        self.expr(node.value)
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            raise self.refuse(node, "a slice cannot be used {where}", "take one element: values[i]")
        self.expr(node.slice)

    def expr_Call(self, node: ast.Call) -> None:
        function, text = node.func, short(node.func)
        if isinstance(function, ast.Name) and function.id in self.locals:
            raise self.refuse(
                node,
                f"`{text}` is a variable in `{self.unit.name}`, so it cannot be called",
                "give the variable another name" if self.is_builtin(function.id) else "",
            )
        value = self.reach(function)
        path = value.path if isinstance(value, Member) else ""
        if (
            path in _REDUCERS
            and len(node.args) == 1
            and not node.keywords
            and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp))
        ):
            self.comprehension(node.args[0])
        elif path == "builtins.range":
            raise self.refuse(node, "range can stand only in a `for` {where}", "write `for i in range(...):`")
        elif path in FUNCTIONS or path == "builtins.print" or isinstance(value, Function):
            self.arguments(node, keywords=isinstance(value, Function))
        elif path:
            raise self.refuse(node, *advice.unavailable(path, host=True))
        else:
            raise self.refuse(
                node, f"`{text}` cannot be called {{where}}", "use min, max, abs, round, int, float and math"
            )

    def comprehension(self, node: ast.GeneratorExp | ast.ListComp) -> None:
        """``sum(4 * n for row in range(rows))``: its variables are seen only inside."""
        outer = set(self.locals)
        for loop in node.generators:
            if loop.is_async:
                raise self.refuse(node, *REFUSED["Await"])
            self.iterable(loop.iter)
            self.target(loop.target)
            self.locals |= {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
            for test in loop.ifs:
                self.expr(test)
        self.expr(node.elt)
        self.locals = outer
