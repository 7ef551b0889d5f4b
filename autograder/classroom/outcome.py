"""What ``autograder grade`` left in its folder, read back: the lines of grades.csv, the released labs, and
the autograded notebooks with every verdict. Exports and the class report begin here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.classroom import grades
from autograder.classroom.cells import check_call, nbgrader_data, text_of
from autograder.classroom.errors import ClassroomError

GRADES_FILE, SOURCE_FOLDER, AUTOGRADED_FOLDER, FEEDBACK_FOLDER = "grades.csv", "source", "autograded", "feedback"
_NO_MARK = (grades.MISSING, grades.UNJUDGED)


@dataclass(frozen=True)
class Cell:
    """A graded cell of a released lab. ``column`` is its column in grades.csv: the check's id, or the
    grade_id of a written answer; ``check`` is "values", "rescale" and so on, "" for a written answer;
    ``name`` is the function that it checks."""

    grade_id: str
    column: str
    points: float
    exercise: str = ""
    check: str = ""
    name: str = ""

    @property
    def written(self) -> bool:
        """Whether a person gives the points."""
        return not self.check


@dataclass(frozen=True)
class Lab:
    """One lab as released: its graded cells in the notebook's order, the texts of its code cells as handed
    out, and its title (the first heading)."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    texts: frozenset[str] = frozenset()

    @property
    def checks(self) -> tuple[Cell, ...]:
        """The cells that the machine grades."""
        return tuple(cell for cell in self.cells if not cell.written)

    @property
    def max_score(self) -> float:
        """Points of all cells together."""
        return sum(cell.points for cell in self.cells)


@dataclass(frozen=True)
class Line:
    """One line of grades.csv. ``score`` is None where the file has none; ``points`` by column, None where
    there is no mark; ``bugs`` are (exercise's short name, title)."""

    student: str
    lab: str
    status: str
    score: float | None
    max_score: float
    points: dict[str, float | None] = field(default_factory=dict)
    bugs: tuple[tuple[str, str], ...] = ()
    notes: str = ""

    @property
    def late(self) -> bool:
        """Whether it came late. The status says so only of what no person has to look at any more."""
        return self.status == grades.LATE or grades.HANDED_IN_LATE in self.notes

    @property
    def mark(self) -> float | None:
        """The score, where it may be passed on: a submission with a check that could not be judged has
        none, because the missing points would count as 0."""
        return None if self.status in _NO_MARK else self.score

    def waiting(self, lab: Lab) -> tuple[Cell, ...]:
        """The cells of a judged submission for which nobody has given points yet."""
        if self.status in _NO_MARK:
            return ()
        return tuple(cell for cell in lab.cells if self.points.get(cell.column) is None)


@dataclass(frozen=True)
class Outcome:
    """A graded class: its folder, the labs in the order of their names, and the lines of grades.csv."""

    folder: Path
    labs: tuple[Lab, ...]
    lines: tuple[Line, ...]

    def lab(self, name: str) -> Lab:
        """The lab called ``name``. Raises KeyError when there is none."""
        return {lab.name: lab for lab in self.labs}[name]

    def of(self, lab: Lab) -> tuple[Line, ...]:
        """The lines of one lab."""
        return tuple(line for line in self.lines if line.lab == lab.name)

    @property
    def students(self) -> tuple[str, ...]:
        """All students, sorted."""
        return tuple(sorted({line.student for line in self.lines}))

    def notebook(self, student: str, lab: str) -> list[dict[str, Any]]:
        """The cells of the autograded notebook; none where there is no such file."""
        path = self._file(AUTOGRADED_FOLDER, student, lab, ".ipynb")
        try:
            cells = [] if path is None else json.loads(path.read_text(encoding="utf-8"))["cells"]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []

    def page(self, student: str, lab: str) -> Path | None:
        """The student's feedback page, where there is one."""
        return self._file(FEEDBACK_FOLDER, student, lab, ".html")

    def _file(self, step: str, student: str, lab: str, ending: str) -> Path | None:
        """A file of one submission; None where there is none, or the name is not that of a folder."""
        if not student.strip(".") or set(student) & {"/", "\\", "\0"}:
            return None
        path = self.folder / step / student / lab / f"{lab}{ending}"
        return path if path.is_file() else None


def read_outcome(folder: Path) -> Outcome:
    """Read what was graded into ``folder``. Raises ClassroomError with a sentence when nothing was."""
    path = folder / GRADES_FILE
    if not path.is_file():
        raise ClassroomError(
            f"There is no {GRADES_FILE} in {folder}: give the folder that `autograder grade` wrote with --out."
        )
    _, lines = grades.read_csv(path)
    if not lines:
        raise ClassroomError(f"{path} has no line: grade a class first.")
    names = sorted({_plain_name(line["lab"]) for line in lines})
    labs = tuple(_lab(folder, name) for name in names)
    columns = {lab.name: lab for lab in labs}
    return Outcome(folder, labs, tuple(_line(line, columns[_plain_name(line["lab"])], path) for line in lines))


def _lab(folder: Path, name: str) -> Lab:
    path = folder / SOURCE_FOLDER / name / f"{name}.ipynb"
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClassroomError(
            f"The released notebook of {name} cannot be read ({path}): grade the lab again into this folder."
        ) from error
    graded, code = [], set()
    for cell in cells:
        text, data = text_of(cell), nbgrader_data(cell)
        if cell.get("cell_type") == "code":
            code.add(text.strip())
        if data.get("grade"):
            graded.append(_cell(text, data))
    texts = [cell for cell in cells if cell.get("cell_type") == "markdown"]
    headings = (line[2:].strip() for cell in texts for line in text_of(cell).splitlines() if line.startswith("# "))
    return Lab(name, next(headings, name), tuple(graded), frozenset(code))


def _cell(text: str, data: dict[str, Any]) -> Cell:
    grade_id, points = str(data.get("grade_id")), float(data.get("points") or 0)
    call = None if data.get("solution") else check_call(text)
    if call is None:
        return Cell(grade_id, grade_id, points)
    exercise, _, check = call[0].rpartition(".")
    return Cell(grade_id, call[0], points, exercise, check, call[1])


def _line(line: dict[str, str], lab: Lab, path: Path) -> Line:
    try:
        return Line(
            _plain_name(line["student"]),
            lab.name,
            line["status"],
            _number(line["score"]),
            _number(line["max_score"]) or 0.0,
            {cell.column: _number(line.get(cell.column, "")) for cell in lab.cells},
            tuple(_bugs(line["named_bugs"], {cell.exercise.rpartition(".")[2] for cell in lab.checks})),
            _plain_name(line["notes"]),
        )
    except ValueError as error:
        raise ClassroomError(
            f"The line of {line['student']} in {path} has a mark that is not a number ({error}): grade again."
        ) from error


def _plain_name(text: str) -> str:
    """The text without the apostrophe that keeps a spreadsheet from taking it for a formula."""
    return text[1:] if text.startswith(("'=", "'+", "'-", "'@")) else text


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _bugs(text: str, exercises: set[str]) -> Iterator[tuple[str, str]]:
    """(exercise, title) of each bug in the column; a title may hold "; " itself."""
    found: list[list[str]] = []
    for part in _plain_name(text).split("; "):
        name, colon, title = part.partition(": ")
        if colon and name in exercises:
            found.append([name, title])
        elif found:
            found[-1][1] += f"; {part}"
    return ((name, title) for name, title in found)


def said(cell: dict[str, Any]) -> str:
    """What an autograded check cell printed: the verdict in words."""
    outputs = cell.get("outputs")
    texts = [output.get("text", "") for output in outputs or () if output.get("output_type") == "stream"]
    return "".join("".join(text) if isinstance(text, list) else str(text) for text in texts)
