"""Rewritten kernels, cached."""

from __future__ import annotations

import ast
import inspect
import textwrap
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from autograder.simulator.errors import KernelError, SourceMissing
from autograder.simulator.kinds import Kind
from autograder.simulator.names import NUMBERS, is_device_function, lookup
from autograder.simulator.rewriter import Rewriter
from autograder.simulator.sites import Site


@dataclass(frozen=True)
class Template:
    """A rewritten function, not yet bound to a launch.

    ``sites`` are numbered from 0 in this function; ``calls`` maps the name that the code uses to the
    device function it stands for; ``bound`` are further names the code needs.
    """

    name: str
    code: CodeType
    sites: tuple[Site, ...]
    cooperative: bool
    calls: dict[str, FunctionType]
    bound: dict[str, Any] = field(default_factory=dict)
    returns: Kind | None = None  # of what a device function returns
    chains: tuple[tuple[tuple[str, ...], Any], ...] = ()  # what attributes of modules stood for


_cache: dict[tuple, tuple[Template, tuple]] = {}
_CACHE_SIZE = 256


_special: weakref.WeakKeyDictionary[FunctionType, dict[tuple, FunctionType]] = weakref.WeakKeyDictionary()


def specialise(function: FunctionType, parameters: Sequence[Kind | None]) -> FunctionType:
    """``function`` for parameters of these kinds: a function of its own, as a GPU compiles one for each set of types.

    The same one is given for the same kinds, as long as ``function`` lives.
    """
    forms = _special.setdefault(function, {})
    key = tuple(parameters)
    if key not in forms:
        made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                            function.__closure__)
        made.__kwdefaults__ = function.__kwdefaults__
        made.__dict__["parameters"] = key
        forms[key] = made
    return forms[key]


def template(function: FunctionType, cooperates: Callable[[FunctionType], bool], is_kernel: bool = False) -> Template:
    """The rewritten form of ``function``, for the kinds that ``specialise`` gave its parameters. ``cooperates(f)`` says
    whether a device function that it calls yields. Results are cached by code object, by the parameters' kinds and by
    what the function's names stand for."""
    code = function.__code__
    parameters = function.__dict__.get("parameters", ())
    special: list[tuple[str, Any, Any]] = []
    for name in (*code.co_names, *code.co_freevars):
        try:
            value = lookup(function, name)
        except KeyError:
            continue
        if is_device_function(value):
            special.append((name, value.fn, cooperates(value.fn)))
        elif isinstance(value, NUMBERS) or type(value) is tuple:
            special.append((name, None, f"{type(value).__name__} {value!r}"))
        elif isinstance(value, np.ndarray):
            special.append((name, None, (value.dtype.str, value.shape)))
        elif isinstance(value, (ModuleType, type)) or callable(value):
            special.append((name, value, None))
    key = (code, code.co_filename, is_kernel, parameters, tuple((n, id(v), c) for n, v, c in special))
    known = _cache.get(key)
    if known is not None and all(_same(_reached(function, chain), value) for chain, value in known[0].chains):
        return known[0]

    def ask(target: FunctionType, given: Sequence[Kind | None]) -> tuple[FunctionType, Kind | None]:
        form = specialise(target, [_coarse(k) for k in given])
        if form in _asked:
            return form, None  # it calls itself: the launch refuses that where it happens
        _asked.append(form)
        try:
            return form, template(form, cooperates).returns
        finally:
            _asked.remove(form)

    rewriter = Rewriter(function, cooperates, is_kernel)
    rewritten = rewriter.run(_source(function), parameters, ask)
    made = Template(function.__name__, rewritten, tuple(rewriter.sites), rewriter.cooperative,
                    rewriter.calls, rewriter.bound, rewriter.returns, tuple(rewriter.chains.items()))
    if len(_cache) >= _CACHE_SIZE:
        _cache.pop(next(iter(_cache)), None)
    _cache[key] = (made, tuple(special))  # keeps the objects alive, so that their ids stay theirs
    return made


_asked: list[FunctionType] = []  # the device functions whose result is being inferred


def _coarse(kind: Kind | None) -> Kind | None:
    """A whole number's size in few steps, so that a device function is not rewritten for every constant."""
    if kind is None:
        return None
    bits = next(b for b in (15, 31, 47, 64) if kind.bits <= b) if kind.bits and kind.name != "dim3" else kind.bits
    return replace(kind, bits=bits, items=tuple(_coarse(k) for k in kind.items))


def _reached(function: FunctionType, chain: tuple[str, ...]) -> Any:
    value = lookup(function, chain[0])
    for name in chain[1:]:
        value = getattr(value, name, None)
    return value


def _same(found: Any, value: Any) -> bool:
    return found is value or (type(found) is type(value) and isinstance(value, NUMBERS) and repr(found) == repr(value))


def _source(function: FunctionType) -> ast.FunctionDef:
    name = function.__name__
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise SourceMissing(f"the source text of `{name}` cannot be found; define it in a file or a "
                            "notebook cell, not through exec") from None
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise KernelError(f"the source text of `{name}` cannot be read on its own; write the kernel "
                          "as a plain `def`") from None
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        raise KernelError(f"`{name}` is not a plain `def`; a kernel cannot be a lambda or an async function")
    return found[0]
