"""From verdicts to gradebook, feedback pages and grades.csv: written aside, then put in place."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.classroom import grades
from autograder.classroom.claimed import alone, claimed_folder
from autograder.classroom.errors import ClassroomError, GradebookChanged, GradebookError
from autograder.classroom.files import mend_replaced, replace_folder, write_atomically
from autograder.classroom.gradebook import Course, reviewed_cells
from autograder.classroom.grades import Row
from autograder.classroom.normalise import with_cells
from autograder.classroom.prepare import Prepared
from autograder.classroom.progress import Progress, duration
from autograder.classroom.release import Release
from autograder.classroom.store import LOCK_WAIT, SqliteFile, sqlite_path
from autograder.classroom.verdicts import Verdict

GRADES_FILE = "grades.csv"
GRADEBOOK_FILE = "gradebook.db"
STAGING = ".grading-"  # the hidden folder in OUT where a run writes before it puts things in place
LOCK_FILE = ".lock"
SOURCE_FOLDER = "source"  # nbgrader's formgrader lists the labs that it finds there
STEPS = ("submitted", "autograded", "feedback")
ATTEMPTS = 3
# A name that a file system does not take is one student's trouble; a full disk is everybody's.
_THE_NAMES_FAULT = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EEXIST, errno.ENOTDIR)

Judged = Mapping[tuple[str, str], tuple[Verdict, ...]]


@dataclass(frozen=True)
class Target:
    """Where results go: the folder ``out`` and the database ``db_url`` (None: a file in ``out``). ``due`` is the
    labs' due date for the gradebook, None for the one that it has."""

    out: Path
    db_url: str | None = None
    due: str | None = None

    @property
    def gradebook(self) -> Path | None:
        """The gradebook's file; None for a database that is not a file. Raises GradebookError."""
        return self.out / GRADEBOOK_FILE if self.db_url is None else sqlite_path(self.db_url)


def keep_apart(out: Path, submitted: Path) -> None:
    """Refuse results that the next run would take for a student's work, and results that would take its place.
    Raises ClassroomError."""
    if out == submitted or submitted in out.parents:
        raise ClassroomError(
            f"The folder for the results ({out}) lies in the one that was handed in ({submitted}), and would be "
            "taken for a student's: give one elsewhere with --out."
        )
    for name in (*STEPS, SOURCE_FOLDER):
        if submitted == out / name or out / name in submitted.parents:
            raise ClassroomError(
                f"The results would be written over what was handed in ({submitted}), because {out} gets a folder "
                f"{name} of its own: give another folder with --out."
            )


def check(target: Target, releases: Sequence[Release]) -> None:
    """Refuse before the long work what would fail after it: a grades.csv of somebody else's, a gradebook
    that is none, cannot be read, or belongs to another version of the labs. Raises ClassroomError, and OSError
    when nothing can be written there."""
    if target.out.exists() and not target.out.is_dir():
        raise ClassroomError(f"{target.out} is a file: give a folder with --out.")
    grades.read_csv(target.out / GRADES_FILE)
    if target.gradebook is None or target.gradebook.exists():
        with _staged(target, releases):
            pass
    else:
        target.out.mkdir(parents=True, exist_ok=True)
        with claimed_folder(STAGING, target.out):
            pass


def write(
    target: Target,
    releases: Sequence[Release],
    prepared: Sequence[Prepared],
    judged: Judged,
    stream: Any = None,
) -> list[Row]:
    """Write everything and return the rows of grades.csv, sorted by lab and student.

    The gradebook changes in one transaction, then the folders, then grades.csv; a run that ends in
    between is mended by the next one. When somebody enters a mark meanwhile, it starts over with it.
    """
    target.out.mkdir(parents=True, exist_ok=True)
    _mend(target.out)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with _staged(target, releases) as (course, store):
                rows = _rows(course, releases, prepared, judged, target.out, stream)
                if store is not None:
                    store.check_in()
                with _alone(target.out):
                    _publish(course.root, target.out, releases)
            break
        except GradebookChanged:
            if attempt == ATTEMPTS:
                raise
    columns = [column for release in releases for column in _columns(release)]
    grades.write_grades(target.out / GRADES_FILE, rows, columns)
    return rows


@contextlib.contextmanager
def _staged(target: Target, releases: Sequence[Release]) -> Iterator[tuple[Course, SqliteFile | None]]:
    """A course in a hidden folder inside ``out``, with a copy of the gradebook that knows the labs; the
    folder is gone afterwards. A database that is not a file is written directly."""
    target.out.mkdir(parents=True, exist_ok=True)
    with claimed_folder(STAGING, target.out) as staging:
        working = staging / GRADEBOOK_FILE
        store = None if target.gradebook is None else SqliteFile(target.gradebook, working)
        try:
            if store is not None:
                store.check_out()
            course = Course(staging, target.db_url if store is None else f"sqlite:///{working}")
            for release in releases:
                course.register(release, target.due)
            yield course, store
        finally:
            if store is not None:
                store.close()


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Nobody else puts folders into ``out`` meanwhile. Raises ClassroomError when somebody does for long."""
    sentence = f"Another run is putting its results into {out}: run the same command again when it is done."
    with alone(out / LOCK_FILE, LOCK_WAIT, sentence):
        yield


def _mend(out: Path) -> None:
    """Put right what a run that was killed while it put folders in place has left."""
    with _alone(out):
        for step in STEPS:
            for student in sorted((out / step).glob("*")):
                if student.is_dir():
                    mend_replaced(student)


def _with_notice(item: Prepared) -> Any:
    """The notebook with what was put right said at its top, and so on the feedback page. Not sooner: a cell
    more would shift the cell numbers in the judge's messages."""
    import nbformat.v4 as v4

    cells = list(item.notebook.cells)
    sentences = list(item.repairs)
    if item.problem is not None:
        sentences.insert(0, f"This submission could not be judged. {item.problem}")
    if sentences:
        text = "**From the grader.** " + " ".join(sentences)
        cells.insert(0, v4.new_markdown_cell(text, id="from-the-grader"))
    return with_cells(item.notebook, cells)


def _rows(
    course: Course,
    releases: Sequence[Release],
    prepared: Sequence[Prepared],
    judged: Judged,
    out: Path,
    stream: Any,
) -> list[Row]:
    rows = []
    with Progress("Writing", len(prepared), "submissions", stream) as progress:
        for item in prepared:
            rows.append(_row(course, item, judged.get((item.submission.student, item.release.lab), ()), out))
            progress.step(grades.plain(item.submission.student))
    seen = {(row.student, row.lab) for row in rows}
    known = course.students()
    for release in releases:
        rows += [_missing(student, release) for student in known if (student, release.lab) not in seen]
    return sorted(rows, key=lambda row: (row.lab, row.student))


def _row(course: Course, item: Prepared, mine: tuple[Verdict, ...], out: Path) -> Row:
    student, release = item.submission.student, item.release
    if item.submission.missing:
        course.add_student(student)
        return _missing(student, release)
    if item.submission.homeless:
        return _unjudged(item, item.problem or "")
    by_id = {verdict.grade_id: verdict for verdict in mine}
    earlier = out / "autograded" / student / release.lab / f"{release.lab}.ipynb"
    try:
        notebook = _with_notice(item)
        reviewed = reviewed_cells(course, earlier, student, release, notebook)
        course.autograde(
            student,
            release,
            notebook,
            item.submission.timestamp,
            by_id,
            unread=item.problem is not None,
            reviewed=reviewed,
        )
        course.feedback(student, release.lab)
        marks = course.marks(student, release.lab)
    except GradebookError as error:
        course.prove()
        return _unjudged(item, str(error))
    except OSError as error:
        if error.errno not in _THE_NAMES_FAULT:
            raise
        return _unjudged(item, f"The results could not be written under this student's name ({error.strerror}).")
    points = {cell.check_id: marks.points.get(cell.grade_id) for cell in release.checks}
    points |= {grade_id: marks.points.get(grade_id) for grade_id in release.written}
    unjudged = [cell for cell in release.checks if marks.points.get(cell.grade_id) is None]
    repairs = item.repairs
    if marks.seconds_late > 0:
        repairs = (f"{grades.HANDED_IN_LATE}, {duration(marks.seconds_late)} after the due date.", *repairs)
    bugs = tuple(dict.fromkeys(f"{verdict.exercise}: {bug}" for verdict in mine for bug in verdict.bugs))
    if unjudged:
        status = grades.UNJUDGED
    elif marks.waiting:
        status = grades.MANUAL
    else:
        late = item.submission.late or marks.seconds_late > 0
        status = grades.LATE if late else grades.REPAIRED if repairs else grades.GRADED
    score = None if all(value is None for value in points.values()) else marks.score
    return Row(
        student,
        release.lab,
        status,
        score,
        marks.max_score,
        points,
        bugs,
        (*_reasons(item, mine), *repairs),
    )


def _unjudged(item: Prepared, sentence: str) -> Row:
    release = item.release
    notes = (sentence, *item.repairs)
    return Row(item.submission.student, release.lab, grades.UNJUDGED, None, release.max_score, notes=notes)


def _reasons(item: Prepared, mine: tuple[Verdict, ...]) -> tuple[str, ...]:
    """Why there is no mark, or why it is not full where no known mistake says it: each sentence once,
    with the exercise."""
    if item.problem:
        return (item.problem,)
    named = {verdict.exercise for verdict in mine if verdict.bugs}
    return tuple(
        dict.fromkeys(
            f"{verdict.exercise}: {verdict.reason}"
            for verdict in mine
            if verdict.reason and (verdict.points is None or verdict.exercise not in named)
        )
    )


def _missing(student: str, release: Release) -> Row:
    return Row(student, release.lab, grades.MISSING, None, release.max_score)


def _columns(release: Release) -> list[str]:
    return [cell.check_id for cell in release.checks] + list(release.written)


def _publish(staging: Path, out: Path, releases: Sequence[Release]) -> None:
    """Move each student's folders of this run into ``out``; those of other labs stay."""
    for release in releases:
        place = out / SOURCE_FOLDER / release.lab / f"{release.lab}.ipynb"
        write_atomically(place, release.path.read_bytes())
    for step in STEPS:
        for folder in sorted((staging / step).glob("*/*")):
            replace_folder(folder, out / step / folder.parent.name / folder.name)
