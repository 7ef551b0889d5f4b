"""Make plain ``kernel[grid, block](*args)`` run on our scheduler, for numba's and numba-cuda's simulator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograder.simulator import fresh
from autograder.simulator.declared import keep_signatures
from autograder.simulator.errors import KernelError, LaunchError
from autograder.simulator.intrinsics import KERNEL_ONLY, KernelName
from autograder.simulator.numba_launch import plain_launch


@dataclass(frozen=True)
class Configured:
    """A kernel with its launch configuration, as ``kernel[grid, block, stream, shared]`` gives it.

    Independent of every other configuration of the same kernel. ``dynamic_shared`` is in bytes.
    """

    kernel: Any
    grid: Any
    block: Any
    stream: Any = 0
    dynamic_shared: int = 0

    def __call__(self, *args: Any) -> None:
        """Launch. Raises MemoryFault at the first access outside an array."""
        plain_launch(type(self.kernel)._stock_call, self.kernel, self.grid, self.block, self.dynamic_shared, args)


@dataclass(frozen=True)
class NothingToDo:
    """``kernel.forall(0)``: a launch of no threads."""

    kernel: Any

    def __call__(self, *args: Any) -> None:
        return None


def configure(kernel: Any, configuration: Any) -> Configured:
    """``kernel[configuration]``. Raises LaunchError when it does not have two to five parts, and numba's own
    errors for dimensions that are no whole numbers or too many."""
    from numba.cuda.errors import normalize_kernel_dimensions

    parts: Sequence[Any] = configuration if isinstance(configuration, tuple) else (configuration,)
    if not 2 <= len(parts) <= 5:
        raise LaunchError(f"a launch needs kernel[blocks, threads], with stream and shared memory in bytes "
                          f"if wanted; got {len(parts)} value(s)")
    normalize_kernel_dimensions(*parts[:2])
    return Configured(kernel, *parts[:4])


def is_simulated() -> bool:
    """Whether numba's simulator is in use (imports numba if nothing has)."""
    from numba import cuda

    return cuda.jit.__module__.startswith("numba.cuda.simulator")


def install() -> None:
    """Patch the simulator that is loaded. Calling it again changes nothing.

    Raises KernelError when numba runs on a real GPU, where there is nothing to patch.
    """
    from numba import cuda

    if not is_simulated():
        raise KernelError("numba was imported without NUMBA_ENABLE_CUDASIM=1, so its simulator is not in use; "
                          "set the variable before numba is imported (in a notebook: restart the kernel)")
    module = sys.modules["numba.cuda.simulator.kernel"]
    kind = module.FakeCUDAKernel
    if getattr(kind, "_autograder", False):
        return
    stock_call = kind.__call__

    def call(self: Any, *args: Any) -> Any:
        if self._device or module._get_kernel_context() is not None:
            return stock_call(self, *args)
        name = self.fn.__name__
        raise LaunchError(f"the launch configuration was not specified: launch `{name}` as {name}[blocks, threads](...)")

    def forall(self: Any, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Configured | NothingToDo:
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        if ntasks == 0:
            return NothingToDo(self)
        threads = tpb or 128
        return Configured(self, (ntasks + threads - 1) // threads, threads, stream, sharedmem)

    _watch_device_arrays(cuda)
    keep_signatures(cuda)
    kind._stock_call = stock_call
    kind.__call__ = call
    kind.__getitem__ = configure
    kind.forall = forall
    kind._autograder = True
    for name in KERNEL_ONLY:  # so that `from numba.cuda import shared` works here as on a GPU
        if not hasattr(cuda, name):
            setattr(cuda, name, KernelName((name,)))


def _watch_device_arrays(cuda: Any) -> None:
    """Note which device arrays nothing has written yet, for initcheck."""
    devicearray = sys.modules["numba.cuda.simulator.cudadrv.devicearray"]
    for name in ("device_array", "device_array_like"):
        stock = getattr(cuda, name)

        def make(*args: Any, _stock: Any = stock, **kwargs: Any) -> Any:
            made = _stock(*args, **kwargs)
            fresh.remember(made)
            return made

        setattr(cuda, name, make)
    for name in ("copy_to_device", "__setitem__"):
        stock = getattr(devicearray.FakeCUDAArray, name)

        def write(self: Any, *args: Any, _stock: Any = stock, **kwargs: Any) -> Any:
            fresh.forget(self)
            return _stock(self, *args, **kwargs)

        setattr(devicearray.FakeCUDAArray, name, write)
