"""Make plain ``kernel[grid, block](*args)`` run on our scheduler, for numba's and numba-cuda's simulator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograder.simulator import fresh
from autograder.simulator.errors import KernelError, LaunchError
from autograder.simulator.intrinsics import KERNEL_ONLY, KernelName
from autograder.simulator.launch import launch


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
        launch(self.kernel, self.grid, self.block, args, record=False, stop_at_first=True,
               dynamic_shared=self.dynamic_shared)

    def with_shared(self, nbytes: int) -> Configured:
        return replace(self, dynamic_shared=nbytes)


def configure(kernel: Any, configuration: Any) -> Configured:
    """``kernel[configuration]``. Raises LaunchError when it does not have two to five parts."""
    parts: Sequence[Any] = configuration if isinstance(configuration, tuple) else (configuration,)
    if not 2 <= len(parts) <= 5:
        raise LaunchError(f"a launch needs kernel[blocks, threads], with stream and shared memory in bytes "
                          f"if wanted; got {len(parts)} value(s)")
    return Configured(kernel, *parts[:4])


def install() -> None:
    """Patch the simulator that is loaded. Calling it again changes nothing.

    Raises KernelError when numba runs on a real GPU, where there is nothing to patch.
    """
    from numba import cuda

    module = sys.modules.get("numba.cuda.simulator.kernel")
    if module is None:
        raise KernelError("numba was imported without NUMBA_ENABLE_CUDASIM=1, so its simulator is not in use; "
                          "set the variable before numba is imported (in a notebook: restart the kernel)")
    kind = module.FakeCUDAKernel
    if getattr(kind, "_autograder", False):
        return
    stock_call = kind.__call__

    def call(self: Any, *args: Any) -> Any:
        if self._device or module._get_kernel_context() is not None:
            return stock_call(self, *args)
        raise LaunchError(f"`{self.fn.__name__}` must be launched as {self.fn.__name__}[blocks, threads](...)")

    def forall(self: Any, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Configured:
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        threads = tpb or 128
        return Configured(self, (ntasks + threads - 1) // threads, threads, stream, sharedmem)

    _watch_device_arrays(cuda)
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
