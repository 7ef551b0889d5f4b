"""One launch while it runs: the bound kernel, its memory, its sites, its step count and its findings."""

from __future__ import annotations

import linecache
import math
import os
import sys
from array import array
from collections import deque
from types import FrameType, FunctionType
from typing import Any, NoReturn

import numpy as np

from autograder.simulator.allocation import Allocation, poison
from autograder.simulator.arrays import DeviceArray
from autograder.simulator.errors import KernelError, LaunchError, MemoryFault, StepLimit
from autograder.simulator.findings import FindingList, describe_access, who
from autograder.simulator.memory import Memory, block_size_problem
from autograder.simulator.sites import (
    ADDRESS_BITS,
    FENCE,
    LOOP_ENTER,
    LOOP_STEP,
    MAX_SITES,
    SHARED_BASE,
    Site,
)
from autograder.simulator.template import Template, template
from autograder.simulator.thread import WATCHED_KINDS, Thread
from autograder.simulator.trace import Place

SHARED_LIMIT = 48 * 1024
VIEW_GAP = 1 << 20  # bytes between the addresses of two views of dynamic shared memory
NO_LIMIT = 1 << 62
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Machine:
    """State of one launch. ``sites`` are site instances: one per site and call path; ``loops[i]``
    are the instance numbers of the loops around instance i, outermost first."""

    def __init__(self, grid: tuple[int, int, int], block: tuple[int, int, int],
                 *, record: bool, step_limit: int | None, stop_at_first: bool, dynamic_shared: int) -> None:
        self.grid, self.block = grid, block
        self.record = record
        self.stop_at_first = stop_at_first
        self.steps = 0
        self.step_limit = NO_LIMIT if step_limit is None else step_limit
        self.barriers = 0
        self.debug = False  # @cuda.jit(debug=True): a division by zero raises
        self.current: Thread | None = None
        self.findings = FindingList()
        # one log for all threads: a negative entry says which thread the following ones belong to
        self.events = array("q")
        self.log = self.events.append if record else deque(maxlen=0).append
        self.memory = Memory(self)
        self.sites: list[Site] = []
        self.loops: list[tuple[int, ...]] = []
        self._instances: dict[tuple[int, str], int] = {}
        self._depth: dict[int, int] = {}
        self._functions: dict[FunctionType, tuple[Template, FunctionType]] = {}
        self._owners: list[FunctionType] = []
        self._shared: dict[tuple[FunctionType, int], DeviceArray | np.ndarray] = {}
        self._shared_top = 0
        self.dynamic_shared = dynamic_shared
        self._dynamic: dict[np.dtype, DeviceArray] = {}
        self.threads: list[Thread] = []
        self._cooperates: dict[FunctionType, bool] = {}
        self._extra: dict[Any, int] = {}
        self._warp_masks: dict[int, list[int]] = {}  # of the running block, by warp: lanes of each operation
        self._partial: set[int] = set()
        self.partial_masks: dict[tuple[int, int], list[int]] = {}  # (block, warp) -> the same, where some were partial
        self.local_sizes: dict[str, int] = {}  # name of a local array -> bytes of an element

    def bind(self, function: FunctionType) -> None:
        """Rewrite the kernel. ``self.kernel(thread, 0, *args)`` then runs a thread of it."""
        made, self.kernel = self._bind(function, is_kernel=True)
        self.cooperative = made.cooperative
        self._instantiate(function, made, ())

    # binding rewritten functions to this launch
    def cooperates(self, function: FunctionType) -> bool:
        """Whether a device function has a barrier or warp operation, itself or through others."""
        known = self._cooperates.get(function)
        if known is None:
            self._cooperates[function] = True  # a recursive call must be assumed to yield
            known = self._cooperates[function] = template(function, self.cooperates).cooperative
        return known

    def _bind(self, function: FunctionType, *, is_kernel: bool = False) -> tuple[Template, FunctionType]:
        if function in self._functions:
            return self._functions[function]
        made = template(function, self.cooperates, is_kernel)
        names = dict(function.__globals__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                names[name] = cell.cell_contents
            except ValueError:
                pass  # not assigned yet: using it raises NameError as it should
        names.update(made.bound)
        bound = FunctionType(made.code, names, function.__name__, function.__defaults__)
        bound.__kwdefaults__ = function.__kwdefaults__
        self._functions[function] = (made, bound)
        for label, callee in made.calls.items():
            names[label] = self._bind(callee)[1]
        return made, bound

    def _instantiate(self, function: FunctionType, made: Template, around: tuple[int, ...]) -> int:
        base = len(self.sites)
        if base + len(made.sites) > MAX_SITES:
            raise KernelError("the kernel has too many call paths to simulate")
        self.sites += made.sites
        self.loops += [(*around, *(base + n for n in site.loops)) for site in made.sites]
        self._owners += [function] * len(made.sites)
        return base

    def enter(self, thread: Thread, code: int, label: str) -> int:
        """The packed number of the callee's first site on this call path."""
        key = (code, label)
        base = self._instances.get(key)
        if base is None:
            site = code >> ADDRESS_BITS
            depth = self._depth.get(site, 0) + 1
            if depth > 64:
                raise KernelError("a device function calls itself; recursion is not available on the GPU here")
            callee = self._functions[self._owners[site]][0].calls[label]
            base = self._instantiate(callee, self._functions[callee][0], self.loops[site])
            for n in range(base, len(self.sites)):
                self._depth[n] = depth
            self._instances[key] = base
        return base << ADDRESS_BITS

    # places and faults
    def place(self, code: int, thread: Thread | None = None) -> Place:
        site = self.sites[code >> ADDRESS_BITS]
        return Place(site.function, site.filename, site.line,
                     linecache.getline(site.filename, site.line).strip(),
                     tuple(thread.blockIdx) if thread else None,
                     tuple(thread.threadIdx) if thread else None)

    def fault(self, a: DeviceArray, index: tuple[int, ...], code: int, store: bool) -> None:
        """An access outside ``a``: note it, or stop the launch."""
        key = (code >> ADDRESS_BITS, a.allocation.number)
        if not self.stop_at_first and self.findings.again("memcheck", key):
            return  # every thread may come by here: the sentence is made once
        place = self.place(code, self.current)
        sentence = describe_access(place, a.allocation.name, a.allocation.space, index, tuple(a.shape), store)
        if self.stop_at_first:
            error = MemoryFault(sentence)
            error.place = place
            raise error
        self.findings.add("memcheck", sentence, (place,), a.allocation.name, index, key=key)

    def misaligned(self, thread: Thread, code: int, a: DeviceArray, index: int, store: bool) -> None:
        """A 16-byte access that does not start at a multiple of 16 bytes."""
        key = ("aligned", code >> ADDRESS_BITS)
        if not self.stop_at_first and self.findings.again("memcheck", key):
            return
        place = self.place(code, thread)
        sentence = (
            f"line {place.line}: `{place.text}` {'writes' if store else 'reads'} 16 bytes from {a.allocation.name}[{index}] in "
            f"{who(place)}, whose address is not a multiple of 16 bytes. Start at an index that is a multiple of 4, "
            "and only in rows that start at one.")
        if self.stop_at_first:
            error = MemoryFault(sentence)
            error.place = place
            raise error
        self.findings.add("memcheck", sentence, (place,), a.allocation.name, (index,), key=key)

    def out_of_steps(self, thread: Thread, code: int) -> NoReturn:
        place = self.place(code, thread)
        error = StepLimit(
            f"line {place.line}: the kernel was stopped after {self.step_limit:,} steps, in this loop: "
            f"`{place.text}`. A loop that never ends is the usual cause; check what changes in it.")
        error.place = place
        raise error

    def too_large(self, space: str, nbytes: int, limit: int, code: int, thread: Thread) -> NoReturn:
        place = self.place(code, thread)
        error = LaunchError(f"line {place.line}: {block_size_problem(space, nbytes, limit)}")
        error.place = place
        raise error

    # shared memory
    def shape_of(self, shape: Any, space: str) -> tuple[int, ...]:
        dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in dims):
            raise KernelError(f"cuda.{space}.array needs a shape of whole numbers, not {shape!r}")
        return tuple(int(n) for n in dims)

    @staticmethod
    def dtype_of(dtype: Any) -> np.dtype:
        try:
            return np.dtype(dtype if isinstance(dtype, (str, type, np.dtype)) else _numba_dtype(dtype))
        except Exception:
            raise KernelError(f"{dtype!r} is not a dtype that an array in a kernel can have") from None

    def array_name(self, code: int) -> str:
        text = linecache.getline(self.sites[code >> ADDRESS_BITS].filename,
                                 self.sites[code >> ADDRESS_BITS].line)
        head = text.split("=")[0].strip() if "=" in text else ""
        site = self.sites[code >> ADDRESS_BITS]
        return head if head.isidentifier() else f"{site.text} of line {site.line}"

    def shared_array(self, thread: Thread, code: int, site: int, shape: Any, dtype: Any) -> DeviceArray:
        key = (self._owners[code >> ADDRESS_BITS], site)  # as on the GPU: one array per function, not per call
        found = self._shared.get(key)
        if found is not None:
            return found
        dims, kind = self.shape_of(shape, "shared"), self.dtype_of(dtype)
        if kind.kind not in WATCHED_KINDS:
            made = self._shared[key] = np.zeros(dims, kind)
            return made
        if dims == (0,):
            return self._dynamic_array(kind, code)
        count = math.prod(dims)  # Python's integers: a shape must not overflow its way past the limit
        start = (self._shared_top + 15) // 16 * 16
        top = start + count * kind.itemsize
        if top + self.dynamic_shared > SHARED_LIMIT:
            self.too_large("shared", top + self.dynamic_shared, SHARED_LIMIT, code, thread)
        self._shared_top = top
        owned = self.memory.allocate(self.array_name(code), "shared", kind, dims, SHARED_BASE + start,
                                     [poison(kind)] * count)
        made = self._shared[key] = self.memory.array(owned, dims)
        return made

    def _dynamic_array(self, kind: np.dtype, code: int) -> DeviceArray:
        """Dynamic shared memory is one range, seen as whatever dtype is asked for."""
        found = self._dynamic.get(kind)
        if found is None:
            if not self._dynamic:
                self._raw = np.full(self.dynamic_shared, 0xFF, dtype=np.uint8)
            flat = self._raw[: self.dynamic_shared // kind.itemsize * kind.itemsize].view(kind)
            # placed above the static arrays' limit, so that the two cannot meet whatever comes first; each dtype
            # has addresses of its own, so that an address tells the dtype
            address = SHARED_BASE + SHARED_LIMIT + len(self._dynamic) * VIEW_GAP
            owned = self.memory.allocate(self.array_name(code), "shared", kind, flat.shape, address, flat)
            found = self._dynamic[kind] = self.memory.array(owned, flat.shape)
        return found

    @property
    def dynamic_views(self) -> list[Allocation]:
        """Dynamic shared memory once for each dtype that it is seen as, all of the same bytes."""
        return [a.allocation for a in self._dynamic.values()]

    def new_block(self) -> None:
        """Shared memory does not outlive a block: fill it with poison again."""
        for a in self._shared.values():
            if isinstance(a, np.ndarray):
                a[...] = np.zeros((), a.dtype)
                continue
            a.data[:] = [poison(a.dtype)] * len(a.data)
        for a in self._dynamic.values():
            self._raw[:] = 0xFF
        locals_start = next((n for n, a in enumerate(self.memory.allocations) if a.space == "local"), None)
        if locals_start is not None:
            self.memory.allocations = [a for a in self.memory.allocations if a.space != "local"]
            for n, a in enumerate(self.memory.allocations):
                a.number = n

    def note_warp_operation(self, warp: int, here: int, alive: int) -> None:
        """Lanes ``here`` of the ``alive`` ones have met in a warp operation."""
        self._warp_masks.setdefault(warp, []).append(here)
        if here != alive:
            self._partial.add(warp)

    def end_block(self, block: int) -> None:
        """Keep the masks of warps that synchronised in parts; for the others a count is enough."""
        for warp in self._partial:
            self.partial_masks[block, warp] = self._warp_masks[warp]
        self._warp_masks, self._partial = {}, set()

    def partial(self, block: int) -> dict[tuple[int, int], list[int]]:
        """The masks of the running block's warps that synchronised in parts, and of those of ended blocks."""
        return {**self.partial_masks, **{(block, warp): self._warp_masks[warp] for warp in self._partial}}

    def live_mask(self, warp: int) -> int:
        return sum(1 << t.laneid for t in self.threads[warp * 32:warp * 32 + 32] if t.state != "done")

    @property
    def fenced(self) -> bool:
        """Whether the kernel orders memory between blocks itself."""
        return any(site.kind == FENCE for site in self.sites)

    # accesses that rewritten code does not make by itself
    def extra_sites(self, code: int | None, kinds: tuple[int, ...], text: str, frame: FrameType | None = None) -> tuple[int, ...]:
        """Packed numbers of a loop's entry and step and of the sites inside it, made once per place: for a part of an
        array written in one statement (``code``), or for code outside the rewriting (``frame``)."""
        key = (code, kinds) if frame is None else (frame.f_code, frame.f_lineno, kinds)
        base = self._extra.get(key)
        if base is None:
            base = self._extra[key] = len(self.sites)
            if frame is None:
                at = self.sites[code >> ADDRESS_BITS]
                around, where = self.loops[code >> ADDRESS_BITS], (at.function, at.filename, at.line)
                owner = self._owners[code >> ADDRESS_BITS]
            else:
                around, where = (), (frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno)
                owner = self._owners[0]
            for n, kind in enumerate((LOOP_ENTER, LOOP_STEP, *kinds)):
                self.sites.append(Site(kind, *where, 0, text, ()))
                self.loops.append(around if n < 2 else (*around, base + 1))
                self._owners.append(owner)
        return tuple((base + n) << ADDRESS_BITS for n in range(2 + len(kinds)))

    def stray_code(self, kind: int, text: str) -> int:
        """Log the loop step of an access made outside rewritten code, and give the access's packed number."""
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back
        enter, step, access = self.extra_sites(None, (kind,), text, frame)
        if self.current is not None and enter not in self.current.entered:
            self.current.entered.add(enter)
            self.log(enter)
        self.log(step)
        return access


def _numba_dtype(dtype: Any) -> Any:
    try:
        from numba.cuda.np import numpy_support
    except ImportError:
        from numba.np import numpy_support
    return numpy_support.as_dtype(dtype)
