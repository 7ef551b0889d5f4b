"""grades.csv and the table on the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.classroom.errors import ClassroomError
from autograder.classroom.files import write_atomically

MISSING = "missing"
UNJUDGED = "could not be judged"
MANUAL = "needs manual grading"
LATE = "late"
REPAIRED = "repaired"
GRADED = "graded"
STATUSES = (GRADED, REPAIRED, LATE, MANUAL, UNJUDGED, MISSING)
HANDED_IN_LATE = "It was handed in late"  # in the notes, whatever else the status says

FIRST = ("student", "lab", "status", "score", "max_score")
LAST = ("named_bugs", "notes")


@dataclass(frozen=True)
class Row:
    """One student and one lab. ``score`` is None where there is no mark at all; ``points`` maps a
    column (a check id or a written cell's grade_id) to its points, None where not known."""

    student: str
    lab: str
    status: str
    score: float | None
    max_score: float
    points: dict[str, float | None] = field(default_factory=dict)
    bugs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def number(value: float | None) -> str:
    """1.5, 2, 0.333333 or nothing."""
    return "" if value is None else f"{round(value, 6):g}"


def neutral(text: str) -> str:
    """``text`` as one line that a spreadsheet does not take for a formula."""
    text = " ".join(text.split())
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def to_csv(rows: Iterable[Row], columns: Sequence[str], kept: Iterable[dict[str, str]] = ()) -> bytes:
    """The file: one line per student and lab, sorted, UTF-8. ``columns`` are the point columns in
    order; ``kept`` are lines of an earlier file, as :func:`read_csv` gives them."""
    lines = [_line(row) for row in rows] + list(kept)
    lines.sort(key=lambda line: (line["lab"], line["student"]))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*FIRST, *columns, *LAST], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue().encode("utf-8")


def read_csv(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Point columns and lines of an earlier grades.csv; nothing when there is none. Raises
    ClassroomError when the file is something else: it would be overwritten."""
    if not path.exists():
        return (), []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            lines = list(reader)
            header = tuple(reader.fieldnames or ())
    except (OSError, ValueError, csv.Error) as error:
        raise ClassroomError(f"{path} cannot be read ({error}): move it away and grade again.") from error
    if header[: len(FIRST)] != FIRST or header[-len(LAST) :] != LAST or any(None in line for line in lines):
        raise ClassroomError(
            f"{path} was not written by autograder grade: move it away, or grade into another folder."
        )
    return header[len(FIRST) : -len(LAST)], lines


def write_grades(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Write grades.csv in one step. Lines of other labs in an earlier file stay."""
    labs = {row.lab for row in rows}
    old_columns, old = read_csv(path)
    kept = [line for line in old if line["lab"] not in labs]
    used = [column for column in old_columns if any(line[column] for line in kept)]
    merged = tuple(dict.fromkeys([*columns, *used]))
    write_atomically(path, to_csv(rows, sorted(merged, key=_lab_of_column), kept))


def _lab_of_column(column: str) -> str:
    """Columns of one lab stand together ("lab1.row_max.values" and "lab1_written" are lab 1's); the
    order inside a lab is the released notebook's."""
    return column.replace("_", ".").split(".")[0]


def _line(row: Row) -> dict[str, str]:
    return {
        "student": neutral(row.student),
        "lab": neutral(row.lab),
        "status": row.status,
        "score": number(row.score),
        "max_score": number(row.max_score),
        **{column: number(points) for column, points in row.points.items()},
        "named_bugs": neutral("; ".join(row.bugs)),
        "notes": neutral(" ".join(row.notes)),
    }


def table(rows: Sequence[Row], width: int = 120) -> str:
    """The rows as aligned text, no line longer than ``width``."""
    head = ("student", "lab", "status", "score", "named bugs, notes")
    body = [
        (
            plain(row.student),
            plain(row.lab),
            row.status,
            f"{number(row.score) or '-'}/{number(row.max_score)}",
            plain("; ".join(row.bugs) or " ".join(row.notes[:1])),
        )
        for row in rows
    ]
    widths = [max(len(line[at]) for line in [head, *body]) for at in range(4)]
    widths[0] = min(widths[0], 28)
    lines = []
    for line in [head, *body]:
        cells = [_cut(text, size).ljust(size) for text, size in zip(line, widths, strict=False)]
        lines.append(_cut("  ".join([*cells, line[4]]).rstrip(), width))
    lines.insert(1, "-" * min(max(map(len, lines)), width))
    return "\n".join(lines)


def plain(text: str) -> str:
    """``text`` without anything that a terminal would obey."""
    return "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(text.split())
    )


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: max(size - 1, 0)] + "\N{HORIZONTAL ELLIPSIS}"
