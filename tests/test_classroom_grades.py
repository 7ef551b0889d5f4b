"""grades.csv, the table, progress, the seed, whole writes."""

import csv
import io
import os

import pytest

from autograder.classroom import grades
from autograder.classroom.cli import add_parser
from autograder.classroom.errors import ClassroomError
from autograder.classroom.files import replace_folder, write_atomically
from autograder.classroom.grades import Row
from autograder.classroom.progress import Progress, duration
from autograder.classroom.seeds import find_seed, keep_seed

COLUMNS = ("lab1.a.values", "lab1_written")


def rows():
    return [
        Row("zoe", "lab1_x", grades.GRADED, 1.5, 4.0, {"lab1.a.values": 1.5, "lab1_written": 0.0}),
        Row("=1+1", "lab1_x", grades.UNJUDGED, None, 4.0, {"lab1.a.values": None}, notes=("-x\nsecond",)),
        Row(
            "@ann",
            "lab1_x",
            grades.MANUAL,
            2 / 3,
            4.0,
            {"lab1.a.values": 2 / 3},
            bugs=("a: d not rescaled", "a: no maximum"),
        ),
    ]


def parsed(path):
    return list(csv.DictReader(path.open(encoding="utf-8", newline="")))


def test_lines_are_sorted_and_formulas_are_text(tmp_path):
    path = tmp_path / "grades.csv"
    grades.write_grades(path, rows(), COLUMNS)
    first, second, third = parsed(path)
    assert [line["student"] for line in (first, second, third)] == ["'=1+1", "'@ann", "zoe"]
    assert list(first) == [
        "student",
        "lab",
        "status",
        "score",
        "max_score",
        "lab1.a.values",
        "lab1_written",
        "named_bugs",
        "notes",
    ]
    assert first["score"] == "" and first["notes"] == "'-x second"
    assert second["score"] == "0.666667" and second["named_bugs"] == "a: d not rescaled; a: no maximum"
    assert third["score"] == "1.5" and third["max_score"] == "4" and third["lab1_written"] == "0"


def test_same_rows_same_bytes(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    grades.write_grades(one, rows(), COLUMNS)
    for _ in range(2):
        grades.write_grades(two, rows()[::-1], COLUMNS)
    assert one.read_bytes() == two.read_bytes()
    assert b"\r" not in one.read_bytes()


def test_lines_of_other_labs_stay(tmp_path):
    path = tmp_path / "grades.csv"
    grades.write_grades(
        path, [Row("=a", "lab2_y", grades.GRADED, 1.0, 1.0, {"lab2.b.values": 1.0})], ["lab2.b.values"]
    )
    grades.write_grades(path, rows(), COLUMNS)
    grades.write_grades(path, rows()[:1], COLUMNS)
    lines = parsed(path)
    assert [(line["student"], line["lab"]) for line in lines] == [("zoe", "lab1_x"), ("'=a", "lab2_y")]
    assert lines[1]["lab2.b.values"] == "1" and lines[1]["lab1.a.values"] == ""


@pytest.mark.parametrize("content", [b"name,mark\nann,1\n", b"\xff\xfe\x00", b"student,lab\n"])
def test_a_file_of_somebody_else_is_not_overwritten(tmp_path, content):
    path = tmp_path / "grades.csv"
    path.write_bytes(content)
    with pytest.raises(ClassroomError):
        grades.write_grades(path, rows(), [])
    assert path.read_bytes() == content


def test_the_table_fits_and_obeys_nothing(capsys):
    text = grades.table([*rows(), Row("bad\x1b[31mname", "lab1_x", grades.MISSING, None, 4.0)], width=90)
    assert "\x1b" not in text and max(map(len, text.splitlines())) <= 90
    assert "0.666667/4" in text and "-/4" in text and "d not rescaled" in text


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "grades.csv"
    write_atomically(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["grades.csv"]


def test_a_folder_is_replaced(tmp_path):
    for name, text in (("new", "2"), ("place", "1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text(text)
    (tmp_path / "place" / "place").chmod(0o444)
    replace_folder(tmp_path / "new", tmp_path / "place")
    assert os.listdir(tmp_path) == ["place"] and os.listdir(tmp_path / "place") == ["new"]


def test_progress_in_a_log_and_on_a_terminal():
    now = [0.0]
    log, terminal = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True
    for stream in (log, terminal):
        now[0] = 0.0
        with Progress("Judging", 100, "checks", stream, clock=lambda: now[0]) as progress:
            for _ in range(100):
                now[0] += 0.5
                progress.step("ann")
    lines = log.getvalue().splitlines()
    assert lines[0] == "Judging 10/100 checks (10%), 2.0/s, 45 s left"
    assert lines[-1] == "Judging 100/100 checks (100%), 2.0/s, 50 s in all"
    assert len(lines) <= 11
    assert (
        terminal.getvalue().count("\r") > 50
        and "[############............] Judging 50/100" in terminal.getvalue()
    )
    assert terminal.getvalue().endswith("50 s in all\n") or terminal.getvalue().rstrip().endswith(
        "50 s in all"
    )


def test_durations():
    assert [duration(seconds) for seconds in (0.4, 59, 125, 3720)] == [
        "0 s",
        "59 s",
        "2 min 05 s",
        "1 h 02 min",
    ]


def test_seeds(tmp_path):
    assert find_seed("17", tmp_path) == (17, "given")
    drawn, _ = find_seed(None, tmp_path)
    assert os.listdir(tmp_path) == [] and 0 <= drawn < 2**63
    keep_seed(drawn, tmp_path)
    assert find_seed(None, tmp_path)[0] == drawn
    if os.name != "nt":
        assert (tmp_path / "seed.txt").stat().st_mode & 0o077 == 0
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    seed, origin = find_seed(str(secret), tmp_path)
    assert seed == find_seed(str(secret), tmp_path)[0] and 0 <= seed < 2**63 and "sesame" not in origin
    secret.write_text("")
    for wrong in ("-3", "1.5", str(2**63), str(secret), str(tmp_path / "none")):
        with pytest.raises(ClassroomError):
            find_seed(wrong, tmp_path)


def test_the_parser_refuses_bad_usage(capsys):
    import argparse

    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    for arguments in (
        ["grade"],
        ["grade", "lab1", "--out", "x"],
        ["grade", "lab1", "--submitted", "x", "--out", "y", "--jobs", "0"],
    ):
        with pytest.raises(SystemExit) as stop:
            parser.parse_args(arguments)
        assert stop.value.code == 2
