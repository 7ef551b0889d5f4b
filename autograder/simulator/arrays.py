"""Arrays as a kernel sees them: bounds, addresses and a log.

A :class:`DeviceArray` is a view of an allocation (offset, shape and strides in elements). Rewritten kernels call
an array's own ``load`` and ``store`` where it is known to be an array of as many dimensions as there are
indices, else ``load_any`` and ``store_any``; each takes the site's packed number and logs. Code that is
not rewritten may still index the arrays, unrecorded but bounds-checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index as as_index
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from autograder.simulator.allocation import Allocation, is_narrow, poison
from autograder.simulator.errors import KernelError
from autograder.simulator.sites import LOAD, STORE, VALUE_MARK

if TYPE_CHECKING:
    from autograder.simulator.memory import Memory


class DeviceArray:
    """A view of an allocation. ``load(i, …, code)`` and ``store(i, …, value, code)`` take one index per
    dimension; there are none (None) for more than three dimensions."""

    __slots__ = ("allocation", "data", "shape", "steps", "offset", "address", "itemsize", "scalar",
                 "convert", "memory", "load", "store", "rows")

    def __init__(self, allocation: Allocation, memory: Memory, offset: int, shape: tuple[int, ...],
                 steps: tuple[int, ...]) -> None:
        self.allocation = allocation
        self.memory = memory
        self.data = allocation.data
        self.offset = offset
        self.shape = tuple(shape)
        self.steps = steps
        self.itemsize = allocation.dtype.itemsize
        self.address = allocation.address
        self.scalar = allocation.dtype.type
        self.convert = memory.converter(allocation.dtype)
        self.rows: dict[int, DeviceArray] = {}  # views by first index, made once: every thread asks for its row
        self.load, self.store = _ACCESS.get(len(shape), _no_access)(self)

    # what a kernel may ask of an array
    @property
    def dtype(self) -> np.dtype:
        return self.allocation.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(s * self.itemsize for s in self.steps)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> DeviceArray:  # noqa: N802
        return view(self, self.offset, tuple(self.shape)[::-1], self.steps[::-1])

    def transpose(self, *axes: int) -> DeviceArray:
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
        if not order:
            return self.T
        shape = tuple(self.shape)
        return view(self, self.offset, tuple(shape[a] for a in order), tuple(self.steps[a] for a in order))

    def reshape(self, *shape: Any) -> DeviceArray:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if self.size and self.steps != contiguous(tuple(self.shape)):
            raise KernelError("reshape needs an array whose elements lie side by side in C order")
        if any(n < 0 for n in wanted) and -1 in wanted:
            known = int(np.prod([n for n in wanted if n != -1], dtype=np.int64))
            wanted = tuple(self.size // known if n == -1 else n for n in wanted)
        if int(np.prod(wanted, dtype=np.int64)) != self.size:
            raise KernelError(f"an array of shape {tuple(self.shape)} cannot be reshaped to {tuple(wanted)}")
        return view(self, self.offset, tuple(wanted), contiguous(tuple(wanted)))

    def view(self, dtype: Any) -> DeviceArray:
        """The same memory as elements of another dtype, along the last dimension."""
        kind = np.dtype(dtype if isinstance(dtype, (type, np.dtype)) else str(dtype))
        return self._seen_as(self._host().view(kind))

    @property
    def real(self) -> DeviceArray:
        return self._seen_as(self._host().real)

    @property
    def imag(self) -> DeviceArray:
        return self._seen_as(self._host().imag)

    def _host(self) -> np.ndarray:
        """This view as a NumPy array; kernels that ask for one keep their memory in NumPy arrays."""
        flat = self.allocation.data
        if not isinstance(flat, np.ndarray):
            raise KernelError(f"{self.allocation.name} cannot be seen as another dtype here")
        return np.lib.stride_tricks.as_strided(flat[self.offset:], tuple(self.shape), self.strides)

    def _seen_as(self, part: np.ndarray) -> DeviceArray:
        size = part.itemsize
        first = self.allocation.data.__array_interface__["data"][0]
        lead = part.__array_interface__["data"][0] - first
        raw = self.allocation.data.view(np.uint8)[lead % size:]
        flat = raw[: len(raw) // size * size].view(part.dtype)
        made = Allocation(self.allocation.name, self.allocation.space, part.dtype, self.address + lead % size, flat,
                          self.allocation.number)
        return DeviceArray(made, self.memory, lead // size, part.shape, tuple(s // size for s in part.strides))

    def ravel(self) -> DeviceArray:
        return self.reshape(self.size)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, idx: Any) -> Any:
        return load_slowly(self, idx, self.memory.stray_code(LOAD, self.allocation.name))

    def __setitem__(self, idx: Any, value: Any) -> None:
        store_slowly(self, idx, value, self.memory.stray_code(STORE, self.allocation.name))

    def __repr__(self) -> str:
        return f"<{self.allocation.space} array {self.allocation.name!r} {tuple(self.shape)} {self.dtype}>"


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """C-order strides of ``shape``, in elements."""
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return tuple(reversed(steps))


def view(base: DeviceArray, offset: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> DeviceArray:
    """Another view of the memory of ``base``; ``offset`` and ``steps`` in elements."""
    return DeviceArray(base.allocation, base.memory, offset, shape, steps)


# Access by one index per dimension, as closures: they run once per simulated access. An index of another
# type than int (a NumPy integer, a slice) ends in an exception of the fast way and takes the general one.

def _tells(a: DeviceArray) -> bool:
    """Whether stores also log what they wrote: several threads may write one value, but not different ones."""
    return a.memory.recording and a.allocation.space != "local"


def _access1(a: DeviceArray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    (n,), (step,), offset = a.shape, a.steps, a.offset
    data, log, scalar, convert, size = a.data, a.memory.log, a.scalar, a.convert, a.itemsize
    base = a.address + offset * size
    stride = step * size

    narrow = is_narrow(a.allocation.dtype)

    def load(i: Any, code: int) -> Any:
        try:
            if 0 <= i < n:
                value = data[offset + i * step]
                log(code + base + i * stride)
                return int(value) if narrow else value
        except (TypeError, OverflowError):
            pass
        return load_slowly(a, i, code)

    def store(i: Any, value: Any, code: int) -> None:
        if type(i) is int and 0 <= i < n:
            log(code + base + i * stride)
            data[offset + i * step] = value if type(value) is scalar else convert(value)
        else:
            store_slowly(a, i, value, code)

    def store_and_tell(i: Any, value: Any, code: int) -> None:
        if type(i) is int and 0 <= i < n:
            log(code + base + i * stride)
            if type(value) is not scalar:
                value = convert(value)
            log(VALUE_MARK - crc32(value.tobytes()))
            data[offset + i * step] = value
        else:
            store_slowly(a, i, value, code)

    return load, store_and_tell if _tells(a) else store


def _access2(a: DeviceArray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    (n, m), (step, inner), offset = a.shape, a.steps, a.offset
    data, log, scalar, convert, size = a.data, a.memory.log, a.scalar, a.convert, a.itemsize
    base = a.address
    tells, narrow = _tells(a), is_narrow(a.allocation.dtype)

    def load(i: Any, j: Any, code: int) -> Any:
        try:
            if 0 <= i < n and 0 <= j < m:
                k = offset + i * step + j * inner
                value = data[k]
                log(code + base + k * size)
                return int(value) if narrow else value
        except (TypeError, OverflowError):
            pass
        return load_slowly(a, (i, j), code)

    def store(i: Any, j: Any, value: Any, code: int) -> None:
        if type(i) is int and type(j) is int and 0 <= i < n and 0 <= j < m:
            k = offset + i * step + j * inner
            log(code + base + k * size)
            if type(value) is not scalar:
                value = convert(value)
            if tells:
                log(VALUE_MARK - crc32(value.tobytes()))
            data[k] = value
        else:
            store_slowly(a, (i, j), value, code)

    return load, store


def _access3(a: DeviceArray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def load(i: Any, j: Any, k: Any, code: int) -> Any:
        return load_slowly(a, (i, j, k), code)

    def store(i: Any, j: Any, k: Any, value: Any, code: int) -> None:
        store_slowly(a, (i, j, k), value, code)

    return load, store


def _no_access(a: DeviceArray) -> tuple[None, None]:
    return None, None


_ACCESS: dict[int, Callable[[DeviceArray], tuple[Any, Any]]] = {1: _access1, 2: _access2, 3: _access3}


def locate(a: DeviceArray, idx: Any, code: int, store: bool) -> tuple[int | None, DeviceArray | None]:
    """Resolve an index: (element position in the allocation, None) for one element, (None, view) for
    a part, (None, None) after a fault. Raises TypeError for an index that is no integer."""
    parts = idx if isinstance(idx, tuple) else (idx,)
    if Ellipsis in [p for p in parts if p is Ellipsis]:
        at = next(n for n, p in enumerate(parts) if p is Ellipsis)
        fill = len(a.shape) - (len(parts) - 1)
        parts = (*parts[:at], *([slice(None)] * fill), *parts[at + 1:])
    if len(parts) > len(a.shape):
        raise IndexError(f"{a.allocation.name} has {len(a.shape)} dimensions but is indexed with {len(parts)}")
    shape = tuple(a.shape)
    offset, kept_shape, kept_steps, whole = a.offset, [], [], []
    inside = True
    for n, part in enumerate(parts):
        if isinstance(part, slice):
            start, stop, step = part.indices(shape[n])
            offset += start * a.steps[n]
            kept_shape.append(len(range(start, stop, step)))
            kept_steps.append(a.steps[n] * step)
            whole.append(0)
            continue
        if isinstance(part, (bool, np.bool_)):
            part = int(part)
        try:
            part = as_index(part)
        except TypeError:
            raise TypeError(f"{a.allocation.name} is indexed with {part!r} ({type(part).__name__}); "
                            "an index must be an integer") from None
        whole.append(part)
        inside = inside and 0 <= part < shape[n]
        offset += part * a.steps[n]
    if not inside:
        a.memory.fault(a, tuple(whole), code, store)
        return None, None
    kept_shape += shape[len(parts):]
    kept_steps += a.steps[len(parts):]
    if not kept_shape:
        return offset, None
    return None, view(a, offset, tuple(kept_shape), tuple(kept_steps))


def whole(a: DeviceArray, value: Any) -> Any:
    """An element as a kernel computes with it: narrow integers widened."""
    return int(value) if is_narrow(a.allocation.dtype) else value


def load_slowly(a: DeviceArray, idx: Any, code: int) -> Any:
    """Read ``a[idx]`` for any index."""
    if type(idx) is int and idx in a.rows:
        return a.rows[idx]
    position, part = locate(a, idx, code, False)
    if part is not None:
        if type(idx) is int:
            a.rows[idx] = part
        return part
    if position is None:
        return whole(a, poison(a.allocation.dtype))
    a.memory.log(code + a.address + position * a.itemsize)
    return whole(a, a.data[position])


def store_slowly(a: DeviceArray, idx: Any, value: Any, code: int) -> None:
    """Write ``a[idx] = value`` for any index; a part takes a number or an array, element by element as a GPU does."""
    position, part = locate(a, idx, code, True)
    if part is not None:
        _store_part(part, value, code)
    elif position is not None:
        stored = value if type(value) is a.scalar else a.convert(value)
        a.memory.log(code + a.address + position * a.itemsize)
        if _tells(a):
            a.memory.log(VALUE_MARK - crc32(stored.tobytes()))
        a.data[position] = stored


def _store_part(part: DeviceArray, value: Any, code: int) -> None:
    memory = part.memory
    enter, step, load, store = memory.extra_sites(code, (LOAD, STORE), part.allocation.name)
    memory.log(enter)
    if isinstance(value, (DeviceArray, np.ndarray)) and tuple(value.shape) != part.shape:
        raise ValueError(f"a part of shape {part.shape} of {part.allocation.name} cannot take an array of shape "
                         f"{tuple(value.shape)}")
    for place in np.ndindex(*part.shape):
        memory.log(step)
        item = value
        if isinstance(value, DeviceArray):
            item = load_slowly(value, place, load)
        elif isinstance(value, np.ndarray):
            item = value[place]
        store_slowly(part, place, item, store)


def _load_constant(a: np.ndarray, idx: Any) -> Any:
    """Read a global NumPy array, which a GPU kernel holds as a constant: no index may be negative."""
    for n, part in zip(a.shape, idx if isinstance(idx, tuple) else (idx,)):
        if not isinstance(part, slice) and not 0 <= part < n:
            raise IndexError(f"index {part} is outside a constant array of shape {a.shape}; a negative index does not "
                             "count from the end inside a kernel")
    value = a[idx]
    return int(value) if isinstance(value, np.integer) else value


def load_any(a: Any, idx: Any, code: int) -> Any:
    """Read ``a[idx]`` for any container. Only DeviceArrays are recorded."""
    if type(a) is not DeviceArray:
        return _load_constant(a, idx) if type(a) is np.ndarray and a.dtype.names is None else a[idx]
    if len(a.shape) == 1 and type(idx) is int:
        return a.load(idx, code)
    return load_slowly(a, idx, code)


def store_any(a: Any, idx: Any, value: Any, code: int) -> None:
    """Write ``a[idx] = value`` for any container."""
    if type(a) is not DeviceArray:
        a[idx] = value
    elif len(a.shape) == 1 and type(idx) is int:
        a.store(idx, value, code)
    else:
        store_slowly(a, idx, value, code)


def stored(a: Any, value: Any) -> Any:
    """What a load of ``a`` gives after ``value`` was stored there."""
    if type(a) is not DeviceArray:
        return value
    return whole(a, value if type(value) is a.scalar else a.convert(value))


def loader(a: Any, indices: int) -> Callable[..., Any]:
    """``load(i, …, code)`` for something that is read with that many indices, whatever it is."""
    if type(a) is DeviceArray and len(a.shape) == indices and a.load is not None:
        return a.load
    if indices == 1:
        return lambda i, code: load_any(a, i, code)
    return lambda *parts: load_any(a, parts[:-1], parts[-1])


def storer(a: Any, indices: int) -> Callable[..., Any]:
    """``store(i, …, value, code)`` for something that is written with that many indices."""
    if type(a) is DeviceArray and len(a.shape) == indices and a.store is not None:
        return a.store
    if indices == 1:
        return lambda i, value, code: store_any(a, i, value, code)
    return lambda *parts: store_any(a, parts[:-2], parts[-2], parts[-1])
