"""What goes wrong around a class: failing judges, interruptions, locked or foreign files, bad usage."""

import contextlib
import os
import sqlite3
import sys

import classroom_lab as small
import nbgrader.api
import pytest
from classroom_lab import alembic_once, grade_by_hand, lines, one, run  # noqa: F401  (fixtures)
from nbgrader.api import Gradebook

from autograder.classroom import cli, writing
from autograder.classroom.errors import ClassroomError, GradebookError, NothingToGrade
from autograder.classroom.store import sqlite_path
from autograder.classroom.surroundings import nbgrader_environment


def results(root):
    """Every file of the results; verdicts.db is a cache, which grows whenever something was judged."""
    files = [path for path in (root / "out").rglob("*") if path.is_file() and path.name != "verdicts.db"]
    return {path: path.read_bytes() for path in files}


def never(*_):
    raise AssertionError("judged in vain")


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
    assert (
        lines(tmp_path)["ann"]["status"] == "could not be judged" and lines(tmp_path)["bob"]["score"] == "3"
    )
    run(tmp_path, gather=gather)
    assert (
        lines(tmp_path)["bob"]["lab1.row_sum.values"] == ""
        and lines(tmp_path)["bob"]["lab1.row_max.values"] == "1"
    )


@pytest.mark.parametrize(
    "where",
    [
        "autograder.classroom.gradebook.Course.feedback",
        "autograder.classroom.writing._publish",
        "autograder.classroom.grades.write_grades",
    ],
)
def test_an_interrupted_run_leaves_the_old_results(one, monkeypatch, where):
    run(one)
    before = results(one)
    small.hand_in(one, "ann", small.answered(row_max=small.BAD))

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, stop)
        with pytest.raises(KeyboardInterrupt):
            run(one)
    after = results(one)
    assert after[one / "out" / "grades.csv"] == before[one / "out" / "grades.csv"]
    assert not list((one / "out").glob(".grading-*"))
    if "feedback" in where:
        assert after == before
    run(one)
    assert lines(one)["ann"]["score"] == "1"


def test_a_gradebook_in_use(one, monkeypatch):
    run(one)
    monkeypatch.setattr("autograder.classroom.store.LOCK_WAIT", 0.1)
    with contextlib.closing(sqlite3.connect(one / "out" / "gradebook.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(GradebookError, match="locked"):
            run(one)


@pytest.mark.parametrize("first", [True, False])
def test_a_mark_entered_meanwhile_is_not_lost(one, monkeypatch, first):
    """The write starts over with it; ``first``: the gradebook was made by this very run."""
    if not first:
        run(one)
    rows = writing._rows
    disturbed = []

    def rows_and_disturb(*arguments):
        done = rows(*arguments)
        if not disturbed:
            disturbed.append(True)
            if first:
                run(one)
            grade_by_hand(one, "lab1_written", 2.0)
        return done

    monkeypatch.setattr(writing, "_rows", rows_and_disturb)
    run(one)
    assert lines(one)["ann"]["lab1_written"] == "2"
    assert lines(one)["ann"]["score"] == "5"


def test_a_gradebook_that_never_rests(one, monkeypatch):
    run(one)
    rows = writing._rows
    points = iter(range(10))

    def rows_and_disturb(*arguments):
        done = rows(*arguments)
        grade_by_hand(one, "lab1_written", next(points))
        return done

    monkeypatch.setattr(writing, "_rows", rows_and_disturb)
    with pytest.raises(GradebookError, match="Run the same command again"):
        run(one)


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
        run(one, judge=never)


def test_a_file_in_the_place_of_the_folder(one):
    small.write(one / "out", b"")
    with pytest.raises(ClassroomError, match="is a file"):
        run(one, judge=never)


def test_another_version_of_the_lab(one):
    run(one)
    notebook = small.released()
    del notebook.cells[5]
    small.write(one / "labs" / small.LAB / f"{small.LAB}.ipynb", notebook)
    with pytest.raises(GradebookError, match="another version"):
        run(one, judge=never)


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
        run(one, judge=never)


def command(root, *more):
    from argparse import ArgumentParser

    parser = ArgumentParser()
    cli.add_parser(parser.add_subparsers())
    args = parser.parse_args(
        [
            "grade",
            small.LAB,
            "--submitted",
            str(root / "submitted"),
            "--out",
            str(root / "out"),
            "--released",
            str(root / "labs"),
            *more,
        ]
    )
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
