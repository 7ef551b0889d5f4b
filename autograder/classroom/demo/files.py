"""The bundled class's notebooks: released labs with answers filled in, some of them spoilt on purpose."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.classroom.cells import nbgrader_data
from autograder.classroom.demo.roster import Student
from autograder.classroom.files import write_atomically
from autograder.classroom.release import Release


def write_class(students: tuple[Student, ...], releases: list[Release], folder: Path) -> None:
    """Write STUDENT/LAB/LAB.ipynb for everyone under ``folder``; the same bytes every time."""
    for student in students:
        (folder / student.id).mkdir(parents=True, exist_ok=True)
        for release in releases:
            if student.hands_in(release.lab):
                name, data = submission(student, release)
                write_atomically(folder / student.id / release.lab / name, data)


def submission(student: Student, release: Release) -> tuple[str, bytes]:
    """File name and bytes of what one student hands in."""
    notebook = json.loads(json.dumps(release.notebook))
    answers = {check.name: check.check_id.rpartition(".")[0] for check in release.checks}
    for cell in notebook["cells"]:
        data = nbgrader_data(cell)
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        if not data.get("solution"):
            continue
        if data.get("grade"):
            cell["source"] = cell["source"] if student.written is None else student.written
        else:
            text = _answer_text(student, cell["source"], answers)
            cell["source"] = cell["source"] if text is None else text
    damage = student.damage.get(release.lab, "none")
    return DAMAGES[damage](notebook, release.lab)


def _answer_text(student: Student, stub: str, answers: dict[str, str]) -> str | None:
    """The text for a solution cell, found by the name that its stub defines."""
    for node in ast.parse(stub).body:
        exercise_id = answers.get(getattr(node, "name", ""))
        if exercise_id is not None:
            return student.answer(exercise_id).text
    return None


def _plain(notebook: Any, lab: str) -> tuple[str, bytes]:
    return f"{lab}.ipynb", _bytes(notebook)


def _bytes(notebook: Any) -> bytes:
    return (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode("utf-8")


def _bom(notebook: Any, lab: str) -> tuple[str, bytes]:
    return f"{lab}.ipynb", b"\xef\xbb\xbf" + _bytes(notebook)


def _renamed(notebook: Any, lab: str) -> tuple[str, bytes]:
    return f"{lab} (final) copy.ipynb", _bytes(notebook)


def _own_cell(notebook: Any, lab: str) -> tuple[str, bytes]:
    """What stands above the last kernel moves to a new cell before it, as people do with helpers."""
    at, cell = _last_solution(notebook)
    above, cell["source"] = _split_before_last(cell["source"])
    own = {
        "cell_type": "code",
        "execution_count": None,
        "id": "own",
        "metadata": {},
        "outputs": [],
        "source": above,
    }
    notebook["cells"].insert(at, own)
    return _plain(notebook, lab)


def _last_solution(notebook: Any) -> tuple[int, Any]:
    """Place and cell of the last kernel that a student wrote."""
    return [
        (at, cell)
        for at, cell in enumerate(notebook["cells"])
        if cell["cell_type"] == "code"
        and nbgrader_data(cell).get("solution")
        and "@cuda.jit" in cell["source"]
    ][-1]


def _split_before_last(text: str) -> tuple[str, str]:
    """The text before the last definition, decorators included, and the rest."""
    last = ast.parse(text).body[-1]
    first_line = min([last.lineno, *(item.lineno for item in getattr(last, "decorator_list", []))])
    lines = text.splitlines(keepends=True)
    return "".join(lines[: first_line - 1]).rstrip(), "".join(lines[first_line - 1 :])


def _copied(notebook: Any, lab: str) -> tuple[str, bytes]:
    """The last solution cell is there twice with the same grade_id."""
    at, cell = _last_solution(notebook)
    notebook["cells"].insert(
        at, {**copy.deepcopy(cell), "id": "twin", "source": "# first attempt, see below"}
    )
    return _plain(notebook, lab)


def _stripped(notebook: Any, lab: str) -> tuple[str, bytes]:
    """As some viewers save it: no metadata, no cell ids."""
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    return _plain({**notebook, "nbformat_minor": 4}, lab)


def _not_a_notebook(_notebook: Any, lab: str) -> tuple[str, bytes]:
    return f"{lab}.ipynb", b"Dear instructor,\n\nmy notebook did not save. Here is a note instead.\n"


def _cut_off(notebook: Any, lab: str) -> tuple[str, bytes]:
    data = _bytes(notebook)
    return f"{lab}.ipynb", data[: len(data) // 2]


DAMAGES: dict[str, Callable[[Any, str], tuple[str, bytes]]] = {
    "none": _plain,
    "bom": _bom,
    "renamed": _renamed,
    "own_cell": _own_cell,
    "copied": _copied,
    "stripped": _stripped,
    "not_a_notebook": _not_a_notebook,
    "cut_off": _cut_off,
}
LOST_ENTIRELY = frozenset({"not_a_notebook", "cut_off"})
