"""All notebooks of a course: built in memory, then written in one go.

Nothing is written unless everything was built, and each file appears whole (a temporary file beside
it, renamed), so that a build that fails leaves the course as it was.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import nbformat

from autograder.build.layout import BuildError, Course, Lab, Lesson
from autograder.build.lesson import run_lesson
from autograder.build.notebook import Source, make_notebook, read_source, to_bytes
from autograder.build.overview import BEGIN, with_overview
from autograder.build.release import release

Say = Callable[[str], None]


def read_sources(course: Course) -> dict[str, Source]:
    """Every source of the course by name. Raises BuildError with all that is wrong, not the first only."""
    sources, problems = {}, []
    for item in (*course.labs, *course.lessons):
        try:
            sources[item.name] = read_source(item.source, course.show(item.source))
        except BuildError as error:
            problems += error.problems
    if problems:
        raise BuildError(*problems)
    return sources


def build_labs(course: Course, labs: Iterable[Lab], sources: Mapping[str, Source]) -> dict[Path, bytes]:
    """The solved and the released notebook of each lab, {path: file}."""
    labs = list(labs)
    solved = {lab.name: to_bytes(make_notebook(sources[lab.name], course.repository, graded=True)) for lab in labs}
    released = release(solved)
    return {lab.solved: solved[lab.name] for lab in labs} | {lab.released: released[lab.name] for lab in labs}


def build_lesson(course: Course, lesson: Lesson, source: Source, run: bool = True) -> bytes:
    """The lesson's notebook as a file, executed, or without outputs when not ``run``."""
    notebook = make_notebook(source, course.repository, graded=False)
    if run:
        notebook = run_lesson(notebook, lesson.source.parent, source.show)
    return to_bytes(notebook)


def build(course: Course, names: Iterable[str] = (), say: Say = lambda line: None) -> dict[Path, bytes]:
    """Build the named labs and lessons (all of them by default) and return {path: file}.

    ``say`` gets a line before each step. Raises BuildError, with every problem found, when a name is
    unknown, there is nothing to build, or a source does not build.
    """
    wanted = set(names) or {item.name for item in (*course.labs, *course.lessons)}
    known = {item.name for item in (*course.labs, *course.lessons)}
    if not known:
        raise BuildError(f"There are no sources in {course.root}: no solutions/*.py and no course/*.py.")
    if wanted - known:
        raise BuildError(
            f"There is no lab or lesson called {', '.join(sorted(wanted - known))}. There is {', '.join(sorted(known))}."
        )
    sources = read_sources(course)
    files: dict[Path, bytes] = {}
    problems: list[str] = []
    labs = [lab for lab in course.labs if lab.name in wanted]
    try:
        if labs:
            say(f"releasing {', '.join(lab.name for lab in labs)}")
        files |= build_labs(course, labs, sources)
    except BuildError as error:
        problems += error.problems
    for lesson in course.lessons:
        if lesson.name in wanted:
            say(f"running {course.show(lesson.source)}")
            try:
                files[lesson.notebook] = build_lesson(course, lesson, sources[lesson.name])
            except BuildError as error:
                problems += error.problems
    try:
        files |= build_readme(course, sources)
    except BuildError as error:
        problems += error.problems
    if problems:
        raise BuildError(*problems)
    return files


def build_readme(course: Course, sources: Mapping[str, Source]) -> dict[Path, bytes]:
    """The README with its table of lessons and labs renewed, {path: file}; {} where it has none."""
    path = course.root / "README.md"
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8")
    if BEGIN not in text:
        return {}
    from autograder.exercises import all_exercises

    return {path: with_overview(text, course, sources, all_exercises()).encode("utf-8")}


def write(files: Mapping[Path, bytes]) -> list[Path]:
    """Write the files that differ from what is there, each in one step. Returns those written."""
    changed = [path for path, data in files.items() if not path.is_file() or path.read_bytes() != data]
    ready: list[tuple[str, Path]] = []
    try:
        for path in changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".build-", dir=path.parent)
            ready.append((temporary, path))
            with os.fdopen(handle, "wb") as file:
                file.write(files[path])
            os.chmod(temporary, 0o644)
        while ready:
            os.replace(*ready[0])
            ready.pop(0)
    finally:
        for temporary, _ in ready:
            Path(temporary).unlink(missing_ok=True)
    return changed


def without_outputs(data: bytes) -> bytes:
    """A notebook's file with the outputs of every cell taken out."""
    notebook = nbformat.reads(data.decode("utf-8"), as_version=nbformat.NO_CONVERT)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return to_bytes(notebook)
