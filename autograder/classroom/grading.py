"""Grade a class: collect, normalise, judge, write. One call does it all."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder.classroom import grades, verdicts
from autograder.classroom.collect import Submission, collect
from autograder.classroom.errors import GradebookError, NothingToGrade
from autograder.classroom.files import remove_folder, replace_folder
from autograder.classroom.gradebook import Course, reviewed_cells, valid_timestamp
from autograder.classroom.grades import Row
from autograder.classroom.judge_class import Work, judge_class
from autograder.classroom.normalise import normalise, untouched
from autograder.classroom.progress import Progress
from autograder.classroom.reading import read_notebook
from autograder.classroom.release import Release, find_release, load_release
from autograder.classroom.store import SqliteFile, sqlite_path
from autograder.classroom.verdicts import Verdict

GRADES_FILE = "grades.csv"
GRADEBOOK_FILE = "gradebook.db"
STEPS = ("submitted", "autograded", "feedback")


@dataclass(frozen=True)
class Prepared:
    """A submission ready to be judged: ``notebook`` is the normalised one; ``problem`` is a sentence
    when no cell of the student's could be used (then ``notebook`` is the untouched release)."""

    submission: Submission
    release: Release
    notebook: Any
    repairs: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Result:
    """What a run did. ``rows`` sorted by lab and student; ``judged`` maps (student, lab) to verdicts;
    ``ignored`` are sentences about files that were left out."""

    rows: tuple[Row, ...]
    judged: dict[tuple[str, str], tuple[Verdict, ...]]
    ignored: tuple[str, ...]
    grades: Path
    feedback: Path
    gradebook: str

    @property
    def complete(self) -> bool:
        """Every submission that was handed in has been judged in full."""
        return all(row.status != grades.UNJUDGED for row in self.rows)


def grade(
    labs: Sequence[str],
    submitted: Path,
    out: Path,
    seed: int,
    *,
    released: Path | None = None,
    db_url: str | None = None,
    jobs: int = 1,
    stream: Any = None,
    **judging: Any,
) -> Result:
    """Grade every submission of ``labs`` under ``submitted`` and write the results into ``out``:
    grades.csv, feedback/, autograded/, submitted/ (as judged) and gradebook.db, unless ``db_url``
    names another database.

    ``judging`` goes to :func:`judge_class` (judge, gather, cache). Nothing in ``out`` changes before
    everything is judged and written aside. Raises ClassroomError with a sentence.
    """
    submitted, out = submitted.resolve(), out.resolve()
    grades.read_csv(out / GRADES_FILE)  # refuse early, before the long work
    releases = [load_release(lab, find_release(lab, released)) for lab in labs]
    prepared, ignored = _prepare(releases, submitted)
    work = [
        Work((item.submission.student, item.release.lab), item.release, item.notebook)
        for item in prepared
        if item.problem is None and not item.submission.missing
    ]
    judged = dict(judge_class(work, seed, jobs=jobs, stream=stream, **judging))
    for item in prepared:
        if item.problem is not None:
            judged[item.submission.student, item.release.lab] = tuple(
                verdicts.could_not(cell, item.problem) for cell in item.release.checks
            )
    rows, gradebook = _write(releases, prepared, judged, out, db_url, stream)
    return Result(tuple(rows), judged, tuple(ignored), out / GRADES_FILE, out / "feedback", gradebook)


def _prepare(releases: Sequence[Release], submitted: Path) -> tuple[list[Prepared], list[str]]:
    prepared, ignored, nothing = [], {}, []
    for release in releases:
        try:
            found = collect(submitted, release.lab)
        except NothingToGrade as error:
            nothing.append(error)
            continue
        ignored.update(dict.fromkeys(found.ignored))
        prepared += [prepare(submission, release) for submission in found.submissions]
    if nothing:
        raise nothing[0]
    return prepared, list(ignored)


def prepare(submission: Submission, release: Release) -> Prepared:
    """Read and normalise one submission; never raises for what a student handed in."""
    if submission.missing:
        return Prepared(submission, release, None)
    if submission.timestamp is not None and not valid_timestamp(submission.timestamp):
        note = "Its timestamp.txt holds no time; it was left out."
        submission = replace(submission, timestamp=None, notes=(*submission.notes, note))
    problem, notes = submission.problem, submission.notes
    if problem is None:
        reading = read_notebook(submission.path)
        problem, notes = reading.problem, (*notes, *reading.notes)
    if problem is None:
        normal = normalise(release, reading.cells)
        if normal.problem is None:
            return Prepared(submission, release, normal.notebook, (*notes, *normal.repairs))
        problem = normal.problem
    return Prepared(submission, release, untouched(release), notes, problem)


def _with_notice(item: Prepared) -> Any:
    """The notebook with what was put right said at its top, and so on the feedback page. Only now: a
    cell more would shift the cell numbers in the judge's messages."""
    import nbformat.v4 as v4

    sentences = list(item.repairs)
    if item.problem is not None:
        sentences.insert(0, f"This submission could not be judged. {item.problem}")
    if sentences:
        text = "**From the grader.** " + " ".join(sentences)
        item.notebook.cells.insert(0, v4.new_markdown_cell(text, id="from-the-grader"))
    return item.notebook


def _write(
    releases: Sequence[Release],
    prepared: Sequence[Prepared],
    judged: dict[tuple[str, str], tuple[Verdict, ...]],
    out: Path,
    db_url: str | None,
    stream: Any,
) -> tuple[list[Row], str]:
    """Fill a course aside, then put it in place: folders, gradebook, grades.csv."""
    out.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".grading-", dir=out))
    final = out / GRADEBOOK_FILE if db_url is None else sqlite_path(db_url)
    store = None if final is None else SqliteFile(final, staging / GRADEBOOK_FILE)
    try:
        if store is not None:
            store.check_out()
        course = Course(staging, db_url if store is None else f"sqlite:///{staging / GRADEBOOK_FILE}")
        for release in releases:
            course.register(release)
        rows = _rows(course, releases, prepared, judged, out, stream)
        _publish(staging, out)
        if store is not None:
            store.check_in()
        columns = [column for release in releases for column in _columns(release)]
        grades.write_grades(out / GRADES_FILE, rows, columns)
        return rows, db_url or str(final)
    finally:
        if store is not None:
            store.close()
        remove_folder(staging)


def _rows(
    course: Course,
    releases: Sequence[Release],
    prepared: Sequence[Prepared],
    judged: dict[tuple[str, str], tuple[Verdict, ...]],
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
        return Row(
            student, release.lab, grades.UNJUDGED, None, release.max_score, notes=(str(error), *item.repairs)
        )
    points = {cell.check_id: marks.points.get(cell.grade_id) for cell in release.checks}
    points |= {grade_id: marks.points.get(grade_id) for grade_id in release.written}
    unjudged = [cell for cell in release.checks if marks.points.get(cell.grade_id) is None]
    bugs = tuple(dict.fromkeys(f"{verdict.exercise}: {bug}" for verdict in mine for bug in verdict.bugs))
    if unjudged:
        status = grades.UNJUDGED
    elif marks.waiting:
        status = grades.MANUAL
    else:
        status = grades.REPAIRED if item.repairs else grades.GRADED
    score = None if all(value is None for value in points.values()) else marks.score
    return Row(
        student,
        release.lab,
        status,
        score,
        marks.max_score,
        points,
        bugs,
        (*_reasons(item, mine), *item.repairs),
    )


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


def _publish(staging: Path, out: Path) -> None:
    """Move each student's folders of this run into ``out``; those of other labs stay."""
    for step in STEPS:
        for place in sorted((staging / step).glob("*/*")):
            replace_folder(place, out / step / place.parent.name / place.name)
