"""Functions inside a kernel: their arithmetic and their names mean what they mean on a GPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from autograder.simulator import names
from autograder.simulator.arithmetic import Side

if TYPE_CHECKING:
    from autograder.simulator.rewriter import Rewriter


class Nested(ast.NodeTransformer):
    """Rewrites one of them; types are looked at when it runs, and DeviceArray's own indexing records its accesses."""

    def __init__(self, outer: Rewriter) -> None:
        self.outer = outer

    def visit_nested(self, node: Any) -> Any:
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return self.outer.binary(node, node.op, Side(node.left, None, None), Side(node.right, None, None))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        load = self.outer.place(ast.Name(node.target.id, ast.Load()), node.target)
        both = self.outer.binary(node, node.op, Side(load, None, None), Side(node.value, None, None))
        return self.outer.place(ast.Assign([node.target], both), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self.outer.visit_Constant(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.outer.visit_Name(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        known, target = self.outer.resolve(node.func)
        if known and names.is_cast(target):
            node.args = [self.visit(a) for a in node.args]
            function = self.outer.bind(f"cast_{names.dtype_name(target)}", names.cast(target))
            return self.outer.call(function, node.args, node)
        made = self.outer.kernel_value(node.func, called=True) if known else None
        self.generic_visit(node)
        if made is not None:
            node.func = made
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            made = self.outer.kernel_value(node)
            if made is not None:
                return made
            if self.outer.resolve(node)[0]:
                return node
        return self.generic_visit(node)
