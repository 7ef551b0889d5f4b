"""What each submission of the bundled class must get, and whether it did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograder.classroom import grades
from autograder.classroom.demo.files import LOST_ENTIRELY
from autograder.classroom.demo.roster import ALL, Student
from autograder.classroom.grades import Row
from autograder.classroom.release import CheckCell, Release


def expected_status(student: Student, lab: str) -> str:
    """The status column of one student and lab."""
    if not student.hands_in(lab):
        return grades.MISSING
    if student.damage.get(lab) in LOST_ENTIRELY:
        return grades.UNJUDGED
    return grades.GRADED if student.written is None else grades.MANUAL


def expected_lost(student: Student, release: Release) -> set[str]:
    """The ids of the checks that must lose points."""
    return {cell.check_id for cell in release.checks if _loses(student, cell)}


def expected_zero(student: Student, release: Release) -> set[str]:
    """The ids of the checks that must get nothing at all."""
    return {cell.check_id for cell in release.checks if student.answer(_exercise(cell)).lost == ALL}


def expected_bugs(student: Student, release: Release) -> set[str]:
    """The named bugs that must be said, as in the named_bugs column."""
    found = set()
    for exercise_id in {_exercise(cell) for cell in release.checks}:
        bug = student.answer(exercise_id).bug
        if bug is not None:
            found.add(f"{exercise_id.split('.')[1]}: {bug}")
    return found


def differences(student: Student, release: Release, row: Row, feedback: Path) -> list[str]:
    """Sentences, expected against got; empty when all is as it must be."""
    problems = []
    status = expected_status(student, release.lab)
    if row.status != status:
        problems.append(f"status: expected {status!r}, got {row.status!r}")
    if status in (grades.MISSING, grades.UNJUDGED):
        if row.score is not None:
            problems.append(f"score: expected none, got {grades.number(row.score)}")
    else:
        problems += _marks(student, release, row)
    page = feedback / student.id / release.lab / f"{release.lab}.html"
    if page.exists() != (status != grades.MISSING):
        problems.append(f"feedback page: {'not expected' if page.exists() else 'missing'}")
    return [f"{student.id}, {release.lab}: {problem}." for problem in problems]


def _marks(student: Student, release: Release, row: Row) -> list[str]:
    problems = []
    full = {cell.check_id: cell.points for cell in release.checks}
    lost = expected_lost(student, release)
    got = lost_checks(release, row)
    if lost != got:
        problems.append(f"checks that lose points: expected {_names(lost)}, got {_names(got)}")
    for check_id in sorted(expected_zero(student, release)):
        if row.points.get(check_id) != 0.0:
            problems.append(
                f"{check_id}: expected 0 of {full[check_id]:g}, got {grades.number(row.points.get(check_id))}"
            )
    unsaid = expected_bugs(student, release) - set(row.bugs)
    if unsaid:
        problems.append(
            f"named bugs: expected {'; '.join(sorted(unsaid))}, got {'; '.join(row.bugs) or 'none'}"
        )
    right = not lost
    if right and row.bugs:
        problems.append(f"named bugs: expected none, got {'; '.join(row.bugs)}")
    return problems


def lost_checks(release: Release, row: Row) -> set[str]:
    """The ids of the checks that did lose points."""
    return {cell.check_id for cell in release.checks if (row.points.get(cell.check_id) or 0.0) < cell.points}


def _loses(student: Student, cell: CheckCell) -> bool:
    lost = student.answer(_exercise(cell)).lost
    return lost == ALL or cell.check_id.rpartition(".")[2] in lost


def _exercise(cell: CheckCell) -> str:
    return cell.check_id.rpartition(".")[0]


def _names(ids: set[str] | Sequence[str]) -> str:
    return ", ".join(sorted(ids)) or "none"
