"""The bundled class: made, graded, and compared with what it must get. ``make demo`` runs it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from autograder.classroom.demo.compare import differences
from autograder.classroom.demo.files import write_class
from autograder.classroom.demo.roster import ALL_LABS as LABS
from autograder.classroom.demo.roster import Student, roster
from autograder.classroom.errors import ClassroomError
from autograder.classroom.files import remove_folder
from autograder.classroom.grades import plain, table
from autograder.classroom.grading import Result, grade
from autograder.classroom.release import Release, find_release, load_release

SEED = 20180507  # any; fixed so that two runs give the same bytes
HANDED_IN, GRADED = "handed_in", "graded"
AS_EXPECTED, DIFFERENT = 0, 1


def run(out: Path, *, released: Path | None = None, jobs: int = 1, stream: Any = None) -> int:
    """Make, grade and check the class in the folder ``out``; print the table. 0 when every mark is as
    it must be, else 1. Raises ClassroomError when the labs are not there or ``out`` is in use."""
    students = roster()
    releases = [load_release(lab, find_release(lab, released)) for lab in LABS]
    _make_room(out)
    write_class(students, releases, out / HANDED_IN)
    print(f"A class of {len(students)}, {len(LABS)} labs, in {out / HANDED_IN}", flush=True)
    result = grade(LABS, out / HANDED_IN, out / GRADED, SEED, released=released, jobs=jobs, stream=stream)
    print(table(result.rows, shutil.get_terminal_size((160, 24)).columns))
    problems = all_differences(students, releases, result)
    print()
    for problem in problems:
        print(f"NOT AS EXPECTED  {plain(problem)}")
    if problems:
        print(f"{len(problems)} of the marks are not as expected.")
    else:
        print(
            f"All {len(result.rows)} submissions got what they should: right kernels every point that a "
            "machine gives, the untouched notebook 0 in every checked cell, wrong kernels lose exactly the "
            "checks that they must."
        )
    print(f"Grades:   {out / GRADED / 'grades.csv'}")
    print(f"Feedback: {out / GRADED / 'feedback'} (one page per student and lab)")
    return DIFFERENT if problems else AS_EXPECTED


def all_differences(students: tuple[Student, ...], releases: list[Release], result: Result) -> list[str]:
    """Every difference between what the class must get and what it got, as sentences."""
    rows = {(row.student, row.lab): row for row in result.rows}
    problems = []
    for release in releases:
        for student in students:
            row = rows.pop((student.id, release.lab), None)
            if row is None:
                problems.append(f"{student.id}, {release.lab}: no line in the result.")
            else:
                problems += differences(student, release, row, result.feedback)
    problems += [f"{student}, {lab}: a line that was not expected." for student, lab in sorted(rows)]
    return problems


def _make_room(out: Path) -> None:
    """Clear an earlier demo; anything else in the folder is left alone."""
    if out.exists() and (
        not out.is_dir() or any(entry.name not in (HANDED_IN, GRADED) for entry in out.iterdir())
    ):
        raise ClassroomError(
            f"{out} holds something other than an earlier demo: give another folder with --out."
        )
    for name in (HANDED_IN, GRADED):
        remove_folder(out / name)
