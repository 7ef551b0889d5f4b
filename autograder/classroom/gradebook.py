"""nbgrader's gradebook and course folders, filled out of sight and put in place at the end."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.classroom.cells import nbgrader_data
from autograder.classroom.defusing import defuse
from autograder.classroom.errors import GradebookError
from autograder.classroom.inject import InjectingAutograde, without_mark
from autograder.classroom.release import Release
from autograder.classroom.surroundings import Engines, Log, nbgrader_environment
from autograder.classroom.verdicts import Verdict

ROOM = 8 << 20  # bytes without which a disk counts as full
LONGEST_STUDENT = 128  # characters, the width of nbgrader's column


@dataclass(frozen=True)
class Marks:
    """What the gradebook says of one submission, manual marks included. ``points`` by grade_id, None
    where there is no mark yet; ``waiting`` are the grade_ids that a person has to look at; ``seconds_late`` is
    the time after the due date that the gradebook has for this student, 0 where it has none."""

    score: float
    max_score: float
    points: dict[str, float | None]
    waiting: frozenset[str]
    seconds_late: float = 0.0


class Course:
    """An nbgrader course under ``root`` with its gradebook at ``db_url``."""

    def __init__(self, root: Path, db_url: str) -> None:
        self.root, self.db_url = root, db_url
        self.log = Log()
        self._engines = Engines()
        self._feedback: dict[str, Any] = {}

    @contextlib.contextmanager
    def open(self) -> Iterator[Any]:
        """nbgrader's Gradebook, closed afterwards. Raises GradebookError when it cannot be opened."""
        from nbgrader.api import Gradebook
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with nbgrader_environment(self._engines), Gradebook(self.db_url) as gradebook:
                yield gradebook
        except SQLAlchemyError as error:
            raise _unusable(error) from error

    def prove(self) -> None:
        """After a failure over one submission: is the fault everybody's? Raises OSError when there is no room to
        write, GradebookError when the database does not answer. Asked of the system and not of the failure's
        text, into which a student may have written."""
        if shutil.disk_usage(self.root).free < ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.root))
        with tempfile.TemporaryFile(dir=self.root) as file:
            file.write(bytes(ROOM // 8))
        self.students()

    def register(self, release: Release, due: str | None = None) -> None:
        """Make the lab known to the gradebook: its cells, roles and points, from the release; and when it was
        ``due``, a text that nbgrader can read (None: as the gradebook has it)."""
        from nbgrader.preprocessors import SaveCells
        from sqlalchemy.exc import SQLAlchemyError

        with self.open() as gradebook:
            gradebook.update_or_create_assignment(release.lab, **({} if due is None else {"duedate": due}))
        where = {"notebook": release.lab, "assignment": release.lab, "db_url": self.db_url}
        saver = SaveCells()
        saver.log = self.log
        try:
            with nbgrader_environment(self._engines):
                saver.preprocess(release.notebook, {"nbgrader": where})
        except SQLAlchemyError as error:
            raise _unusable(error) from error
        except RuntimeError as error:
            raise GradebookError(
                f"The gradebook was made for another version of {release.lab}, with other cells: "
                "grade into a new folder with --out, or give another --db."
            ) from error

    def students(self) -> tuple[str, ...]:
        """The ids of all students that the gradebook knows, sorted."""
        with self.open() as gradebook:
            return tuple(sorted(student.id for student in gradebook.students))

    def add_student(self, student: str) -> None:
        """Make the student known, so that nbgrader lists missing work."""
        with self.open() as gradebook:
            gradebook.update_or_create_student(student)

    def folder(self, step: str, student: str, lab: str) -> Path:
        """nbgrader's folder of one step ("submitted", "autograded", "feedback")."""
        return self.root / step / student / lab

    def autograde(
        self,
        student: str,
        release: Release,
        notebook: Any,
        timestamp: str | None,
        verdicts: Mapping[str, Verdict],
        *,
        unread: bool = False,
        reviewed: frozenset[str] = frozenset(),
    ) -> None:
        """Write one submission's verdicts into the gradebook by nbgrader's autograde.

        Checks without a mark wait for a person, as does everything when the file could not be read
        (``unread``); the grade_ids ``reviewed`` do not wait. Raises GradebookError (a sentence about this
        student) when nbgrader cannot take the submission.
        """
        if len(student) > LONGEST_STUDENT:
            raise GradebookError(
                f"The name of the student's folder is longer than the {LONGEST_STUDENT} characters that a "
                "gradebook takes."
            )
        folder = self.folder("submitted", student, release.lab)
        folder.mkdir(parents=True)
        _write_notebook(notebook, folder / f"{release.lab}.ipynb")
        trusted = frozenset(cell.source for cell in release.notebook.cells)
        if timestamp is not None:
            (folder / "timestamp.txt").write_text(timestamp + "\n", encoding="utf-8")
        converter = InjectingAutograde(
            coursedir=self._at(release.lab),
            log=self.log,
            folder=folder,
            verdicts=dict(verdicts),
            unjudged=without_mark(verdicts) | frozenset(release.written if unread else ()),
            reviewed=reviewed,
            trusted=trusted,
            unread=frozenset(release.solutions if unread else ()),
        )
        self._convert(converter.start)

    def feedback(self, student: str, lab: str) -> Path:
        """Write the feedback page and return where it is."""
        from autograder.classroom.feedback import SafeFeedback

        if lab not in self._feedback:
            self._feedback[lab] = SafeFeedback(coursedir=self._at(lab), log=self.log)
        self._convert(lambda: self._feedback[lab].convert(self.folder("autograded", student, lab)))
        page = self.folder("feedback", student, lab) / f"{lab}.html"
        for other in page.parent.glob("*.ipynb"):  # nbgrader copies these where a name looks like a pattern
            other.unlink()
        return page

    def marks(self, student: str, lab: str) -> Marks:
        """The marks of one submission."""
        with self.open() as gradebook:
            notebook = gradebook.find_submission_notebook(lab, lab, student)
            points, waiting = {}, set()
            for grade in notebook.grades:
                unknown = grade.auto_score is None and grade.manual_score is None
                points[grade.name] = None if unknown else float(grade.score)
                if grade.needs_manual_grade:
                    waiting.add(grade.name)
            penalty = float(notebook.late_submission_penalty or 0.0)
            late = float(gradebook.find_submission(lab, student).total_seconds_late)
            score = float(notebook.score) - penalty
            return Marks(score, float(notebook.max_score), points, frozenset(waiting), late)

    def _at(self, lab: str) -> Any:
        from nbgrader.coursedir import CourseDirectory

        return CourseDirectory(root=str(self.root), db_url=self.db_url, assignment_id=lab, log=self.log)

    def _convert(self, convert: Callable[[], None]) -> None:
        from nbgrader.converters import NbGraderException

        self.log.messages.clear()
        try:
            with nbgrader_environment(self._engines):
                convert()
        except (NbGraderException, SystemExit) as error:
            last = next((line for line in reversed(self.log.messages) if line.strip()), str(error))
            raise GradebookError(
                f"nbgrader could not take this submission ({last.strip().splitlines()[-1]})."
            ) from error


def _unusable(error: Exception) -> GradebookError:
    lines = str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__]
    return GradebookError(f"The gradebook cannot be used ({lines[0]}). Run the same command again when it can.")


def reviewed_cells(
    course: Course, earlier: Path, student: str, release: Release, notebook: Any
) -> frozenset[str]:
    """The grade_ids that a person has graded and whose answer is still the same as in the notebook
    autograded ``earlier`` (a path that need not exist): nbgrader would ask for a second look at each
    of them after every run."""
    from nbgrader.api import MissingEntry

    if not earlier.is_file():
        return frozenset()
    with course.open() as gradebook:
        try:
            grades = gradebook.find_submission_notebook(release.lab, release.lab, student).grades
        except MissingEntry:
            return frozenset()
        done = {
            grade.name for grade in grades if grade.manual_score is not None and not grade.needs_manual_grade
        }
    try:
        old = _texts(json.loads(earlier.read_text(encoding="utf-8"))["cells"])
    except (ValueError, KeyError, OSError):
        return frozenset()
    new = _texts(notebook.cells)
    code_kept = old["code"] == new["code"]
    return frozenset(
        name
        for name in done
        if (old["answers"].get(name) == new["answers"].get(name) if name in release.written else code_kept)
    )


def _texts(cells: Any) -> dict[str, Any]:
    def text(cell: Any) -> str:
        return defuse("".join(cell["source"]))

    code = [text(cell) for cell in cells if cell["cell_type"] == "code"]
    answers = {nbgrader_data(cell).get("grade_id"): text(cell) for cell in cells if nbgrader_data(cell)}
    return {"code": code, "answers": answers}


def valid_timestamp(text: str) -> bool:
    """Whether nbgrader can read the text as a time."""
    from nbgrader.utils import parse_utc

    try:
        parse_utc(text)
    except Exception:  # an odd text makes dateutil raise whatever it meets, decimal's errors among them
        return False
    return True


def _write_notebook(notebook: Any, path: Path) -> None:
    import nbformat

    path.write_text(nbformat.writes(notebook, version=4) + "\n", encoding="utf-8")
