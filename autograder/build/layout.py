"""Where the sources of a course and its built notebooks lie."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


class BuildError(Exception):
    """Something stops the build. ``problems`` are whole sentences, the first one is ``str(error)``."""

    def __init__(self, *problems: str) -> None:
        super().__init__(problems[0] if problems else "The build failed.")
        self.problems = problems


@dataclass(frozen=True)
class Lab:
    """One lab: its source, the solved notebook and the released one (absolute paths)."""

    name: str
    source: Path
    solved: Path
    released: Path


@dataclass(frozen=True)
class Lesson:
    """One lesson: its source and its executed notebook (absolute paths)."""

    name: str
    source: Path
    notebook: Path


@dataclass(frozen=True)
class Course:
    """All sources under ``root``. ``repository`` is the address that notebooks install from."""

    root: Path
    repository: str
    labs: tuple[Lab, ...]
    lessons: tuple[Lesson, ...]

    def show(self, path: Path) -> str:
        """``path`` as a person would name it: relative to the course, with forward slashes."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.as_posix()


def find_root(start: Path) -> Path:
    """The course that ``start`` lies in: the nearest folder above with pyproject.toml and course/.

    Raises BuildError when there is none.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").is_file() and (folder / "course").is_dir():
            return folder
    raise BuildError(
        f"There is no course in {start} or above it. Run this in a copy of the course's repository, "
        "or name the folder: autograder build --root FOLDER"
    )


def find_course(root: Path, repository: str | None = None) -> Course:
    """The course under ``root``; ``repository`` None takes the address in pyproject.toml.

    Raises BuildError when the address is missing or a source has a name nbgrader cannot use.
    """
    root = root.resolve()
    labs = tuple(
        Lab(
            name=source.stem,
            source=source,
            solved=root / "solutions" / source.stem / f"{source.stem}.ipynb",
            released=root / "labs" / source.stem / f"{source.stem}.ipynb",
        )
        for source in sorted((root / "solutions").glob("*.py"))
    )
    lessons = tuple(
        Lesson(name=source.stem, source=source, notebook=source.with_suffix(".ipynb"))
        for source in sorted((root / "course").glob("*.py"))
    )
    for item in (*labs, *lessons):
        if not item.name.replace("_", "").isalnum() or not item.name.isascii():
            raise BuildError(
                f"{item.source.name}: use only letters, digits and underscores in the name of a source; "
                "nbgrader and links need that."
            )
    return Course(root, repository or read_repository(root), labs, lessons)


def read_repository(root: Path) -> str:
    """The Repository address under [project.urls] in ``root``/pyproject.toml.

    Raises BuildError when there is none.
    """
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        return str(project["project"]["urls"]["Repository"])
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise BuildError(
            f"No Repository address in {root / 'pyproject.toml'} under [project.urls] ({error}). Notebooks "
            "install the course from it: write it there, or give --repository URL."
        ) from error
