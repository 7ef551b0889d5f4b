"""Moodle: the CSV file of "Import > CSV file" in its gradebook.

A student is found by user name, ID number or e-mail address (choose the column under "Map from"); each lab
has a column of points and one of feedback, and both must be mapped: Moodle empties the one that is not.
An empty grade is imported as no grade.
"""

from __future__ import annotations

from pathlib import Path

from autograder.classroom import grades
from autograder.classroom.defusing import defuse
from autograder.classroom.exports.sheet import Exported, Request, exported, for_student, safe, write_csv
from autograder.classroom.outcome import Lab, Line

HEADER = ("Username", "ID number", "Email address")
LONGEST_FEEDBACK = 4000  # characters; the whole verdict is on the feedback page


def export(request: Request, path: Path) -> Exported:
    """Write the file ``path``. Raises ClassroomError when it cannot be written."""
    header = list(HEADER)
    for lab in request.labs:
        header += [safe(request.title(lab)), safe(f"{request.title(lab)} (feedback)")]
    by_lab = [(lab, request.lines(lab)) for lab in request.labs]
    lines = []
    for student, person in sorted(request.people.items()):
        cells = [safe(text) for text in (person.login, person.sis_id, person.email)]
        for lab, mine in by_lab:
            line = mine.get(student)
            cells += ["", ""] if line is None else [grades.number(request.mark(line)), feedback(request, lab, line)]
        lines.append(cells)
    write_csv(path, header, lines)
    return exported(request, path)


def feedback(request: Request, lab: Lab, line: Line) -> str:
    """The comment on one mark: points, known mistakes, remarks, and why a mark is empty or not final.
    Moodle shows it as HTML, so nothing in it may be a tag."""
    said = []
    mark = request.mark(line)
    if mark is not None:
        said.append(f"{grades.number(mark)} of {grades.number(line.max_score)} points.")
    if line.status == grades.LATE and grades.HANDED_IN_LATE not in line.notes:
        said.append("Handed in late.")
    if line.bugs:
        said.append("This looks like: " + "; ".join(f"{name}: {title}" for name, title in line.bugs) + ".")
    if line.notes and line.status != grades.UNJUDGED:
        said.append(line.notes)
    said.append(for_student(lab, line))
    text = " ".join(part for part in said if part)
    if len(text) > LONGEST_FEEDBACK:
        text = text[: LONGEST_FEEDBACK - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return safe(defuse(text))
