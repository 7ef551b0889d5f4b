"""Collecting sanitizer findings: the first few in full, the rest counted."""

from __future__ import annotations

from collections.abc import Hashable

from autograder.simulator.trace import Finding, Place

KEEP = 5


def plain_index(index: tuple[int, ...] | None) -> str:
    return "" if index is None else "[" + ", ".join(str(int(n)) for n in index) + "]"


def who(place: Place) -> str:
    """"thread (3, 0, 0) of block (0, 0, 0)", shortened to the dimensions that are used."""
    def short(t: tuple[int, int, int]) -> str:
        if t[2]:
            return f"({t[0]}, {t[1]}, {t[2]})"
        return f"({t[0]}, {t[1]})" if t[1] else str(t[0])

    return f"thread {short(place.thread or (0, 0, 0))} of block {short(place.block or (0, 0, 0))}"


def describe_access(place: Place, array: str, space: str, index: tuple[int, ...],
                    shape: tuple[int, ...], store: bool) -> str:
    verb = "writes" if store else "reads"
    low = any(n < 0 for n in index)
    advice = ("A negative index does not count from the end inside a kernel; guard it with an `if`."
              if low else "Guard the access with an `if` on the index (a ragged last tile is the usual cause).")
    return (f"line {place.line}: `{place.text}` {verb} {array}{plain_index(index)}, outside its shape "
            f"{tuple(shape)} in {space} memory, in {who(place)}. {advice}")


class FindingList:
    """At most ``KEEP`` findings, one per ``key``; ``total`` counts every report."""

    def __init__(self) -> None:
        self.kept: list[Finding] = []
        self.total = 0
        self._seen: set[Hashable] = set()

    def again(self, tool: str, key: Hashable) -> bool:
        """Count one more report of something already kept or counted; False when it is the first."""
        if (tool, key) not in self._seen:
            return False
        self.total += 1
        return True

    def add(self, tool: str, message: str, places: tuple[Place, ...], array: str | None = None,
            index: tuple[int, ...] | None = None, key: Hashable = None) -> None:
        self.total += 1
        marked = (tool, key if key is not None else message)
        if marked in self._seen:
            return
        self._seen.add(marked)
        if len(self.kept) < KEEP:
            self.kept.append(Finding(tool, message, places, array, index))
