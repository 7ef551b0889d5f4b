"""Marks for Canvas, Moodle and Gradescope, from a folder that stands for a graded class."""

from __future__ import annotations

import csv
import json
import os

import classroom_lab as small
import pytest
from classroom_lab import alembic_once  # noqa: F401  (a fixture)
from classroom_outcome import LAB, MAX, WRITTEN, row, write_outcome

from autograder import cli
from autograder.classroom import grades, platforms
from autograder.classroom.collect import Submission
from autograder.classroom.errors import ClassroomError
from autograder.classroom.exports import people, sheet
from autograder.classroom.outcome import read_outcome

CLASS = [
    row("ann", 1, 0.5, 2, 1.5),
    row("=bob", 1, 1, 2, None, status=grades.MANUAL, bugs=("row_max: a; b: c", "row_sum: tail")),
    row("cem", 1, None, 2, 2, status=grades.UNJUDGED, notes=("row_max: stopped.",)),
    row("dora", status=grades.MISSING),
    row("eli", 0, 0, 0, 0, score=0.0),
    row("fay", status=grades.UNJUDGED, notes=("=HYPERLINK(1) <script>x</script>",)),
    row("gus", 1, 1, 2, 2, status=grades.LATE, score=5.0),
]


@pytest.fixture
def out(tmp_path):
    return write_outcome(tmp_path / "out", CLASS)


def export(*args):
    return cli.main(["export", *map(str, args)])


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


# -- reading what was graded ---------------------------------------------------------------------


def test_the_outcome_is_what_was_written(out):
    outcome = read_outcome(out)
    (lab,) = outcome.labs
    assert (lab.title, lab.max_score, len(lab.checks)) == ("Lab 1: a small one", 6, 3)
    by_name = {line.student: line for line in outcome.lines}
    assert set(by_name) == {one.student for one in CLASS}  # "=bob" without the file's apostrophe
    assert by_name["ann"].points[f"{MAX}.rescale"] == 0.5 and by_name["ann"].mark == 5.0
    assert by_name["=bob"].bugs == (("row_max", "a; b: c"), ("row_sum", "tail"))
    assert [cell.grade_id for cell in by_name["=bob"].waiting(lab)] == [WRITTEN]
    assert by_name["cem"].score == 5 and by_name["cem"].mark is None
    assert by_name["eli"].mark == 0.0


@pytest.mark.parametrize("spoil", ["none", "empty", "other", "no source"])
def test_a_folder_that_was_not_graded_is_refused_in_a_sentence(tmp_path, spoil, capsys):
    out = tmp_path / "out"
    if spoil != "none":
        write_outcome(out, CLASS)
    if spoil == "empty":
        (out / "grades.csv").write_bytes(grades.to_csv([], []))
    if spoil == "other":
        (out / "grades.csv").write_text("a,b\n1,2\n")
    if spoil == "no source":
        os.remove(out / "source" / LAB / f"{LAB}.ipynb")
    assert export("canvas", "--grades", out, "--to", tmp_path / "c.csv") == 2
    said = capsys.readouterr().err
    assert said.strip().endswith(".") and "Traceback" not in said and str(out) in said
    assert not (tmp_path / "c.csv").exists()


# -- Canvas --------------------------------------------------------------------------------------


def test_canvas_has_its_columns_and_empty_cells_where_there_is_no_mark(out, tmp_path, capsys):
    to = tmp_path / "canvas.csv"
    assert export("canvas", "--grades", out, "--to", to, "--name", f"{LAB}=Lab 1 (4711)") == 1
    head, possible, *lines = table(to)
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 1 (4711)"]
    assert possible == ["    Points Possible", "", "", "", "", "6"]
    marks = {line[0]: line[5] for line in lines}
    assert marks == {"'=bob": "4", "ann": "5", "cem": "", "dora": "", "eli": "0", "fay": "", "gus": "5"}
    said = capsys.readouterr().out
    assert "cem, lab1_three_pass: Could not be judged (row_max: stopped); the mark is empty, not 0." in said
    assert "dora, lab1_three_pass: Nothing was handed in; the mark is empty, not 0." in said
    assert f"=bob, lab1_three_pass: A person still has to grade {WRITTEN} (2 points)" in said
    assert "4 marks of 7 students" in said
    assert "Could not be judged" in (tmp_path / "canvas.csv.notes.txt").read_text()
    assert sorted(os.listdir(tmp_path)) == ["canvas.csv", "canvas.csv.notes.txt", "out"]


def test_finished_leaves_out_what_waits_for_a_person(out, tmp_path):
    to = tmp_path / "canvas.csv"
    export("canvas", "--grades", out, "--to", to, "--finished")
    assert {line[0]: line[5] for line in table(to)[2:]}["'=bob"] == ""
    assert "the mark is empty until then" in (tmp_path / "canvas.csv.notes.txt").read_text()


def test_a_class_without_a_gap_leaves_no_notes_and_old_ones_go(tmp_path):
    out = write_outcome(tmp_path / "out", [row("ann", 1, 1, 2, 2)])
    (tmp_path / "c.csv.notes.txt").write_text("old")
    assert export("canvas", "--grades", out, "--to", tmp_path / "c.csv") == 0
    assert sorted(os.listdir(tmp_path)) == ["c.csv", "out"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r\n+", " -", "\uff1d"])
def test_no_cell_begins_as_a_formula(start):
    assert sheet.safe(f"{start}1+1")[0] == "'"
    assert sheet.safe("plain = text") == "plain = text"
    assert "\x1b" not in sheet.safe("a\x1b[31m") and "\u202e" not in sheet.safe("a\u202eb")


# -- the roster ----------------------------------------------------------------------------------


def test_a_roster_gives_ids_and_a_sentence_for_each_who_does_not_fit(out, tmp_path, capsys):
    roster = tmp_path / "roster.csv"
    roster.write_text("\ufeffstudent;email;sis_id\nANN;ann@x.org;17\n=bob;=b@x.org;18\nzoe;z@x.org;19\n", "utf-8")
    assert export("canvas", "--grades", out, "--to", tmp_path / "c.csv", "--roster", roster) == 1
    lines = table(tmp_path / "c.csv")[2:]
    assert [line[2:4] for line in lines] == [["18", "'=b@x.org"], ["17", "ann@x.org"]]
    said = capsys.readouterr().out
    for student in ("cem", "dora", "eli", "fay", "gus"):
        assert said.count(f"{student} is not in the roster and was left out") == 1
    assert "zoe is in the roster, but nothing of this student was graded." in said


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"name,email\na,b\n", "no column called student"),
        (b"", "no column called student"),
        (b"student,email\nann,1\nann,2\n", "two lines for ann"),
        (b"student,email\n,a@x\n", "Line 2"),
        (b"student\n\xff\xfe\n", "UTF-8"),
        (b'student\n"a\n', "CSV"),
        (None, "cannot be read"),
    ],
)
def test_a_bad_roster_is_named(tmp_path, text, word):
    path = tmp_path / "roster.csv"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(ClassroomError, match=word):
        people.read_roster(path)


def test_two_students_are_not_taken_for_one_line():
    roster = (people.Person("Ann", email="a"),)
    found, sentences = people.match(["ANN", "ann"], roster)
    assert found == {} and len(sentences) == 3
    found, _ = people.match(["Ann", "ann"], roster)
    assert set(found) == {"Ann"}


def test_without_a_roster_marks_go_back_to_where_the_class_came_from(tmp_path, monkeypatch):
    """Canvas's own number stands in the names of its download, and is what its gradebook finds a student by."""
    monkeypatch.setattr("autograder.child.run_judge", small.judge)
    monkeypatch.setattr("autograder.source.gather_notebook", small.gather)
    small.write_release(tmp_path)
    for name in (f"doejane_12345_11_{LAB}.ipynb", f"anon_a1B2c_12_{LAB}.ipynb", f"s_7_13_{LAB}.ipynb"):
        small.write(tmp_path / "submitted" / name, small.answered())
    small.run(tmp_path)
    out = tmp_path / "out"
    assert platforms.read(out) == {
        "doejane_12345": ("Canvas", "12345"), "anon_a1B2c": ("Canvas", "a1B2c"), "s_7": ("Canvas", "7")
    }
    export("canvas", "--grades", out, "--to", tmp_path / "c.csv")
    who = {line[0]: line[1:4] for line in table(tmp_path / "c.csv")[2:]}
    assert who == {"doejane_12345": ["12345", "", ""], "s_7": ["7", "", ""], "anon_a1B2c": ["", "", "anon_a1B2c"]}
    os.remove(out / "platforms.json")  # as after a class in nbgrader's folders: a name is only a name
    export("canvas", "--grades", out, "--to", tmp_path / "c.csv")
    assert {line[0]: line[1:4] for line in table(tmp_path / "c.csv")[2:]}["s_7"] == ["", "", "s_7"]


def test_what_platforms_said_is_kept_over_runs_and_a_damaged_file_is_forgotten(tmp_path):
    ann, bob = (Submission(name, LAB, platform="Canvas", platform_id=own) for name, own in (("ann", "1"), ("bob", "2")))
    platforms.keep(tmp_path, [Submission("zoe", LAB)])
    assert os.listdir(tmp_path) == []
    platforms.keep(tmp_path, [ann])
    platforms.keep(tmp_path, [bob])
    assert platforms.read(tmp_path) == {"ann": ("Canvas", "1"), "bob": ("Canvas", "2")}
    assert people.without_roster("Ann Lee", "Gradescope", "ann@x.org").email == "ann@x.org"
    (tmp_path / platforms.PLATFORMS_FILE).write_text('{"ann": 3}')
    assert platforms.read(tmp_path) == {}


# -- Moodle --------------------------------------------------------------------------------------


def test_moodle_has_points_and_feedback_in_words_for_the_student(out, tmp_path):
    to = tmp_path / "moodle.csv"
    assert export("moodle", "--grades", out, "--to", to) == 1
    head, *lines = table(to)
    assert head == ["Username", "ID number", "Email address", LAB, f"{LAB} (feedback)"]
    marks = {line[0]: (line[3], line[4]) for line in lines}
    assert marks["ann"] == ("5", "5 of 6 points.")
    assert marks["'=bob"][1].startswith("4 of 6 points. This looks like: row_max: a; b: c; row_sum: tail.")
    assert marks["'=bob"][1].endswith(f"Not graded yet: {WRITTEN} (2 points).")
    assert marks["cem"] == ("", "Could not be judged (row_max: stopped). Your instructor will look at it.")
    assert marks["dora"] == ("", "Nothing was handed in.")
    assert marks["eli"][0] == "0"
    assert "<script" not in marks["fay"][1] and marks["fay"][0] == ""
    assert "Handed in late." in marks["gus"][1]


# -- Gradescope ----------------------------------------------------------------------------------

VISIBLE = {"hidden", "after_due_date", "after_published", "visible"}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}


def check_results(found):
    """The rules of Gradescope's autograder specification for the keys that we write."""
    top = {"score", "output", "visibility", "stdout_visibility", "tests", "extra_data"}
    assert set(found) == top | {"output_format", "test_output_format", "test_name_format"}
    assert isinstance(found["score"], float) and isinstance(found["output"], str)
    assert {found["visibility"], found["stdout_visibility"]} <= VISIBLE
    assert {found["output_format"], found["test_output_format"], found["test_name_format"]} <= FORMATS
    for test in found["tests"]:
        assert set(test) == {"name", "number", "score", "max_score", "status", "output", "visibility", "tags"}
        assert isinstance(test["score"], float) and 0 <= test["score"] <= test["max_score"]
        assert test["status"] in ("passed", "failed") and test["visibility"] in VISIBLE
        assert all(isinstance(test[key], str) for key in ("name", "number", "output"))
        assert all(isinstance(tag, str) for tag in test["tags"])


def test_gradescope_has_a_file_for_each_mark_and_none_for_what_has_none(out, tmp_path):
    to = tmp_path / "gs"
    stale = to / LAB / "cem" / "results.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("{}")
    assert export("gradescope", "--grades", out, "--to", to, "--visibility", "after_due_date") == 1
    found = {path.parent.name: json.loads(path.read_text("utf-8")) for path in to.glob(f"{LAB}/*/results.json")}
    assert set(found) == {"ann", "=bob", "eli", "gus"}
    for one in found.values():
        check_results(one)
        assert one["visibility"] == "after_due_date"
    tests = {test["name"]: test for test in found["ann"]["tests"]}
    assert tests[f"{MAX}.rescale"]["score"] == 0.5 and tests[f"{MAX}.rescale"]["status"] == "failed"
    assert tests[f"{MAX}.rescale"]["number"] == "1.2" and tests[f"Written answer {WRITTEN}"]["number"] == "3.1"
    assert tests[f"{MAX}.values"]["output"] == f"first\nverdict on {MAX}.values [31m"
    assert found["gus"]["score"] == 5.0 and "late" in found["gus"]["output"]  # with the penalty, not the sum
    assert f"Written answer {WRITTEN}" not in {test["name"] for test in found["=bob"]["tests"]}
    assert f"Not graded yet: {WRITTEN}" in found["=bob"]["output"]


def test_names_cannot_lead_out_of_the_folder(tmp_path):
    out = write_outcome(tmp_path / "out", [row("ann", 1, 1, 2, 2)])
    text = (out / "grades.csv").read_text().replace("ann,", "../../../etc,")
    (out / "grades.csv").write_text(text)
    assert export("gradescope", "--grades", out, "--to", tmp_path / "a" / "gs") == 0
    written = [path for path in tmp_path.rglob("results.json")]
    assert len(written) == 1 and (tmp_path / "a" / "gs" / LAB) in written[0].parents


@pytest.mark.parametrize("kind", ["canvas", "moodle", "gradescope"])
def test_twice_gives_the_same_bytes_and_a_bad_place_is_a_sentence(out, tmp_path, kind, capsys):
    to = tmp_path / "to"

    def content():
        return {path: path.read_bytes() for path in [to, *to.rglob("*")] if path.is_file()}

    export(kind, "--grades", out, "--to", to)
    first = content()
    export(kind, "--grades", out, "--to", to)
    assert first and content() == first
    capsys.readouterr()
    wrong = tmp_path / "wrong"
    wrong.write_text("x") if kind == "gradescope" else wrong.mkdir()
    assert export(kind, "--grades", out, "--to", wrong) == 2
    assert "--to" in capsys.readouterr().err
    assert export(kind, "--grades", out, "--to", to, "--lab", "lab9") == 2
    assert "lab9 is not among the labs" in capsys.readouterr().err
