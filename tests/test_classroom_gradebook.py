"""A whole run on a small lab with a stand-in judge: gradebook, feedback, statuses, repetition, faults."""

import contextlib
import csv
import functools
import json
import os
import sqlite3
import sys

import classroom_lab as small
import nbgrader.api
import pytest
from nbgrader.api import Gradebook

from autograder.classroom import cli, grading
from autograder.classroom.errors import ClassroomError, GradebookError, NothingToGrade
from autograder.classroom.gradebook import nbgrader_environment, sqlite_path

SCRIPT = "Because <script>alert(1)</script> [x](javascript:alert(2)) <img src=x onerror=alert(3)> `a < b`"


@pytest.fixture(autouse=True, scope="module")
def alembic_once():
    """nbgrader starts a process to learn one constant for every new gradebook; here it asks once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nbgrader.api, "get_alembic_version", functools.lru_cache(nbgrader.api.get_alembic_version))
        yield


def run(root, seed=5, out="out", **options):
    options = {"judge": small.judge, "gather": small.gather, "released": root / "labs", **options}
    return grading.grade([small.LAB], root / "submitted", root / out, seed, stream=open(os.devnull, "w"), **options)


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
    small.hand_in(root, "x" * 130, small.answered())
    return root, run(root)


def lines(root):
    with (root / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {line["student"]: line for line in csv.DictReader(file)}


def test_statuses_and_points(graded):
    root, _ = graded
    found = {name: (line["status"], line["score"], line["lab1.row_max.values"], line["lab1.row_sum.values"], line["lab1_written"])
             for name, line in lines(root).items()}
    assert found == {
        "ann [x] +1": ("needs manual grading", "3", "1", "1", ""),
        "'=bob": ("needs manual grading", "1", "0", "1", ""),
        "cem": ("graded", "1", "0", "1", "0"),
        "dora": ("could not be judged", "1", "", "1", ""),
        "eli": ("could not be judged", "", "", "", ""),
        "fay": ("graded", "0", "0", "0", "0"),
        "gus": ("repaired", "3", "1", "1", "0"),
        "hal": ("missing", "", "", "", ""),
        "x" * 130: ("could not be judged", "", "", "", ""),
    }
    assert {line["max_score"] for line in lines(root).values()} == {"5"}


def test_reasons_and_bugs(graded):
    root, result = graded
    notes = {name: line["notes"] for name, line in lines(root).items()}
    assert "`import` is not possible" in notes["cem"] and "ended in the middle" in notes["dora"]
    assert "cut off" in notes["eli"] and "recognised by its cell id" in notes["gus"] and "128 characters" in notes["x" * 130]
    assert notes["fay"] == ""
    assert lines(root)["'=bob"]["named_bugs"] == "row_max: padding read as 0 in a max"
    assert not result.complete


def test_the_gradebook_is_nbgraders(graded):
    root, _ = graded
    url = f"sqlite:///{root / 'out' / 'gradebook.db'}"
    with Gradebook(url) as gradebook:
        submissions = {row["student"]: row for row in gradebook.submission_dicts(small.LAB)}
        assert submissions["ann [x] +1"]["score"] == 3 and submissions["ann [x] +1"]["max_score"] == 5
        assert {name for name, row in submissions.items() if row["needs_manual_grade"]} == {"ann [x] +1", "=bob", "dora", "eli"}
        notebooks = gradebook.notebook_submission_dicts(small.LAB, small.LAB)
        assert len(notebooks) == 7
        by_student = {row["id"]: row["score"] for row in gradebook.student_dicts()}
        assert by_student["hal"] == 0 and by_student["gus"] == 3
        assert gradebook.average_notebook_code_score(small.LAB, small.LAB) == pytest.approx((3 + 1 + 1 + 1 + 0 + 0 + 3) / 7)
        grade = gradebook.find_grade("row_max_values", small.LAB, small.LAB, "dora")
        assert grade.auto_score is None and grade.needs_manual_grade
        assert gradebook.find_comment("row_max", small.LAB, small.LAB, "fay").comment == "No response."


def test_folders_are_nbgraders(graded):
    root, _ = graded
    for step, ending in (("submitted", "ipynb"), ("autograded", "ipynb"), ("feedback", "html")):
        found = {path.parent.parent.name for path in (root / "out" / step).glob(f"*/{small.LAB}/{small.LAB}.{ending}")}
        assert found == {"ann [x] +1", "=bob", "cem", "dora", "eli", "fay", "gus"}, step
    assert sorted(os.listdir(root / "out")) == ["autograded", "feedback", "gradebook.db", "grades.csv", "submitted"]
    assert not list((root / "out" / "feedback").glob("*/*/*.ipynb"))


def test_feedback_shows_the_verdict_and_runs_nothing(graded):
    root, _ = graded

    def page(name):
        return (root / "out" / "feedback" / name / small.LAB / f"{small.LAB}.html").read_text(encoding="utf-8")

    ann = page("ann [x] +1")
    body = ann[ann.index("<body"):]
    for forbidden in ("<script", "javascript:", "onerror", "src="):
        assert forbidden not in body, forbidden
    assert "&lt;script&gt;alert(1)" in body and "<code>a &lt; b</code>" in body
    assert "PASSED" in body and "3.0 / 5.0" in body
    assert "padding read as 0 in a max" in page("=bob") and "<b>is</b>" not in page("=bob")
    assert "could not be judged" in page("dora") and "cut off" in page("eli")
    assert "recognised by its cell id" in page("gus")


def test_student_cells_keep_no_outputs(graded):
    root, _ = graded
    notebook = json.loads((root / "out" / "autograded" / "=bob" / small.LAB / f"{small.LAB}.ipynb").read_text())
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


@pytest.fixture
def one(tmp_path):
    """A class of one, with the answer right."""
    small.write_release(tmp_path)
    small.hand_in(tmp_path, "ann", small.answered())
    return tmp_path


def grade_by_hand(root, grade_id, points):
    """What the formgrader does when a person enters a mark."""
    with Gradebook(f"sqlite:///{root / 'out' / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade(grade_id, small.LAB, small.LAB, "ann")
        grade.manual_score, grade.needs_manual_grade = points, False
        gradebook.db.commit()


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


def test_equal_work_is_judged_once(tmp_path):
    small.write_release(tmp_path)
    for name in ("ann", "bob", "cem"):
        small.hand_in(tmp_path, name, small.answered())
    asked, cache = [], {}

    def judge(source, check_id, seed):
        asked.append(check_id)
        return small.judge(source, check_id, seed)

    run(tmp_path, judge=judge, cache=cache)
    assert sorted(asked) == ["lab1.row_max.rescale", "lab1.row_max.values", "lab1.row_sum.values"]
    run(tmp_path, judge=judge, cache=cache)
    assert len(asked) == 3
    run(tmp_path, judge=judge, cache=cache, seed=6)
    assert len(asked) == 6


def test_a_judge_that_fails_stops_nobody(tmp_path):
    small.write_release(tmp_path)
    small.hand_in(tmp_path, "ann", small.answered(row_max=small.BAD))
    small.hand_in(tmp_path, "bob", small.answered())

    def judge(source, check_id, seed):
        if "bad" in source.digest:
            raise RuntimeError("out of order")
        return small.judge(source, check_id, seed)

    def gather(notebook, name, **where):
        if name == "row_sum":
            raise RecursionError
        return small.gather(notebook, name, **where)

    run(tmp_path, judge=judge)
    assert lines(tmp_path)["ann"]["status"] == "could not be judged" and lines(tmp_path)["bob"]["score"] == "3"
    run(tmp_path, gather=gather)
    assert lines(tmp_path)["bob"]["lab1.row_sum.values"] == "" and lines(tmp_path)["bob"]["lab1.row_max.values"] == "1"


@pytest.mark.parametrize("where", ["autograder.classroom.gradebook.Course.feedback", "autograder.classroom.grading._publish",
                                   "autograder.classroom.grades.write_grades"])
def test_an_interrupted_run_leaves_the_old_results(one, monkeypatch, where):
    run(one)
    before = {path: path.read_bytes() for path in (one / "out").rglob("*") if path.is_file()}
    small.hand_in(one, "ann", small.answered(row_max=small.BAD))

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, stop)
        with pytest.raises(KeyboardInterrupt):
            run(one)
    after = {path: path.read_bytes() for path in (one / "out").rglob("*") if path.is_file()}
    assert after[one / "out" / "grades.csv"] == before[one / "out" / "grades.csv"]
    assert not list((one / "out").glob(".grading-*"))
    if "write_grades" not in where:
        assert after == before
    run(one)
    assert lines(one)["ann"]["score"] == "1"


def test_a_gradebook_in_use(one, monkeypatch):
    run(one)
    monkeypatch.setattr("autograder.classroom.gradebook.LOCK_WAIT", 0.1)
    with contextlib.closing(sqlite3.connect(one / "out" / "gradebook.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(GradebookError, match="locked"):
            run(one)


def test_a_gradebook_changed_meanwhile_is_not_overwritten(one):
    run(one)

    def judge_and_disturb(course, *arguments):
        grade_by_hand(one, "lab1_written", 2.0)
        return publish(course, *arguments)

    publish = grading._publish
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "_publish", judge_and_disturb)
        with pytest.raises(GradebookError, match="Run the same command again"):
            run(one)
    run(one)
    assert lines(one)["ann"]["lab1_written"] == "2"


def test_a_database_elsewhere(one):
    url = f"sqlite:///{one / 'elsewhere' / 'marks.db'}"
    result = run(one, db_url=url)
    assert result.gradebook == url and not (one / "out" / "gradebook.db").exists()
    with Gradebook(url) as gradebook:
        assert gradebook.find_submission(small.LAB, "ann").score == 3
    with pytest.raises(GradebookError):
        sqlite_path("sqlite://")
    with pytest.raises(GradebookError):
        sqlite_path("my database")


def test_a_gradebook_that_is_none(one):
    small.write(one / "out" / "gradebook.db", b"not a database, " * 100)
    with pytest.raises(GradebookError, match="cannot be read"):
        run(one)


def test_another_version_of_the_lab(one):
    run(one)
    notebook = small.released()
    del notebook.cells[5]
    small.write(one / "labs" / small.LAB / f"{small.LAB}.ipynb", notebook)
    with pytest.raises(GradebookError, match="another version"):
        run(one)


def test_alembic_is_found_without_path(one, monkeypatch):
    monkeypatch.setattr(nbgrader.api, "get_alembic_version", nbgrader.api.get_alembic_version.__wrapped__)
    monkeypatch.setenv("PATH", "")
    run(one)
    assert os.environ["PATH"] == ""
    with Gradebook(f"sqlite:///{one / 'out' / 'gradebook.db'}") as gradebook:
        assert gradebook.students
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/nowhere")
    with pytest.raises(GradebookError, match="alembic"), nbgrader_environment():
        pass


def test_times(one):
    folder = one / "submitted" / "ann" / small.LAB
    (folder / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC")
    run(one)
    with Gradebook(f"sqlite:///{one / 'out' / 'gradebook.db'}") as gradebook:
        assert gradebook.find_submission(small.LAB, "ann").timestamp.hour == 10
    (folder / "timestamp.txt").write_text("teatime")
    run(one)
    assert "timestamp.txt holds no time" in lines(one)["ann"]["notes"]


def test_students_known_to_the_gradebook_only(one):
    run(one)
    with Gradebook(f"sqlite:///{one / 'out' / 'gradebook.db'}") as gradebook:
        gradebook.add_student("zoe")
    run(one)
    assert lines(one)["zoe"]["status"] == "missing"


def test_nothing_to_grade(tmp_path):
    small.write_release(tmp_path)
    (tmp_path / "submitted" / "ann").mkdir(parents=True)
    with pytest.raises(NothingToGrade):
        run(tmp_path)
    assert not (tmp_path / "out").exists()


def test_somebody_elses_grades_are_not_overwritten(one):
    small.write(one / "out" / "grades.csv", b"name,mark\n")
    with pytest.raises(ClassroomError, match="move it away"):
        run(one)


def command(root, *more):
    from argparse import ArgumentParser

    parser = ArgumentParser()
    cli.add_parser(parser.add_subparsers())
    args = parser.parse_args(["grade", small.LAB, "--submitted", str(root / "submitted"), "--out", str(root / "out"),
                              "--released", str(root / "labs"), *more])
    return args.func(args)


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr("autograder.child.run_judge", small.judge)
    monkeypatch.setattr("autograder.source.gather_notebook", small.gather)


def test_the_command(one, stand_in, capsys):
    assert command(one) == 0
    out = capsys.readouterr()
    assert "ann" in out.out and "3/5" in out.out and str(one / "out" / "grades.csv") in out.out
    assert "Judging 3/3 checks (100%)" in out.err
    assert command(one, "--seed", "7") == 0
    small.hand_in(one, "bob", b"")
    assert command(one) == 1
    assert "bob, lab1_three_pass: The file is empty." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--submitted", "/nowhere/at/all"], "There is no folder"),
        (["--released", "/nowhere/at/all"], "--released"),
        (["--seed", "tomorrow"], "--seed"),
        (["--db", "a database"], "--db"),
    ],
)
def test_bad_usage_is_one_sentence(one, stand_in, capsys, change, words):
    assert command(one, *change) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert words in error


def test_nothing_is_imported_from_the_students_folder(one, stand_in, monkeypatch):
    small.write(one / "submitted" / "ann" / small.LAB / "numpy.py", b"raise SystemExit")
    small.write(one / "submitted" / "ann" / small.LAB / "nbgrader_config.py", b"raise SystemExit")
    monkeypatch.chdir(one / "submitted" / "ann" / small.LAB)
    assert command(one) == 0
    assert "nbgrader_config" not in sys.modules
