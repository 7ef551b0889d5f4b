"""What a name can stand for, found in the same form from a live notebook and from its file.

A live object and a line of text that bind the same thing give equal values here, and the text of a
kernel's module is written from these values alone. That is why both ways give the same text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from autograder.source import catalog
from autograder.source.cells import Unit

ONLY_NUMBERS = "from outside a kernel can use numbers, tuples of numbers and types such as np.float32"
MAX_BITS = 64  # of an integer constant: what a GPU can hold
MAX_NUMBERS = 1024  # in one tuple


@dataclass(frozen=True)
class Constant:
    """A number or a tuple of numbers. ``code`` is its one spelling; ``needs`` the names in it."""

    code: str
    value: Any = field(compare=False)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names that ``code`` uses: "np", "float"."""
        return tuple(n for n, mark in (("float", "float("), ("np", "np.")) if mark in self.code)


@dataclass(frozen=True)
class Module:
    """A module that kernels may reach into: "math", "numpy", "numba", "numba.cuda", "numba.types"."""

    path: str


@dataclass(frozen=True)
class Member:
    """Something of a known module or a builtin, by its canonical path; it may still be refused."""

    path: str

    @property
    def use(self) -> str | None:
        """One of the uses in the catalog, None when kernels may not use it."""
        return catalog.use_of(self.path)


@dataclass(frozen=True)
class Function:
    """A ``def`` of the student's. ``jit`` is "" for a plain function, "@" when its decorators make
    it what it is, "kernel" or "device" when ``cuda.jit(...)(f)`` was called on it later."""

    unit: Unit
    jit: str


@dataclass(frozen=True)
class Foreign:
    """Anything else. ``what`` completes "`name` ..." ("is a list"); ``line`` and ``label`` say where it
    was bound, ``hint`` what to do."""

    what: str
    hint: str = ""
    line: int = field(default=0, compare=False)
    label: str = field(default="", compare=False)


Value = Constant | Module | Member | Function | Foreign


def constant(value: Any) -> Constant | Foreign:
    """The value of a Python or NumPy number or a tuple of them; Foreign for anything else."""
    try:
        return Constant(_code(value, 0, [0]), value)
    except _NoCode as reason:
        return Foreign(str(reason), ONLY_NUMBERS)


class _NoCode(ValueError):
    pass


def _code(value: Any, depth: int, count: list[int]) -> str:
    kind = type(value)
    count[0] += 1
    if count[0] > MAX_NUMBERS:
        raise _NoCode(f"holds more than {MAX_NUMBERS:,} numbers")
    if kind is bool:
        return repr(value)
    if kind is int:
        if value.bit_length() > MAX_BITS:
            raise _NoCode(f"is an integer of {value.bit_length():,} bits; a GPU holds {MAX_BITS}")
        return repr(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else f"float('{value!r}')"
    if kind is tuple:
        if depth > 3:
            raise _NoCode("is a tuple nested more than four deep")
        items = [_code(item, depth + 1, count) for item in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if issubclass(kind, np.generic):
        name = "bool_" if kind is np.bool_ else kind.__name__
        if f"numpy.{name}" in catalog.ALLOWED:
            text = str(value)
            return f"np.{name}({text})" if text not in ("inf", "-inf", "nan") else f"np.{name}(float('{text}'))"
    raise _NoCode(describe(value))


def describe(value: Any) -> str:
    """ "is a list" for the object ``value``, by its class alone."""
    kind = type(value)
    if value is None:
        return "is None"
    if issubclass(kind, type):
        return f"is a class (`{type.__getattribute__(value, '__name__')}`)"
    if kind is np.ndarray:
        return "is a NumPy array"
    if kind is ModuleType:
        return f"is the module `{value.__name__}`"
    name = kind.__name__
    return f"is {'an' if name[:1].lower() in 'aeiou' else 'a'} {'string' if kind is str else name}"


def named(path: str) -> Value:
    """The value of a dotted path below a known module: "numpy.inf" is a number, "math.exp" a member."""
    path = catalog.canonical(path)
    if catalog.is_module(path):
        return Module(path)
    if path in catalog.CONSTANTS:
        return constant(catalog.CONSTANTS[path])
    return Member(path)


def renamed(path: str) -> Foreign:
    """The value of ``array = cuda.shared.array``: no import can bind it, so it has to be written out."""
    shown = path.removeprefix("numba.")
    return Foreign(f"is another name for `{shown}`", f"write `{shown}` in full")


def imported(path: str) -> Value:
    """The value of ``import path`` (with its full dotted name)."""
    path = catalog.canonical(path)
    return (
        Module(path)
        if catalog.is_module(path)
        else Foreign(f"is the module `{path}`, which cannot be used inside a GPU kernel", "use math, numba and cuda")
    )


def imported_from(module: str, name: str) -> Value:
    """The value of ``from module import name``."""
    home = catalog.canonical(module)
    if f"{home}.{name}" in catalog.ALLOWED or catalog.is_module(home):
        return named(f"{home}.{name}")
    if catalog.is_module(catalog.canonical(f"{home}.{name}")):
        return Module(catalog.canonical(f"{home}.{name}"))
    return Foreign(f"comes from `{module}`", "copy it into the notebook, above the kernel")
