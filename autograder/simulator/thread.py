"""What one simulated thread offers to its rewritten kernel: indices, arrays, atomics, loop counting."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simulator.allocation import poison
from autograder.simulator.arrays import DeviceArray, load_any, locate, store_any, whole
from autograder.simulator.errors import KernelError, LaunchError
from autograder.simulator.gpumath import maximum, minimum
from autograder.simulator.memory import LOCAL_LIMIT, LOCAL_STRIDE
from autograder.simulator.sites import LOCAL_BASE

if TYPE_CHECKING:
    from autograder.simulator.machine import Machine

_PIECE = 256
LOCAL_ELEMENTS = 16_384  # of one thread; each costs the simulator 8 to 40 bytes, in every thread of a block
WATCHED_KINDS = "biufc"  # arrays of records are left to NumPy, unrecorded


class Dim3:
    """Three integers with the names that kernels use."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: int, y: int = 1, z: int = 1) -> None:
        self.x, self.y, self.z = x, y, z

    def __iter__(self) -> Iterator[int]:
        return iter((self.x, self.y, self.z))

    def __repr__(self) -> str:
        return f"({self.x}, {self.y}, {self.z})"


class GridGroup:
    """All threads of a grid of one block (``cuda.cg.this_grid()``)."""


class Thread:
    """One thread of the running block. The scheduler sets ``blockIdx`` per block."""

    __slots__ = ("machine", "threadIdx", "blockIdx", "blockDim", "gridDim", "linear", "laneid", "warp",
                 "log", "mark", "state", "answer", "local_top", "resume", "waits",
                 "left", "locals", "entered")

    def __init__(self, machine: Machine, linear: int) -> None:
        bx, by, _ = machine.block
        self.machine = machine
        self.linear = linear
        self.laneid = linear % 32
        self.warp = linear // 32
        self.threadIdx = Dim3(linear % bx, linear // bx % by, linear // (bx * by))
        self.blockDim = Dim3(*machine.block)
        self.gridDim = Dim3(*machine.grid)
        self.log = machine.log
        self.mark = -1 - linear  # in the log: from here on this thread runs
        self.blockIdx = Dim3(0, 0, 0)
        self.begin_block(self.blockIdx)

    def begin_block(self, block: Dim3) -> None:
        self.blockIdx = block
        self.local_top = 0
        self.locals: dict[int, DeviceArray] = {}
        self.entered: set[int] = set()  # sites of accesses outside rewritten code that this thread has come by
        self.state = "ready"
        self.answer: Any = None
        self.resume: Callable[[Any], Any] | None = None
        self.waits: Any = None
        self.left = False  # by a `return` of the kernel

    def grid(self, n: int) -> Any:
        """Index of the thread in the whole grid, in 1, 2 or 3 dimensions."""
        i, b, d = self.threadIdx, self.blockIdx, self.blockDim
        place = (b.x * d.x + i.x, b.y * d.y + i.y, b.z * d.z + i.z)
        return place[0] if n == 1 else place[: self._dimensions(n)]

    def gridsize(self, n: int) -> Any:
        """Number of threads in the whole grid, in 1, 2 or 3 dimensions."""
        d, g = self.blockDim, self.gridDim
        size = (d.x * g.x, d.y * g.y, d.z * g.z)
        return size[0] if n == 1 else size[: self._dimensions(n)]

    @staticmethod
    def _dimensions(n: int) -> int:
        if n not in (1, 2, 3):
            raise ValueError(f"Global ID has 1-3 dimensions. {n} requested")
        return n

    # control
    def spend(self, rounds: int, code: int) -> None:
        """That many more rounds of a ``while`` loop."""
        machine = self.machine
        machine.steps += rounds
        if machine.steps > machine.step_limit:
            machine.out_of_steps(self, code)

    def loop(self, iterable: Iterable[Any], code: int) -> Iterable[Any]:
        """Count the rounds of a ``for`` loop: at once where they are few, in pieces where a loop may be left early."""
        machine = self.machine
        if type(iterable) is range:
            if len(iterable) > _PIECE:
                return self._in_pieces(iterable, code)
            machine.steps += len(iterable)
            if machine.steps > machine.step_limit:
                machine.out_of_steps(self, code)
            return iterable
        return self._counted(iterable, code)

    def _in_pieces(self, rounds: range, code: int) -> Iterator[int]:
        for start in range(0, len(rounds), _PIECE):
            piece = rounds[start:start + _PIECE]
            self.spend(len(piece), code)
            yield from piece

    def _counted(self, iterable: Iterable[Any], code: int) -> Iterator[Any]:
        for item in iterable:
            self.spend(1, code)
            yield item

    def rounds(self, iterable: Iterable[Any], enter: int, step: int) -> Iterator[Any]:
        """The loop of a comprehension: its start and each round are logged, as a statement's are."""
        self.log(enter)
        for item in iterable:
            self.spend(1, step)
            self.log(step)
            yield item

    def enter(self, code: int, label: str) -> int:
        """Number of the first site of a device function when called from the site ``code``."""
        return self.machine.enter(self, code, label)

    def fence(self, code: int) -> None:
        """Logs a fence that other blocks can rely on. The scheduler keeps program order anyway."""
        self.log(code)

    def threadfence_block(self) -> None:
        """Orders memory for the block's threads, which the scheduler does anyway."""

    def nanosleep(self, ns: Any) -> None:
        """Simulated threads have no clock."""

    def lanemask_lt(self) -> int:
        return (1 << self.laneid) - 1

    # arrays
    def shared_array(self, code: int, site: int, shape: Any, dtype: Any,
                     alignment: int | None = None) -> Any:
        self._refuse_alignment(alignment)
        return self.machine.shared_array(self, code, site, shape, dtype)

    @staticmethod
    def _refuse_alignment(alignment: int | None) -> None:
        if alignment is not None:
            raise KernelError("`alignment` of an array is not supported in cudasim, numba's simulator; leave it out")

    def local_array(self, code: int, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        self._refuse_alignment(alignment)
        machine = self.machine
        dims, kind = machine.shape_of(shape, "local"), machine.dtype_of(dtype)
        if kind.kind not in WATCHED_KINDS:
            return np.zeros(dims, kind)
        found = self.locals.get(code)
        if found is not None and found.dtype == kind and tuple(found.shape) == dims:
            return found  # one place in the source is one array, however often a thread comes by
        count = math.prod(dims)
        held = sum(array.size for array in self.locals.values())
        if held + count > LOCAL_ELEMENTS:
            place = machine.place(code, self)
            error = LaunchError(
                f"line {place.line}: {held + count:,} elements of local memory in one thread are more than the "
                f"simulator holds ({LOCAL_ELEMENTS:,}). A GPU would keep them in global memory, and be slow: "
                "a thread's own array should fit into its registers, a few dozen numbers"
            )
            error.place = place
            raise error
        start = (self.local_top + 15) // 16 * 16
        self.local_top = start + count * kind.itemsize
        if self.local_top > LOCAL_LIMIT:
            machine.too_large("local", self.local_top, LOCAL_LIMIT, code, self)
        address = LOCAL_BASE + self.linear * LOCAL_STRIDE + start
        owned = machine.memory.allocate(machine.array_name(code), "local", kind, dims, address,
                                        [poison(kind)] * count)
        machine.local_sizes[owned.name] = kind.itemsize
        made = self.locals[code] = machine.memory.array(owned, dims)
        return made

    @staticmethod
    def const_array(value: Any) -> Any:
        return value

    # four neighbouring floats in one instruction: four log entries of one site are one request
    def load4(self, code: int, a: DeviceArray, index: int) -> tuple[Any, Any, Any, Any]:
        self._check4(code, a, index, False)
        return tuple(load_any(a, index + n, code) for n in range(4))

    def store4(self, code: int, a: DeviceArray, index: int, *values: Any) -> None:
        if len(values) != 4:
            raise TypeError(f"store4 takes an array, an index and four values, not {len(values)}")
        self._check4(code, a, index, True)
        for n, value in enumerate(values):
            store_any(a, index + n, value, code)

    def _check4(self, code: int, a: DeviceArray, index: int, store: bool) -> None:
        if not isinstance(a, DeviceArray) or len(a.shape) != 1 or a.dtype != np.float32 or a.steps != (1,):
            raise TypeError("load4 and store4 need a 1-D float32 array without gaps, such as a row `x = X[row]`")
        if (a.address + (a.offset + index) * 4) % 16:
            self.machine.misaligned(self, code, a, index, store)

    # a cooperative grid: here of one block, whose barrier is then the grid's
    def this_grid(self) -> GridGroup:
        if self.machine.grid != (1, 1, 1):
            raise KernelError("a grid barrier is simulated for grids of one block only")
        return GridGroup()

    @staticmethod
    def group_barrier(group: Any, code: int) -> int:
        if not isinstance(group, GridGroup):
            raise AttributeError(f"{type(group).__name__} has no barrier `sync`")
        return code

    # atomics: each gives the old value
    def atomic(self, code: int, name: str) -> Callable[..., Any]:
        """An atomic that is passed on as a value."""
        return partial(getattr(self, f"atomic_{name}"), code)

    def _atomic(self, code: int, a: DeviceArray, idx: Any, change: Callable[..., Any], *given: Any) -> Any:
        """``change(old, *given)`` with the values of the array's own type, as the instruction takes them."""
        if not isinstance(a, DeviceArray):
            raise TypeError(f"an atomic needs an array in global or shared memory, not {type(a).__name__}")
        if isinstance(idx, (float, np.floating)):
            idx = int(idx) if idx == idx and abs(idx) < 2**62 else -1  # numba casts the index of an atomic
        position, part = locate(a, idx, code, True)
        if part is not None:
            raise TypeError(f"an atomic on {a.allocation.name} needs one index per dimension")
        if position is None:
            return whole(a, poison(a.allocation.dtype))
        self.log(code + a.address + position * a.itemsize)
        old = whole(a, a.data[position])
        a.data[position] = a.convert(change(old, *(whole(a, a.convert(v)) for v in given)))
        return old

    def atomic_add(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, operator.add, value)

    def atomic_sub(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, operator.sub, value)

    def atomic_and_(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, operator.and_, value)

    def atomic_or_(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, operator.or_, value)

    def atomic_xor(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, operator.xor, value)

    def atomic_inc(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, lambda old, limit: 0 if old >= limit else old + 1, value)

    def atomic_dec(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, lambda old, limit: limit if old == 0 or old > limit else old - 1, value)

    def atomic_exch(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, lambda old, new: new, value)

    def atomic_max(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        # numba's atomic max and min keep the old value when either is NaN
        return self._atomic(code, a, idx, lambda old, new: new if new > old else old, value)

    def atomic_min(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, lambda old, new: new if new < old else old, value)

    def atomic_nanmax(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, maximum, value)

    def atomic_nanmin(self, code: int, a: Any, idx: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, minimum, value)

    def atomic_cas(self, code: int, a: Any, idx: Any, old: Any, value: Any) -> Any:
        return self._atomic(code, a, idx, lambda found, wanted, new: new if found == wanted else found, old, value)

    def atomic_compare_and_swap(self, code: int, a: Any, old: Any, value: Any) -> Any:
        first = 0 if a.ndim == 1 else (0,) * a.ndim
        return self.atomic_cas(code, a, first, old, value)
