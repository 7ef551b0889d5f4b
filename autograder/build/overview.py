"""The README's table of lessons and labs, made from the sources and the exercises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from autograder.build.layout import BuildError, Course
from autograder.build.notebook import Source
from autograder.exercises.model import Exercise

BEGIN = "<!-- lessons and labs: written by `autograder build` from the sources -->"
END = "<!-- end of lessons and labs -->"
_TIME = re.compile(r"\*\*Time\.\*\* ([^.;]+)")


def with_overview(
    readme: str, course: Course, sources: Mapping[str, Source], exercises: Iterable[Exercise]
) -> str:
    """``readme`` with its table renewed; as it is when it has no place for one.

    Raises BuildError when a lab's source does not say how long it takes.
    """
    if BEGIN not in readme or END not in readme:
        return readme
    before, _, rest = readme.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{table(course, sources, exercises)}{END}{after}"


def table(course: Course, sources: Mapping[str, Source], exercises: Iterable[Exercise]) -> str:
    """A row for each lesson with its lab, in the order in which a student meets them."""
    by_lab: dict[str, list[Exercise]] = {}
    for exercise in exercises:
        by_lab.setdefault(exercise.lab, []).append(exercise)
    labs = {_number(lab.name): lab for lab in course.labs}
    rows = ["| lesson | lab | you write | points | time for the lab |", "|---|---|---|---|---|"]
    for lesson in course.lessons:
        number = _number(lesson.name)
        cells = [f"[{number:02} {_title(sources[lesson.name])}]({course.show(lesson.notebook)})"]
        lab = labs.get(number)
        if lab is None:
            cells += [""] * 4
        else:
            own = by_lab.get(lab.name, [])
            automatic = sum(check.points for exercise in own for check in exercise.checks)
            written = _written(sources[lab.name])
            cells += [
                f"[{number}]({course.show(lab.released)})",
                ", ".join(f"`{exercise.name}`" for exercise in own),
                f"{automatic + written:g}",
                _time(sources[lab.name], course.show(lab.source)),
            ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _number(name: str) -> int:
    """3 for "03_merge_reduce" and for "lab3_merge_reduce"."""
    return int(re.match(r"(?:lab)?(\d+)", name).group(1))


def _title(source: Source) -> str:
    heading = source.cells[0].source.splitlines()[0].lstrip("# ").strip()
    return heading.removeprefix("Lesson").strip(" 0123456789:·")


def _written(source: Source) -> float:
    """Points of the answers that a person reads."""
    marks = [cell.metadata.get("nbgrader", {}) for cell in source.cells if cell.cell_type == "markdown"]
    return sum(float(mark.get("points", 0)) for mark in marks if mark.get("grade"))


def _time(source: Source, name: str) -> str:
    for cell in source.cells:
        found = _TIME.search(cell.source) if cell.cell_type == "markdown" else None
        if found:
            return found.group(1).strip().lower()
    raise BuildError(f'{name} does not say how long the lab takes. Write "**Time.** About 2 hours." near its start.')
