"""Canvas: the CSV file that its gradebook imports.

Canvas knows a student by ID, SIS User ID or SIS Login ID, whichever is there, and an assignment by its
heading ("Lab 1 (4711)" with Canvas's own number, or the name alone). Any other column would become a new
assignment, so notes stand in a text file beside it. Canvas leaves a mark alone where the cell is empty.
"""

from __future__ import annotations

from pathlib import Path

from autograder.classroom.exports.people import Person
from autograder.classroom.exports.sheet import Exported, Request, exported, safe, write_csv
from autograder.classroom.grades import number

HEADER = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS_POSSIBLE = "    Points Possible"  # with the spaces that Canvas itself writes


def export(request: Request, path: Path) -> Exported:
    """Write the file ``path``. Raises ClassroomError when it cannot be written."""
    header = [*HEADER, *(safe(request.title(lab)) for lab in request.labs)]
    possible = [POINTS_POSSIBLE, "", "", "", "", *(number(lab.max_score) for lab in request.labs)]
    marks = {
        lab.name: {student: request.mark(line) for student, line in request.lines(lab).items()} for lab in request.labs
    }
    lines = [
        [*_who(person), *(number(marks[lab.name].get(student)) for lab in request.labs)]
        for student, person in sorted(request.people.items())
    ]
    write_csv(path, header, [possible, *lines])
    return exported(request, path)


def _who(person: Person) -> list[str]:
    login = person.login or person.email or ("" if person.sis_id or person.canvas_id else person.student)
    columns = (person.name or person.student, person.canvas_id, person.sis_id, login, person.section)
    return [safe(text) for text in columns]
