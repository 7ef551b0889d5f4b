"""A plain launch as numba users write it: argument hints, extensions, streams, kernels without source text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.simulator.errors import SimulatorError, SourceMissing
from autograder.simulator.launch import launch


def plain_launch(stock_call: Callable[..., None], kernel: Any, grid: Any, block: Any, dynamic_shared: int,
                 args: tuple[Any, ...]) -> None:
    """Launch unrecorded and stop at the first access outside an array.

    A kernel without source text (made by ``exec``) runs on numba's own simulator.
    """
    pending: list[Callable[[], None]] = []
    ready = [_ready(kernel, arg, pending) for arg in args]
    try:
        launch(kernel, grid, block, ready, record=False, stop_at_first=True, dynamic_shared=dynamic_shared)
    except SourceMissing:
        _stock_launch(stock_call, kernel, grid, block, dynamic_shared, args)
        return
    except SimulatorError:
        raise
    except Exception as error:
        raise _with_thread(error) from error.__cause__
    for write_back in pending:
        write_back()


def _ready(kernel: Any, arg: Any, pending: list[Callable[[], None]]) -> Any:
    """What numba's own simulator hands to the kernel, but for the arrays that we watch ourselves."""
    for extension in getattr(kernel, "extensions", ()):
        _, arg = extension.prepare_args(None, arg, stream=0, retr=pending)
    modules = sys.modules["numba.cuda.simulator.cudadrv.devicearray"]
    if hasattr(arg, "to_device") and hasattr(arg, "value"):  # cuda.In, cuda.Out, cuda.InOut
        arg = arg.to_device(pending)
    if isinstance(arg, np.void):
        arg = modules.FakeCUDAArray(arg)
    if isinstance(arg, np.ndarray) and arg.ndim > 0 and arg.dtype.kind not in "biufc":
        arg = modules.FakeCUDAArray(arg)
    kind = getattr(getattr(arg, "_ary", None), "dtype", None)
    if isinstance(arg, modules.FakeCUDAArray) and kind is not None and kind.kind not in "biufc":
        return modules.FakeWithinKernelCUDAArray(arg)
    return arg


def _stock_launch(stock_call: Callable[..., None], kernel: Any, grid: Any, block: Any, dynamic_shared: int,
                  args: tuple[Any, ...]) -> None:
    kernel.grid_dim, kernel.block_dim, kernel.dynshared_size = grid, block, dynamic_shared
    stock_call(kernel, *args)


def _with_thread(error: Exception) -> Exception:
    """The same exception, its message led by the thread and block as numba's simulator writes them."""
    place = getattr(error, "place", None)
    if place is None or place.thread is None:
        return error
    where = f"tid={list(place.thread)} ctaid={list(place.block)}"
    try:
        told = type(error)(f"{where}: {error}" if str(error) else where)
    except Exception:  # an exception class with other arguments stays as it is
        return error
    told.place = place
    return told.with_traceback(error.__traceback__)
