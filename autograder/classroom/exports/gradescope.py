"""Gradescope: a results.json for each submission, in the form of its autograder specification.

The total counts what the machine and nbgrader's graders gave; written answers without points are left for
Gradescope's own rubric. Gradescope takes no results.json without a score, so a submission that could not be
judged gets none, rather than a 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autograder.classroom import grades
from autograder.classroom.cells import nbgrader_data
from autograder.classroom.errors import ClassroomError
from autograder.classroom.exports.people import Person
from autograder.classroom.exports.sheet import Exported, Request, exported, for_student, put
from autograder.classroom.names import student_id
from autograder.classroom.outcome import Cell, Lab, Line, said

RESULTS_FILE = "results.json"
VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")
LONGEST_OUTPUT = 20_000  # characters of one test


def export(request: Request, folder: Path, visibility: str = "after_published") -> Exported:
    """Write ``folder``/LAB/STUDENT/results.json for each submission that has a mark; one of an earlier export
    that has none any more is removed. Raises ClassroomError when a file cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise ClassroomError(f"{folder} is a file: Gradescope takes a file per submission, so give a folder with --to.")
    for lab in request.labs:
        for student, line in request.lines(lab).items():
            path = folder / lab.name / student_id(student)[0] / RESULTS_FILE
            mark = request.mark(line)
            if mark is None:
                path.unlink(missing_ok=True)
            else:
                found = results(request, lab, line, mark, visibility)
                put(path, (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
    return exported(request, folder)


def results(request: Request, lab: Lab, line: Line, mark: float, visibility: str) -> dict[str, Any]:
    """The content of one results.json."""
    words = {
        nbgrader_data(cell).get("grade_id"): said(cell) for cell in request.outcome.notebook(line.student, lab.name)
    }
    numbers = _numbers(lab)
    tests = [
        _test(cell, line.points[cell.column], words.get(cell.grade_id, ""), numbers[cell.grade_id], visibility)
        for cell in lab.cells
        if line.points.get(cell.column) is not None
    ]
    overall = [f"{grades.number(mark)} of {grades.number(line.max_score)} points."]
    if line.status == grades.LATE and grades.HANDED_IN_LATE not in line.notes:
        overall.append("Handed in late.")
    overall += [_shown(line.notes), for_student(lab, line)]
    return {
        "score": round(mark, 6),
        "output": " ".join(part for part in overall if part),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"lab": lab.name, **_identity(request.people[line.student])},
    }


def _test(cell: Cell, points: float | None, words: str, number: str, visibility: str) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": f"Written answer {cell.grade_id}" if cell.written else cell.column,
        "number": number,
        "score": round(points or 0.0, 6),
        "max_score": cell.points,
        "status": "passed" if (points or 0.0) >= cell.points else "failed",
        "output": _shown(words),
        "visibility": visibility,
        "tags": [tag for tag in (cell.exercise, cell.check) if tag],
    }
    return test


def _numbers(lab: Lab) -> dict[str, str]:
    """The place of each cell: exercises are counted, and checks within them: "2.1"."""
    numbers, exercises, counts = {}, [], {}
    for cell in lab.cells:
        group = cell.exercise or cell.grade_id
        if group not in exercises:
            exercises.append(group)
        counts[group] = counts.get(group, 0) + 1
        numbers[cell.grade_id] = f"{exercises.index(group) + 1}.{counts[group]}"
    return numbers


def _identity(person: Person) -> dict[str, str]:
    known = {"student": person.student, "email": person.email, "sis_id": person.sis_id}
    return {name: value for name, value in known.items() if value}


def _shown(text: str) -> str:
    """The lines of ``text``, without what a terminal or a page would obey."""
    text = "\n".join("".join(char if char.isprintable() else " " for char in line) for line in text.splitlines())
    return text if len(text) <= LONGEST_OUTPUT else text[: LONGEST_OUTPUT - 1] + "\N{HORIZONTAL ELLIPSIS}"
