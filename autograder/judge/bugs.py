"""Which known mistake does a failing kernel look like?

Each named bug of the exercise is run on the very inputs on which the submission failed. It matches
when it leaves the same arrays: the same wrong numbers (up to the order of a float32 sum), the same
NaNs, the same elements unwritten, the same changes to inputs. For traffic it must move the same bytes
and sectors of every array; for safety it must give the same findings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from .. import exercises
from ..exercises.model import Case, Inputs, NamedBug
from ..source import gather_text
from . import launches, narrate, safety, traffic
from .launches import Launched, Program
from .outputs import Outcome

CASES = 3  # failing cases that are compared at most
STEP_LIMIT = 600_000  # of one launch of a wrong kernel; more is not worth waiting for
PURSE = 2_000_000  # steps of all launches together that look for one check's bug
SMALL = 100  # elements; a smaller case is met by chance too easily, and is looked at last

Named = tuple[dict[str, str], ...]  # each {"id", "title", "message"}


@dataclass
class Purse:
    """Steps that may still be spent: counted, not timed, so that every machine names the same bug."""

    steps: int


@dataclass(frozen=True)
class _Asked:
    """The inputs of a launch; two are equal when they hold the same bits."""

    inputs: Inputs = field(compare=False)
    digest: bytes

    @classmethod
    def of(cls, inputs: Inputs) -> _Asked:
        told = hashlib.blake2b(repr((inputs.scalars, inputs.block)).encode())
        for name, array in inputs.arrays.items():
            told.update(repr((name, array.dtype.str, array.shape)).encode())
            told.update(np.ascontiguousarray(array).tobytes())
        return cls(inputs, told.digest())


@dataclass(frozen=True)
class Evidence:
    """One case of the submission, its launch and the verdict on the arrays."""

    case: Case
    launched: Launched
    outcome: Outcome


def by_values(program: Program, check: str, failing: Sequence[Evidence], passing: Sequence[Evidence]) -> Named:
    """The named bugs that leave what the submission left.

    All are compared on one failing case (on a second, when none matches the first: a kernel may have
    two mistakes). Those that match are held against one more failing case; while more than one is
    left, against a third, and against the loudest and the quietest case that the submission passes,
    since the mistake that is really there passes them too. A bug that matches one failing case but not another is
    not what is there, and is not named; unless it races, and so leaves other numbers in a kernel written
    otherwise: then it is named where it is the only one and its numbers are finite, with that case alone. Where
    all that is wrong is NaN or unwritten, which very different mistakes leave, the sanitizer must find the same, too.
    """
    ranked = _varied(sorted((one for one in failing if one.launched.trace is not None), key=_cost))[:CASES]
    ranked = [_with_findings(program, one) for one in ranked]
    candidates = [bug for bug in program.exercise.bugs if check in bug.checks]
    purse = Purse(PURSE)

    def keep(bugs: Sequence[NamedBug], one: Evidence) -> list[NamedBug]:
        return [bug for bug in bugs if _leaves_the_same(program, bug, one, purse)]

    for one in ranked[:2]:
        left = keep(candidates, one)
        if left:
            break
    else:
        return ()
    others = [other for other in ranked if other is not one]
    if one is ranked[0]:
        agreed = keep(left, others[0]) if others else left
    else:
        agreed = []  # none of them matched the first
    if not agreed:
        certain = len(left) == 1 and _finite_share(one) > 0 and _may_race(program, left[0], one.launched.inputs)
        return (_describe(program, left[0], one, only=True),) if certain else ()
    by_loudness = sorted(passing, key=_loudness)
    for other in (*others[1:], *by_loudness[-1:], *by_loudness[:1]):
        if len(agreed) > 1:
            agreed = keep(agreed, other) or agreed
    weak = _finite_share(one) == 0.0 and one.launched.trace.accesses > 0
    if len(agreed) > 1 or weak:
        alike = [bug for bug in agreed if _finds_the_same(program, bug, one)]
        agreed = alike if weak else alike or agreed
    shown = next(other for other in failing if other.launched.trace is not None)
    if shown.case is not one.case and len(agreed) == 1 and keep(agreed, shown):
        one = shown  # the case that the student reads about first
    return tuple(_describe(program, bug, one) for bug in agreed)


def by_traffic(program: Program, failing: Sequence[Launched]) -> Named:
    """The named bugs that move the same bytes and sectors of every array in each failing case."""
    traced = sorted((run for run in failing if run.trace is not None), key=lambda run: _elements(run.inputs))
    if not traced:
        return ()
    left = [bug for bug in program.exercise.bugs if "traffic" in bug.checks]
    for run in traced[:CASES]:
        left = [bug for bug in left if _moves_the_same(program, bug, run)]
    return tuple(_plainly(bug) for bug in left)


def by_safety(program: Program, failing: Sequence[safety.Safety], seed: int) -> Named:
    """The named bugs with the same kinds of finding on the same arrays and the same outputs; where some
    have as many findings and move as many bytes too, only those."""
    traced = [one for one in failing if all(run.trace is not None for run in one.runs)]
    if not traced:
        return ()
    smallest = min(traced, key=lambda one: _elements(one.runs[0].inputs))
    near: list[NamedBug] = []
    exact: list[NamedBug] = []
    for bug in program.exercise.bugs:
        if "safety" not in bug.checks:
            continue
        other = _program(program.exercise.id, bug.id)
        quick = _ran(program.exercise.id, bug.id, _Asked.of(smallest.runs[0].inputs), False)
        if quick.trace is None or not _same(program, smallest.runs[0].arrays, quick.arrays):
            continue  # most are told apart by one launch, at a tenth of the cost of the rest
        examined = safety.examine(other, smallest.runs[0].inputs, seed, STEP_LIMIT)
        if any(run.trace is None for run in examined.runs):
            continue
        kinds = _kinds(program, smallest.runs)
        if kinds == _kinds(other, examined.runs) and _same(program, smallest.runs[0].arrays, examined.runs[0].arrays):
            near.append(bug)
            mine, theirs = _moved(program, smallest.runs[0]), _moved(other, examined.runs[0])
            if _count(smallest) == _count(examined) and mine == theirs:
                exact.append(bug)
    return tuple(_plainly(bug) for bug in exact or near)


def _plainly(bug: NamedBug) -> dict[str, str]:
    return {"id": bug.id, "title": bug.title, "message": bug.explain}


def _describe(program: Program, bug: NamedBug, one: Evidence, only: bool = False) -> dict[str, str]:
    told = narrate.numbers(bug, program.exercise, one.launched.inputs, one.outcome)
    where = f"In {one.case.name!r}{' alone' if only else ''}"
    numbers = f"{where}, {told}. " if told else f"{where}. " if only else ""
    return {"id": bug.id, "title": bug.title, "message": numbers + bug.explain}


def _leaves_the_same(program: Program, bug: NamedBug, one: Evidence, purse: Purse) -> bool:
    """Whether the bug leaves the submission's arrays. Most bugs do not, which their first row shows at a
    fraction of the cost; but where blocks may disturb each other only the whole launch tells."""
    inputs = one.launched.inputs
    if program.exercise.by_rows and "safety" not in bug.checks:
        first = replace(inputs, arrays={name: array[:1] for name, array in inputs.arrays.items()})
        if not _agrees(program, bug, first, {n: a[:1] for n, a in one.launched.arrays.items()}, purse):
            return False
    return _agrees(program, bug, inputs, one.launched.arrays, purse, racing=_races(one.launched))


def _with_findings(program: Program, one: Evidence) -> Evidence:
    """The same with what the sanitizer finds, for a case that was run for its values alone."""
    if one.launched.trace.accesses:
        return one
    again = launches.launch(program, one.launched.inputs, step_limit=launches.STEP_LIMIT)
    return one if again.trace is None else replace(one, launched=again)


def _races(launched: Launched) -> bool:
    """Whether the sanitizer saw a race; a launch that was not recorded may have had one."""
    trace = launched.trace
    return trace is not None and (not trace.accesses or any(one.tool == "racecheck" for one in trace.findings))


def _may_race(program: Program, bug: NamedBug, inputs: Inputs) -> bool:
    """Whether the sanitizer sees a race in the bug, too."""
    return "safety" in bug.checks and _races(_ran(program.exercise.id, bug.id, _Asked.of(inputs), True))


def _agrees(
    program: Program,
    bug: NamedBug,
    inputs: Inputs,
    mine: Mapping[str, np.ndarray],
    purse: Purse,
    racing: bool = True,
) -> bool:
    """Whether the bug leaves the arrays ``mine``. A bug that races does not explain a submission that the
    sanitizer sees no race in (``racing`` is False), whatever the numbers."""
    if purse.steps <= 0:
        return False
    run = _ran(program.exercise.id, bug.id, _Asked.of(inputs), False)
    purse.steps -= run.trace.steps if run.trace is not None else STEP_LIMIT
    if run.trace is None or not _same(program, mine, run.arrays):
        return False
    if racing or "safety" not in bug.checks:
        return True
    return not _races(_ran(program.exercise.id, bug.id, _Asked.of(inputs), True))


def _same(program: Program, mine: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    for name, array in mine.items():
        if name in program.exercise.outputs:
            holes = launches.unwritten(array) == launches.unwritten(other[name])
            same = holes & safety.alike(array, other[name])
        else:
            same = safety.alike(array, other[name], rtol=0.0)
        if not same.all():
            return False
    return True


@lru_cache(maxsize=256)
def _program(exercise_id: str, bug_id: str) -> Program:
    """A named bug, loaded: the same kernel serves every submission that this process judges."""
    exercise = exercises.get(exercise_id)
    bug = next(bug for bug in exercise.bugs if bug.id == bug_id)
    source = gather_text(bug.text, exercise.name, kind=exercise.source_kind, origin="a known mistake")
    return launches.load(source, exercise)


@lru_cache(maxsize=512)
def _ran(exercise_id: str, bug_id: str, asked: _Asked, record: bool) -> Launched:
    """A named bug's launch. A class is judged on the same inputs, so the same launch serves every
    submission that this process judges; what it leaves is not written to."""
    return launches.launch(_program(exercise_id, bug_id), asked.inputs, step_limit=STEP_LIMIT, record=record)


def _moves_the_same(program: Program, bug: NamedBug, run: Launched) -> bool:
    other = _program(program.exercise.id, bug.id)
    theirs = _ran(program.exercise.id, bug.id, _Asked.of(run.inputs), True)
    return theirs.trace is not None and _moved(other, theirs) == _moved(program, run)


def _moved(program: Program, run: Launched) -> list[tuple[str, bool, int, int, int]]:
    """Bytes and sectors of every array and direction, and requests where the budget speaks of them."""
    budget = program.exercise.allowed(run.inputs)
    wide = budget is not None and budget.vector > 1
    return [
        (use.array, use.stores, use.bytes, use.sectors, use.requests if wide else 0)
        for use in traffic.account(program, run)
    ]


def _finds_the_same(program: Program, bug: NamedBug, one: Evidence) -> bool:
    """Whether the sanitizer has the same to say of the bug: the same NaNs may come from a read past the end, from
    memory that nobody wrote, or from arithmetic."""
    other = _program(program.exercise.id, bug.id)
    theirs = launches.launch(other, one.launched.inputs, step_limit=STEP_LIMIT)
    return theirs.trace is not None and _kinds(program, (one.launched,)) == _kinds(other, (theirs,))


def _kinds(program: Program, runs: Sequence[Launched]) -> set[tuple[str, str]]:
    """Which tool found something on which array. A shared or local array is any: its name is the student's."""
    found = {(one.tool, program.contract(one.array or "")) for run in runs for one in run.trace.findings}
    return {(tool, array if array in program.exercise.parameters else "") for tool, array in found}


def _varied(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The same in another order: the first of every group of cases, then the others. Cases of one group
    tend to bring out one mistake, and tell others apart badly."""
    groups: set[str] = set()
    first: list[Evidence] = []
    later: list[Evidence] = []
    for one in evidence:
        (later if one.case.group in groups else first).append(one)
        groups.add(one.case.group)
    return [*first, *later]


def _count(examined: safety.Safety) -> int:
    return max(run.trace.findings_total for run in examined.runs)


def _finite_share(one: Evidence) -> float:
    """Share of the wrong elements that hold a number: NaNs and holes are weak evidence."""
    wrong = [one.launched.arrays[name][mask] for name, mask in (one.outcome.wrong or {}).items()]
    values = np.concatenate(wrong) if wrong else np.zeros(0)
    return float(np.isfinite(values).mean()) if values.size else 0.0


def _cost(one: Evidence) -> tuple[bool, bool, int]:
    size = _elements(one.launched.inputs)
    return _finite_share(one) == 0.0, size < SMALL, size


def _loudness(one: Evidence) -> float:
    """The largest finite input: what tells most mistakes apart."""
    first = next(iter(one.launched.inputs.arrays.values()))
    finite = first[np.isfinite(first)]
    return float(finite.max()) if finite.size else 0.0


def _elements(inputs: Inputs) -> int:
    return sum(array.size for array in inputs.arrays.values())
