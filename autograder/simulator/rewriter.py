"""Rewrite a kernel's Python source so that a cooperative scheduler can run and record it.

The rewritten function takes the thread's context first (``__t``), and a device function then the
number of its first site (``__b``: every call path has its own sites, as if inlined). Barriers and warp
operations become ``yield``, so a function that has any, directly or through what it calls, is a
generator. Array accesses become calls that log, loops log their start and each iteration, ``max``,
``math`` and ``/`` follow the GPU. Line numbers stay those of the source, so tracebacks are right.
"""

from __future__ import annotations

import ast
import sys
from types import CodeType, FunctionType
from typing import Any

from autograder.simulator import arrays, effects, gpumath, names, reuse
from autograder.simulator.building import Builder
from autograder.simulator.errors import KernelError
from autograder.simulator.intrinsics import CUDA_FUNCTIONS, KernelName
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

_ROUNDS = 64  # `while` loops report their rounds to the step count this many at a time


class Rewriter(Builder):
    """Rewrites one function; ``run`` gives the tree's code and leaves the rest in the attributes."""

    def run(self, node: ast.FunctionDef) -> CodeType:
        """Compiled code of the rewritten ``node``, which is the function's own definition."""
        name = node.name
        self._find_fixed_names(node)
        self.reuse = reuse.find(node, self.is_kernel, lambda call: effects.of_call(call, self.resolve), self.temporary)
        body = []
        for statement in node.body:
            made = self.visit(statement)
            body += made if isinstance(made, list) else [made]
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
    def resolve(self, node: ast.expr) -> tuple[bool, Any]:
        known, value = names.resolve(self.function, self.locals, node)
        if known and isinstance(node, ast.Attribute) and not isinstance(value, KernelName):
            self.chains[tuple(ast.unparse(node).split("."))] = value
        return known, value

    def kernel_value(self, node: ast.expr) -> ast.expr | None:
        """The replacement of a name or an attribute that means something else on the GPU."""
        known, value = self.resolve(node)
        if not known:
            return None
        if isinstance(value, KernelName):
            return self.cuda_value(node, value)
        try:
            other = names.replacement(value)
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

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        for kind, name, function in ((ast.Div, "divide", gpumath.divide), (ast.Pow, "power", gpumath.power)):
            if isinstance(node.op, kind):
                self.bound[f"__{name}"] = function
                return self.call(f"__{name}", [node.left, node.right], node)
        return node

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
        return node  # a nested function runs as it is; DeviceArray's own indexing records its accesses

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node

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

    def visit_Call(self, node: ast.Call) -> ast.expr:
        known, target = self.resolve(node.func)
        if known and isinstance(target, KernelName):
            made = self.cuda_call(node, target)
            if made is not None:
                return made
        if known and names.is_device_function(target):
            return self.device_call(node, target.fn)
        if known and names.is_cast(target):
            self.generic_visit(node)
            node.func = self.place(self.bind(f"cast_{names.dtype_name(target)}", names.cast(target)), node)
            return node
        return (None if known else self.group_sync(node)) or self.generic_visit(node)

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

    # statements
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
        target = node.target
        if not isinstance(target, ast.Subscript):
            if isinstance(node.op, (ast.Div, ast.Pow)) and isinstance(target, ast.Name):
                load = self.place(ast.Name(target.id, ast.Load()), target)
                both = self.visit_BinOp(self.place(ast.BinOp(load, node.op, node.value), node))
                return self.place(ast.Assign([target], both), node)
            return self.generic_visit(node)
        text = ast.unparse(target.value)
        base, index = self.visit(target.value), self.index(target.slice)
        parts = index if isinstance(index, list) else [index]
        names = [self.temporary() for _ in range(1 + len(parts))]
        before = [self.place(ast.Assign([ast.Name(n, ast.Store())], e), node)
                  for n, e in zip(names, [base, *parts])]
        loads = [ast.Name(n, ast.Load()) for n in names]
        again: Any = loads[1:] if isinstance(index, list) else loads[1]
        known = self.reuse.again.get(id(target))
        if known is not None:
            old = self.place(ast.Name(known, ast.Load()), node)
        else:
            old = self.access("load", loads[0], again, [], self.site(LOAD, target, text), node)
            old = self.held(old, self.reuse.kept.get(id(target)), self.reuse.once.get(id(target)), node)
        # the right side is visited after the load's site exists, so sites keep program order
        new = self.place(ast.BinOp(old, node.op, self.visit(node.value)), node)
        for kind, name, function in ((ast.Div, "divide", gpumath.divide), (ast.Pow, "power", gpumath.power)):
            if isinstance(node.op, kind):
                self.bound[f"__{name}"] = function
                new = self.call(f"__{name}", [new.left, new.right], node)
        loads = [ast.Name(n, ast.Load()) for n in names]
        again = loads[1:] if isinstance(index, list) else loads[1]
        new = self.kept_value(target, new, node)
        made = self.access("store", loads[0], again, [new], self.site(STORE, target, text), node)
        return [*before, self.place(ast.Expr(made), node)]

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        self.generic_visit(node)
        if not self.is_kernel:
            return [node]
        return [self.place_all(ast.parse("__t.left = True").body[0], node), node]

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        if any(isinstance(n, ast.Subscript) for n in ast.walk(node.target)):
            raise self.refuse(node, "a loop cannot count in an array element; use a plain variable")
        iterable = self.visit(node.iter)
        enter, step = self.site(LOOP_ENTER, node, "for"), self.site(LOOP_STEP, node, "for")
        watched = self.call(self.thread("loop"), [iterable, self.code(step)], node)
        body = self.inside(step, node.body)
        loop = ast.For(node.target, watched, [self.log(step, node), *body],
                       [s for part in node.orelse for s in _many(self.visit(part))])
        return [*self.cleared(node), self.log(enter, node), self.place(loop, node)]

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        enter, step = self.site(LOOP_ENTER, node, "while"), self.site(LOOP_STEP, node, "while")
        outer, self.loops = self.loops, (*self.loops, step)
        test = self.visit(node.test)
        self.loops = outer
        count = ast.parse(f"__rounds += 1\nif __rounds == {_ROUNDS}:\n    __rounds = 0").body
        spend = ast.Expr(self.call(self.thread("spend"), [ast.Constant(_ROUNDS), self.code(step)], node))
        count[1].body.append(spend)
        count = [self.place_all(part, node) for part in count]
        loop = ast.While(test, [self.log(step, node), *count, *self.inside(step, node.body)],
                         [s for part in node.orelse for s in _many(self.visit(part))])
        return [*self.cleared(node), self.log(enter, node), self.place(loop, node)]

    def inside(self, step: int, body: list[ast.stmt]) -> list[ast.stmt]:
        outer, self.loops = self.loops, (*self.loops, step)
        made = [s for part in body for s in _many(self.visit(part))]
        self.loops = outer
        return made


def _many(made: Any) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]
