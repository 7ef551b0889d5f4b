"""Rewrite a kernel's Python source so that a cooperative scheduler can run and record it.

The rewritten function takes the thread's context first (``__t``), and a device function then the
number of its first site (``__b``: every call path has its own sites, as if inlined). Barriers and warp
operations become ``yield``, so a function that has any, directly or through what it calls, is a
generator. Array accesses become calls that log, loops log their start and each iteration; arithmetic
(``arithmetic``) follows the GPU by the types that ``inference`` finds. Line numbers stay those of the source, so
tracebacks are right.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any

from autograder.simulator import arrays, effects, names, reuse
from autograder.simulator.arithmetic import kind_of
from autograder.simulator.errors import KernelError
from autograder.simulator.expressions import Ask
from autograder.simulator.inference import Inference
from autograder.simulator.intrinsics import CUDA_FUNCTIONS, KernelName
from autograder.simulator.kinds import Kind
from autograder.simulator.nested import Nested
from autograder.simulator.operations import (
    ATOMICS,
    BLOCK_OPERATIONS,
    FENCES,
    PACKERS,
    THREAD_CALLS,
    THREAD_VALUES,
    WARP_OPERATIONS,
)
from autograder.simulator.sites import (
    ALLOCATE,
    ATOMIC,
    BARRIER,
    CALL,
    FENCE,
    LOAD,
    LOOP_ENTER,
    LOOP_STEP,
    STORE,
    WARP,
)
from autograder.simulator.statements import Statements


class Rewriter(Statements):
    """Rewrites one function; ``run`` gives the tree's code and leaves the rest in the attributes."""

    def run(self, node: ast.FunctionDef, parameters: Sequence[Kind | None], ask: Ask) -> CodeType:
        """Compiled code of the rewritten ``node``, which is the function's own definition; its parameters are of
        these kinds, and ``ask`` tells the specialised form of a device function and the kind of its result."""
        name = node.name
        self.locals |= _inner_names(node)
        given = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        inference = Inference(self.function, dict(zip(given, parameters)), self.locals, ask)
        inference.run(node)
        self.returns = inference.returns
        self._find_fixed_names(node)
        self.reuse = reuse.find(node, self.is_kernel, lambda call: effects.of_call(call, self.resolve), self.temporary)
        body = self.statements(node.body)
        prologue = ast.parse("__log = __t.log").body
        if any(isinstance(part, ast.While) for part in ast.walk(node)):
            prologue += ast.parse("__rounds = 0").body  # of all its `while` loops together: short ones count, too
        for parameter, indices in self.parameters.items():
            prologue += self.look_up(parameter, indices)
        node.body = [self.place_all(statement, node) for statement in prologue] + body
        node.decorator_list, node.returns = [], None
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
        first = node.args.posonlyargs or node.args.args
        first[0:0] = [ast.arg("__t"), ast.arg("__b")]
        module = ast.fix_missing_locations(ast.Module([node], []))
        outer = compile(module, self.filename, "exec")
        return next(c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == name)

    # what names mean
    def kernel_value(self, node: ast.expr, called: bool = False) -> ast.expr | None:
        """The replacement of a name or an attribute that means something else on the GPU."""
        known, value = self.resolve(node)
        if not known:
            return None
        if isinstance(value, KernelName):
            return self.cuda_value(node, value)
        if isinstance(value, names.NUMBERS):
            return self.number(names.in_register(value), node)
        if type(value) is tuple:
            return self.place(self.bind(f"tuple_{len(self.bound)}", names.in_register(value)), node)
        try:
            other = names.replacement(value, called)
        except KernelError as error:
            raise self.refuse(node, str(error)) from None
        return None if other is None else self.place(self.bind(*other), node)

    def cuda_value(self, node: ast.expr, name: KernelName) -> ast.expr | None:
        head = name.path[0]
        if head == "atomic" and name.path[1:] and name.path[1] in ATOMICS:
            code = self.code(self.site(ATOMIC, node, name.dotted))
            return self.call(self.thread("atomic"), [code, ast.Constant(name.path[1])], node)
        if head in THREAD_VALUES:
            made: ast.expr = self.thread(head)
            for attribute in name.path[1:]:
                made = ast.Attribute(made, attribute, ast.Load())
            return self.place(made, node)
        if head == "warpsize":
            return self.place(ast.Constant(32), node)
        if name.dotted in CUDA_FUNCTIONS:
            return self.place(self.bind("cuda_" + name.dotted.replace(".", "_"),
                                        CUDA_FUNCTIONS[name.dotted]), node)
        stock: Any = sys.modules["numba.cuda"]
        for part in name.path:
            stock = getattr(stock, part, None)
        if stock is None or isinstance(stock, KernelName):
            raise self.refuse(node, f"`cuda.{name.dotted}` is not available in the simulator")
        return self.place(self.bind("stock_" + name.dotted.replace(".", "_"), stock), node)

    # expressions
    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            return self.kernel_value(node) or node
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            made = self.kernel_value(node)
            if made is not None:
                return made
            known, _ = self.resolve(node)
            if known:
                return node
        return self.generic_visit(node)

    def _comprehension(self, node: ast.expr) -> ast.expr:
        self.inner += 1
        outer = self.loops
        for part in node.generators:
            iterable = self.visit(part.iter)
            enter, step = self.site(LOOP_ENTER, node, "for"), self.site(LOOP_STEP, node, "for")
            part.iter = self.call(self.thread("rounds"), [iterable, self.code(enter), self.code(step)], node)
            self.loops = (*self.loops, step)
            part.ifs = [self.visit(test) for test in part.ifs]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        self.loops = outer
        self.inner -= 1
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """A nested function: it computes as a GPU does, and DeviceArray's own indexing records its accesses."""
        return Nested(self).visit_nested(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return Nested(self).visit_nested(node)

    def index(self, node: ast.expr) -> list[ast.expr] | ast.expr:
        """The visited index: a list of plain parts, or one expression when a slice is among them."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if any(isinstance(p, (ast.Slice, ast.Starred)) for p in parts):
            made = [self.slice(p) if isinstance(p, ast.Slice) else self.visit(p) for p in parts]
            return made[0] if not isinstance(node, ast.Tuple) else self.place(
                ast.Tuple(made, ast.Load()), node)
        return [self.visit(p) for p in parts]

    def slice(self, node: ast.Slice) -> ast.expr:
        self.bound["__slice"] = slice
        none = ast.Constant(None)
        ends = [self.visit(e) if e is not None else none for e in (node.lower, node.upper, node.step)]
        return self.call("__slice", ends, node)

    def _find_fixed_names(self, node: ast.FunctionDef) -> None:
        """Parameters never assigned again, and names assigned once from shared.array or local.array, as
        far as they are always indexed with the same number of plain indices."""
        indices: dict[str, set[int]] = {}
        assigned: dict[str, int] = {}
        made: set[str] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                plain = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
                count = 0 if any(isinstance(e, (ast.Slice, ast.Starred)) for e in plain) else len(plain)
                indices.setdefault(part.value.id, set()).add(count)
            elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                assigned[part.id] = assigned.get(part.id, 0) + 1
            elif isinstance(part, ast.Assign) and len(part.targets) == 1 and isinstance(part.targets[0], ast.Name):
                if isinstance(part.value, ast.Call):
                    known, value = self.resolve(part.value.func)
                    if known and isinstance(value, KernelName) and value.dotted in ("shared.array", "local.array"):
                        made.add(part.targets[0].id)
        fixed = {n: next(iter(c)) for n, c in indices.items() if len(c) == 1 and 1 <= next(iter(c)) <= 3}
        names = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        self.parameters = {n: k for n, k in fixed.items() if n in names and n not in assigned}
        self.arrays = {n: k for n, k in fixed.items() if n in made and assigned.get(n) == 1 and n not in names}

    def access(self, verb: str, base: ast.expr, index: list[ast.expr] | ast.expr,
               value: list[ast.expr], site: int, at: ast.AST) -> ast.Call:
        if isinstance(index, list) and isinstance(base, ast.Name) and (
                base.id in self.parameters or base.id in self.arrays):
            return self.call(f"__{base.id}__{verb}", [*index, *value, self.code(site)], at)
        self.bound[f"__{verb}_any"] = arrays.load_any if verb == "load" else arrays.store_any
        if isinstance(index, list):
            index = index[0] if len(index) == 1 else ast.Tuple(index, ast.Load())
        return self.call(f"__{verb}_any", [base, index, *value, self.code(site)], at)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides"):
            return self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            raise self.refuse(node, "an array element cannot stand here; assign it in a statement of its own")
        return self.load(node)

    def load(self, node: ast.Subscript) -> ast.expr:
        """A load, or the temporary that holds the element already."""
        known = self.reuse.again.get(id(node))
        if known is not None:
            return self.place(ast.Name(known, ast.Load()), node)
        kept, once = self.reuse.kept.get(id(node)), self.reuse.once.get(id(node))
        text = ast.unparse(node.value)
        base, index = self.visit(node.value), self.index(node.slice)
        made = self.access("load", base, index, [], self.site(LOAD, node, text), node)
        return self.held(made, kept, once, node)

    def held(self, made: ast.expr, kept: str | None, once: str | None, at: ast.AST) -> ast.expr:
        name = once or kept
        if name is None:
            return made
        made = ast.NamedExpr(ast.Name(name, ast.Store()), made)
        if once is not None:
            first = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Constant(None)])
            made = ast.IfExp(first, made, ast.Name(name, ast.Load()))
        return self.place(made, at)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        known, target = self.resolve(node.func)
        if known and isinstance(target, KernelName):
            made = self.cuda_call(node, target)
            if made is not None:
                return made
        if known and names.is_device_function(target):
            return self.device_call(node, getattr(node, "target", target.fn))
        if known and names.is_cast(target):
            return self.cast(node, target)
        if getattr(node, "plan", None) is not None:
            return self.planned(node)
        if known:
            made = self.kernel_value(node.func, called=True)
            arguments, keywords = self.arguments(node)
            return self.call(made if made is not None else node.func, arguments, node, keywords)
        return self.group_sync(node) or self.method(node)

    def cast(self, node: ast.Call, target: Any) -> ast.expr:
        """``np.float32(x)`` and the like."""
        known, value = self.constant_of(node)
        if known:
            return self.number(value, node)
        if len(node.args) != 1 or node.keywords:
            raise self.refuse(node, f"`{ast.unparse(node)}` must have one argument")
        return self.converted(self.side(node.args[0]), names.dtype_name(target), node)

    def method(self, node: ast.Call) -> ast.expr:
        """A call of something that is no global name: a nested function, a method of an array."""
        kind = kind_of(node)
        made = self.generic_visit(node)
        typed = isinstance(node.func, ast.Attribute) and node.func.attr == "type" and kind is not None and kind.scalar
        return self.as_type(made, kind.name, node) if typed else made

    def group_sync(self, node: ast.Call) -> ast.expr | None:
        """``group.sync()`` on what ``cuda.cg.this_grid()`` gave; None for any other call."""
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "sync" and not node.args):
            return None
        group = self.visit(node.func.value)
        checked = self.call(self.thread("group_barrier"), [group, self.code(self.site(BARRIER, node, "sync"))], node)
        return self.suspend(node, checked)

    def arguments(self, node: ast.Call) -> tuple[list[ast.expr], list[ast.keyword]]:
        return ([self.visit(a) for a in node.args],
                [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords])

    def suspend(self, node: ast.AST, value: ast.expr) -> ast.expr:
        if self.inner:
            raise self.refuse(node, "a barrier or warp operation cannot stand in a comprehension")
        self.cooperative = True
        return self.place(ast.Yield(value), node)

    def cuda_call(self, node: ast.Call, name: KernelName) -> ast.expr | None:
        dotted, head = name.dotted, name.path[0]
        if dotted == "syncthreads":
            return self.suspend(node, self.code(self.site(BARRIER, node, dotted)))
        if dotted in BLOCK_OPERATIONS or dotted in WARP_OPERATIONS:
            arguments, keywords = self.arguments(node)
            kind = BARRIER if dotted in BLOCK_OPERATIONS else WARP
            packed = self.call(self.bind(f"pack_{dotted}", PACKERS[dotted]), arguments, node, keywords)
            return self.suspend(node, ast.Tuple([self.code(self.site(kind, node, dotted)), packed], ast.Load()))
        if dotted in ("shared.array", "local.array"):
            arguments, keywords = self.arguments(node)
            site = self.site(ALLOCATE, node, dotted)
            where = [self.code(site), ast.Constant(site)] if head == "shared" else [self.code(site)]
            return self.call(self.thread(f"{head}_array"), [*where, *arguments], node, keywords)
        if dotted == "cg.this_grid":
            return self.call(self.thread("this_grid"), [], node)
        if dotted in ("load4", "store4"):
            text = ast.unparse(node.args[0]) if node.args else "?"
            arguments, keywords = self.arguments(node)
            code = self.code(self.site(LOAD if dotted == "load4" else STORE, node, text))
            return self.call(self.thread(dotted), [code, *arguments], node, keywords)
        if dotted == "const.array_like":
            arguments, _ = self.arguments(node)
            return self.call(self.thread("const_array"), arguments, node)
        if head == "atomic" and len(name.path) == 2:
            if name.path[1] not in ATOMICS:
                raise self.refuse(node, f"`cuda.{dotted}` does not exist")
            text = ast.unparse(node.args[0]) if node.args else "?"
            arguments, keywords = self.arguments(node)
            code = self.code(self.site(ATOMIC, node, text))
            return self.call(self.thread(f"atomic_{name.path[1]}"), [code, *arguments], node, keywords)
        if head in FENCES and len(name.path) == 1:
            arguments, keywords = self.arguments(node)
            code = self.code(self.site(FENCE, node, dotted))
            return self.call(self.thread("fence"), [code, *arguments], node, keywords)
        if head in THREAD_CALLS and len(name.path) == 1:
            arguments, keywords = self.arguments(node)
            return self.call(self.thread(head), arguments, node, keywords)
        return None

    def device_call(self, node: ast.Call, target: FunctionType) -> ast.expr:
        arguments, keywords = self.arguments(node)
        label = next((k for k, f in self.calls.items() if f is target), f"__d{len(self.calls)}")
        self.calls[label] = target
        site = self.site(CALL, node, target.__name__)
        base = self.call(self.thread("enter"), [self.code(site), ast.Constant(label)], node)
        made = self.call(label, [ast.Name("__t", ast.Load()), base, *arguments], node, keywords)
        if not self.cooperates(target):
            return made
        if self.inner:
            raise self.refuse(node, f"`{target.__name__}` has a barrier and cannot stand in a comprehension")
        self.cooperative = True
        return self.place(ast.YieldFrom(made), node)


def _inner_names(node: ast.FunctionDef) -> set[str]:
    """Variables of comprehensions, nested functions and lambdas in ``node``."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, ast.arg):
            found.add(part.arg)
        elif isinstance(part, ast.FunctionDef) and part is not node:
            found.add(part.name)
    return found
