"""What a check cell earned, and how it is said in the cell's output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from autograder.classroom.decoding import storable
from autograder.classroom.judging import PICTURE
from autograder.classroom.release import CheckCell
from autograder.report import Report
from autograder.source import SourceRefused

PRINTED = "printed"  # in a report's details


@dataclass(frozen=True)
class Verdict:
    """One check cell of one student.

    ``points`` is None when the check could not be judged. ``text`` is what the cell prints and
    ``html`` its table (None: none); ``bugs`` are the titles of the known mistakes that the output
    matches; ``reason`` is a sentence when there is no mark or not a full one ("" for an exercise that
    nobody has begun).
    """

    grade_id: str
    check_id: str
    points: float | None
    max_points: float
    text: str
    html: str | None = None
    bugs: tuple[str, ...] = ()
    reason: str = ""

    @property
    def exercise(self) -> str:
        """The exercise's name, "row_max" of "lab1.row_max.values"."""
        return self.check_id.split(".")[1]


def from_report(cell: CheckCell, report: Report) -> Verdict:
    """The verdict of a judged check. Points stay within 0 and the cell's own. What the kernel printed is left out:
    it may be the hidden run's numbers, and whoever has them can write the answers into a kernel."""
    from autograder import render

    if report.error is not None:
        return could_not(cell, report.error)
    points = min(max(float(report.points), 0.0), cell.points)
    report = replace(report, details={name: value for name, value in report.details.items() if name != PRINTED})
    bugs: dict[str, None] = {}
    for check in report.checks:
        for bug in ([check.bug] if check.bug else []) + list(check.bugs):
            bugs[bug["title"]] = None
    return Verdict(
        cell.grade_id,
        cell.check_id,
        points,
        cell.points,
        text=storable(render.words(report)),
        html=storable(render.html(report) + report.details.get(PICTURE, "")),
        bugs=tuple(bugs),
        reason="" if points >= cell.points else storable(report.message),
    )


def refused(cell: CheckCell, refusal: SourceRefused) -> Verdict:
    """The student's text is no kernel that may be judged: no points, and the reason. An exercise that
    nobody has begun is no news."""
    from autograder import render
    from autograder.judge.ids import parse
    from autograder.judge.reports import all_fail

    sentence = storable(str(refusal)).rstrip(".") + "."
    report = all_fail(*parse(cell.check_id), "notebook", sentence)
    return Verdict(
        cell.grade_id,
        cell.check_id,
        0.0,
        cell.points,
        text=storable(render.words(report)),
        html=storable(render.html(report)),
        reason="" if refusal.untouched else sentence,
    )


def could_not(cell: CheckCell, sentence: str) -> Verdict:
    """No mark can be given by the machine; a person decides."""
    sentence = storable(sentence)
    return Verdict(
        cell.grade_id,
        cell.check_id,
        None,
        cell.points,
        text=f"This check could not be judged: {sentence} Your instructor will look at it.",
        reason=sentence,
    )


def outputs(verdict: Verdict) -> list[Any]:
    """The check cell's outputs, as if it had been run: printed text, a table, and the points.

    A check that could not be judged ends in 0.0, so that nobody who runs nbgrader over the notebook
    later takes silence for full points; the gradebook marks it for a person.
    """
    from nbformat import from_dict  # v4.new_output checks each against the format, and a class has many

    made: list[dict[str, Any]] = [{"output_type": "stream", "name": "stdout", "text": verdict.text.rstrip("\n") + "\n"}]
    if verdict.html:
        data = {"text/html": verdict.html, "text/plain": "(table)"}
        made.append({"output_type": "display_data", "metadata": {}, "data": data})
    points = 0.0 if verdict.points is None else float(verdict.points)
    data = {"text/plain": repr(points)}
    made.append({"output_type": "execute_result", "metadata": {}, "data": data, "execution_count": None})
    return [from_dict(output) for output in made]
