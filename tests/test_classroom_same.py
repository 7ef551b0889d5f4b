"""The real judge on a small class: marks and bytes do not depend on how many judge at a time, on the order, on how the
class was packed, on other programs, or on whether it is the first time. And the picture on the feedback page."""

import base64
import dataclasses
import io
import os
import re
import signal
import threading
import xml.etree.ElementTree as ElementTree
import zipfile

import classroom_lab as small
import pytest
from classroom_lab import alembic_once  # noqa: F401  (a fixture)

from autograder.child import run_judge
from autograder.child.worker import Worker
from autograder.classroom import grading
from autograder.classroom.feedback import clean_html
from autograder.classroom.judging import PICTURE, judge_with_picture
from autograder.exercises import get
from autograder.source import gather_text

LAB = small.LAB
POSIX = pytest.mark.skipif(os.name == "nt", reason="SIGSTOP")
IMPORTS = "import math\nimport numpy as np\nfrom numba import cuda, float32\n\n"
MAX, SUM = get("lab1.row_max"), get("lab1.row_sum")
RIGHT = {"row_max": IMPORTS + MAX.variants[0].text, "row_sum": IMPORTS + SUM.variants[0].text}
TRAFFIC = "lab1.row_max.traffic"
(TWICE,) = (bug for bug in MAX.bugs if bug.id == "reads_twice")


def source(text=RIGHT["row_max"]):
    return gather_text(text, "row_max")


def release(root):
    """The small lab with a check of traffic in place of the second one."""
    notebook = small.released()
    (cell,) = (cell for cell in notebook.cells if cell.id == "row_max_rescale")
    cell.source = f'check("{TRAFFIC}", row_max)'
    small.write(root / "labs" / LAB / f"{LAB}.ipynb", notebook)
    return notebook


def handed_in(notebook, **texts):
    made = small.answered(**{**RIGHT, **texts})
    for cell, own in zip(made.cells, notebook.cells, strict=True):
        if cell.id == "row_max_rescale":
            cell.source = own.source
    return made


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of four, graded once by one process at a time."""
    root = tmp_path_factory.mktemp("class")
    notebook = release(root)
    for student, texts in {
        "ann": {},
        "bob": {"row_max": IMPORTS + TWICE.text},
        "cem": {},
        "dora": {"row_max": RIGHT["row_max"].replace("@cuda.jit", "import os\n\n@cuda.jit", 1), "written": small.EMPTY},
    }.items():
        small.hand_in(root, student, handed_in(notebook, **texts))
    return root, grade(root, "one", jobs=1)


def grade(root, out, submitted="submitted", **options):
    places = root / submitted, root / out, 5
    return grading.grade([LAB], *places, released=root / "labs", stream=io.StringIO(), **options)


def bytes_of(result):
    """grades.csv and every feedback page."""
    pages = {path.relative_to(result.feedback): path.read_bytes() for path in result.feedback.rglob("*.html")}
    return result.grades.read_bytes(), pages


def packed_backwards(root):
    """The class as one archive, last student first."""
    place = root / "class.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for path in sorted((root / "submitted").rglob("*.ipynb"), reverse=True):
            archive.write(path, path.relative_to(root / "submitted"))
    return place.name


def test_jobs_order_and_packing_change_nothing(graded):
    root, one = graded
    rows = {row.student: row for row in one.rows}
    assert (rows["ann"].score, rows["cem"].score) == (3.0, 3.0) and rows["bob"].bugs == (f"row_max: {TWICE.title}",)
    assert len(bytes_of(one)[1]) == 4
    many = grade(root, "many", packed_backwards(root), jobs=4)
    assert many.rows == one.rows
    assert bytes_of(many) == bytes_of(one)


def test_twice_changes_nothing(graded):
    root, one = graded
    before = bytes_of(one)
    assert bytes_of(grade(root, "one", jobs=2)) == before


@POSIX
def test_a_busy_machine_costs_no_points(monkeypatch):
    """The child gets no processor for longer than the limit, as among many others: what counts is its own time."""
    calm = run_judge(source(), TRAFFIC, 5)
    real = Worker.run

    def starved(self, job, wall_s):
        self.wait_ready()
        os.kill(self.pid, signal.SIGSTOP)
        threading.Timer(2.5, os.kill, (self.pid, signal.SIGCONT)).start()
        return real(self, job, wall_s)

    monkeypatch.setattr(Worker, "run", starved)
    assert run_judge(source(), TRAFFIC, 5, wall_s=2.0) == calm and calm.passed


# -- the picture -------------------------------------------------------------------------------


def drawing(html):
    """The drawing inside an ``<img>``."""
    (data,) = re.findall(r'<img [^>]*src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"', html)
    return ElementTree.fromstring(base64.b64decode(data))


def test_a_check_of_traffic_gets_a_picture_and_nothing_else_changes():
    plain, drawn = run_judge(source(), TRAFFIC, 5), judge_with_picture(source(), TRAFFIC, 5)
    details = dict(drawn.details)
    picture = details.pop(PICTURE)
    assert dataclasses.replace(drawn, details=details) == plain
    words = " ".join(drawing(picture).itertext())
    (row,) = [row for row in plain.checks[0].ledger if row["op"] == "load" and row["space"] == "global"]
    assert "Where row_max reads and writes" in words and f"line {row['line']}: load X" in words
    assert PICTURE not in judge_with_picture(source(), "lab1.row_max.values", 5).details


@pytest.mark.parametrize("spoilt", ["    out[0] = X[0, 0, 0]", "    while True:\n        X[0, 0]"])
def test_without_a_recorded_launch_there_is_no_picture(spoilt):
    head, body = RIGHT["row_max"].split(":\n", 1)
    report = judge_with_picture(source(f"{head}:\n{spoilt}\n{body}"), TRAFFIC, 5)
    assert PICTURE not in report.details and not report.passed and report.error is None


def test_the_page_shows_verdict_mistake_ledger_and_picture(graded):
    _, one = graded
    page = (one.feedback / "bob" / LAB / f"{LAB}.html").read_text("utf-8")
    body = page[page.index("<body") :]
    assert TWICE.title in body and "0 of 1 point" in body and "<th" in body and "sectors" in body
    drawn = drawing(body)
    assert not [tag for tag in drawn.iter() if tag.tag.endswith(("script", "image", "foreignObject", "use"))]
    for name in ("row_max_values", "row_max_rescale", "row_sum_values"):
        assert f'<a href="#{name}">{name}</a>' in body  # the list at the top names each check
    assert "Test cell" not in body and "width=device-width" in page and "In\xa0[" not in body


def test_a_drawing_of_a_students_own_is_not_shown():
    drawn = '<img src="data:image/svg+xml;base64,PHN2Zy8+">'
    assert "svg" not in clean_html(drawn) and "svg" in clean_html(drawn, kinds=r"svg\+xml")
