"""A class graded with a stand-in judge: statuses, gradebook, feedback, repetition, marks by hand."""

import json
import os

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, grade_by_hand, lines, one, run  # noqa: F401  (fixtures)
from nbgrader.api import Gradebook

SCRIPT = "Because <script>alert(1)</script> [x](javascript:alert(2)) <img src=x onerror=alert(3)> `a < b`"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """One class, graded once, for all tests that only look."""
    root = tmp_path_factory.mktemp("class")
    small.write_release(root)
    small.hand_in(root, "ann [x] +1", small.answered(written=SCRIPT))
    small.hand_in(root, "=bob", small.answered(row_max=small.BAD))
    small.hand_in(root, "cem", small.answered(row_max=small.REFUSED, written=small.EMPTY))
    small.hand_in(root, "dora", small.answered(row_max=small.CRASH))
    small.hand_in(root, "eli", b'{"cells": [')
    small.hand_in(root, "fay", small.released())
    notebook = small.answered(written=small.EMPTY)
    notebook.cells[3].metadata = {}
    small.hand_in(root, "gus", notebook)
    (root / "submitted" / "hal").mkdir()
    return root, run(root)


def test_statuses_and_points(graded):
    root, _ = graded
    found = {
        name: (
            line["status"],
            line["score"],
            line["lab1.row_max.values"],
            line["lab1.row_sum.values"],
            line["lab1_written"],
        )
        for name, line in lines(root).items()
    }
    assert found == {
        "ann [x] +1": ("needs manual grading", "3", "1", "1", ""),
        "'=bob": ("needs manual grading", "1", "0", "1", ""),
        "cem": ("graded", "1", "0", "1", "0"),
        "dora": ("could not be judged", "1", "", "1", ""),
        "eli": ("could not be judged", "", "", "", ""),
        "fay": ("graded", "0", "0", "0", "0"),
        "gus": ("repaired", "3", "1", "1", "0"),
        "hal": ("missing", "", "", "", ""),
    }
    assert {line["max_score"] for line in lines(root).values()} == {"5"}


def test_reasons_and_bugs(graded):
    root, result = graded
    notes = {name: line["notes"] for name, line in lines(root).items()}
    assert "`import` is not possible" in notes["cem"] and "ended in the middle" in notes["dora"]
    assert "cut off" in notes["eli"] and "recognised by its cell id" in notes["gus"]
    assert notes["fay"] == ""
    assert lines(root)["'=bob"]["named_bugs"] == "row_max: padding read as 0 in a max"
    assert not result.complete


def test_the_gradebook_is_nbgraders(graded):
    root, _ = graded
    url = f"sqlite:///{root / 'out' / 'gradebook.db'}"
    with Gradebook(url) as gradebook:
        submissions = {row["student"]: row for row in gradebook.submission_dicts(small.LAB)}
        assert submissions["ann [x] +1"]["score"] == 3 and submissions["ann [x] +1"]["max_score"] == 5
        assert {name for name, row in submissions.items() if row["needs_manual_grade"]} == {
            "ann [x] +1",
            "=bob",
            "dora",
            "eli",
        }
        notebooks = gradebook.notebook_submission_dicts(small.LAB, small.LAB)
        assert len(notebooks) == 7
        by_student = {row["id"]: row["score"] for row in gradebook.student_dicts()}
        assert by_student["hal"] == 0 and by_student["gus"] == 3
        assert gradebook.average_notebook_code_score(small.LAB, small.LAB) == pytest.approx(
            (3 + 1 + 1 + 1 + 0 + 0 + 3) / 7
        )
        grade = gradebook.find_grade("row_max_values", small.LAB, small.LAB, "dora")
        assert grade.auto_score is None and grade.needs_manual_grade
        assert gradebook.find_comment("row_max", small.LAB, small.LAB, "fay").comment == "No response."
        assert gradebook.find_comment("row_max", small.LAB, small.LAB, "eli").comment is None


def test_the_formgrader_finds_everything(graded, monkeypatch):
    """The calls behind the formgrader's pages."""
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    root, _ = graded
    api = NbGraderAPI(CourseDirectory(root=str(root / "out")))
    assert api.get_assignment(small.LAB)["num_submissions"] == 7
    submissions = {row["student"]: row for row in api.get_submissions(small.LAB)}
    assert submissions["ann [x] +1"]["autograded"]
    assert submissions["ann [x] +1"]["score"] == 3
    assert submissions["eli"]["needs_manual_grade"]
    assert not submissions["fay"]["needs_manual_grade"]
    assert len(api.get_notebook_submissions(small.LAB, small.LAB)) == 7
    assert api.get_student("hal")["score"] == 0


def test_what_the_formgrader_shows_runs_nothing(graded):
    """It puts the text cells of autograded notebooks into a page as they are."""
    root, _ = graded
    path = root / "out" / "autograded" / "ann [x] +1" / small.LAB / f"{small.LAB}.ipynb"
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]}
    assert cells["lab1_written"].startswith("Because < script>alert(1)< /script>")
    assert "< img" in cells["lab1_written"]
    assert "`a < b`" in cells["lab1_written"]
    assert cells["text-max"] == "Write row_max."


def test_folders_are_nbgraders(graded):
    root, _ = graded
    for step, ending in (("submitted", "ipynb"), ("autograded", "ipynb"), ("feedback", "html")):
        found = {
            path.parent.parent.name
            for path in (root / "out" / step).glob(f"*/{small.LAB}/{small.LAB}.{ending}")
        }
        assert found == {"ann [x] +1", "=bob", "cem", "dora", "eli", "fay", "gus"}, step
    found = sorted(os.listdir(root / "out"))
    folders, files = ["autograded", "feedback", "source", "submitted"], ["gradebook.db", "grades.csv", "verdicts.db"]
    assert found == sorted([*folders, *files, "class_report.html", "judging_times.json", ".lock"])
    assert not list((root / "out" / "feedback").glob("*/*/*.ipynb"))


def test_feedback_shows_the_verdict_and_runs_nothing(graded):
    root, _ = graded

    def page(name):
        return (root / "out" / "feedback" / name / small.LAB / f"{small.LAB}.html").read_text(
            encoding="utf-8"
        )

    ann = page("ann [x] +1")
    body = ann[ann.index("<body") :]
    for forbidden in ("<script", "javascript:", "<img"):
        assert forbidden not in body, forbidden
    assert "&lt; script&gt;alert(1)" in body and "<code>a &lt; b</code>" in body
    assert "1 of 1 point" in body and "PASSED" not in body and "3.0 / 5.0" in body
    assert "padding read as 0 in a max" in page("=bob") and "<b>is</b>" not in page("=bob")
    assert "could not be judged" in page("dora") and "cut off" in page("eli")
    assert "recognised by its cell id" in page("gus")


def test_student_cells_keep_no_outputs(graded):
    root, _ = graded
    notebook = json.loads(
        (root / "out" / "autograded" / "=bob" / small.LAB / f"{small.LAB}.ipynb").read_text()
    )
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            graded_cell = cell["metadata"].get("nbgrader", {}).get("grade", False)
            assert bool(cell["outputs"]) == graded_cell
            assert all(output.get("name") != "stderr" for output in cell["outputs"])


def test_again_gives_the_same_bytes_in_any_order(graded, tmp_path):
    root, result = graded
    before = result.grades.read_bytes()
    for jobs in (1, 3):
        assert run(root, jobs=jobs).grades.read_bytes() == before
    other = tmp_path / "other"
    other.mkdir()
    small.write_release(other)
    for student in sorted(os.listdir(root / "submitted"), reverse=True):
        source = root / "submitted" / student / small.LAB / f"{small.LAB}.ipynb"
        (other / "submitted" / student).mkdir(parents=True)
        if source.exists():
            small.hand_in(other, student, source.read_bytes())
    assert run(other).grades.read_bytes() == before


def test_marks_by_hand_survive_and_count(one):
    run(one)
    grade_by_hand(one, "lab1_written", 1.5)
    run(one)
    line = lines(one)["ann"]
    assert (line["status"], line["score"], line["lab1_written"]) == ("graded", "4.5", "1.5")
    assert "4.5 / 5.0" in (one / "out" / "feedback" / "ann" / small.LAB / f"{small.LAB}.html").read_text()
    small.hand_in(one, "ann", small.answered(written="Another answer."))
    run(one)
    assert lines(one)["ann"]["status"] == "needs manual grading"


def test_a_mark_by_hand_settles_what_could_not_be_judged(one):
    small.hand_in(one, "ann", small.answered(row_max=small.CRASH, written=small.EMPTY))
    run(one)
    for grade_id in ("row_max_values", "row_max_rescale"):
        grade_by_hand(one, grade_id, 0.5)
    result = run(one)
    assert (lines(one)["ann"]["status"], lines(one)["ann"]["score"]) == ("graded", "2")
    assert result.complete
