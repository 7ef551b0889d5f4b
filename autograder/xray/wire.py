"""Arguments and traces as plain JSON and raw bytes, for the way to a child process and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from autograder.simulator.trace import (
    ArrayInfo,
    Finding,
    LineTraffic,
    Place,
    Touches,
    Trace,
    Traffic,
)


def pack_argument(position: int, argument: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """An argument as a JSON entry and named byte arrays. An array keeps its strides where they all
    point forwards; otherwise it is sent in C order."""
    if not isinstance(argument, np.ndarray):
        scalar = np.asarray(argument)
        return {"scalar": scalar.item(), "type": None if _plain(argument) else str(scalar.dtype)}, {}
    if any(step < 0 for step in argument.strides) or not argument.size:
        argument = np.ascontiguousarray(argument)
    extent = argument.itemsize if argument.size else 0
    extent += sum((n - 1) * step for n, step in zip(argument.shape, argument.strides) if argument.size)
    key = f"a{position}"
    raw = np.lib.stride_tricks.as_strided(_bytes(argument), (extent,), (1,)).copy()
    entry = {"array": key, "shape": list(argument.shape), "strides": list(argument.strides),
             "dtype": argument.dtype.str}
    return entry, {key: raw}


def arrays_from(entry: dict[str, Any], raw: Mapping[str, np.ndarray]) -> Any:
    """The argument that :func:`pack_argument` packed; arrays are fresh and writeable."""
    if "scalar" in entry:
        return entry["scalar"] if entry["type"] is None else np.dtype(entry["type"]).type(entry["scalar"])
    data = np.array(raw[entry["array"]], dtype=np.uint8)
    return np.ndarray(tuple(entry["shape"]), np.dtype(entry["dtype"]), data, 0, tuple(entry["strides"]))


def unpack_into(target: np.ndarray, source: np.ndarray) -> None:
    """Write the elements of ``source`` into the caller's own array."""
    target[...] = source


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """A trace without its touches as plain data."""
    out = asdict(Trace(**{**vars(trace), "touches": None}))
    return _python(out)


def trace_from_json(data: dict[str, Any], touches: Mapping[str, np.ndarray]) -> Trace:
    """The trace that :func:`trace_to_json` wrote, with its touches from arrays by name."""
    names = list(touches)
    return Trace(
        **{
            **data,
            "grid": tuple(data["grid"]),
            "block": tuple(data["block"]),
            "arrays": tuple(_array(a) for a in data["arrays"]),
            "traffic": Traffic(**data["traffic"]),
            "lines": tuple(LineTraffic(**line) for line in data["lines"]),
            "findings": tuple(_finding(f) for f in data["findings"]),
            "touches": Touches(**{name: np.array(touches[name]) for name in names}) if names else None,
        }
    )


def _array(data: dict[str, Any]) -> ArrayInfo:
    return ArrayInfo(**{**data, "shape": tuple(data["shape"]), "strides": tuple(data["strides"])})


def _finding(data: dict[str, Any]) -> Finding:
    places = tuple(
        Place(**{**p, "block": _tuple(p["block"]), "thread": _tuple(p["thread"])}) for p in data["places"]
    )
    return Finding(**{**data, "places": places, "index": _tuple(data["index"])})


def _tuple(value: list[int] | None) -> tuple[int, ...] | None:
    return None if value is None else tuple(value)


def _plain(argument: Any) -> bool:
    return isinstance(argument, (bool, int, float))


def _bytes(argument: np.ndarray) -> np.ndarray:
    """A view of one byte at the array's first element, to stretch over its memory."""
    if not argument.size:
        return np.empty(0, np.uint8)
    first = np.lib.stride_tricks.as_strided(argument, (1,), (argument.itemsize,))
    return first.view(np.uint8)


def _python(value: Any) -> Any:
    """NumPy numbers as Python's, all the way down."""
    if isinstance(value, dict):
        return {key: _python(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_python(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
