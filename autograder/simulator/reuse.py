"""Which loads the GPU's compiler would not repeat.

A compiler reads an element once where a kernel names it twice with nothing between that may change it, uses a value
that was just stored, and takes a load that never changes out of its loop. Only then do a kernel's sectors equal the
profiler's. This follows what was measured on an H200 (tests/hardware/merging_cases.py): a store to global memory may
change any global array, one to a shared array that array; barriers and fences change all but local arrays, shuffles
and votes nothing. Values are numbered as in Cocke and Schwartz's value numbering (1970), along the structure of the
source; loads inside device functions are not matched with the caller's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from autograder.simulator.held import (
    EVERYTHING,
    KILLS,
    LOCAL,
    NOTHING,
    PURE_CALL,
    SHARED,
    Element,
    Source,
    State,
    Value,
    join,
    may_be,
)

@dataclass(frozen=True)
class Reuse:
    """What to do with the subscripts of a function, by ``id`` of their nodes.

    ``kept``: loads and stores whose value a temporary of that name keeps; ``again``: loads that use it instead;
    ``once``: loads that a loop makes in its first round only; ``before``: by loop, the temporaries to clear first.
    """

    kept: dict[int, str]
    again: dict[int, str]
    once: dict[int, str]
    before: dict[int, list[str]]


def find(function: ast.FunctionDef, is_kernel: bool, effect: Callable[[ast.Call], str],
         name: Callable[[], str]) -> Reuse:
    """Analyse ``function``. ``effect`` says what a call does, ``name`` gives a fresh temporary."""
    finder = _Finder(is_kernel, effect)
    arguments = function.args
    parameters = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    state = State({p: ("parameter", p) for p in parameters})
    finder.assigned = {n for part in function.body for n in _assigned(part)} | set(parameters)
    finder.block(function.body, state)
    kept: dict[int, str] = {}
    again: dict[int, str] = {}
    for load, source in finder.uses:
        again[id(load)] = kept.setdefault(id(source.node), name())
    once: dict[int, str] = {}
    before: dict[int, list[str]] = {}
    for load, loop in finder.invariant:
        if id(load) not in again:
            temporary = once[id(load)] = kept.get(id(load)) or name()
            before.setdefault(id(loop), []).append(temporary)
    return Reuse(kept, again, once, before)


class _Finder:
    def __init__(self, is_kernel: bool, effect: Callable[[ast.Call], str]) -> None:
        self.effects: dict[int, str] = {}  # by call: loops ask again and again
        self._effect = effect
        self.parameter_space = "global" if is_kernel else "any"
        self.assigned: set[str] = set()
        self.uses: list[tuple[ast.Subscript, Source]] = []
        self.invariant: list[tuple[ast.Subscript, ast.stmt]] = []
        self.spaces: dict[Value, str] = {}  # of arrays made in the function
        self.parts: dict[Value, Element] = {}  # value of a load -> what was loaded, which may be part of an array
        self.fresh = 0

    def effect(self, node: ast.Call) -> str:
        if id(node) not in self.effects:
            self.effects[id(node)] = self._effect(node)
        return self.effects[id(node)]

    def new(self, *what: Any) -> Value:
        self.fresh += 1
        return (*what, self.fresh)

    # statements
    def block(self, body: list[ast.stmt], state: State) -> None:
        for statement in body:
            if not state.reached:
                return
            getattr(self, "do_" + type(statement).__name__, self.do_other)(statement, state)

    def do_other(self, node: ast.stmt, state: State) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child, state)

    def do_FunctionDef(self, node: ast.FunctionDef, state: State) -> None:
        state.names[node.name] = self.new("function")

    def do_Return(self, node: ast.Return | ast.Raise, state: State) -> None:
        self.do_other(node, state)
        state.reached = False

    do_Raise = do_Return

    def do_Break(self, node: ast.Break | ast.Continue, state: State) -> None:
        state.reached = False

    do_Continue = do_Break

    def do_Assign(self, node: ast.Assign, state: State) -> None:
        value = self.value(node.value, state)
        for target in node.targets:
            self.store(target, node.value, value, state)

    def do_AnnAssign(self, node: ast.AnnAssign, state: State) -> None:
        if node.value is not None:
            self.store(node.target, node.value, self.value(node.value, state), state)

    def do_AugAssign(self, node: ast.AugAssign, state: State) -> None:
        target = node.target
        if isinstance(target, ast.Subscript):
            self.load(target, state)
            self.value(node.value, state)
            self.write(target, self.new("stored"), state)
        else:
            value = self.value(node.value, state)
            old = self.value(ast.Name(target.id, ast.Load()), state) if isinstance(target, ast.Name) else self.new("?")
            self.store(target, node.value, (type(node.op).__name__, old, value), state)

    def store(self, target: ast.expr, node: ast.expr, value: Value, state: State) -> None:
        if isinstance(target, ast.Name):
            state.names[target.id] = value
        elif isinstance(target, ast.Subscript):
            self.write(target, self.new("stored"), state)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == len(target.elts) else None
            for n, part in enumerate(target.elts):
                of_part = self.new("part") if parts is None else self._already(parts[n], state)
                self.store(part, parts[n] if parts is not None else target, of_part, state)

    def _already(self, node: ast.expr, state: State) -> Value:
        """The value number of a part of a tuple whose loads have been seen; names may have changed by now."""
        return self.new("part") if not isinstance(node, ast.Constant) else self.value(node, state)

    def write(self, target: ast.Subscript, value: Value, state: State) -> None:
        element = self.element(target, state)
        if element is None:
            self.kill(state, EVERYTHING)
            return
        state.drop(lambda other: may_be(element, other))
        if isinstance(target.value, ast.Name) and element.space != "any":
            state.held[element] = (Source(target), value)

    def kill(self, state: State, effect: str) -> None:
        spaces = KILLS.get(effect, ())
        if spaces:
            state.drop(lambda element: element.space in spaces)

    # branches and loops
    def do_If(self, node: ast.If, state: State) -> None:
        condition = self.value(node.test, state)
        first, second = state.copy(), state.copy()
        for element, known in state.guarded.get(condition, {}).items():
            first.held.setdefault(element, known)
        self.block(node.body, first)
        self.block(node.orelse, second)
        gained = dict(first.held) if first.reached else {}
        join(state, first, second, lambda: self.new("either"))
        if not node.orelse and state.reached and first.reached:
            more = {e: k for e, k in gained.items() if e not in state.held}
            if more:
                state.guarded[condition] = more

    def do_For(self, node: ast.For | ast.While, state: State) -> None:
        if isinstance(node, ast.For):
            self.value(node.iter, state)
        varying = set()
        for name in _assigned(node):
            state.names[name] = self.new("loop", name)
            varying.add(state.names[name])
        before = state.copy()
        self._forget_what_changes(node, state)
        inside = state.copy()
        if isinstance(node, ast.While):
            self.value(node.test, inside)
            state.held, state.guarded = dict(inside.held), {c: dict(k) for c, k in inside.guarded.items()}
        self._find_invariant(node, before, varying)
        self.block(node.body, inside)
        after = state.copy()
        self.block(node.orelse, after)
        join(state, state.copy(), after, lambda: self.new("either"))

    do_While = do_For

    def _forget_what_changes(self, node: ast.For | ast.While, state: State) -> None:
        for effect, element in self._changes(node, state):
            if element is None:
                self.kill(state, effect)
            else:
                state.drop(lambda other, element=element: may_be(element, other, loosely=True))

    def _changes(self, node: ast.AST, state: State) -> Iterator[tuple[str, Element | None]]:
        """What a loop may do to memory in any of its rounds."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                yield self.effect(part), None
            elif isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
                yield from self._written(part, state)

    def _written(self, part: ast.Subscript, state: State) -> Iterator[tuple[str, Element | None]]:
        base = part.value
        while isinstance(base, ast.Subscript):
            base = base.value
        known = state.names.get(base.id) if isinstance(base, ast.Name) else None
        while known in self.parts:
            known = self.parts[known].base
        space = self.space(known) if known is not None else None
        if space is None:
            yield EVERYTHING, None
        else:
            yield NOTHING, Element(known, (), space)

    def _find_invariant(self, node: ast.For | ast.While, state: State, varying: set[Value]) -> None:
        """Loads that every round makes, of an element that no round changes."""
        changed = list(self._changes(node, state))
        for statement in node.body:
            if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr, ast.AnnAssign)):
                break  # behind a branch or another loop a load may not be made in every round
            for load in _unconditional_loads(statement):
                element = self.element(load, state, quietly=True)
                if element is None or not element.index or _depends((element.base, element.index), varying):
                    continue
                if not any((e in KILLS and element.space in KILLS[e]) if at is None
                           else may_be(at, element, loosely=True) for e, at in changed):
                    self.invariant.append((load, node))

    # expressions
    def value(self, node: ast.expr | None, state: State) -> Value:
        """The value number of an expression, after all its loads have been seen in order."""
        if node is None:
            return ("none",)
        return getattr(self, "of_" + type(node).__name__, self.of_other)(node, state)

    def of_other(self, node: ast.expr, state: State) -> Value:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child, state)
        return self.new("?")

    def of_Constant(self, node: ast.Constant, state: State) -> Value:
        return ("constant", type(node.value).__name__, repr(node.value))

    def of_Name(self, node: ast.Name, state: State) -> Value:
        if node.id in state.names:
            return state.names[node.id]
        return ("outer", node.id) if node.id not in self.assigned else self.new("unset")

    def of_Attribute(self, node: ast.Attribute, state: State) -> Value:
        return ("attribute", self.value(node.value, state), node.attr)

    def of_BinOp(self, node: ast.BinOp, state: State) -> Value:
        both = self.value(node.left, state), self.value(node.right, state)
        if isinstance(node.op, (ast.Add, ast.Mult)):
            both = tuple(sorted(both, key=repr))
        return (type(node.op).__name__, *both)

    def of_UnaryOp(self, node: ast.UnaryOp, state: State) -> Value:
        return (type(node.op).__name__, self.value(node.operand, state))

    def of_Compare(self, node: ast.Compare, state: State) -> Value:
        parts = [self.value(node.left, state), self.value(node.comparators[0], state)]
        parts += self._perhaps(node.comparators[1:], state)
        return ("compare", *(type(op).__name__ for op in node.ops), *parts)

    def of_BoolOp(self, node: ast.BoolOp, state: State) -> Value:
        first = self.value(node.values[0], state)
        return (type(node.op).__name__, first, *self._perhaps(node.values[1:], state))

    def of_IfExp(self, node: ast.IfExp, state: State) -> Value:
        return ("ifexp", self.value(node.test, state), *self._perhaps([node.body], state),
                *self._perhaps([node.orelse], state))

    def _perhaps(self, nodes: list[ast.expr], state: State) -> list[Value]:
        """Expressions that may not be evaluated: what they load is not there afterwards."""
        inside = state.copy()
        values = [self.value(node, inside) for node in nodes]
        state.held = {e: k for e, k in state.held.items() if e in inside.held}
        state.guarded = {c: k for c, k in state.guarded.items() if c in inside.guarded and len(k) == len(inside.guarded[c])}
        for name in {n for node in nodes for n in _assigned(node)}:
            state.names[name] = self.new("either")
        return values

    def of_NamedExpr(self, node: ast.NamedExpr, state: State) -> Value:
        value = state.names[node.target.id] = self.value(node.value, state)
        return value

    def of_Lambda(self, node: ast.Lambda, state: State) -> Value:
        return self.new("function")

    def of_comprehension(self, node: ast.expr, state: State) -> Value:
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                self.kill(state, self.effect(part))
        return self.new("list")

    of_ListComp = of_SetComp = of_DictComp = of_GeneratorExp = of_comprehension

    def of_Call(self, node: ast.Call, state: State) -> Value:
        function = node.func
        called = ("call", ast.unparse(function))
        if isinstance(function, ast.Attribute) and not isinstance(function.value, (ast.Name, ast.Attribute)):
            self.value(function.value, state)
        values = [self.value(a, state) for a in node.args] + [self.value(k.value, state) for k in node.keywords]
        effect = self.effect(node)
        self.kill(state, effect)
        if effect in (SHARED, LOCAL):
            made = self.new("array")
            self.spaces[made] = effect
            return made
        if effect == PURE_CALL:
            return (*called, *values)
        return self.new("?")

    def of_Subscript(self, node: ast.Subscript, state: State) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides"):
            return ("item", self.value(node.value, state), self.value(node.slice, state))
        return self.load(node, state)

    def load(self, node: ast.Subscript, state: State) -> Value:
        element = self.element(node, state)
        if element is None:
            return self.new("?")
        known = state.held.get(element)
        if known is not None:
            self.uses.append((node, known[0]))
            return known[1]
        value = self.new("load")
        state.held[element] = (Source(node), value)
        self.parts[value] = element
        return value

    def element(self, node: ast.Subscript, state: State, quietly: bool = False) -> Element | None:
        """What a subscript names; None where that cannot be told. Loads in it are seen, unless ``quietly``."""
        if quietly and any(isinstance(part, ast.Subscript) and not _is_shape(part)
                           for inner in (node.value, node.slice) for part in ast.walk(inner)):
            return None
        base = self.value(node.value, state)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        index = tuple(self.value(p, state) for p in parts)
        if any(isinstance(p, (ast.Slice, ast.Starred)) for p in parts):
            return None
        if base in self.parts:  # a part of an array: a row, say
            whole = self.parts[base]
            return replace(whole, index=(*whole.index, *index))
        space = self.space(base)
        return None if space is None else Element(base, index, space)

    def space(self, base: Value) -> str | None:
        if base in self.spaces:
            return self.spaces[base]
        if base[0] == "parameter":
            return self.parameter_space
        return None


def _depends(value: Value, on: set[Value]) -> bool:
    """Whether a value number is made from one of ``on``."""
    return value in on or isinstance(value, tuple) and any(_depends(part, on) for part in value)


def _is_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides")


def _assigned(node: ast.AST) -> set[str]:
    """Names that a piece of source assigns, comprehensions left out."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}


def _unconditional_loads(node: ast.AST) -> Iterator[ast.Subscript]:
    """Loads of a statement that are made whatever it computes."""
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not _is_shape(node):
        yield node
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.BoolOp):
        children = node.values[:1]
    elif isinstance(node, ast.IfExp):
        children = [node.test]
    elif isinstance(node, ast.Compare):
        children = [node.left, node.comparators[0]]
    for child in children:
        yield from _unconditional_loads(child)
