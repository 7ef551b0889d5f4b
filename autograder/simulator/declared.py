"""Types that a kernel declares: ``@cuda.jit("void(float32[:], int32)")``. numba's simulator drops them.

A number is passed as the type declared for it, as on a GPU; without a declaration as what it is (a Python int is an
int64, a float a float64).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.simulator.kinds import of_dtype
from autograder.simulator.names import dtype_name


def keep_signatures(cuda: Any) -> None:
    """Make ``cuda.jit`` note the signature it is given on the kernel that it makes."""
    stock = cuda.jit

    @functools.wraps(stock)
    def jit(func_or_sig: Any = None, *args: Any, **kwargs: Any) -> Any:
        made = stock(func_or_sig, *args, **kwargs)
        types = _declared(stock, func_or_sig)
        if types is None:
            return made

        def decorate(function: Callable[..., Any]) -> Any:
            kernel = made(function)
            kernel.declared_types = types
            return kernel

        return decorate

    cuda.jit = jit


def as_declared(kernel: Any, args: Sequence[Any]) -> list[Any]:
    """``args`` with each number converted to the type that ``kernel`` declares for it, wrapping and rounding as a
    C cast does."""
    types = getattr(kernel, "declared_types", ())
    return [_convert(arg, types[n] if n < len(types) else None) for n, arg in enumerate(args)]


def _convert(arg: Any, declared: Any) -> Any:
    if declared is None or not isinstance(arg, (bool, int, float, complex, np.generic)):
        return arg
    try:
        dtype = np.dtype(dtype_name(declared))
    except TypeError:  # an array or a record
        return arg
    if of_dtype(dtype) is None or np.asarray(arg).dtype.kind not in "biufc":
        return arg
    with np.errstate(all="ignore"):
        return np.asarray(arg).astype(dtype)[()]


def _declared(stock: Callable[..., Any], given: Any) -> tuple[Any, ...] | None:
    """The argument types in a signature; None when ``given`` is none."""
    is_signature = getattr(sys.modules[stock.__module__], "is_signature", None)
    if is_signature is None:
        return None
    first = given[0] if isinstance(given, list) and len(given) == 1 else given
    if not is_signature(first):
        return None
    types, _ = sys.modules[is_signature.__module__].normalize_signature(first)
    return tuple(types)
