"""What all exports share: which marks may leave, in what words the others are noted, and safe cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.classroom import grades
from autograder.classroom.errors import ClassroomError
from autograder.classroom.exports.people import Person
from autograder.classroom.files import write_atomically
from autograder.classroom.outcome import Lab, Line, Outcome

NAMED = 5  # students whom a note of many names
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # as some keyboards write them, too


@dataclass(frozen=True)
class Request:
    """What to export: the ``labs`` of ``outcome``, for the ``people`` (by the name in grades.csv), each lab
    under its name in ``titles`` where there is one. ``finished`` leaves out marks that wait for a person."""

    outcome: Outcome
    labs: tuple[Lab, ...]
    people: dict[str, Person]
    titles: dict[str, str] = field(default_factory=dict)
    finished: bool = False

    def title(self, lab: Lab) -> str:
        """The lab's name in the other gradebook."""
        return self.titles.get(lab.name, lab.name)

    def lines(self, lab: Lab) -> dict[str, Line]:
        """The lines of one lab by student, for those who are exported."""
        return {line.student: line for line in self.outcome.of(lab) if line.student in self.people}

    def mark(self, line: Line) -> float | None:
        """The mark to pass on, None for an empty cell."""
        return None if self.finished and line.status == grades.MANUAL else line.mark


@dataclass(frozen=True)
class Exported:
    """``written`` is the file or folder; ``notes`` are sentences about marks that are empty or not final;
    ``marks`` is how many marks were passed on, ``unjudged`` how many could not be."""

    written: Path
    notes: tuple[str, ...]
    marks: int
    unjudged: int


def note(request: Request, lab: Lab, line: Line) -> str:
    """Why a mark is empty, or not the last word, for the instructor; "" for one that is."""
    if line.status == grades.MISSING:
        return "Nothing was handed in; the mark is empty, not 0."
    if line.status == grades.UNJUDGED:
        return f"Could not be judged{_why(line)}; the mark is empty, not 0. Give the points by hand and grade again."
    if line.score is None:
        return "Nothing has points yet; the mark is empty, not 0."
    if line.status != grades.MANUAL:
        return ""
    end = "the mark is empty until then" if request.finished else "the mark is what has points so far"
    return f"A person still has to grade {_waiting(lab, line)}; {end}."


def for_student(lab: Lab, line: Line) -> str:
    """The same for the student."""
    if line.status == grades.MISSING:
        return "Nothing was handed in."
    if line.status == grades.UNJUDGED:
        return f"Could not be judged{_why(line)}. Your instructor will look at it."
    if line.status == grades.MANUAL or line.score is None:
        return f"Not graded yet: {_waiting(lab, line)}."
    return ""


def _why(line: Line) -> str:
    return f" ({grades.plain(line.notes).rstrip('.')})" if line.notes else ""


def _waiting(lab: Lab, line: Line) -> str:
    cells = line.waiting(lab)
    return ", ".join(f"{cell.grade_id} ({grades.number(cell.points)} points)" for cell in cells) or "an answer again"


def notes(request: Request) -> tuple[str, ...]:
    """The notes of all marks: what could not be judged student by student, what is common to many once."""
    single, common = [], {}
    for lab in request.labs:
        for student, line in request.lines(lab).items():
            text = note(request, lab, line)
            if line.status == grades.UNJUDGED:
                single.append(f"{grades.plain(student)}, {lab.name}: {text}")
            elif text:
                common.setdefault((lab.name, text), []).append(grades.plain(student))
    return (*single, *(f"{_names(students)}, {lab}: {text}" for (lab, text), students in common.items()))


def _names(students: Sequence[str]) -> str:
    if len(students) <= NAMED + 1:
        return ", ".join(students)
    return f"{', '.join(students[:NAMED])} and {len(students) - NAMED} more"


def exported(request: Request, written: Path) -> Exported:
    """The account of a finished export."""
    lines = [line for lab in request.labs for line in request.lines(lab).values()]
    marks = sum(request.mark(line) is not None for line in lines)
    unjudged = sum(line.status == grades.UNJUDGED for line in lines)
    return Exported(written, notes(request), marks, unjudged)


def choose(outcome: Outcome, names: Sequence[str] | None) -> tuple[Lab, ...]:
    """The labs called ``names``, or all. Raises ClassroomError for one that was not graded."""
    if not names:
        return outcome.labs
    known = {lab.name: lab for lab in outcome.labs}
    for name in names:
        if name not in known:
            raise ClassroomError(f"{name} is not among the labs graded in {outcome.folder}: {', '.join(known)}.")
    return tuple(known[name] for name in dict.fromkeys(names))


def safe(text: str) -> str:
    """``text`` as one line that no spreadsheet takes for a formula."""
    text = grades.plain(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def write_csv(path: Path, header: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Write the file in one step, UTF-8. Cells must be :func:`safe` already where they hold text. Raises
    ClassroomError when it cannot be written."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # as RFC 4180 says, and what the platforms write
    writer.writerow(header)
    writer.writerows(lines)
    put(path, text.getvalue().encode("utf-8"))


def put(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. Raises ClassroomError."""
    if path.is_dir():
        raise ClassroomError(f"{path} is a folder: give the name of a file with --to.")
    try:
        write_atomically(path, data)
    except OSError as error:
        raise ClassroomError(f"{path} could not be written ({error.strerror or error}).") from error
