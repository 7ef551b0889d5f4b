"""What grading a class can fail with. Every message is a whole sentence for the instructor."""

from __future__ import annotations


class ClassroomError(Exception):
    """Grading cannot go on; the message says what happened and what to do."""


class NothingToGrade(ClassroomError):
    """No submission was found where the instructor pointed."""


class BadRelease(ClassroomError):
    """The released notebook is missing or is not one that can be graded against."""


class GradebookError(ClassroomError):
    """nbgrader's gradebook could not be read or written."""


class GradebookChanged(GradebookError):
    """Somebody else wrote into the gradebook while we worked on a copy; doing it again may succeed."""
