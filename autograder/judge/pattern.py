"""What a wrong output has in common with the right one, in a sentence.

Where no known mistake explains a failure, its shape still tells much: all elements of a row off by one factor
(so the terms are right and their sum is not), another factor for each thread or tile (so a state was not
shared, or not corrected), values in each other's places, the result of one part of the row. Every statement is
checked on all wrong rows of a case before it is made; where nothing holds, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from . import narrate, subsets
from .factors import EXACT, SPREAD, near, one_factor, times
from .launches import Launched, Program
from .outputs import Outcome

ROUNDING = 3e-6  # relative, of a float32 sum in whatever order
GUESSES = 250  # parts of a row that one row alone can tell apart
SHIFTS = (1, -1, 2, -2, 3, -3, 4, -4, 32, -32)
ENOUGH = 4  # wrong elements from which values in wrong places are recognised
VANISHED = 1e-36  # outputs below this are right whatever was done with them
MOST = 40_000  # wrong elements up to which the result of a part of a row is looked for


@dataclass(frozen=True)
class Pattern:
    """``sentence``, and whether it tells what made the difference (else only what the difference is).
    ``alone``: one case is evidence enough; otherwise another case has to say the same."""

    sentence: str
    telling: bool = True
    alone: bool = True


@dataclass(frozen=True)
class _View:
    """A failing case as a pattern needs it: ``found``, ``expected``, ``wrong`` are [rows, n]."""

    program: Program
    launched: Launched
    found: np.ndarray
    expected: np.ndarray
    wrong: np.ndarray
    threads: int

    @property
    def rows(self) -> list[int]:
        """The rows with a wrong element."""
        return [int(row) for row in np.flatnonzero(self.wrong.any(axis=1))]

    @property
    def word(self) -> str:
        return self.program.exercise.axes[0]

    @property
    def across(self) -> str:
        return self.program.exercise.axes[1]

    def values(self, row: int) -> np.ndarray | None:
        """The values that a row's result is made of, -inf among them; None where their maximum is no number."""
        values = self.program.exercise.values_of(self.launched.inputs, row)
        ordinary = values is not None and len(values) > 1 and not np.isnan(values).any() and np.isfinite(values.max())
        return values if ordinary else None


def pattern(program: Program, launched: Launched, outcome: Outcome) -> Pattern | None:
    """How the wrong elements of a failing launch relate to the right ones; None when nothing is certain."""
    exercise = program.exercise
    if exercise.kind != "kernel" or len(exercise.outputs) != 1 or outcome.wrong is None or launched.trace is None:
        return None
    name = exercise.outputs[0]
    found = launched.arrays[name].astype(np.float64)
    expected = np.asarray(exercise.reference(launched.inputs)[name], dtype=np.float64)
    threads = narrate.tile_of(exercise, launched.inputs) if exercise.by_rows else 1
    shape = (len(found), -1)
    view = _View(
        program, launched, found.reshape(shape), expected.reshape(shape), outcome.wrong[name].reshape(shape), threads
    )
    looks = (
        (_of_a_part, _of_other_values) if found.ndim == 1 else (_displaced, _divided, _by_group, _of_a_part, _places)
    )
    with np.errstate(all="ignore"):
        seen = next(filter(None, (look(view) for look in looks)), None) if view.rows else None
    return Pattern(seen) if isinstance(seen, str) else seen


def _of_a_part(view: _View) -> Pattern | None:
    """The right result of one part of the row. One value of the row, as a maximum is, also is the result of many
    parts that have nothing to do with the mistake, and so is no evidence alone."""
    exercise, inputs = view.program.exercise, view.launched.inputs
    if view.wrong.sum() > MOST or (exercise.by_rows and view.found.shape[1] > 1):
        return None  # too much to look at, or a row of results, which has another length for a part of the columns
    results: dict[bytes, np.ndarray] = {}

    def result(part: subsets.Part) -> np.ndarray:
        key = part.columns.tobytes()
        if key not in results:
            given = exercise.reference(exercise.kept(inputs, part.columns))[exercise.outputs[0]]
            results[key] = np.asarray(given, dtype=np.float64).reshape(len(view.found), -1)
        return results[key]

    def holds(part: subsets.Part, row: int) -> bool:
        if part.weights.max() > 1:
            return False
        off = np.abs(result(part)[row] - view.found[row])
        return bool((off <= EXACT * np.abs(view.expected[row]).max()).all())

    words = _counted(view, holds)
    if not words:
        return None
    chosen = all(np.isin(view.found[row], view.values(row)).all() for row in view.rows)
    return Pattern(f"What it holds is the result of {words}.", alone=not chosen)


def _of_other_values(view: _View) -> str:
    """A reduction of something else than the values themselves."""
    inputs, exercise = view.launched.inputs, view.program.exercise
    first = next(iter(inputs.arrays))
    X = inputs.arrays[first]
    if X.ndim != 2:
        return ""
    least = "the smallest value of the row in place of the largest"
    for words, other, sign in (
        (least, -X, -1),
        ("the right result for the absolute values of the row", np.abs(X), 1),
        ("the right result for the squares of the row", X * X, 1),
    ):
        changed = exercise.kept(inputs, np.ones(X.shape[1], bool))
        changed.arrays[first] = other.astype(X.dtype)
        given = np.asarray(exercise.reference(changed)[exercise.outputs[0]], dtype=np.float64).ravel()
        if all(near(sign * given[row], view.found[row, 0], EXACT) for row in view.rows):
            return f"What it holds is {words}."
    return ""


def _displaced(view: _View) -> str:
    """Right values in wrong places."""
    for shift in SHIFTS:
        if _all_as(view, _shifted(view.expected, shift, axis=1)):
            way = "right" if shift > 0 else "left"
            return f"The values are right but stand {abs(shift)} {view.across}{'s' * (abs(shift) > 1)} too far {way}."
        if abs(shift) == 1 and _all_as(view, _shifted(view.expected, shift, axis=0)):
            return (
                f"Each wrong {view.word} holds what belongs in the {view.word} {'before' if shift > 0 else 'after'} it."
            )
    n = view.expected.shape[1] // subsets.FOURS * subsets.FOURS
    if not n or view.wrong[:, n:].any():
        return ""
    groups = view.expected[:, :n].reshape(len(view.expected), -1, subsets.FOURS)
    for order in permutations(range(subsets.FOURS)):
        moved = view.expected.copy()
        moved[:, :n] = groups[:, :, order].reshape(len(view.expected), n)
        if order != tuple(range(subsets.FOURS)) and _all_as(view, moved):
            places = ", ".join(str(place) for place in order)
            return (
                f"The values are right but change places within each group of four: what stands there are numbers "
                f"{places} where 0, 1, 2, 3 belong."
            )
    return ""


def _divided(view: _View) -> Pattern | None:
    """All elements of a row off by one factor: the numerators are right, the divisor is not."""
    if view.expected.shape[1] < 2:
        return None  # one number is in proportion to whatever it should be
    factors = {row: one_factor(view.found[row], view.expected[row]) for row in view.rows}
    if any(factor is None for factor in factors.values()):
        return None
    row, factor = next(iter(factors.items()))
    off = f"is {times(factor)} what it should be"
    if len(factors) == 1:
        told = f"Every element of {view.word} {row} {off}"
    elif all(near(other, factor) for other in factors.values()):
        told = f"Every element of every wrong {view.word} {off}"
    else:
        told = f"In each wrong {view.word} all elements are off by one factor: in {view.word} {row} each {off}"
    told += f", so the terms are in proportion and what they are divided by is {times(1 / factor)} the right d."
    reason = _what_d_is(view, factors)
    return Pattern(f"{told} {reason}" if reason else told, bool(reason) or round(factor) > 1 or round(1 / factor) > 1)


def _what_d_is(view: _View, factors: dict[int, float]) -> str:
    """What the wrong d is the sum of, where it can be told."""
    values = {row: view.values(row) for row in factors}
    if any(one is None for one in values.values()):
        return ""
    tops = {row: float(one.max()) for row, one in values.items()}
    sums = {row: float(np.exp(one - tops[row]).sum()) for row, one in values.items()}
    if all(near(np.log(factor), tops[row]) or near(np.log(factor), -tops[row]) for row, factor in factors.items()):
        return "The factor is e to the maximum: the maximum is subtracted in one of the two and not in the other."

    def share(part: subsets.Part, row: int) -> bool:
        terms = np.exp(values[row] - tops[row])
        return near(float((terms * part.weights).sum()) / sums[row], 1 / factors[row], EXACT)

    words = _counted(view, share)
    if words:
        return f"That is the d which counts {words}."
    if all(round(1 / factor) > 1 and near(1 / factor, round(1 / factor)) for factor in factors.values()):
        return ""  # d a whole number of times over: where one term is all of d, this looks like more terms
    more = {row: (1 / factors[row] - 1) * sums[row] for row in factors}  # in units of exp(m - m) = 1
    for what, unit in (("0", {row: np.exp(-top) for row, top in tops.items()}), ("m", dict.fromkeys(tops, 1.0))):
        counts = {row: more[row] / unit[row] for row in factors}
        least = 1e-3 if len(counts) == 1 else 0.1  # more rows with one count between them are no chance
        if len({round(count) for count in counts.values()}) > 1:
            continue
        if all(_whole(counts[row], sums[row] / unit[row] / factors[row], least) for row in factors):
            count = round(next(iter(counts.values())))
            return (
                f"That is the d of a {view.word} in which {count:,} more value{'s of' * (count > 1) or ' of'} {what} "
                f"stand{'s' * (count == 1)}: look at what is counted where there is no value."
            )
    return ""


def _whole(count: float, total: float, limit: float) -> bool:
    """Whether a count is a whole number of at least one, known to ``limit`` in spite of the error of ``total``."""
    error = ROUNDING * total
    return count > 0.5 and error < limit and abs(count - round(count)) <= max(error, limit / 10)


def _by_group(view: _View) -> str:
    """One factor for each group of threads, or for each tile, and not the same for all."""
    if view.threads < 2:
        return ""
    column = np.arange(view.expected.shape[1])
    thread = column % view.threads
    ways = []
    differ = "do not end with the same state (m, d)"
    power = 2
    while power < view.threads:
        among = f"the same number modulo {power}"
        ways.append((thread % power, f"Threads with {among}", f"threads {power // 2} apart, or nearer, {differ}"))
        power *= 2
    power = view.threads // 2
    while power > 1:
        ways.append((thread // power, f"{power} neighbouring threads", f"groups of {power} threads {differ}"))
        power //= 2
    ways.append((thread, "The columns of one thread", "what the block found is not shared"))
    later = "what was kept or written for an earlier tile was not corrected when the maximum moved later"
    ways.append((column // view.threads, f"The {view.across}s of one tile", later))
    for groups, who, meaning in ways:
        told = [_group_factors(view, row, groups) for row in view.rows]
        if all(told):
            least, most = told[0]
            between = f"in {view.word} {view.rows[0]} between {least:.4g} and {most:.4g}"
            return f"{who} are off by one factor, others by another ({between}): {meaning}."
    return ""


def _group_factors(view: _View, row: int, groups: np.ndarray) -> tuple[float, float] | None:
    """The smallest and the largest factor of a row's groups, where each group has one and not all the same."""
    count = int(groups.max()) + 1
    if count < 2 or 2 * count > len(groups):
        return None
    factors = []
    for group in range(count):
        chosen = groups == group
        factor = one_factor(view.found[row, chosen], view.expected[row, chosen])
        if factor is None:
            return None
        factors.append(factor)
    least, most = min(factors), max(factors)
    return None if near(least, most) else (least, most)


def _places(view: _View) -> str:
    """Rows that are wrong in some columns and right in the others, always the same ones."""
    first = view.wrong[view.rows[0]]
    if first.all() or any((view.wrong[row] != first).any() for row in view.rows):
        return ""
    if not (np.abs(view.expected[view.rows])[:, ~first] > VANISHED).any():
        return ""  # what is right there is right because it vanishes
    n = len(first)
    rest = f"the rest of the {view.word} is right"
    if n > subsets.FOURS and not n % subsets.FOURS:
        places = first.reshape(-1, subsets.FOURS)
        if (places == places[0]).all():
            numbers = ", ".join(str(place) for place in np.flatnonzero(places[0]))
            return f"Wrong are numbers {numbers} (from 0) of each group of four {view.across}s; {rest}."
    at = np.flatnonzero(first)
    if len(at) == at[-1] - at[0] + 1 and len(at) > 1:
        return f"Wrong are {view.across}s {at[0]} to {at[-1]}; {rest}."
    return ""


def _counted(view: _View, holds: Callable[[subsets.Part, int], bool]) -> str:
    """The words of the one part of which ``holds`` is true in every wrong row; "" where there is none, or
    several, or one row alone that so many guesses would hit by chance."""
    exercise = view.program.exercise
    budget = exercise.allowed(view.launched.inputs)
    vector = budget is not None and budget.vector == subsets.FOURS
    values = [view.values(row) for row in view.rows]
    if any(one is None for one in values):
        return ""
    guesses = [
        {part.words: part for part in subsets.parts(one, view.threads, exercise.along, vector)} for one in values
    ]
    if len(guesses) == 1 and len(guesses[0]) > GUESSES:
        return ""
    found: dict[bytes, str] = {}
    for words, part in guesses[0].items():
        if all(words in other for other in guesses) and all(
            holds(parts[words], row) for parts, row in zip(guesses, view.rows, strict=True)
        ):
            found.setdefault(part.weights.tobytes(), words)
    return next(iter(found.values())) if len(found) == 1 else ""


def _all_as(view: _View, other: np.ndarray) -> bool:
    """Whether every wrong element is what ``other`` has there (NaN: nothing is known)."""
    there, found = other[view.wrong], view.found[view.wrong]
    known = ~np.isnan(there)
    if known.sum() < max(ENOUGH, len(there) / 2):
        return False
    return bool((np.abs(found - there)[known] <= SPREAD * np.abs(there)[known]).all())


def _shifted(values: np.ndarray, shift: int, axis: int) -> np.ndarray:
    """The values moved along an axis; NaN where nothing moves in."""
    moved = np.roll(values, shift, axis=axis)
    edge = [slice(None), slice(None)]
    edge[axis] = slice(0, shift) if shift > 0 else slice(shift, None)
    moved[tuple(edge)] = np.nan
    return moved
