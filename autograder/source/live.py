"""A kernel's source from the live object of a notebook: its own text, its globals as they are now."""

from __future__ import annotations

import ast
import builtins
import linecache
import math
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from autograder.source import catalog, values
from autograder.source import scope as scopes
from autograder.source.advice import import_line
from autograder.source.assemble import WANTED
from autograder.source.cells import MAX_FILE, Unit, make_cell, make_unit
from autograder.source.gather import assembled, is_setup_cell, is_setup_script
from autograder.source.model import KernelSource, SourceRefused
from autograder.source.rules import Surroundings
from autograder.source.scope import Scope
from autograder.source.values import Constant, Foreign, Function, Member, Module, Value

_COMPILED = ("FakeCUDAKernel", "CUDADispatcher")  # numba's simulator, numba on a GPU
_ELSEWHERE = "copy it into the notebook, above the kernel"


def gather_live(obj: Any, kind: str = "kernel") -> KernelSource:
    """The source of a live ``@cuda.jit`` object or function, as its notebook has it now.

    Gives the same text as :func:`gather_notebook` for a notebook that was run from the top to here.
    Raises SourceRefused.
    """
    if kind not in WANTED:
        raise ValueError(f'kind is "kernel", "device" or "host", not {kind!r}')
    wanted = WANTED[kind]
    function = python_function(obj)
    if function is None:
        if type(obj).__name__ == "Configured":
            raise SourceRefused(
                "a launch was given, not a kernel", hint="pass the kernel itself, without [grid, block]"
            )
        raise SourceRefused(
            f"what was given {values.describe(obj)}, not {wanted}", hint="pass the name of your function"
        )
    session = _Session(function)
    value = session.function_value(obj, function)
    if isinstance(value, Foreign):
        raise SourceRefused(
            f"`{function.__code__.co_name}` {value.what}", hint=value.hint, line=value.line, label=value.label
        )
    surroundings = Surroundings(session.lookup, lambda: sorted(n for n in session.globals if type(n) is str))
    origin = "notebook" if session.shell else session.file_label
    # no remarks on names defined twice: in a history, every edited cell looks like that
    return assembled(value, kind, surroundings, origin, None, function.__code__.co_name)


def python_function(obj: Any) -> FunctionType | None:
    """The plain function behind a kernel or function object; None for anything else."""
    if type(obj) is FunctionType:
        return obj
    if _is_compiled(obj) or _is_cpu_compiled(obj):
        function = getattr(obj, "py_func", None)
        return function if type(function) is FunctionType else None
    return None


def _is_compiled(obj: Any) -> bool:
    kind = type(obj)
    return kind.__name__ in _COMPILED and kind.__module__.startswith("numba.cuda.")


def _is_cpu_compiled(obj: Any) -> bool:
    return type(obj).__module__.startswith("numba.") and hasattr(obj, "py_func") and not _is_compiled(obj)


def _is_device(obj: Any) -> bool:
    options = getattr(obj, "targetoptions", None)
    return bool(options.get("device")) if isinstance(options, dict) else bool(getattr(obj, "_device", False))


class _Session:
    """One notebook (or module) as one function sees it: its globals, and the text they came from."""

    def __init__(self, function: FunctionType) -> None:
        self.globals = function.__globals__
        self.filename = function.__code__.co_filename
        self.shell = _shell(self.globals)

    # text
    @property
    def file_label(self) -> str:
        return os.path.basename(self.filename)

    def raw_cells(self) -> list[str]:
        """What was run in the notebook so far, cell by cell, as it was typed; [] outside a notebook."""
        manager = getattr(self.shell, "history_manager", None)
        typed = getattr(manager, "input_hist_raw", None)
        return [text for text in typed if type(text) is str] if isinstance(typed, list) else []

    @cached_property
    def written(self) -> Scope | None:
        """The scope that reading the text gives: all that was run, or the module's own file. None when
        the notebook keeps no history."""
        main = self.globals.get("__name__") == "__main__"
        if self.shell is None:
            text = "".join(linecache.getlines(self.filename))
            return scopes.read([make_cell(text, self.file_label, limit=MAX_FILE)], main, is_setup_script(text))
        typed = [(n, text) for n, text in enumerate(self.raw_cells()) if text.strip()]
        cells = [make_cell(text, f"cell In[{n}]", setup=is_setup_cell(text)) for n, text in typed]
        return scopes.read(cells, main) if cells else None

    def unit(self, function: FunctionType) -> Unit | Foreign:
        """The function's own lines."""
        code = function.__code__
        name = code.co_name
        text = "".join(linecache.getlines(code.co_filename))
        if not text:
            return Foreign(
                "has no text that can be found",
                "define it in a cell of its own, without exec and without a `%%` line on top of the cell",
            )
        label = self.label_of(text) if self.shell is not None else os.path.basename(code.co_filename)
        cell = make_cell(text, label, limit=MAX_FILE)
        if cell.tree is None:
            return Foreign(
                f"cannot be read: its text {cell.problem}", "mend the cell and run it", cell.problem_line, label
            )
        node = _find(cell.tree.body, name, code.co_firstlineno)
        if node is not None:
            return self.as_typed(make_unit(cell, node))
        if name == "<lambda>":
            return Foreign("is a lambda", "write it as a `def`", code.co_firstlineno, label)
        inside = _find(ast.walk(cell.tree), name, code.co_firstlineno)
        if inside is not None or code.co_freevars:
            return Foreign(
                f"is defined inside {_around(cell.tree, inside)}",
                "move it to the top level of its cell",
                inside.lineno if inside is not None else code.co_firstlineno,
                label,
            )
        return Foreign("has changed since it was run", "run its cell again")

    def label_of(self, text: str) -> str:
        """The label of the cell that was run last with this text, "" when it was typed otherwise."""
        typed = self.raw_cells()
        found = (n for n in range(len(typed) - 1, -1, -1) if typed[n].strip() == text.strip())
        return next((f"cell In[{n}]" for n in found), "")

    def as_typed(self, unit: Unit) -> Unit:
        """The unit with the label and line numbers of the cell as it was typed: IPython drops blank
        lines on top, and its own file names say nothing to a student."""
        typed = self.raw_cells()
        for number in range(len(typed) - 1, -1, -1):
            text = "\n" + typed[number].replace("\r\n", "\n") + "\n"
            at = text.find("\n" + unit.text)
            if at >= 0:
                first = text.count("\n", 0, at) + 1
                problem = unit.problem and (unit.problem[0], unit.problem[1] - unit.first + first, unit.problem[2])
                return replace(unit, first=first, label=f"cell In[{number}]", problem=problem)
        return unit

    # names
    def lookup(self, name: str) -> Value | None:
        """What ``name`` stands for in the notebook now, None when nothing binds it."""
        if name not in self.globals:
            return None
        try:
            value = self.value(self.globals[name])
        except Exception as error:  # an object of the student's that fails when it is looked at
            value = Foreign(f"cannot be looked at ({type(error).__name__})", values.ONLY_NUMBERS)
        return self.as_written(name, value)

    def as_written(self, name: str, value: Value) -> Value:
        """``value``, if reading the notebook gives the same: grading reads the text and runs nothing, so
        a name that only the running notebook knows would pass here and fail there."""
        if self.written is None:
            return value
        written = self.written.get(name)
        if _same(value, written):
            return value
        if isinstance(written, Foreign):
            return written  # in the same words as grading will
        if isinstance(value, Foreign):
            return value
        if isinstance(value, Constant) and isinstance(written, Constant):
            return Foreign(
                f"is {value.code[:40]} now, and the text of the notebook says {written.code[:40]}",
                "restart the kernel and run all cells",
            )
        if written is not None:
            return Foreign("is not what the text of the notebook says", "restart the kernel and run all cells")
        hint = "define it in a cell above the kernel"
        if isinstance(value, Constant):
            hint = f"write `{name} = {value.code[:40]}` in a cell above the kernel"
        elif isinstance(value, (Module, Member)):
            hint = f"write `{import_line(name, value.path)}` in a cell above the kernel"
        return Foreign("is set in a way that the text of the notebook does not show", hint)

    def function_value(self, obj: Any, function: FunctionType) -> Value:
        if function.__globals__ is not self.globals:
            home = function.__globals__.get("__name__")
            return Foreign(f"comes from `{home}`", _ELSEWHERE)
        unit = self.unit(function)
        if isinstance(unit, Foreign):
            return unit
        if function.__code__.co_freevars:
            return Foreign("uses a variable of the function around it", "move it to the top level of its cell")
        if unit.node is not None and unit.node.decorator_list:
            return Function(unit, "@")
        if _is_cpu_compiled(obj):
            return Foreign("is compiled for the CPU", "for a GPU write @cuda.jit")
        return Function(unit, "" if type(obj) is FunctionType else "device" if _is_device(obj) else "kernel")

    def value(self, obj: Any) -> Value:
        """The value that stands for a live object."""
        kernels = sys.modules.get("autograder.kernels")
        for name in catalog.names_in("autograder.kernels"):
            if kernels is not None and getattr(kernels, name, None) is obj:
                return Member(f"autograder.kernels.{name}")
        if isinstance(obj, ModuleType):
            name = obj.__name__
            return values.imported(name) if sys.modules.get(name) is obj else Foreign("is a module of your own")
        member = _library_member(obj)
        if member is not None:
            return member
        function = python_function(obj)
        if function is not None:
            return self.function_value(obj, function)
        return values.constant(obj)


def _same(value: Value, written: Value | None) -> bool:
    if isinstance(value, Function) and isinstance(written, Function):
        return (value.jit, value.unit.text) == (written.jit, written.unit.text)
    return value == written


def _library_member(obj: Any) -> Value | None:
    """A function, type or name of math, numpy, numba, numba.cuda or the builtins, by identity."""
    cuda = sys.modules.get("numba.cuda")
    numba = sys.modules.get("numba")
    kind = type(obj)
    if cuda is not None:
        if kind.__name__ == "KernelName" and kind.__module__.startswith("autograder."):
            return _cuda_member(".".join(obj.path))
        for name in catalog.names_in("numba.cuda"):
            if f"numba.cuda.{name}" in catalog.ALLOWED and getattr(cuda, name, None) is obj:
                return Member(f"numba.cuda.{name}")
    if numba is not None and kind.__module__.startswith("numba."):
        name = {"bool": "boolean", "none": "void"}.get(str(obj), str(obj))
        if f"numba.{name}" in catalog.ALLOWED and getattr(numba, name, None) is obj:
            return Member(f"numba.{name}")
    name = getattr(obj, "__name__", None)
    if type(name) is not str or not callable(obj):
        return None
    for home, module in (("builtins", builtins), ("math", math), ("numpy", np), ("numba", numba)):
        if module is not None and getattr(module, name, None) is obj:
            return values.named(f"{home}.{name}")
    return None


def _cuda_member(path: str) -> Value:
    full = f"numba.cuda.{path}"
    return values.renamed(full) if catalog.is_nested(full) else Member(full)


def _shell(namespace: dict[str, Any]) -> Any:
    """The IPython shell whose notebook ``namespace`` is, else None."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    shell = get() if callable(get) else None
    return shell if getattr(shell, "user_ns", None) is namespace else None


def _find(nodes: Iterable[ast.AST], name: str, first: int) -> ast.FunctionDef | None:
    """The ``def`` of ``name`` whose first line (decorators included) is ``first``."""
    for node in nodes:
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == name
            and first in (node.lineno, min([node.lineno, *(d.lineno for d in node.decorator_list)]))
        ):
            return node
    return None


def _around(tree: ast.Module, node: ast.AST | None) -> str:
    """The block of the cell that ``node`` stands in: "an `if`", "another function"."""
    for statement in tree.body:
        if any(part is node for part in ast.walk(statement)):
            kind = type(statement).__name__
            return {
                "FunctionDef": "another function",
                "ClassDef": "a class",
                "If": "an `if`",
                "For": "a loop",
                "While": "a loop",
                "With": "a `with`",
                "Try": "a `try`",
            }.get(kind, f"a `{kind.lower()}`")
    return "another function"
