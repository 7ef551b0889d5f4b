"""The released notebook: its tests, roles and points are the only ones that count."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.classroom.cells import check_call, nbgrader_data
from autograder.classroom.errors import BadRelease


@dataclass(frozen=True)
class CheckCell:
    """A graded code cell: ``check(check_id, name)`` worth ``points``. ``kind`` is what to
    gather: "kernel", "device" or "host"."""

    grade_id: str
    check_id: str
    name: str
    kind: str
    points: float


@dataclass(frozen=True)
class Release:
    """One lab as released. ``notebook`` is an nbformat 4 node and is never changed; ``written`` maps
    the grade_id of each manually graded cell to its points; ``solutions`` are the grade_ids that the
    student edits."""

    lab: str
    path: Path
    notebook: Any
    checks: tuple[CheckCell, ...]
    written: dict[str, float]
    solutions: tuple[str, ...]

    @property
    def max_score(self) -> float:
        """Points of every graded cell together."""
        return sum(check.points for check in self.checks) + sum(self.written.values())

    @cached_property
    def cleared(self) -> Any:
        """The notebook without outputs; never changed. Its cells stand in every submission of a class, which
        has one of each in memory."""
        notebook = copy.deepcopy(self.notebook)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        return notebook


def find_release(lab: str, released: Path | None) -> Path:
    """The released notebook of ``lab``: ``released`` may be the labs folder, the lab's folder or the
    notebook; None means ``labs`` here or beside the package. Raises BadRelease."""
    places = []
    roots = [released] if released else [Path("labs"), Path(__file__).resolve().parents[2] / "labs"]
    for root in roots:
        if root.suffix == ".ipynb":
            places.append(root)
        places += [root / lab / f"{lab}.ipynb", root / f"{lab}.ipynb"]
    for place in places:
        if place.is_file():
            return place
    known = sorted({path.stem for root in roots for path in root.glob("*/*.ipynb") if path.stem == path.parent.name})
    given = lab.lower()
    near = difflib.get_close_matches(given, known, 1) or [name for name in known if name.startswith(given)]
    advice = "check the lab's name, or say where the released notebooks are with --released FOLDER."
    if known:
        advice = f"did you mean {near[0]}? " if near else ""
        advice += f"Released are {', '.join(known)}; for others say where they are with --released FOLDER."
    raise BadRelease(f"The released notebook of {lab} was not found ({places[0]}): {advice}")


def load_release(lab: str, path: Path, exercise: Callable[[str], Any] | None = None) -> Release:
    """Read the released notebook. ``exercise`` finds an exercise by id (default: the course's).

    Raises BadRelease when it cannot be graded against: a graded code cell that is not one
    ``check(...)`` call, two cells of one grade_id, or points that differ from the exercise's.
    """
    import nbformat

    if exercise is None:
        from autograder.exercises import get as exercise
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat raises many kinds; the instructor needs one sentence
        raise BadRelease(
            f"The released notebook {path} cannot be read ({type(error).__name__}): build it again."
        ) from error
    checks, written, solutions, seen = [], {}, [], set()
    for cell in notebook.cells:
        data = nbgrader_data(cell)
        grade_id = data.get("grade_id")
        if not grade_id:
            continue
        if grade_id in seen:
            raise BadRelease(f"The released notebook {path} has two cells called {grade_id}: build it again.")
        seen.add(grade_id)
        if data.get("solution"):
            solutions.append(grade_id)
        if data.get("grade"):
            points = float(data.get("points") or 0)
            if data.get("solution") or cell.cell_type != "code":
                written[grade_id] = points
            else:
                checks.append(_check_cell(cell.source, grade_id, points, path, exercise))
    if not checks and not written:
        raise BadRelease(f"The notebook {path} has no graded cell: is it the released one?")
    return Release(lab, path, notebook, tuple(checks), written, tuple(solutions))


def _check_cell(
    source: str, grade_id: str, points: float, path: Path, exercise: Callable[[str], Any]
) -> CheckCell:
    call = check_call(source)
    if call is None:
        raise BadRelease(
            f'Cell {grade_id} of {path} is graded but is not one check("...", name) call: '
            "only such cells can be judged without running the student's code."
        )
    check_id, name = call
    try:
        found = exercise(check_id.rpartition(".")[0])
        expected = float(found.check(check_id.rpartition(".")[2]).points)
    except (KeyError, ValueError, LookupError) as error:
        raise BadRelease(
            f"Cell {grade_id} of {path} asks for the check {check_id}, which this version does not have."
        ) from error
    if expected != points:
        raise BadRelease(
            f"Cell {grade_id} of {path} is worth {points:g} points, but {check_id} gives {expected:g}: "
            "build the notebook again with this version."
        )
    return CheckCell(grade_id, check_id, name, found.source_kind, points)
