"""Which device arrays hold elements that nothing has written: those that ``cuda.device_array`` just made."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

_unwritten: dict[int, np.ndarray] = {}  # by id of the array that owns the memory, as long as it lives


def root_of(arg: Any) -> np.ndarray | None:
    """The array that owns the memory behind a simulated device array; None for anything else."""
    inner = getattr(arg, "_ary", None)
    inner = getattr(inner, "_ary", inner)
    if not isinstance(inner, np.ndarray):
        return None
    while isinstance(inner.base, np.ndarray):
        inner = inner.base
    return inner


def remember(arg: Any) -> None:
    """``arg`` was allocated and not written: a bool per element, True until a kernel writes it."""
    root = root_of(arg)
    if root is not None and root.size:
        _unwritten[id(root)] = np.ones(root.size, bool)
        weakref.finalize(root, _unwritten.pop, id(root), None)


def forget(arg: Any) -> None:
    """The host has written ``arg``."""
    root = root_of(arg)
    if root is not None:
        _unwritten.pop(id(root), None)


def mask_of(arg: Any) -> np.ndarray | None:
    """The record of ``arg``, updated in place by a launch; None when all of it is written, or it is a part."""
    root = root_of(arg)
    if root is None or getattr(arg, "size", None) != root.size:
        return None
    return _unwritten.get(id(root))
