"""Grade a class: collect, normalise, judge, write. One call does it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.classroom import grades, verdicts, writing
from autograder.classroom.collect import collect
from autograder.classroom.errors import NothingToGrade
from autograder.classroom.grades import Row
from autograder.classroom.judge_class import Work, judge_class
from autograder.classroom.prepare import Prepared, prepare
from autograder.classroom.release import Release, find_release, load_release
from autograder.classroom.verdicts import Verdict


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
    grades.csv, feedback/, autograded/, submitted/ (as judged), source/ (the released labs) and
    gradebook.db, unless ``db_url`` names another database.

    ``judging`` goes to :func:`judge_class` (judge, gather, cache). Nothing in ``out`` changes before
    everything is judged and written aside. Raises ClassroomError with a sentence.
    """
    target = writing.Target(out.resolve(), db_url)
    releases = [load_release(lab, find_release(lab, released)) for lab in labs]
    prepared, ignored = _prepare(releases, submitted.resolve())
    writing.check(target, releases)
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
    rows = writing.write(target, releases, prepared, judged, stream)
    return Result(
        tuple(rows),
        judged,
        tuple(ignored),
        grades=target.out / writing.GRADES_FILE,
        feedback=target.out / "feedback",
        gradebook=db_url or str(target.gradebook),
    )


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
