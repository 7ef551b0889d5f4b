"""One submission made ready to be judged: read, normalised, or the reason why it cannot be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from autograder.classroom.collect import Submission
from autograder.classroom.gradebook import valid_timestamp
from autograder.classroom.grades import HANDED_IN_LATE
from autograder.classroom.normalise import normalise, untouched
from autograder.classroom.reading import read_notebook
from autograder.classroom.release import Release


@dataclass(frozen=True)
class Prepared:
    """A submission ready to be judged: ``notebook`` is the normalised one; ``problem`` is a sentence
    when no cell of the student's could be used (then ``notebook`` is the untouched release); ``foreign``
    is True when the file is a notebook in which nothing of the lab was found."""

    submission: Submission
    release: Release
    notebook: Any
    repairs: tuple[str, ...] = ()
    problem: str | None = None
    foreign: bool = False

    def as_missing(self) -> Prepared:
        """As if nothing had been handed in for this lab."""
        submission = replace(self.submission, path=None, problem=f"Nothing was handed in for {self.release.lab}.")
        return Prepared(replace(submission, missing=True), self.release, None)


def prepare(submission: Submission, release: Release) -> Prepared:
    """Read and normalise one submission; never raises for what a student handed in."""
    if submission.missing:
        return Prepared(submission, release, None)
    try:
        return _prepare(submission, release)
    except Exception as error:  # one odd file must not stop the others
        sentence = f"The file could not be read ({type(error).__name__})."
        return Prepared(submission, release, untouched(release), submission.notes, sentence)


def _prepare(submission: Submission, release: Release) -> Prepared:
    if submission.timestamp is not None and not valid_timestamp(submission.timestamp):
        note = "Its timestamp.txt holds no time; it was left out."
        submission = replace(submission, timestamp=None, notes=(*submission.notes, note))
    problem, notes, foreign = submission.problem, submission.notes, False
    if submission.late:
        notes = (*notes, f"{HANDED_IN_LATE}, says {submission.platform}.")
    if problem is None:
        reading = read_notebook(submission.path, submission.name)
        problem, notes = reading.problem, (*notes, *reading.notes)
    if problem is None:
        normal = normalise(release, reading.cells)
        if normal.problem is None:
            return Prepared(submission, release, normal.notebook, (*notes, *normal.repairs))
        problem, foreign = normal.problem, True
    return Prepared(submission, release, untouched(release), notes, problem, foreign)
