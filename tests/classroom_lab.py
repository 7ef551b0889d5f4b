"""A small released lab, and a judge and a gatherer that answer by a word in the text: enough to test
everything around the judge. Used by the tests of autograder.classroom."""

from __future__ import annotations

import csv
import functools
import io
import json
from dataclasses import dataclass
from pathlib import Path

import nbformat.v4 as v4
import nbgrader.api
import pytest
from nbgrader.preprocessors import ComputeChecksums

from autograder.classroom import grading
from autograder.report import CheckResult, Report
from autograder.source import SourceRefused

LAB = "lab1_three_pass"
STUB = "@cuda.jit\ndef row_max(X, out):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
STUB_SUM = STUB.replace("row_max", "row_sum")
EMPTY = "YOUR ANSWER HERE"
GOOD = "@cuda.jit\ndef row_max(X, out):\n    good"
BAD = "@cuda.jit\ndef row_max(X, out):\n    bad"
CRASH = "@cuda.jit\ndef row_max(X, out):\n    crash"
REFUSED = "@cuda.jit\ndef row_max(X, out):\n    import os"


def _cell(kind: str, text: str, name: str, **role) -> dict:
    cell = (v4.new_code_cell if kind == "code" else v4.new_markdown_cell)(text, id=name)
    if role:
        defaults = {
            "grade_id": name,
            "schema_version": 3,
            "grade": False,
            "solution": False,
            "locked": False,
            "task": False,
            "cell_type": kind,
        }
        cell.metadata.nbgrader = {**defaults, **role}
    return cell


def released():
    """The released notebook: two kernels (one check each, and one more), and a written question."""
    notebook = v4.new_notebook(
        cells=[
            _cell("markdown", "# A small lab", "title"),
            _cell("code", "# setup", "setup", locked=True),
            _cell("markdown", "Write row_max.", "text-max"),
            _cell("code", STUB, "row_max", solution=True),
            _cell(
                "code",
                'check("lab1.row_max.values", row_max)',
                "row_max_values",
                grade=True,
                locked=True,
                points=1,
            ),
            _cell(
                "code",
                'check("lab1.row_max.rescale", row_max)',
                "row_max_rescale",
                grade=True,
                locked=True,
                points=1,
            ),
            _cell("markdown", "Write row_sum.", "text-sum"),
            _cell("code", STUB_SUM, "row_sum", solution=True),
            _cell(
                "code",
                'check("lab1.row_sum.values", row_sum)',
                "row_sum_values",
                grade=True,
                locked=True,
                points=1,
            ),
            _cell("markdown", "Why?", "text-why"),
            _cell("markdown", EMPTY, "lab1_written", grade=True, solution=True, points=2),
            _cell("markdown", "The end.", "end"),
        ]
    )
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return ComputeChecksums().preprocess(notebook, {})[0]


def answered(
    row_max: str = GOOD, row_sum: str = GOOD.replace("row_max", "row_sum"), written: str = "Because."
):
    """The released notebook with answers."""
    notebook = released()
    for cell in notebook.cells:
        text = {"row_max": row_max, "row_sum": row_sum, "lab1_written": written}.get(cell.id)
        if text is not None:
            cell.source = text
    return notebook


def write(path: Path, notebook) -> Path:
    """Write a notebook, or bytes, with the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode())
    return path


def write_release(root: Path) -> Path:
    """The released lab in a labs folder; returns that folder."""
    write(root / "labs" / LAB / f"{LAB}.ipynb", released())
    return root / "labs"


def hand_in(root: Path, student: str, notebook) -> Path:
    """One submission under ``root``/submitted; returns that folder."""
    write(root / "submitted" / student / LAB / f"{LAB}.ipynb", notebook)
    return root / "submitted"


@dataclass(frozen=True)
class Source:
    digest: str
    lines: tuple = ()
    labels: tuple = ()


def gather(notebook, name, kind="kernel", before=None):
    """The last cell above ``before`` that defines ``name``; refuses imports and stubs."""
    text = None
    for cell in notebook.cells:
        if before is not None and cell.metadata.get("nbgrader", {}).get("grade_id") == before:
            break
        if cell.cell_type == "code" and f"def {name}(" in cell.source:
            text = cell.source
    if text is None or "NotImplementedError" in text:
        raise SourceRefused(f"`{name}` is not written yet", untouched=True)
    if "import os" in text:
        raise SourceRefused("`import` is not possible inside a GPU kernel.", line=3, hint="Remove it.")
    return Source(text)


def judge(source, check_id, seed):
    """Full points for "good", none and a named bug for "bad", an error for "crash"."""
    if "crash" in source.digest:
        return Report(
            check_id, "", False, 0.0, 1.0, error="The judging process ended in the middle of this check."
        )
    passed = "good" in source.digest
    bug = None if passed else {"id": "zero", "title": "padding read as 0 in a max", "message": "Row 3 is 0."}
    message = f"seed {seed}" if passed else "Row 3 <b>is</b> 0."
    check = CheckResult(
        check_id, passed, float(passed), 1.0, bug=bug, bugs=(bug,) if bug else (), message=message
    )
    return Report(
        check_id.rpartition(".")[0], "", passed, float(passed), 1.0, checks=(check,), message=message
    )


@pytest.fixture(autouse=True, scope="module")
def alembic_once():
    """nbgrader starts a process to learn one constant for every new gradebook; here it asks once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            nbgrader.api, "get_alembic_version", functools.lru_cache(nbgrader.api.get_alembic_version)
        )
        yield


def run(root, seed=5, out="out", **options):
    """Grade the class under ``root`` with the stand-ins, without a progress bar."""
    options = {"judge": judge, "gather": gather, "released": root / "labs", **options}
    return grading.grade([LAB], root / "submitted", root / out, seed, stream=io.StringIO(), **options)


def lines(root):
    """The lines of grades.csv by student."""
    with (root / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {line["student"]: line for line in csv.DictReader(file)}


@pytest.fixture
def one(tmp_path):
    """A class of one, with the answer right."""
    write_release(tmp_path)
    hand_in(tmp_path, "ann", answered())
    return tmp_path


def grade_by_hand(root, grade_id, points):
    """What the formgrader does when a person enters a mark."""
    with nbgrader.api.Gradebook(f"sqlite:///{root / 'out' / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade(grade_id, LAB, LAB, "ann")
        grade.manual_score, grade.needs_manual_grade = points, False
        gradebook.db.commit()
