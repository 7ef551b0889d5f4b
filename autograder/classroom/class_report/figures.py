"""The class in numbers: who handed in what, how the points lie, which checks and mistakes stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograder.classroom import grades
from autograder.classroom.outcome import Cell, Lab, Line, Outcome

BINS = 10  # of a distribution, each a tenth of the points
LOW = 0.6  # share of the points below which a student may need help
MANY = 0.4  # share of the checks that failed above which a student may need help


@dataclass(frozen=True)
class Summary:
    """Counts of submissions of one lab. ``graded`` have marks for all checks; ``manual`` of them wait for a
    person, ``late`` came late, and ``repaired`` are those with that status."""

    lab: Lab
    students: int
    submitted: int
    graded: int
    manual: int
    late: int
    repaired: int
    missing: int
    unjudged: int
    bins: tuple[int, ...]
    median: float | None


@dataclass(frozen=True)
class Rate:
    """One check: ``passed`` with full points of the ``judged``, ``partly`` with some."""

    cell: Cell
    judged: int
    passed: int
    partly: int


@dataclass(frozen=True)
class Mistake:
    """A known mistake, in whatever exercises it was recognised: the ``students`` who made it, of the ``judged``
    who have a mark in a lab with one of these exercises; ``where`` counts the students of each exercise (by id)."""

    title: str
    students: tuple[str, ...]
    judged: int
    where: tuple[tuple[str, int], ...]
    explain: str = ""


@dataclass(frozen=True)
class Need:
    """A student who may need help: ``share`` of the points that machine checks gave, checks ``failed`` of
    ``judged``; ``topics`` are the cells that lost points, the dearest first."""

    student: str
    share: float
    failed: int
    judged: int
    topics: tuple[tuple[Lab, Cell], ...]
    begun: bool


def share(line: Line, cells: Sequence[Cell]) -> float | None:
    """The points of ``cells`` as a share of those that have been graded; None when none have."""
    graded = [cell for cell in cells if line.points.get(cell.column) is not None]
    most = sum(cell.points for cell in graded)
    return None if not most else sum(line.points[cell.column] or 0.0 for cell in graded) / most


def judged(outcome: Outcome, lab: Lab) -> tuple[Line, ...]:
    """The lines of submissions that have a mark."""
    return tuple(line for line in outcome.of(lab) if line.mark is not None)


def summary(outcome: Outcome, lab: Lab) -> Summary:
    """The counts and the distribution of one lab."""
    lines = outcome.of(lab)
    count = {status: sum(line.status == status for line in lines) for status in {line.status for line in lines}}
    shares = sorted(found for line in judged(outcome, lab) if (found := share(line, lab.cells)) is not None)
    bins = [0] * BINS
    for value in shares:
        bins[min(max(int(value * BINS + 1e-9), 0), BINS - 1)] += 1
    missing, unjudged = count.get(grades.MISSING, 0), count.get(grades.UNJUDGED, 0)
    return Summary(
        lab,
        len(lines),
        len(lines) - missing,
        len(lines) - missing - unjudged,
        count.get(grades.MANUAL, 0),
        sum(line.late for line in lines),
        count.get(grades.REPAIRED, 0),
        missing,
        unjudged,
        tuple(bins),
        _median(shares),
    )


def rates(outcome: Outcome, lab: Lab) -> tuple[Rate, ...]:
    """The pass rate of each check, in the notebook's order."""
    lines = outcome.of(lab)
    found = []
    for cell in lab.checks:
        points = [value for line in lines if (value := line.points.get(cell.column)) is not None]
        full = sum(value >= cell.points for value in points)
        found.append(Rate(cell, len(points), full, sum(0 < value < cell.points for value in points)))
    return tuple(found)


def mistakes(outcome: Outcome) -> tuple[Mistake, ...]:
    """The known mistakes that were recognised, those of most students first."""
    made: dict[str, dict[str, list[str]]] = {}  # title -> exercise -> students
    marked: dict[str, set[str]] = {}  # exercise -> students with a mark
    for lab in outcome.labs:
        ids = {cell.exercise.rpartition(".")[2]: cell.exercise for cell in lab.checks}
        lines = judged(outcome, lab)
        marked.update((exercise, {line.student for line in lines}) for exercise in ids.values())
        for line in lines:
            for short, title in line.bugs:
                made.setdefault(title, {}).setdefault(ids[short], []).append(line.student)
    found = []
    for title, exercises in made.items():
        students = tuple(sorted({student for mine in exercises.values() for student in mine}))
        whole = set().union(*(marked[exercise] for exercise in exercises))
        counts = ((exercise, len(mine)) for exercise, mine in exercises.items())
        where = sorted(counts, key=lambda one: (-one[1], one[0]))
        found.append(Mistake(title, students, len(whole), tuple(where), _explain(where[0][0], title)))
    return tuple(sorted(found, key=lambda one: (-len(one.students) / one.judged, one.where[0][0], one.title)))


def needs(outcome: Outcome) -> tuple[Need, ...]:
    """Students who have few points or fail many checks, over all their labs; fewest points first."""
    found = []
    by_student: dict[str, list[Line]] = {}
    for line in outcome.lines:
        if line.mark is not None:
            by_student.setdefault(line.student, []).append(line)
    for student, lines in by_student.items():
        got = most = 0.0
        lost, count = [], 0
        for line in lines:
            lab = outcome.lab(line.lab)
            for cell in lab.checks:
                points = line.points.get(cell.column)
                if points is None:
                    continue
                count, got, most = count + 1, got + points, most + cell.points
                if points < cell.points:
                    lost.append((cell.points - points, lab, cell))
        if count and (got < LOW * most or len(lost) >= MANY * count):
            lost.sort(key=lambda one: -one[0])
            topics = tuple((lab, cell) for _, lab, cell in lost)
            found.append(Need(student, got / most if most else 0.0, len(lost), count, topics, got > 0))
    return tuple(sorted(found, key=lambda need: (need.share, -need.failed, need.student)))


def hardest(outcome: Outcome) -> tuple[tuple[Lab, str, int, int], ...]:
    """(lab, exercise, students who lost points in it, students judged), the most first."""
    found = []
    for lab in outcome.labs:
        for exercise in dict.fromkeys(cell.exercise for cell in lab.checks):
            cells = [cell for cell in lab.checks if cell.exercise == exercise]
            shares = [value for line in judged(outcome, lab) if (value := share(line, cells)) is not None]
            found.append((lab, exercise, sum(value < 1 for value in shares), len(shares)))
    return tuple(sorted(found, key=lambda one: (-one[2] / max(one[3], 1), one[1])))


def title_of(exercise: str) -> str:
    """The exercise's title, or its id where this version does not know it."""
    found = _exercise(exercise)
    return exercise if found is None else found.title


def read_about(exercise: str) -> str:
    """Where to read about it: "lesson 02, section 'Order matters'"; "" where that is not known."""
    found = _exercise(exercise)
    return "" if found is None else found.read


def _explain(exercise: str, title: str) -> str:
    found = _exercise(exercise)
    return "" if found is None else next((bug.explain for bug in found.bugs if bug.title == title), "")


def _exercise(exercise: str) -> Any:
    from autograder.exercises import get

    try:
        return get(exercise)
    except LookupError:
        return None


def _median(values: Sequence[float]) -> float | None:
    if not values:
        return None
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
