"""Who is who elsewhere: the optional roster, and what is known of a student without one."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.classroom import grades
from autograder.classroom.errors import ClassroomError
from autograder.classroom.names import alike

COLUMNS = ("student", "email", "sis_id", "login", "name", "section", "canvas_id")


@dataclass(frozen=True)
class Person:
    """A student as other systems know them; "" where it is not known. ``student`` is the name in grades.csv."""

    student: str
    email: str = ""
    sis_id: str = ""
    login: str = ""
    name: str = ""
    section: str = ""
    canvas_id: str = ""


def without_roster(student: str, platform: str = "", own: str = "") -> Person:
    """What the name alone tells: it is the login, and the e-mail address where it looks like one. Of a class that
    was downloaded from ``platform`` Canvas's number or the e-mail address (``own``) is known, too."""
    if platform == "Canvas" and own.isdecimal():
        return Person(student, name=student, canvas_id=own)
    email = next((text for text in (student, own) if "@" in text[1:]), "")
    return Person(student, email=email, login=student, name=student)


def read_roster(path: Path) -> tuple[Person, ...]:
    """The roster's lines. A CSV file with a header: ``student`` (as in grades.csv) and any of email, sis_id,
    login, name, section, canvas_id; other columns are ignored. Raises ClassroomError."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ClassroomError(f"The roster {path} cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise ClassroomError(f"The roster {path} is not UTF-8 text: save it as CSV UTF-8 and try again.") from error
    try:
        lines = list(csv.reader(io.StringIO(text), delimiter=_delimiter(text), strict=True))
    except csv.Error as error:
        raise ClassroomError(f"The roster {path} is not a CSV file that can be read ({error}).") from error
    header = [name.strip().lower().replace(" ", "_") for name in lines[0]] if lines else []
    if "student" not in header:
        raise ClassroomError(
            f"The roster {path} has no column called student: its first line names the columns, for example "
            "student,email,sis_id."
        )
    people: dict[str, Person] = {}
    for number, line in enumerate(lines[1:], 2):
        values = {name: value.strip() for name, value in zip(header, line, strict=False) if name in COLUMNS}
        student = values.get("student", "")
        if not student:
            if any(value.strip() for value in line):
                raise ClassroomError(f"Line {number} of the roster {path} names no student.")
            continue
        if student in people:
            raise ClassroomError(f"The roster {path} has two lines for {grades.plain(student)}: remove one.")
        people[student] = Person(**values)
    return tuple(people.values())


def match(
    students: Iterable[str],
    roster: tuple[Person, ...] | None,
    platforms: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[dict[str, Person], list[str]]:
    """Each student's line of the roster (None: no roster, nobody is missing, and ``platforms`` tells who they are
    where the class came from), and a sentence for each student who has no line, and for each line that has no
    student. Upper and lower case, and the ways to write an accent, make no difference where that leaves no doubt."""
    students = list(students)
    if roster is None:
        known = platforms or {}
        return {student: without_roster(student, *known.get(student, ())) for student in students}, []
    exact = {person.student: person for person in roster}
    found = {student: exact[student] for student in students if student in exact}
    left = [person for person in roster if person.student not in found]
    for student in students:
        if student in found:
            continue
        mine = [person for person in left if alike(person.student) == alike(student)]
        rivals = [other for other in students if other not in found and alike(other) == alike(student)]
        if len(mine) == 1 and len(rivals) == 1:
            found[student] = mine[0]
    sentences = [
        f"{grades.plain(student)} is not in the roster and was left out: add a line for this student."
        for student in students
        if student not in found
    ]
    taken = {person.student for person in found.values()}
    sentences += [
        f"{grades.plain(person.student)} is in the roster, but nothing of this student was graded."
        for person in roster
        if person.student not in taken
    ]
    return found, sentences


def _delimiter(text: str) -> str:
    """Spreadsheets of some countries write ; between columns."""
    first = text.split("\n", 1)[0]
    return max(",;\t", key=first.count)
