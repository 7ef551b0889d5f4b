"""Accesses of a running block that a barrier has not closed yet, held in little memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.simulator.events import Batch, compact, groups
from autograder.simulator.sites import STORE

PART = 400_000  # accesses judged at a time

# what a race check needs of an access, and how narrow it can be kept
_KEPT = {"site": np.int32, "kind": np.int8, "address": np.int64, "thread": np.int16, "block": np.int32,
         "interval": np.int32, "sync": np.int32, "position": np.int64, "value": np.int64}

Rows = dict[str, np.ndarray]


class OpenAccesses:
    """One of several accesses that a race check cannot tell apart is kept, some 43 bytes."""

    def __init__(self) -> None:
        self._pieces: list[Rows] = []
        self._thinned = 0  # accesses that were left when all pieces were last thinned out together

    def __len__(self) -> int:
        return sum(len(piece["site"]) for piece in self._pieces)

    def add(self, batch: Batch) -> None:
        """Keep the accesses of ``batch``."""
        if not len(batch):
            return
        rows = {name: getattr(batch, name).astype(kind) for name, kind in _KEPT.items()}
        self._pieces.append(_first_of_each(rows))
        if len(self._pieces) > 1 and len(self) > 2 * self._thinned + PART:
            self._pieces = [_first_of_each(part) for part in _by_address(self._pieces)]
            self._thinned = len(self)

    def close(self, closed: int | None) -> Iterator[Batch]:
        """Give away the accesses before barrier ``closed`` (None: all), those of one address together."""
        over: list[Rows] = []
        left: list[Rows] = []
        for piece in self._pieces:
            before = np.ones(len(piece["site"]), bool) if closed is None else piece["interval"] < closed
            over += [_some(piece, before)] if before.any() else []
            left += [_some(piece, ~before)] if not before.all() else []
        self._pieces = left
        self._thinned = min(self._thinned, len(self))
        for part in _by_address(over) if over else ():
            wide = {name: column.astype(np.int64) for name, column in part.items()}
            nothing = np.zeros(len(part["site"]), np.int64)
            yield Batch(**wide, warp=nothing, round=nothing, fence=nothing)


def _some(rows: Rows, which: np.ndarray) -> Rows:
    return {name: column[which] for name, column in rows.items()}


def _by_address(pieces: list[Rows]) -> Iterator[Rows]:
    """The rows of all pieces in parts, none of which shares an address with another."""
    address = np.sort(np.concatenate([piece["address"] for piece in pieces]))
    first = 0  # of the part's addresses, in their order
    while first < len(address):
        low, high = address[first], address[min(first + PART, len(address)) - 1]
        first = int(np.searchsorted(address, high, side="right"))
        inside = [_some(piece, (piece["address"] >= low) & (piece["address"] <= high)) for piece in pieces]
        yield {name: np.concatenate([rows[name] for rows in inside]) for name in _KEPT}


def _first_of_each(rows: Rows) -> Rows:
    site = np.where(rows["kind"] == STORE, rows["site"], 0)
    columns = [rows[name].astype(np.int64) for name in ("thread", "interval", "sync", "kind")]
    order, starts = groups(compact(rows["address"])[0], *columns, site.astype(np.int64), compact(rows["value"])[0])
    return _some(rows, np.sort(order[starts]))
