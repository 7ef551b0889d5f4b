"""What a compiler knows of memory at one place of a kernel: which elements it holds in registers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Value = Any  # a value number: a hashable tuple, equal where the values are

# what a call may do to memory, as a kernel's ``effect`` tells it
NOTHING, STORES, FENCES, EVERYTHING, SHARED, LOCAL, PURE_CALL = (
    "nothing", "stores", "fences", "everything", "shared", "local", "pure")
KILLS = {STORES: ("global", "any"), FENCES: ("global", "any", "shared"),
          EVERYTHING: ("global", "any", "shared", "local")}


@dataclass(frozen=True, eq=False)
class Source:
    """Where a value that may be used again comes from: a load, or the value of a store."""

    node: ast.Subscript


@dataclass(frozen=True)
class Element:
    """An element of an array by value numbers; ``space`` is "global", "shared", "local" or "any"."""

    base: Value
    index: tuple[Value, ...]
    space: str


Known = dict[Element, tuple[Source, Value]]


@dataclass
class State:
    """What is known at one place: the value number of each name, the elements held in registers, and those held if
    a condition is true."""

    names: dict[str, Value]
    held: Known = field(default_factory=dict)
    guarded: dict[Value, Known] = field(default_factory=dict)
    reached: bool = True

    def copy(self) -> State:
        return State(dict(self.names), dict(self.held), {c: dict(k) for c, k in self.guarded.items()}, self.reached)

    def drop(self, lost: Callable[[Element], bool]) -> None:
        for known in (self.held, *self.guarded.values()):
            for element in [e for e in known if lost(e)]:
                del known[element]


def may_be(written: Element, other: Element, loosely: bool = False) -> bool:
    """Whether a write to ``written`` may change ``other``; ``loosely``: to any element of its array."""
    if written.base == other.base:
        fixed = all(v[0] == "constant" for v in (*written.index, *other.index))
        return loosely or not fixed or written.index == other.index
    if "any" in (written.space, other.space):
        return True
    return written.space == other.space == "global"


def join(state: State, first: State, second: State, new: Callable[[], Value]) -> None:
    """Make ``state`` what holds after either of two ways."""
    ways = [way for way in (first, second) if way.reached]
    state.reached = bool(ways)
    if not ways:
        return
    names = {n for way in ways for n in way.names}
    for name in names:
        values = {way.names.get(name) for way in ways}
        state.names[name] = values.pop() if len(values) == 1 and None not in values else new()
    state.held = {e: k for e, k in ways[0].held.items()
                  if all(e in way.held and way.held[e][0] is k[0] for way in ways)}
    state.guarded = {c: {e: k for e, k in known.items() if all(e in way.guarded.get(c, {}) for way in ways)}
                     for c, known in ways[0].guarded.items()}
