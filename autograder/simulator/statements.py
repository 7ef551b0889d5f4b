"""The rewriter's part for statements: assignments, branches, loops, and one type for a variable where paths meet."""

from __future__ import annotations

import ast
from typing import Any

from autograder.simulator import arrays
from autograder.simulator.arithmetic import Arithmetic, Side
from autograder.simulator.reuse import Reuse
from autograder.simulator.sites import LOAD, LOOP_ENTER, LOOP_STEP, STORE

_ROUNDS = 64  # `while` loops report their rounds to the step count this many at a time


class Statements(Arithmetic):
    """Visits statements; the rewriter proper visits what stands in them."""

    reuse: Reuse

    def kept_value(self, target: ast.Subscript, value: ast.expr, at: ast.AST) -> ast.expr:
        """A value on its way into an array; where it is wanted again, as what the array makes of it."""
        kept = self.reuse.kept.get(id(target))
        if kept is None or not isinstance(target.value, ast.Name):
            return value
        self.bound["__stored"] = arrays.stored
        made = self.call("__stored", [ast.Name(target.value.id, ast.Load()), value], at)
        return self.place(ast.NamedExpr(ast.Name(kept, ast.Store()), made), at)

    def cleared(self, loop: ast.stmt) -> list[ast.stmt]:
        """Before a loop: the temporaries of its invariant loads hold nothing."""
        return [self.place(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)), loop)
                for name in self.reuse.before.get(id(loop), ())]

    def store(self, target: ast.Subscript, value: ast.expr, at: ast.AST) -> ast.stmt:
        text = ast.unparse(target.value)
        base, index = self.visit(target.value), self.index(target.slice)
        kept = self.kept_value(target, value, at)
        made = self.access("store", base, index, [kept], self.site(STORE, target, text), at)
        return self.place(ast.Expr(made), at)

    def assign(self, target: ast.expr, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
        if isinstance(target, ast.Subscript):
            return [self.store(target, value, at)]
        if isinstance(target, (ast.Tuple, ast.List)) and any(
                isinstance(n, ast.Subscript) for n in ast.walk(target)):
            later, parts = [], []
            for part in target.elts:
                name = self.temporary()
                parts.append(ast.Name(name, ast.Store()))
                later += self.assign(part, ast.Name(name, ast.Load()), at)
            return [self.place(ast.Assign([ast.Tuple(parts, ast.Store())], value), at),
                    *[self.place(s, at) for s in later]]
        return [self.place(ast.Assign([self.visit(target)], value), at)]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            target = node.targets[0]
            after = []
            if isinstance(target, ast.Name) and target.id in self.arrays:
                after = [self.place_all(s, node) for s in self.look_up(target.id, self.arrays[target.id])]
            return [*self.assign(target, value, node), *after]
        name = self.temporary()
        made = [self.place(ast.Assign([ast.Name(name, ast.Store())], value), node)]
        for target in node.targets:
            made += self.assign(target, ast.Name(name, ast.Load()), node)
        return made

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt] | ast.stmt:
        if node.value is None:
            return self.place(ast.Pass(), node)
        return self.assign(node.target, self.visit(node.value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt] | ast.stmt:
        target, value, old = node.target, node.value, getattr(node, "old", None)
        if isinstance(target, ast.Name):
            load = self.place(ast.Name(target.id, ast.Load()), target)
            both = self.binary(node, node.op, Side(load, None, old), self.side(value))
            return self.place(ast.Assign([target], both), node)
        if not isinstance(target, ast.Subscript):
            return self.generic_visit(node)
        text = ast.unparse(target.value)
        base, index = self.visit(target.value), self.index(target.slice)
        parts = index if isinstance(index, list) else [index]
        names_ = [self.temporary() for _ in range(1 + len(parts))]
        before = [self.place(ast.Assign([ast.Name(n, ast.Store())], e), node)
                  for n, e in zip(names_, [base, *parts])]
        loads = [ast.Name(n, ast.Load()) for n in names_]
        again: Any = loads[1:] if isinstance(index, list) else loads[1]
        known = self.reuse.again.get(id(target))
        if known is not None:
            element: ast.expr = self.place(ast.Name(known, ast.Load()), node)
        else:
            element = self.access("load", loads[0], again, [], self.site(LOAD, target, text), node)
            element = self.held(element, self.reuse.kept.get(id(target)), self.reuse.once.get(id(target)), node)
        # the right side is visited after the load's site exists, so sites keep program order
        new = self.binary(node, node.op, Side(element, None, old), self.side(value))
        loads = [ast.Name(n, ast.Load()) for n in names_]
        again = loads[1:] if isinstance(index, list) else loads[1]
        new = self.kept_value(target, new, node)
        made = self.access("store", loads[0], again, [new], self.site(STORE, target, text), node)
        return [*before, self.place(ast.Expr(made), node)]

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        to = getattr(node, "cast", None)
        self.generic_visit(node)
        if not self.is_kernel:
            if to is not None and node.value is not None:
                node.value = self.as_type(node.value, to, node)
            return [node]
        return [self.place_all(ast.parse("__t.left = True").body[0], node), node]

    # where paths meet, a variable of two types is brought to one
    def visit_If(self, node: ast.If) -> ast.stmt:
        first, second = getattr(node, "casts", ((), ()))
        node.test = self.visit(node.test)
        node.body = [*self.statements(node.body), *self.casts(first, node)]
        node.orelse = [*self.statements(node.orelse), *self.casts(second, node)]
        return node

    def visit_Break(self, node: ast.stmt) -> list[ast.stmt]:
        return [*self.casts(getattr(node, "casts", ()), node), node]

    visit_Continue = visit_Break

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [s for part in body for s in _many(self.visit(part))]

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        if any(isinstance(n, ast.Subscript) for n in ast.walk(node.target)):
            raise self.refuse(node, "a loop cannot count in an array element; use a plain variable")
        iterable = self.visit(node.iter)
        enter, step = self.site(LOOP_ENTER, node, "for"), self.site(LOOP_STEP, node, "for")
        watched = self.call(self.thread("loop"), [iterable, self.code(step)], node)
        body = self.inside(step, node)
        loop = ast.For(node.target, watched, [self.log(step, node), *body], self.ending(node))
        return [*self.casts(getattr(node, "entry_casts", ()), node), *self.cleared(node), self.log(enter, node),
                self.place(loop, node)]

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        enter, step = self.site(LOOP_ENTER, node, "while"), self.site(LOOP_STEP, node, "while")
        outer, self.loops = self.loops, (*self.loops, step)
        test = self.visit(node.test)
        self.loops = outer
        count = ast.parse(f"__rounds += 1\nif __rounds == {_ROUNDS}:\n    __rounds = 0").body
        spend = ast.Expr(self.call(self.thread("spend"), [ast.Constant(_ROUNDS), self.code(step)], node))
        count[1].body.append(spend)
        count = [self.place_all(part, node) for part in count]
        loop = ast.While(test, [self.log(step, node), *count, *self.inside(step, node)], self.ending(node))
        return [*self.casts(getattr(node, "entry_casts", ()), node), *self.cleared(node), self.log(enter, node),
                self.place(loop, node)]

    def ending(self, node: ast.For | ast.While) -> list[ast.stmt]:
        return [*self.statements(node.orelse), *self.casts(getattr(node, "end_casts", ()), node)]

    def inside(self, step: int, node: ast.For | ast.While) -> list[ast.stmt]:
        outer, self.loops = self.loops, (*self.loops, step)
        made = self.statements(node.body)
        self.loops = outer
        return [*made, *self.casts(getattr(node, "back_casts", ()), node)]


def _many(made: Any) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]
