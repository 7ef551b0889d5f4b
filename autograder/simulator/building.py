"""Small pieces of syntax tree, and the bookkeeping of one rewritten function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

from autograder.simulator import arrays, names
from autograder.simulator.errors import KernelError
from autograder.simulator.intrinsics import KernelName
from autograder.simulator.sites import ADDRESS_BITS, Site


class Builder(ast.NodeTransformer):
    """What the rewriter needs to make nodes: sites, names bound to objects, temporaries, positions."""

    def __init__(self, function: FunctionType, cooperates: Callable[[FunctionType], bool],
                 is_kernel: bool) -> None:
        self.function = function
        self.is_kernel = is_kernel
        # names that stand for one object all through the function, with how many indices they take: their
        # access functions are looked up once
        self.parameters: dict[str, int] = {}
        self.arrays: dict[str, int] = {}
        self.cooperates = cooperates
        self.locals = set(function.__code__.co_varnames) | set(function.__code__.co_cellvars)
        # also the variables of comprehensions and of nested functions, which the rewriter adds
        self.filename = function.__code__.co_filename
        self.sites: list[Site] = []
        self.loops: tuple[int, ...] = ()
        self.cooperative = False
        self.calls: dict[str, FunctionType] = {}
        self.bound: dict[str, Any] = {}
        self.chains: dict[tuple[str, ...], Any] = {}  # attributes of modules and what they stand for now
        self.temporaries = 0
        self.inner = 0  # depth of comprehensions: no yield may stand in one

    def site(self, kind: int, node: ast.AST, text: str) -> int:
        self.sites.append(Site(kind, self.function.__name__, self.filename, node.lineno,
                               node.col_offset, text, self.loops))
        return len(self.sites) - 1

    def code(self, site: int) -> ast.expr:
        if self.is_kernel:  # its sites come first, from 0
            return ast.Constant(site << ADDRESS_BITS)
        return ast.BinOp(ast.Name("__b", ast.Load()), ast.Add(), ast.Constant(site << ADDRESS_BITS))

    def call(self, function: str | ast.expr, arguments: list[ast.expr], at: ast.AST,
             keywords: list[ast.keyword] | None = None) -> ast.Call:
        target = ast.Name(function, ast.Load()) if isinstance(function, str) else function
        return self.place(ast.Call(target, arguments, keywords or []), at)

    def thread(self, attribute: str) -> ast.expr:
        return ast.Attribute(ast.Name("__t", ast.Load()), attribute, ast.Load())

    def place(self, made: ast.AST, at: ast.AST) -> Any:
        """Give ``made`` and its new parts the position of ``at``. Below a part that has one, all have."""
        parts = [made]
        while parts:
            part = parts.pop()
            if not hasattr(part, "lineno"):
                if isinstance(part, (ast.expr, ast.stmt)):
                    ast.copy_location(part, at)
                parts += ast.iter_child_nodes(part)
        return made

    @staticmethod
    def place_all(made: ast.stmt, at: ast.AST) -> ast.stmt:
        for part in ast.walk(made):
            ast.copy_location(part, at)
        return made

    def bind(self, label: str, value: Any) -> ast.expr:
        name = f"__{label}"
        self.bound[name] = value
        return ast.Name(name, ast.Load())

    def log(self, site: int, at: ast.AST) -> ast.Expr:
        return self.place(ast.Expr(self.call("__log", [self.code(site)], at)), at)

    def temporary(self) -> str:
        self.temporaries += 1
        return f"__v{self.temporaries}"

    def resolve(self, node: ast.expr) -> tuple[bool, Any]:
        """(True, object) for a global name or a chain of attributes of a module; notes what the chain stood for."""
        known, value = names.resolve(self.function, self.locals, node)
        if known and isinstance(node, ast.Attribute) and not isinstance(value, KernelName):
            self.chains[tuple(ast.unparse(node).split("."))] = value
        return known, value

    def refuse(self, node: ast.AST, sentence: str) -> KernelError:
        error = KernelError(f"line {node.lineno}: {sentence}")
        error.line = node.lineno
        return error

    def look_up(self, name: str, indices: int) -> list[ast.stmt]:
        """Statements that keep the access functions of the array ``name``."""
        self.bound["__loader"], self.bound["__storer"] = arrays.loader, arrays.storer
        return ast.parse(f"__{name}__load = __loader({name}, {indices})\n"
                         f"__{name}__store = __storer({name}, {indices})").body
