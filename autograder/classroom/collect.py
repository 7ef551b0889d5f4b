"""Find one lab's submissions in a folder, without opening a notebook.

The folder is nbgrader's: ``student/lab/notebook.ipynb``, with an optional ``timestamp.txt`` beside
the notebook. What lies elsewhere is named in a sentence. Links below a student's folder are not
followed: they could point at another student's work.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from autograder.classroom.errors import NothingToGrade

SKIPPED_FOLDERS = frozenset({"__MACOSX", "__pycache__", ".ipynb_checkpoints"})
DEEPEST_FOLDER = 3  # an unpacked archive often adds a folder or two


@dataclass(frozen=True)
class Submission:
    """One student's submission of one lab.

    ``path`` is the notebook to read, None when there is none; then ``problem`` is a sentence, and
    ``missing`` is True when the student handed in nothing at all. ``timestamp`` is the text of
    timestamp.txt or None. ``notes`` are sentences about what was put right.
    """

    student: str
    lab: str
    path: Path | None = None
    timestamp: str | None = None
    notes: tuple[str, ...] = ()
    problem: str | None = None
    missing: bool = False


@dataclass(frozen=True)
class Collected:
    """``submissions`` sorted by student; ``ignored`` are sentences about files that belong to nobody."""

    submissions: tuple[Submission, ...]
    ignored: tuple[str, ...] = ()


def collect(submitted: Path, lab: str) -> Collected:
    """Every student's submission of ``lab`` under ``submitted``.

    Raises NothingToGrade (a sentence) when the folder does not exist, holds no student, or nobody
    handed in this lab.
    """
    if not submitted.is_dir():
        raise NothingToGrade(
            f"There is no folder {submitted}: give the folder that holds one folder per student."
        )
    submissions, ignored, taken = [], [], set()
    for entry in sorted(os.scandir(submitted), key=lambda item: item.name):
        if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
            continue
        if not entry.is_dir():
            if entry.name.endswith(".ipynb"):
                ignored.append(
                    f"{readable(entry.name)} lies outside a student's folder and was left out: "
                    f"put it at STUDENT/{lab}/{lab}.ipynb."
                )
            continue
        student = _unique(readable(entry.name), taken)
        taken.add(student)
        submissions.append(_named(Path(entry.path), student, lab))
    submissions.sort(key=lambda submission: submission.student)
    if all(submission.missing for submission in submissions):
        hint = f" {ignored[0]}" if ignored else ""
        raise NothingToGrade(
            f"No submission of {lab} in {submitted}: expected STUDENT/{lab}/{lab}.ipynb in it.{hint}"
        )
    return Collected(tuple(submissions), tuple(ignored))


def readable(name: str) -> str:
    """A file name as text that can be printed and stored: undecodable bytes and control characters
    become U+FFFD."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(
        char if char.isprintable() or char == " " else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def _unique(student: str, taken: set[str]) -> str:
    number, candidate = 2, student
    while candidate in taken:
        candidate, number = f"{student}~{number}", number + 1
    return candidate


def _named(folder: Path, student: str, lab: str) -> Submission:
    """:func:`_submission`, with a folder that cannot be read as that student's problem."""
    try:
        return _submission(folder, student, lab)
    except OSError as problem:
        where = readable(Path(problem.filename).name) if isinstance(problem.filename, str) else readable(folder.name)
        why = problem.strerror or type(problem).__name__
        return Submission(
            student,
            lab,
            problem=f"The hand-in could not be read ({where}: {why}). Make the folder readable and grade again.",
        )


def _submission(folder: Path, student: str, lab: str) -> Submission:
    place, notes = _lab_folder(folder, lab)
    if place is None:
        return Submission(student, lab, problem=f"Nothing was handed in for {lab}.", missing=True)
    if place.is_symlink():
        return Submission(
            student, lab, problem=f"{readable(place.name)} is a link, and links are not followed."
        )
    notebooks = _notebooks(place)
    if place == folder:
        notebooks = [path for path in notebooks if path.parent == folder and path.stem == lab]
        if not notebooks:
            return Submission(student, lab, problem=f"Nothing was handed in for {lab}.", missing=True)
    timestamp = _timestamp(place)
    exact = [path for path in notebooks if path.name == f"{lab}.ipynb"]
    chosen = exact if exact else notebooks
    if not chosen:
        return Submission(
            student,
            lab,
            timestamp=timestamp,
            problem=f"The folder {readable(place.name)} holds no notebook: "
            "a file that ends in .ipynb was expected.",
        )
    chosen.sort(key=lambda path: (len(path.parts), str(path)))
    if len(chosen) > 1 and not exact:
        names = ", ".join(readable(path.name) for path in chosen[:4])
        return Submission(
            student,
            lab,
            timestamp=timestamp,
            problem=f"There are {len(chosen)} notebooks and none is called {lab}.ipynb ({names}): "
            "rename the one that counts.",
        )
    path = chosen[0]
    if not exact:
        notes.append(f"The file is called {readable(path.name)}; it was taken as {lab}.ipynb.")
    elif len(exact) > 1:
        notes.append(f"There are {len(exact)} files called {lab}.ipynb; the one nearest the top was taken.")
    if path.is_symlink() or not stat.S_ISREG(path.lstat().st_mode):
        return Submission(
            student,
            lab,
            timestamp=timestamp,
            problem=f"{readable(path.name)} is a link or a device, not a file, and was not opened.",
        )
    return Submission(student, lab, path, timestamp, tuple(notes))


def _lab_folder(folder: Path, lab: str) -> tuple[Path | None, list[str]]:
    """The student's folder of this lab and notes; the student's own folder when the notebook lies
    right in it; None when there is neither."""
    exact = folder / lab
    if exact.is_dir() or exact.is_symlink():
        return exact, []
    alike = [
        path
        for path in sorted(folder.iterdir())
        if path.is_dir() and path.name.strip().casefold() == lab.casefold()
    ]
    if alike:
        return alike[0], [f"The folder is called {readable(alike[0].name)}; it was taken as {lab}."]
    if (folder / f"{lab}.ipynb").exists():
        return folder, [f"The notebook lay in the student's own folder; it was taken as {lab}/{lab}.ipynb."]
    return None, []


def _notebooks(folder: Path) -> list[Path]:
    """Every .ipynb below ``folder``, a few folders deep, links to folders not followed."""
    found = []
    for where, folders, files in os.walk(folder, followlinks=False, onerror=_raise):
        here = Path(where)
        depth = len(here.relative_to(folder).parts)
        folders[:] = sorted(
            name
            for name in folders
            if depth < DEEPEST_FOLDER and name not in SKIPPED_FOLDERS and not name.startswith(".")
        )
        found += [
            here / name for name in sorted(files) if name.endswith(".ipynb") and not name.startswith(".")
        ]
    return found


def _raise(problem: OSError) -> None:
    raise problem


def _timestamp(folder: Path) -> str | None:
    path = folder / "timestamp.txt"
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        text = file.read(200).decode("utf-8", "replace").strip()
    return text or None
