"""Rewritten kernels, cached."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

from autograder.simulator.errors import KernelError, SourceMissing
from autograder.simulator.names import is_device_function, lookup
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
    chains: tuple[tuple[tuple[str, ...], Any], ...] = ()  # what attributes of modules stood for


_cache: dict[tuple, tuple[Template, tuple]] = {}
_CACHE_SIZE = 256


def template(function: FunctionType, cooperates: Callable[[FunctionType], bool], is_kernel: bool = False) -> Template:
    """The rewritten form of ``function``. ``cooperates(f)`` says whether a device function that it
    calls yields. Results are cached by code object and by what its special names stand for."""
    code = function.__code__
    special = []
    for name in (*code.co_names, *code.co_freevars):
        try:
            value = lookup(function, name)
        except KeyError:
            continue
        if is_device_function(value):
            special.append((name, value.fn, cooperates(value.fn)))
        elif isinstance(value, (ModuleType, type)) or callable(value):
            special.append((name, value, None))
    key = (code, code.co_filename, is_kernel, tuple((n, id(v), c) for n, v, c in special))
    known = _cache.get(key)
    if known is not None and all(_reached(function, chain) == value for chain, value in known[0].chains):
        return known[0]
    rewriter = Rewriter(function, cooperates, is_kernel)
    rewritten = rewriter.run(_source(function))
    made = Template(function.__name__, rewritten, tuple(rewriter.sites), rewriter.cooperative,
                    rewriter.calls, rewriter.bound, tuple(rewriter.chains.items()))
    if len(_cache) >= _CACHE_SIZE:
        _cache.pop(next(iter(_cache)), None)
    _cache[key] = (made, tuple(special))  # keeps the objects alive, so that their ids stay theirs
    return made


def _reached(function: FunctionType, chain: tuple[str, ...]) -> Any:
    value = lookup(function, chain[0])
    for name in chain[1:]:
        value = getattr(value, name, None)
    return value


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
