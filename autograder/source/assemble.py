"""From one function and what its names stand for to the canonical text of a module."""

from __future__ import annotations

from dataclasses import dataclass, field

from autograder.source.advice import import_line
from autograder.source.host_rules import HostRules
from autograder.source.kernel_rules import KernelRules
from autograder.source.model import KernelSource, SourceRefused
from autograder.source.rules import Surroundings
from autograder.source.values import Constant, Function, Member, Module, Value

MAX_TEXT = 100_000  # characters of a whole source
MAX_FUNCTIONS = 50
WANTED = {"kernel": "a GPU kernel", "device": "a device function", "host": "a function"}
DECORATORS = {"kernel": "@cuda.jit", "device": "@cuda.jit(device=True)"}
_IMPORT_ORDER = ("math", "numba", "numba.cuda", "numpy")


@dataclass
class _Parts:
    """What the walk over the functions found: ``order`` has each function after all that it calls."""

    names: dict[str, Value] = field(default_factory=dict)
    order: list[Function] = field(default_factory=list)
    numba_cuda: bool = False
    device: bool = False  # the root is a device function


def assemble(
    root: Function, kind: str, surroundings: Surroundings, origin: str, notes: tuple[str, ...] = ()
) -> KernelSource:
    """The source of ``root`` and, transitively, of all that it names.

    ``kind`` is "kernel", "device" or "host". Raises SourceRefused for whatever the rules do not allow.
    """
    parts = _Parts()
    _walk(root, kind, surroundings, parts, [])
    if kind != "host":
        kind = "device" if parts.device else "kernel"
    _unambiguous(root, parts)
    lines: list[tuple[str, int, str]] = []  # text, student's line, label
    head = _head(root, parts)
    for line in head:
        lines.append((line, 0, ""))
    for function in parts.order:
        if lines:
            lines += [("", 0, "")] * 2
        unit = function.unit
        for offset, line in enumerate(unit.text.removesuffix("\n").split("\n")):
            lines.append((line, unit.first + offset, unit.label))
        for line in _after(function, parts):
            lines.append((line, 0, ""))
    text = "".join(line + "\n" for line, _, _ in lines)
    if len(text) > MAX_TEXT:
        raise SourceRefused(
            f"`{root.unit.name}` and what it calls are longer than {MAX_TEXT:,} characters",
            label=root.unit.label,
            hint="a kernel of this course needs fewer than 4,000",
        )
    return KernelSource(
        root.unit.name, kind, text, origin, tuple(n for _, n, _ in lines), tuple(label for _, _, label in lines), notes
    )


def _walk(function: Function, kind: str, surroundings: Surroundings, parts: _Parts, path: list[Function]) -> None:
    """Check ``function``, then what it calls; append it to ``parts.order`` after them."""
    unit = function.unit
    if len(path) + len(parts.order) >= MAX_FUNCTIONS:
        raise SourceRefused(f"`{path[0].unit.name}` calls more than {MAX_FUNCTIONS} functions", label=unit.label)
    if kind == "host" and _compiled(function):
        raise SourceRefused(
            f"`{unit.name}` is {'a device function' if function.jit == 'device' else 'a GPU kernel'}, and a plain "
            "function is wanted",
            line=unit.first,
            label=unit.label,
            hint="leave cuda.jit out",
        )
    uses = (
        HostRules(unit, surroundings).run()
        if kind == "host"
        else KernelRules(function, surroundings, root="" if path else kind).run()
    )
    if not path:
        parts.device = uses.device
    parts.numba_cuda |= uses.numba_cuda
    for name, value in uses.names.items():
        parts.names[name] = value
        if not isinstance(value, Function) or value in parts.order:
            continue
        if value == function or value in path:
            raise SourceRefused(
                f"`{value.unit.name}` calls itself",
                line=value.unit.first,
                label=value.unit.label,
                hint="write a loop: a GPU function has no room to call itself" if kind != "host" else "write a loop",
            )
        _walk(value, kind, surroundings, parts, [*path, function])
    parts.order.append(function)


def _compiled(function: Function) -> bool:
    return function.jit in ("kernel", "device")


def _unambiguous(root: Function, parts: _Parts) -> None:
    """In the text every name stands for one thing; refuse the rare notebook where it would not."""
    made: dict[str, Function] = {}
    for function in parts.order:
        name = function.unit.name
        other: Value | None = made.get(name, parts.names.get(name))
        if other is not None and other != function:
            raise SourceRefused(
                f"`{name}` stands for two different things in `{root.unit.name}`",
                line=function.unit.first,
                label=function.unit.label,
                hint="give each its own name",
            )
        made[name] = function
    implied: dict[str, Value] = {}
    for value in parts.names.values():
        for need in value.needs if isinstance(value, Constant) else ():
            implied[need] = Module("numpy") if need == "np" else Member("builtins.float")
    if any(_compiled(f) for f in parts.order):
        implied[_cuda_name(parts)] = Module("numba.cuda")
    for name, value in implied.items():
        if name in made or parts.names.get(name, value) != value:
            raise SourceRefused(
                f"`{name}` cannot have a meaning of its own in a notebook with kernels",
                label=root.unit.label,
                hint=f"give your `{name}` another name",
            )
    parts.names = {**{n: v for n, v in implied.items() if n != "float"}, **parts.names}


def _cuda_name(parts: _Parts) -> str:
    """The name under which the text has ``numba.cuda``: one that is in use already, else "cuda"."""
    found = sorted(name for name, value in parts.names.items() if value == Module("numba.cuda"))
    return found[0] if found else "cuda"


def _head(root: Function, parts: _Parts) -> list[str]:
    """Imports in a fixed order, then constants by name, with a blank line between."""
    whole: set[tuple[int, str]] = set()
    single: list[tuple[str, str]] = []
    constants: list[str] = []
    if parts.numba_cuda:
        whole.add((_IMPORT_ORDER.index("numba.cuda"), "import numba.cuda"))
    for name, value in sorted(parts.names.items()):
        if isinstance(value, Module) and value.path in ("math", "numba", "numpy"):
            whole.add((_IMPORT_ORDER.index(value.path), import_line(name, value.path)))
        elif isinstance(value, Module):
            single.append((value.path, import_line(name, value.path)))
        elif isinstance(value, Member) and value.path.startswith("builtins."):
            own = value.path.removeprefix("builtins.")
            constants += [f"{name} = {own}"] if name != own else []
        elif isinstance(value, Member):
            single.append((value.path, import_line(name, value.path)))
        elif isinstance(value, Constant):
            constants.append(f"{name} = {value.code}")
    lines = [line for _, line in sorted(whole)] + [line for _, line in sorted(single)]
    return lines + ([""] if lines and constants else []) + constants


def _after(function: Function, parts: _Parts) -> list[str]:
    """The statements that follow a function: ``cuda.jit`` called on it, and its other names."""
    own = function.unit.name
    lines = []
    if _compiled(function):
        option = "(device=True)" if function.jit == "device" else ""
        lines.append(f"{own} = {_cuda_name(parts)}.jit{option}({own})")
    lines += [f"{name} = {own}" for name, value in sorted(parts.names.items()) if value == function and name != own]
    return [""] * bool(lines) + lines
