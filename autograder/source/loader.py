"""Run a kernel source's text, in a namespace of its own, and hand back the kernel."""

from __future__ import annotations

import builtins
import linecache
import warnings
from types import ModuleType
from typing import Any

from autograder.source import catalog
from autograder.source.gather import gather_text
from autograder.source.model import KernelSource, SourceRefused

_ROOTS = frozenset({"math", "numba", "numpy", "autograder"})
_NAMES = frozenset(path.partition(".")[2] for path in catalog.ALLOWED if path.startswith("builtins."))
_HOST_NAMES = catalog.HOST_BUILTINS | {"str"}


def load(source: KernelSource) -> Any:
    """The object that ``source.text`` defines as ``source.name``.

    The text is checked again first, so a source that was made or changed by hand cannot bring in
    more than the rules allow. It is registered with ``linecache`` under a name of its own, so
    ``inspect.getsource`` and tracebacks work; their line numbers go to ``source.user_line``.
    """
    checked = gather_text(source.text, source.name, source.kind, source.origin or "the source")
    if checked.text != source.text:
        raise SourceRefused(f"the text of `{source.name}` is not as the autograder wrote it", hint="gather it again")
    filename = f"<{source.name} {source.digest[:12]}>"
    linecache.cache[filename] = (len(source.text), None, source.text.splitlines(keepends=True), filename)
    names = _HOST_NAMES if source.kind == "host" else _NAMES
    allowed: dict[str, Any] = {name: getattr(builtins, name) for name in sorted(names)}
    allowed["__import__"] = _import
    module = ModuleType("student_kernel")
    namespace = vars(module)
    namespace["__builtins__"] = allowed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a docstring must not write to stderr
            code = compile(source.text, filename, "exec", dont_inherit=True)
        exec(code, namespace)
    except Exception as error:
        line = source.user_line(_line_in(error, filename))
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise SourceRefused(
            f"the installed numba does not take `{source.name}`: {reason}",
            line=line,
            label=source.user_label(_line_in(error, filename)),
        ) from error
    # NumPy's own C code imports (warnings, for one) through the namespace of the frame that called it.
    # The text itself cannot: it holds no import below the top, and no name with two underscores.
    allowed["__import__"] = builtins.__import__
    return namespace[source.name]


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """``__import__`` for the import lines of a source, which name four packages only."""
    if level or name.partition(".")[0] not in _ROOTS:
        raise ImportError(f"`{name}` cannot be imported by a kernel")
    return builtins.__import__(name, globals, locals, fromlist, level)


def _line_in(error: BaseException, filename: str) -> int:
    """The innermost line of ``filename`` in the traceback of ``error``; 0 when it has none."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
