"""Kernels of different students that are nearly the same: where to look, never an accusation.

Compared are shapes (see :mod:`.canonical`), so that other names, comments and spacing hide nothing. The
released text does not count, short kernels are left out, and so are two kernels that are not clearly nearer to
each other than to the right forms that the course itself knows.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.classroom.cells import nbgrader_data, text_of
from autograder.classroom.class_report.canonical import Shape, definitions, likeness, shape
from autograder.classroom.outcome import Cell, Lab, Outcome

# The course's own right variants of one exercise, written independently in different styles, are at most
# 0.34 alike; a kernel and its copy with one line changed are 0.8 or more alike.
THRESHOLD = 0.8
SMALLEST = 100  # tokens; below it independent kernels come out alike

Shapes = Mapping[str, Shape]


@dataclass(frozen=True)
class Group:
    """``students`` whose kernels of one exercise are alike: each is at least ``lowest`` like another of the
    group; ``same`` when all of them differ in names, comments and layout only."""

    lab: str
    exercise: str
    students: tuple[str, ...]
    lowest: float
    same: bool


@dataclass(frozen=True)
class Comparison:
    """``groups``, largest likeness first; ``compared`` kernels in all, ``short`` and ``known`` of them left
    out (too short; the same as a right form of the course)."""

    groups: tuple[Group, ...]
    compared: int
    short: int
    known: int


def compare(outcome: Outcome) -> Comparison:
    """Compare the kernels of the whole class."""
    groups, compared, short, known = [], 0, 0, 0
    for lab in outcome.labs:
        cells = _kernels(lab)
        shapes = _shapes(outcome, lab, cells)
        for exercise in cells:
            mine, right = shapes[exercise], _right_forms(exercise)
            compared += len(mine)
            long = {student: one for student, one in mine.items() if one.size >= SMALLEST}
            own = {
                student: one for student, one in long.items() if one.digest not in {other.digest for other in right}
            }
            short, known = short + len(mine) - len(long), known + len(long) - len(own)
            groups += [Group(lab.name, exercise, *found) for found in alike(own, right)]
    groups.sort(key=lambda group: (-group.lowest, group.lab, group.exercise, group.students))
    return Comparison(tuple(groups), compared, short, known)


def alike(shapes: Shapes, right: Sequence[Shape] = ()) -> list[tuple[tuple[str, ...], float, bool]]:
    """(students, lowest likeness, whether all are the same) of each group of two or more."""
    twins: dict[str, list[str]] = {}
    for student in sorted(shapes):
        twins.setdefault(shapes[student].digest, []).append(student)
    of = {digest: shapes[students[0]] for digest, students in twins.items()}
    nearest = {digest: max((likeness(one, other) for other in right), default=0.0) for digest, one in of.items()}
    needed = {digest: max(THRESHOLD, (1 + close) / 2) for digest, close in nearest.items()}
    parent = {digest: digest for digest in of}
    lowest = dict.fromkeys(of, 1.0)

    def root(digest: str) -> str:
        while parent[digest] != digest:
            digest = parent[digest]
        return digest

    for one, other in _candidates(of, needed):
        first, second = root(one), root(other)
        if first == second:
            continue
        found = likeness(of[one], of[other])
        if found >= max(needed[one], needed[other]):
            parent[second] = first
            lowest[first] = min(lowest[first], lowest[second], found)
    members: dict[str, list[str]] = {}
    for digest in of:
        members.setdefault(root(digest), []).append(digest)
    groups = []
    for top, digests in members.items():
        students = tuple(sorted(student for digest in digests for student in twins[digest]))
        if len(students) > 1:
            groups.append((students, lowest[top], len(digests) == 1))
    return sorted(groups)


def _candidates(shapes: Shapes, needed: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Pairs that may be as much alike as both need to be, without comparing all with all: two sets of runs
    that are so much alike share one of their rarest runs (prefix filtering; no pair is missed)."""
    seen = Counter(run for one in shapes.values() for run in one.runs)
    where: dict[int, list[str]] = {}
    for digest, one in sorted(shapes.items()):
        rarest = sorted(one.runs, key=lambda run: (seen[run], run))
        met: dict[str, None] = {}
        spare = len(rarest) - math.ceil(len(rarest) * needed[digest] - 1e-9)
        for run in rarest[: spare + 1]:
            mine = where.setdefault(run, [])
            met.update(dict.fromkeys(mine))
            mine.append(digest)
        for other in met:
            few, many = sorted((len(one.runs), len(shapes[other].runs)))
            if few >= max(needed[digest], needed[other]) * many:
                yield other, digest


def _kernels(lab: Lab) -> dict[str, Cell]:
    """A check cell of each exercise that asks for a kernel or a device function."""
    from autograder.exercises import get

    cells = {}
    for cell in lab.checks:
        try:
            kind = get(cell.exercise).kind
        except LookupError:
            continue
        if kind in ("kernel", "device"):
            cells.setdefault(cell.exercise, cell)
    return cells


def _shapes(outcome: Outcome, lab: Lab, cells: Mapping[str, Cell]) -> dict[str, dict[str, Shape]]:
    """The shapes of each exercise's kernels, by student. As in judging, what stands below an exercise's check
    does not count; nor does text as it was handed out."""
    found: dict[str, dict[str, Shape]] = {exercise: {} for exercise in cells}
    checks = {cell.grade_id: (exercise, cell.name) for exercise, cell in cells.items()}
    for line in outcome.of(lab):
        known: dict[str, ast.stmt] = {}
        for cell in outcome.notebook(line.student, lab.name):
            grade_id, text = nbgrader_data(cell).get("grade_id"), text_of(cell)
            if grade_id in checks:
                exercise, name = checks[grade_id]
                one = shape(name, known)
                if one is not None:
                    found[exercise][line.student] = one
            elif cell.get("cell_type") == "code" and text.strip() not in lab.texts:
                known |= definitions([text])
    return found


def _right_forms(exercise: str) -> list[Shape]:
    from autograder.exercises import get

    found = get(exercise)
    shapes = (shape(found.name, definitions([variant.text])) for variant in found.variants)
    return [one for one in shapes if one is not None]
