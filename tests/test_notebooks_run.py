"""The labs as Jupyter runs them, top to bottom in a fresh kernel, marked by nbgrader's own rule.

Solved labs earn every point, released ones run to the end and earn nothing, and stock
`nbgrader autograde` agrees. The notebooks are those in solutions/ and labs/.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from nbgrader.utils import determine_grade, is_grade, is_solution

from autograder.build.layout import find_course
from autograder.build.lesson import execute
from autograder.build.notebook import from_bytes, to_bytes
from autograder.build.rules import MARKER
from autograder.exercises import all_exercises

ROOT = Path(__file__).resolve().parent.parent
COURSE = find_course(ROOT)
LABS = {lab.name: lab for lab in COURSE.labs}


def run(path, folder):
    """The notebook at ``path``, executed in ``folder`` as `Run All` would, errors kept."""
    notebook = from_bytes(path.read_bytes())
    execute(notebook, folder, path.name, allow_errors=True)
    return notebook


def grades(notebook):
    """{grade_id: (points, out of)} of the automatically graded cells, by nbgrader."""
    return {
        cell.metadata.nbgrader.grade_id: determine_grade(cell)
        for cell in notebook.cells
        if is_grade(cell) and not is_solution(cell)
    }


def errors(notebook):
    return [
        f"{cell.source.splitlines()[0]}: {output.get('ename', 'stderr')}: {output.get('evalue', output.get('text'))}"
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "error" or output.get("name") == "stderr"
    ]


def worth(lab):
    """Points of all checks of a lab, as the exercises say."""
    return sum(check.points for exercise in all_exercises() if exercise.lab == lab for check in exercise.checks)


@pytest.mark.parametrize("lab", LABS)
def test_a_solved_lab_earns_full_points_in_every_cell(lab, tmp_path):
    notebook = run(LABS[lab].solved, tmp_path)
    assert errors(notebook) == []
    marks = grades(notebook)
    assert {name: mark for name, mark in marks.items() if mark[0] != mark[1]} == {}
    assert sum(points for points, _ in marks.values()) == worth(lab) > 0
    for cell in notebook.cells:  # the score and its reason: something is shown besides the number
        if is_grade(cell) and not is_solution(cell):
            assert any("text/plain" in output.get("data", {}) and output.output_type == "display_data" for output in cell.outputs), cell.source


@pytest.mark.parametrize("lab", LABS)
def test_a_released_lab_runs_to_the_end_and_earns_nothing(lab, tmp_path):
    notebook = run(LABS[lab].released, tmp_path)
    assert errors(notebook) == []
    marks = grades(notebook)
    assert len(marks) > 0
    assert {name: mark for name, mark in marks.items() if mark[0] != 0} == {}


def fill_in(released, solved):
    """The released notebook as a student would hand it in: solutions in place of the stubs."""
    answers = {cell.id: cell.source for cell in solved.cells}
    for cell in released.cells:
        if is_solution(cell):
            lines = answers[cell.id].splitlines()
            cell.source = "\n".join(line for line in lines if not MARKER.match(line))
        if cell.cell_type == "markdown" and is_solution(cell):
            cell.source += "\n\n<script>alert(1)</script>"
    return released


def nbgrader(root, *arguments):
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    python_path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=root,
        env={**os.environ, "PATH": path, "PYTHONPATH": python_path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="module")
def class_of_two(tmp_path_factory):
    """A course graded by stock nbgrader: ada handed in lab 1 solved, bob untouched."""
    root, lab = tmp_path_factory.mktemp("class"), COURSE.labs[0]
    (root / "nbgrader_config.py").write_bytes((ROOT / "nbgrader_config.py").read_bytes())
    released, solved = (from_bytes(path.read_bytes()) for path in (lab.released, lab.solved))
    put(root / "solutions" / lab.name / f"{lab.name}.ipynb", lab.solved.read_bytes())
    put(root / "submitted" / "bob" / lab.name / f"{lab.name}.ipynb", lab.released.read_bytes())
    put(root / "submitted" / "ada" / lab.name / f"{lab.name}.ipynb", to_bytes(fill_in(released, solved)))
    nbgrader(root, "generate_assignment", lab.name)
    assert (root / "labs" / lab.name / f"{lab.name}.ipynb").read_bytes() == lab.released.read_bytes()
    nbgrader(root, "autograde", lab.name)
    nbgrader(root, "generate_feedback", lab.name)
    nbgrader(root, "export")
    return root, lab.name


def put(path, data):
    path.parent.mkdir(parents=True)
    path.write_bytes(data)


def test_stock_nbgrader_gives_the_same_points(class_of_two):
    root, lab = class_of_two
    with open(root / "grades.csv", encoding="utf-8", newline="") as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {"ada": worth(lab), "bob": 0.0}  # ada's written answer still waits for a person


def test_stock_feedback_shows_the_verdicts_and_runs_nothing(class_of_two):
    root, lab = class_of_two
    page = (root / "feedback" / "ada" / lab / f"{lab}.html").read_text(encoding="utf-8")
    assert "row_max" in page
    assert "<script>alert(1)</script>" not in page and "alert(1)" in page
