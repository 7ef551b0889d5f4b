"""A folder as ``autograder grade`` leaves it, made in milliseconds: for tests of exports and the class report."""

from __future__ import annotations

import json
from pathlib import Path

from autograder.classroom import grades
from autograder.classroom.grades import Row

LAB = "lab1_three_pass"
MAX, SUM = "lab1.row_max", "lab1.row_sum"
CHECKS = {f"{MAX}.values": 1, f"{MAX}.rescale": 1, f"{SUM}.values": 2}
WRITTEN = "lab1_written"
STUB = "@cuda.jit\ndef {}(X, out):\n    raise NotImplementedError()"


def row(student: str, *points: float | None, status: str = grades.GRADED, **more) -> Row:
    """A line with the points of the three checks and the written answer."""
    values = dict(zip([*CHECKS, WRITTEN], points or (None,) * 4, strict=True))
    score = None if all(value is None for value in points) else sum(value or 0 for value in points)
    return Row(student, LAB, status, more.pop("score", score), 6, values, **more)


def write_outcome(out: Path, rows: list[Row], kernels: dict[str, dict[str, str]] | None = None) -> Path:
    """Write grades.csv, the released lab, and a notebook and a page for each student who has points. ``kernels``
    are the texts by student and function; who has none keeps the stub."""
    columns = [*CHECKS, WRITTEN]
    grades.write_grades(out / "grades.csv", rows, columns)
    _write(out / "source" / LAB / f"{LAB}.ipynb", _cells({}))
    for one in rows:
        if one.score is not None:
            mine = (kernels or {}).get(one.student, {})
            _write(out / "autograded" / one.student / LAB / f"{LAB}.ipynb", _cells(mine, one))
            page = out / "feedback" / one.student / LAB / f"{LAB}.html"
            page.parent.mkdir(parents=True)
            page.write_text("<p>feedback</p>")
    return out


def _cells(kernels: dict[str, str], row: Row | None = None) -> list[dict]:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["# Lab 1: ", "a small one"]}]
    for exercise in (MAX, SUM):
        name = exercise.split(".")[1]
        text = kernels.get(name, STUB.format(name))
        cells.append(_cell("code", name, text.splitlines(keepends=True), solution=True))
        for check, points in CHECKS.items():
            if check.startswith(exercise):
                cell = _cell("code", check.split(".", 1)[1].replace(".", "_"), f'check("{check}", {name})', points)
                if row is not None:
                    said = f"verdict on {check}\x1b[31m\n"
                    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["first\n", said]}]
                cells.append(cell)
    cells.append(_cell("markdown", WRITTEN, "answer", 2, solution=True))
    return cells


def _cell(kind: str, grade_id: str, text: str | list[str], points: float | None = None, solution: bool = False) -> dict:
    data = {"grade_id": grade_id, "solution": solution, "grade": points is not None}
    if points is not None:
        data["points"] = points
    return {"cell_type": kind, "metadata": {"nbgrader": data}, "source": text}


def _write(path: Path, cells: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
