"""One traced launch of a configured kernel, in this process or, beside a GPU, in a child process."""

from __future__ import annotations

import inspect
import numbers
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.xray.result import XRay

STEP_LIMIT = 2_000_000  # about ten seconds


@dataclass(frozen=True)
class Configuration:
    """A kernel with its launch shape. ``function`` is the Python function; ``simulated`` says that
    the kernel was made under the simulator flag and can be traced here; ``dynamic_shared`` is in bytes."""

    kernel: Any
    function: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    simulated: bool
    dynamic_shared: int = 0

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "the kernel")


def xray(configured: Any, *arguments: Any, step_limit: int | None = STEP_LIMIT) -> XRay:
    """Run one traced launch and show what it moved.

    ``xray(kernel[grid, block], X, Y)`` stands for the launch ``kernel[grid, block](X, Y)``. The
    arrays are the caller's own, and the kernel writes to them as in a plain launch: outputs are there
    after the look (a launch that fails writes nothing). NumPy arrays, device arrays and numbers are taken.

    The result shows, as the last value of a cell, a ledger of traffic by source line, a picture of
    which part of each array is touched when (first block), and the sanitizer's findings; it has
    ``.trace``, ``.traffic``, ``.rows``, ``.picture``, ``.findings`` and ``.as_json()``.

    A look never stops a notebook: a kernel that is not written yet, raises, or runs for more than
    ``step_limit`` simulated steps gives a result whose ``.message`` says so and whose ``.trace`` is
    None. Only an interrupt from the keyboard gets through.

    Beside a real GPU the kernel's text is gathered and counted on the simulator in a child process;
    the counts are those of the GPU's own profiler.
    """
    setting = read_configuration(configured)
    if isinstance(setting, str):
        return XRay("X-ray", message=setting)
    wrong = argument_problem(setting, arguments)
    if wrong:
        return XRay(setting.name, setting.grid, setting.block, message=wrong)
    hosts = [_host(argument) for argument in arguments]
    if setting.simulated:
        result = trace_here(setting, hosts, step_limit)
        result = replace(result, caution=caution(setting.kernel))
    else:
        from autograder.xray.remote import trace_elsewhere

        result = trace_elsewhere(setting, hosts, step_limit)
    for argument, host in zip(arguments, hosts):
        if argument is not host and hasattr(argument, "copy_to_device"):
            argument.copy_to_device(host)
    return result


def read_configuration(configured: Any) -> Configuration | str:
    """The kernel and launch shape in what ``kernel[grid, block]`` gave, or a sentence why not.

    Known: the simulator's ``Configured`` (ours), numba's own simulator kernel, and the launch
    configurations of numba-cuda and numba on a GPU.
    """
    if all(hasattr(configured, name) for name in ("kernel", "grid", "block")):
        kernel, grid, block, simulated = configured.kernel, configured.grid, configured.block, True
        shared = getattr(configured, "dynamic_shared", 0)
    elif all(hasattr(configured, name) for name in ("dispatcher", "griddim", "blockdim")):
        kernel, grid, block = configured.dispatcher, configured.griddim, configured.blockdim
        simulated, shared = False, getattr(configured, "sharedmem", 0)
    elif hasattr(configured, "grid_dim") and hasattr(configured, "fn"):
        if configured.grid_dim is None:
            return _unconfigured(configured.fn)
        kernel, grid, block, simulated = configured, configured.grid_dim, configured.block_dim, True
        shared = getattr(configured, "dynshared_size", 0)
    else:
        return _unconfigured(configured)
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", None) or kernel
    try:
        return Configuration(kernel, function, _dims(grid), _dims(block), simulated, int(shared or 0))
    except (TypeError, ValueError):
        return (f"`{getattr(function, '__name__', 'kernel')}[{grid!r}, {block!r}]` is no launch shape:"
                " blocks and threads are whole numbers or up to three of them.")


def _unconfigured(thing: Any) -> str:
    name = getattr(thing, "__name__", "")
    if callable(thing) and name:
        return (f"`{name}` has no launch shape yet: write `xray({name}[grid, block], ...)` with the"
                " arguments of the launch behind it.")
    return ("xray needs a kernel with its launch shape first, then the arguments:"
            f" `xray(kernel[grid, block], X, Y)`. It got {_kind(thing)}.")


def argument_problem(setting: Configuration, arguments: tuple[Any, ...]) -> str:
    """A sentence about what is wrong with the arguments, or nothing."""
    names = parameter_names(setting.function)
    if names is not None and not required_count(setting.function) <= len(arguments) <= len(names):
        return (f"`{setting.name}` takes {_count(len(names), 'argument')} ({', '.join(names)}),"
                f" {len(arguments)} {'was' if len(arguments) == 1 else 'were'} given.")
    for position, argument in enumerate(arguments):
        if isinstance(argument, (np.ndarray, numbers.Number, np.generic)) or hasattr(
            argument, "copy_to_host"
        ):
            continue
        name = names[position] if names else f"argument {position + 1}"
        return (f"`{name}` is {_kind(argument)}; a kernel takes arrays and numbers."
                " Make an array of it first, for example with `np.array(..., dtype=np.float32)`.")
    return ""


def parameter_names(function: Any) -> list[str] | None:
    """The names of a kernel's parameters, None where they cannot be known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    return [p.name for p in parameters]


def required_count(function: Any) -> int:
    """How many parameters have no default."""
    return sum(p.default is p.empty for p in inspect.signature(function).parameters.values())


def trace_here(setting: Configuration, arguments: list[Any], step_limit: int | None) -> XRay:
    """Launch on the simulator of this process. Needs the simulator flag."""
    from autograder.simulator import launch

    try:
        trace = launch(setting.kernel, setting.grid, setting.block, arguments, step_limit=step_limit,
                       touches=True, dynamic_shared=setting.dynamic_shared)
    except Exception as error:  # a look shows what happened; it does not stop the notebook
        return XRay(setting.name, setting.grid, setting.block, message=explain(error, setting.name))
    return XRay(setting.name, setting.grid, setting.block, trace)


_GPU_ONLY = re.compile(r"`(numba\.)?cuda\.(cg|libdevice|const|random|fp16|reg)\b")


def caution(kernel: Any) -> str:
    """A short sentence when ``check``, and often the GPU's compiler, would refuse the kernel that the
    simulator runs; "" for a kernel that it takes, is not written, or uses what only a GPU course would."""
    from autograder.source import SourceRefused, gather_live

    try:
        gather_live(kernel)
    except SourceRefused as refused:
        told = str(refused)
        if refused.untouched or not refused.line or _GPU_ONLY.search(told):
            return ""
        return f"`check` would refuse this kernel: {told}{'' if told.endswith(('.', '?', '!')) else '.'}"
    except Exception:  # a look never stops a notebook, whatever the kernel's text is
        return ""
    return ""


def explain(error: Exception, kernel: str) -> str:
    """One sentence for an exception that came out of a launch, with the line where it is known."""
    from autograder.simulator.errors import SimulatorError, StepLimit

    place = getattr(error, "place", None)
    if isinstance(error, NotImplementedError):
        return f"`{_raiser(error) or getattr(place, 'function', None) or kernel}` is not written yet."
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SimulatorError):
        sentence = str(error)
        if isinstance(error, StepLimit):
            sentence += " If every loop ends, look at fewer blocks or a smaller array."
    elif place is None:
        sentence = f"`{kernel}` stopped with {what}"
    else:
        text = f": `{place.text}`" if place.text else ""
        sentence = f"line {place.line}{text} stopped with {what}"
        if place.block is not None and place.thread is not None:
            sentence += f" (block {_index(place.block)}, thread {_index(place.thread)})"
    sentence = sentence[:1].upper() + sentence[1:]
    return sentence if sentence.endswith((".", "!", "?")) else sentence + "."


def _raiser(error: BaseException) -> str:
    """The name of the function whose own line raised ``error``; "" when that is the simulator's. A device
    function may stand in another cell than its kernel, where its place is not known."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_globals.get("__name__", "").startswith("autograder."):
        return ""
    return trace.tb_frame.f_code.co_name


def _host(argument: Any) -> Any:
    """The argument as NumPy sees it; a device array is copied."""
    return argument.copy_to_host() if hasattr(argument, "copy_to_host") else argument


def _dims(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def _index(position: tuple[int, ...]) -> str:
    """(3, 0, 0) is "3", (3, 1, 0) is "(3, 1, 0)"."""
    return str(position[0]) if not any(position[1:]) else str(tuple(position))


def _kind(thing: Any) -> str:
    word = type(thing).__name__
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
