"""What lies in the folders, against what the sources build."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.build.builder import Say, build_labs, build_lesson, build_readme, read_sources, without_outputs
from autograder.build.layout import BuildError, Course
from autograder.build.leaks import leak_problems
from autograder.build.notebook import Source, from_bytes
from autograder.build.rules import (
    Expected,
    exercise_problems,
    expected_checks,
    lab_problems,
    lesson_problems,
    style_problems,
)

# Which simulator ran is the one word of a lesson that depends on the machine (macOS has no numba-cuda).
_SIMULATOR = re.compile(rb'^ +"simulator \([^)"\\]*\)', re.MULTILINE)
_LEFT_BY_EDITORS = {".ipynb_checkpoints", "__pycache__", ".DS_Store"}


@dataclass(frozen=True)
class Verdict:
    """Result of a check: ``problems`` make it fail, ``warnings`` are about style. Both are sentences."""

    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def check(
    course: Course,
    run: bool = True,
    expected: Mapping[str, Mapping[str, Expected]] | None = None,
    say: Say = lambda line: None,
) -> Verdict:
    """Compare every notebook of the course with its source, and both with the rules.

    ``run`` executes the lessons and compares their outputs too; without it only cells are compared.
    ``expected`` maps lab to {check id: Expected}; by default it is what autograder.exercises says.
    """
    problems: list[str] = []
    if not course.labs:
        problems.append("There are no lab sources: no solutions/*.py.")
    if not course.lessons:
        problems.append("There are no lesson sources: no course/*.py.")
    try:
        sources = read_sources(course)
    except BuildError as error:
        return Verdict((*problems, *error.problems), ())
    if expected is None:
        from autograder.exercises import all_exercises

        problems += exercise_problems(all_exercises())
    for lab in course.labs:
        wanted = expected_checks(lab.name) if expected is None else expected.get(lab.name, {})
        if not wanted:
            problems.append(f"{course.show(lab.source)}: autograder.exercises has no exercise of lab {lab.name}.")
        problems += lab_problems(sources[lab.name], wanted)
    for lesson in course.lessons:
        problems += lesson_problems(sources[lesson.name])
    problems += stray_files(course)
    problems += release_problems(course, sources, say)
    problems += lesson_drift(course, sources, run, say)
    problems += readme_drift(course, sources)
    warnings = [line for source in sources.values() for line in style_problems(source)]
    return Verdict(tuple(problems), tuple(warnings))


def release_problems(course: Course, sources: Mapping[str, Source], say: Say) -> list[str]:
    """Drift and leaks of the labs' notebooks."""
    if course.labs:
        say("releasing the labs once more")
    found = leaks_on_disk(course, sources)
    try:
        files = build_labs(course, course.labs, sources)
    except BuildError as error:
        return [*found, *error.problems]
    for path, data in files.items():
        found += compare(course, path, data)
    for lab in course.labs:
        name = course.show(lab.released)
        # what a build would give away, whether or not it is on disk yet
        found += leak_problems(name, from_bytes(files[lab.solved]), from_bytes(files[lab.released]))
    return list(dict.fromkeys(found))


def leaks_on_disk(course: Course, sources: Mapping[str, Source]) -> list[str]:
    """What the released notebooks that lie there give away of their sources."""
    found = []
    for lab in course.labs:
        if not lab.released.is_file():
            continue
        try:
            released = from_bytes(lab.released.read_bytes())
        except ValueError as error:
            found.append(f"{course.show(lab.released)} is {error}.")
            continue
        found += leak_problems(course.show(lab.released), sources[lab.name], released)
    return found


def lesson_drift(course: Course, sources: Mapping[str, Source], run: bool, say: Say) -> list[str]:
    """Drift of the lessons' notebooks, outputs included when they are ``run``."""
    found = []
    for lesson in course.lessons:
        if run:
            say(f"running {course.show(lesson.source)}")
        try:
            data = build_lesson(course, lesson, sources[lesson.name], run)
        except BuildError as error:
            found += error.problems
            continue
        found += compare(course, lesson.notebook, data, outputs=run)
    return found


def readme_drift(course: Course, sources: Mapping[str, Source]) -> list[str]:
    """One sentence when the README's table of lessons and labs is not what the sources say."""
    try:
        files = build_readme(course, sources)
    except BuildError as error:
        return list(error.problems)
    return [
        f"{course.show(path)}: its table of lessons and labs is out of step. Run autograder build."
        for path, data in files.items()
        if path.read_bytes() != data
    ]


def compare(course: Course, path: Path, data: bytes, outputs: bool = True) -> list[str]:
    """One sentence when the file at ``path`` is not ``data``, none when it is."""
    name = course.show(path)
    if not path.is_file():
        return [f"{name} is missing. Run autograder build."]
    there = path.read_bytes()
    try:
        if not outputs:
            there, data = without_outputs(there), without_outputs(data)
        if _SIMULATOR.sub(b"", there) == _SIMULATOR.sub(b"", data):
            return []
        return [f"{name} is not what its source builds ({_difference(there, data)}). Run autograder build."]
    except Exception as error:  # a file that is no notebook at all
        return [f"{name} cannot be read ({error}). Run autograder build."]


def _difference(there: bytes, data: bytes) -> str:
    """Where two notebooks differ first, in a few words."""
    old, new = from_bytes(there).cells, from_bytes(data).cells
    for number, (left, right) in enumerate(zip(old, new, strict=False), 1):
        if left.cell_type != right.cell_type or left.source != right.source:
            return f"cell {number} has another text"
        if left.get("outputs") != right.get("outputs"):
            return f"cell {number} has another output"
        if left != right:
            return f"cell {number} has other metadata"
    if len(old) != len(new):
        return f"{len(old)} cells instead of {len(new)}"
    return "other notebook metadata or line endings"


def stray_files(course: Course) -> list[str]:
    """Files in labs/, in solutions/*/ and notebooks in course/ that no source builds.

    A wheel of the course may lie beside a notebook: the setup cell installs it from there.
    """
    built = {path for lab in course.labs for path in (lab.solved, lab.released)}
    built |= {lesson.notebook for lesson in course.lessons}
    sources = {lab.source for lab in course.labs}
    found = []
    for path in _files(course.root / "labs", course.root / "solutions"):
        if path in built or path in sources:
            continue
        wheel = path.suffix == ".whl" and path.name.startswith("online_softmax_course-")
        if wheel and path.parent in {one.parent for one in built}:
            continue
        name = course.show(path)
        if path.suffix == ".py" and path.is_relative_to(course.root / "solutions"):
            found.append(f"{name} would be copied into the release with the answers in it. Keep sources in solutions/.")
        else:
            found.append(f"{name} is a stray file: no source builds it. Remove it.")
    for path in sorted((course.root / "course").glob("*.ipynb")):
        if path not in built:
            found.append(f"{course.show(path)} is a stray file: no source builds it. Remove it.")
    return found


def _files(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not _LEFT_BY_EDITORS & set(path.relative_to(folder).parts):
                yield path
