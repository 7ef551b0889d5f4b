"""What a GPU kernel or device function may contain."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from autograder.source import advice, catalog
from autograder.source.advice import short
from autograder.source.made_arrays import check_array, set_once
from autograder.source.rules import Rules, Surroundings, Uses
from autograder.source.signatures import check_signature
from autograder.source.values import Constant, Function, Member, Module, Value

_FORMAT = re.compile(r"[^{}\d]*\d{0,3}(\.\d{1,3})?[^{}\d]?")

_LIST = ("a list cannot be built {where}", "use cuda.local.array, or single variables")
_ASYNC = ("`async` and `await` are not available {where}", "")
REFUSED = {
    "Import": ("an import cannot stand {where}", "move it above the kernel"),
    "ImportFrom": ("an import cannot stand {where}", "move it above the kernel"),
    "FunctionDef": ("a function cannot be defined {where}", "define it above the kernel, with @cuda.jit(device=True)"),
    "AsyncFunctionDef": _ASYNC,
    "AsyncFor": _ASYNC,
    "AsyncWith": _ASYNC,
    "Await": _ASYNC,
    "ClassDef": ("a class cannot be defined {where}", "use plain variables and arrays"),
    "Lambda": (
        "a lambda cannot be used {where}",
        "write a device function above the kernel, with @cuda.jit(device=True)",
    ),
    "Global": ("`global` cannot be used {where}", "write the result into an array"),
    "Nonlocal": ("`nonlocal` cannot be used {where}", "write the result into an array"),
    "Delete": ("`del` cannot be used {where}", "leave it out: variables end with the kernel"),
    "With": ("`with` cannot be used {where}", ""),
    "Try": ("`try` cannot be used {where}", "test for the case before it happens"),
    "TryStar": ("`try` cannot be used {where}", "test for the case before it happens"),
    "Raise": ("an exception cannot be raised {where}", "leave early with `return`, or write a marker into the output"),
    "Match": ("`match` cannot be used {where}", "use `if` and `elif`"),
    "List": _LIST,
    "ListComp": _LIST,
    "Dict": _LIST,
    "Set": _LIST,
    "DictComp": _LIST,
    "SetComp": _LIST,
    "GeneratorExp": ("a generator cannot be used {where}", "write the loop out"),
    "Yield": ("`yield` cannot be used {where}", "write the result into an array"),
    "YieldFrom": ("`yield` cannot be used {where}", "write the result into an array"),
    "Starred": ("`*` cannot be used {where}", "write every value"),
    "JoinedStr": ("an f-string can be used only in print", ""),
    "TemplateStr": ("a template string cannot be used {where}", ""),
}


class KernelRules(Rules):
    """The rules for one function of a kernel's text. ``root`` says what the function must be when it is
    the one that is judged ("kernel" or "device"); it is "" for the functions that it calls."""

    where = "inside a GPU kernel"
    refused = REFUSED

    def __init__(self, function: Function, surroundings: Surroundings, root: str) -> None:
        super().__init__(function.unit, surroundings)
        self.function = function
        self.root = root

    def run(self) -> Uses:
        """What the function uses. Raises SourceRefused with the first thing that is not allowed."""
        self.decorators()
        if self.root == "device" and not self.uses.device:
            raise self.refuse(
                self.node, f"`{self.node.name}` is a kernel, and a device function is wanted",
                "put @cuda.jit(device=True) above it",
            )  # fmt: skip
        return self.whole()

    @cached_property
    def set_once(self) -> dict[str, ast.expr]:
        """What the variables are set to that are set once."""
        return set_once(self.node)

    # decorators
    def decorators(self) -> None:
        name, found = self.node.name, self.node.decorator_list
        if self.function.jit in ("kernel", "device"):
            self.uses.device = self.function.jit == "device"
            if found:
                raise self.refuse(
                    found[0], f"`{name}` has a decorator and is passed to cuda.jit as well", "keep one of the two"
                )
            return
        if not found:
            put = "@cuda.jit" if self.root == "kernel" else "@cuda.jit(device=True)"
            raise self.refuse(self.node, f"`{name}` is a plain Python function", f"put {put} above it")
        if len(found) > 1:
            raise self.refuse(found[0], f"`{name}` has {len(found)} decorators", "keep only @cuda.jit")
        decorator = found[0]
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        value = self.peek(callee)
        if value is None and isinstance(callee, (ast.Name, ast.Attribute)):
            self.reach(callee)  # refuses a name that is not defined
        if value != Member(catalog.JIT):
            path = getattr(value, "path", "")
            why = "compiles for the CPU" if path.startswith("numba.") else "does not make a GPU kernel"
            raise self.refuse(decorator, f"`@{short(callee)}` {why}", "use @cuda.jit")
        self.reach(callee)
        if isinstance(decorator, ast.Call):
            self.options(decorator)

    def options(self, call: ast.Call) -> None:
        """The arguments of ``@cuda.jit(...)``: a signature, and options that are True or False."""
        if len(call.args) > 1:
            raise self.refuse(call, "@cuda.jit takes one signature", "leave the rest out")
        for argument in call.args:
            check_signature(self, argument)
        for option in call.keywords:
            value = option.value
            if option.arg not in catalog.JIT_OPTIONS:
                raise self.refuse(
                    call, f"the option `{option.arg or '**'}` of @cuda.jit is not available here", "leave it out"
                )
            plain = isinstance(value, ast.Constant) and (
                type(value.value) is bool
                or (option.arg == "inline" and value.value in ("always", "never"))
                or (option.arg == "opt" and value.value in (0, 1, 2, 3))
            )
            if not plain:
                raise self.refuse(
                    call, f"the option `{option.arg}` of @cuda.jit is not written out", "write True or False"
                )
            if option.arg == "device":
                self.uses.device = bool(value.value)

    def annotation(self, node: ast.expr | None) -> None:
        value = self.reach(node) if isinstance(node, ast.Name) else None
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr == "ndarray"
            and node.value.id not in self.locals
            and self.value_of(node.value) == Module("numpy")
        ):
            return
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Name)) and value is None:
            check_signature(self, node)
            return
        super().annotation(node)

    # statements
    def stmt_Return(self, node: ast.Return) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return
        if self.root and not self.uses.device:
            raise self.refuse(node, "a kernel cannot return a value", "write it into an array")
        self.expr(node.value)

    def stmt_Assert(self, node: ast.Assert) -> None:
        self.expr(node.test)
        if node.msg is not None and not (isinstance(node.msg, ast.Constant) and type(node.msg.value) is str):
            self.expr(node.msg)

    def store(self, node: ast.expr) -> None:
        if not isinstance(node, ast.Subscript):
            super().store(node)
        base = node.value
        value = self.reach(base) if isinstance(base, (ast.Name, ast.Attribute)) else None
        if value is not None:
            raise self.refuse(
                node,
                f"`{short(base)}` cannot be changed inside a GPU kernel",
                "write into an array that is a parameter, or into a shared or local array",
            )
        self.expr(base)
        self.index(node.slice)

    # expressions
    def odd_constant(self, node: ast.Constant, what: str) -> None:
        hint = (
            "a kernel works on numbers; text can stand in print" if what == "text" else "a kernel works on real numbers"
        )
        raise self.refuse(node, f"{what} cannot be used here {{where}}", hint)

    def expr_Attribute(self, node: ast.Attribute) -> None:
        value = self.reach(node)
        if value is not None:
            self.as_value(node, value)
            return
        base = self.reach(node.value) if isinstance(node.value, (ast.Name, ast.Attribute)) else None
        if isinstance(base, Member) and base.use == catalog.INDEX:
            if node.attr not in ("x", "y", "z"):
                raise self.refuse(
                    node, f"`{short(node)}` does not exist", f"write `{short(node.value)}.x`, `.y` or `.z`"
                )
            return
        if isinstance(base, (Constant, Member, Function)):
            raise self.refuse(node, f"`{short(node)}` is not available {{where}}", "use the value itself")
        self.expr(node.value)
        if node.attr not in catalog.ATTRIBUTES:
            sentence, hint = advice.method(node.attr)
            if isinstance(node.value, ast.Name) and node.value.id in (*catalog.SETUP_NAMES, "numpy"):
                sentence = f"`{node.value.id}` is a variable in `{self.unit.name}`, so it hides the module"
                hint = "give the variable another name"
            raise self.refuse(node, sentence, hint)

    def expr_Subscript(self, node: ast.Subscript) -> None:
        value = self.reach(node.value) if isinstance(node.value, (ast.Name, ast.Attribute)) else None
        if isinstance(value, Function) or (
            isinstance(value, Member)
            and value.use in (catalog.FUNCTION, catalog.TYPE, catalog.INDEX, catalog.DECORATOR)
        ):
            what = (
                "a kernel cannot launch another kernel"
                if isinstance(value, Function)
                else (f"`{short(node)}` is not a value")
            )
            raise self.refuse(node, what, "call a device function instead" if isinstance(value, Function) else "")
        self.expr(node.value)
        self.index(node.slice)

    def index(self, node: ast.expr) -> None:
        for part in node.elts if isinstance(node, ast.Tuple) else [node]:
            if isinstance(part, ast.Slice):
                for end in (part.lower, part.upper, part.step):
                    if end is not None:
                        self.expr(end)
            else:
                self.expr(part)

    def expr_Slice(self, node: ast.Slice) -> None:
        raise self.refuse(node, "a slice cannot be used here {where}")

    def expr_Call(self, node: ast.Call) -> None:
        value = self.callee(node)
        if isinstance(value, Function):
            self.arguments(node, keywords=True)
            return
        assert isinstance(value, Member)
        path = value.path
        if path == "builtins.print":
            self.printed(node)
        elif path == "builtins.float" and len(node.args) == 1 and _is_text(node.args[0], _INFINITE):
            pass
        elif path in ("numba.cuda.shared.array", "numba.cuda.local.array"):
            self.array(node)
        elif path == "builtins.range":
            raise self.refuse(node, "range can stand only in a `for` {where}", "write `for i in range(...):`")
        else:
            self.arguments(node, keywords=path.startswith(("numba.cuda.", "autograder.")))
            if path in ("builtins.max", "builtins.min") and len(node.args) == 1:
                raise self.refuse(
                    node,
                    f"`{short(node)}` with one argument is not available {{where}}: it compares single numbers",
                    advice.unavailable(f"numpy.{path.rpartition('.')[2]}")[1],
                )

    def callee(self, node: ast.Call) -> Value:
        """The function that is called: a known one, a type, or a device function."""
        function = node.func
        text = short(function)
        if isinstance(function, ast.Name) and function.id in self.locals:
            hint = (
                "give the variable another name"
                if self.is_builtin(function.id) or self.surroundings.lookup(function.id) is not None
                else ""
            )
            raise self.refuse(node, f"`{text}` is a variable in `{self.unit.name}`, so it cannot be called", hint)
        value = self.reach(function) if isinstance(function, (ast.Name, ast.Attribute)) else None
        if isinstance(value, Function) or (isinstance(value, Member) and value.use in (catalog.FUNCTION, catalog.TYPE)):
            if value == Member("numba.void"):
                raise self.refuse(node, f"`{text}` is only for signatures")
            return value
        if isinstance(value, Member) and value.use is None:
            raise self.refuse(node, *advice.unavailable(value.path))
        if isinstance(value, Member) and value.use == catalog.INDEX:
            raise self.refuse(node, f"`{text}` cannot be called", f"write `{text}.x`")
        if value is not None:
            raise self.refuse(
                node,
                f"`{text}` cannot be called {{where}}",
                "decorate a function above the kernel with it" if value == Member(catalog.JIT) else "",
            )
        if isinstance(function, ast.Attribute):
            self.expr_Attribute(function)  # refuses unknown methods and hidden modules
        elif not isinstance(function, ast.Name):
            self.expr(function)  # refuse what is wrong inside it first
        raise self.refuse(node, f"`{text}` cannot be called {{where}}", "only functions that have a name can")

    def array(self, node: ast.Call) -> None:
        """``cuda.shared.array(shape, dtype)``; the dtype may be a string such as "float32"."""
        allowed = {"shape", "dtype", "alignment"}
        plain = ast.Call(node.func, [], [])
        for position, argument in enumerate(node.args):
            if not (position == 1 and _is_text(argument, catalog.DTYPE_NAMES)):
                plain.args.append(argument)
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in allowed:
                raise self.refuse(
                    node, f"`{short(node.func)}` takes no argument `{keyword.arg}=`", "it takes shape and dtype"
                )
            if not (keyword.arg == "dtype" and _is_text(keyword.value, catalog.DTYPE_NAMES)):
                plain.keywords.append(keyword)
        self.arguments(ast.copy_location(plain, node), keywords=True)
        check_array(self, node)

    def printed(self, node: ast.Call) -> None:
        """print for debugging takes text, f-strings and numbers, by position only."""
        numbers = ast.Call(node.func, [], node.keywords)
        for argument in node.args:
            if isinstance(argument, ast.JoinedStr):
                self.formatted(argument)
            elif not (isinstance(argument, ast.Constant) and type(argument.value) is str):
                numbers.args.append(argument)
        self.arguments(ast.copy_location(numbers, node))

    def formatted(self, node: ast.JoinedStr) -> None:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.expr(part.value)
                spec = part.format_spec
                parts = spec.values if isinstance(spec, ast.JoinedStr) else []
                if not all(isinstance(p, ast.Constant) for p in parts):
                    raise self.refuse(node, "a computed format cannot be used in print", "write it out: `.3f`")
                text = "".join(str(p.value) for p in parts if isinstance(p, ast.Constant))
                if not _FORMAT.fullmatch(text):
                    raise self.refuse(node, f"the format `{text[:30]}` cannot be used in print", "keep it short: `.3f`")


_INFINITE = frozenset({"inf", "-inf", "+inf", "nan", "infinity", "-infinity"})


def _is_text(node: ast.expr, allowed: frozenset[str]) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is str and node.value.strip().lower() in allowed
