"""Looks at kernels that come from a file: a script, anybody's module, or a notebook."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from autograder.xray.look import Configuration, trace_here
from autograder.xray.relabel import relabel, relabel_message
from autograder.xray.result import XRay


class FileProblem(ValueError):
    """The file or the kernel in it cannot be used; the message is a sentence."""


def load_kernel(path: Path, name: str) -> tuple[Any, Any]:
    """The kernel ``name`` of ``path`` and the KernelSource it came from (None for an imported file).

    A ``.py`` file is imported (it is the user's own code) with numba on the simulator; where that
    fails, and for an ``.ipynb``, the kernel's text is gathered without running the rest. Raises
    FileProblem.
    """
    if not path.is_file():
        raise FileProblem(f"There is no file {path}.")
    start_simulator()
    if path.suffix == ".ipynb":
        return _gathered(path, name, "gather_notebook")
    if path.suffix != ".py":
        raise FileProblem(f"{path.name} is neither a .py file nor an .ipynb notebook.")
    try:
        module = _imported(path)
    except Exception as error:
        try:
            return _gathered(path, name, "gather_script")
        except FileProblem:
            raise FileProblem(_import_problem(path, error)) from error
    kernel = getattr(module, name, None)
    if kernel is None:
        raise FileProblem(_no_kernel(path, name, _kernels(module)))
    function = getattr(kernel, "fn", None) or getattr(kernel, "py_func", None) or kernel
    if not callable(function) or isinstance(function, type):
        raise FileProblem(f"`{name}` in {path.name} is not a kernel.")
    if getattr(kernel, "_device", False):
        raise FileProblem(f"`{name}` in {path.name} is a device function; name the kernel that calls it.")
    return kernel, None


def trace_source(source: Any, grid: tuple[int, ...], block: tuple[int, ...], arguments: list[Any],
                 step_limit: int | None, dynamic_shared: int = 0) -> XRay:
    """A traced launch of a KernelSource in this process, told in the student's own lines."""
    from autograder.source import SourceRefused

    start_simulator()
    try:
        kernel = source.load()
    except SourceRefused as refused:
        return XRay(source.name, grid, block, message=str(refused))
    function = getattr(kernel, "fn", None) or getattr(kernel, "py_func", None) or kernel
    setting = Configuration(kernel, function, grid, block, True, dynamic_shared)
    return told_by(source, trace_here(setting, arguments, step_limit))


def told_by(source: Any, result: XRay) -> XRay:
    """``result`` with the lines of ``source``'s text replaced by the student's."""
    trace = relabel(result.trace, source) if result.trace is not None else None
    return XRay(result.kernel, result.grid, result.block, trace, relabel_message(result.message, source),
                result.details)


def start_simulator() -> None:
    """Load numba on its simulator and put our scheduler under it. Raises FileProblem when numba is
    loaded already and drives a GPU: the choice is made once in a process."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    from numba import cuda

    if "numba.cuda.simulator.kernel" not in sys.modules or not hasattr(cuda, "jit"):
        raise FileProblem("numba is loaded for a GPU in this process already; run the look in its own process.")
    from autograder.simulator import install

    install()


def _imported(path: Path) -> Any:
    """The file as a module that is not ``__main__``; its own folder is searched for its imports."""
    spec = importlib.util.spec_from_file_location(f"xray_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SystemExit as stop:
        raise RuntimeError(f"the file ends the program (SystemExit {stop.code}) when it is imported") from stop
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _gathered(path: Path, name: str, how: str) -> tuple[Any, Any]:
    import autograder.source as gathering

    try:
        source = getattr(gathering, how)(path, name)
        return source.load(), source
    except gathering.SourceRefused as refused:
        raise FileProblem(f"{path.name}: {refused}") from refused


def _import_problem(path: Path, error: Exception) -> str:
    """Why the file could not be imported, with its line."""
    own = os.path.abspath(path)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__)
             if os.path.abspath(f.filename) == own]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    where = f" in line {lines[-1]}" if lines and lines[-1] else ""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{path.name} could not be imported: {type(error).__name__}{where}: {words}."


def _kernels(module: Any) -> list[str]:
    return sorted(n for n, v in vars(module).items()
                  if type(v).__name__ in ("FakeCUDAKernel", "CUDADispatcher") and not getattr(v, "_device", False))


def _no_kernel(path: Path, name: str, known: list[str]) -> str:
    if not known:
        return f"{path.name} has no kernel `{name}`, and no other kernel either."
    return f"{path.name} has no kernel `{name}`; it has {', '.join(known)}."
