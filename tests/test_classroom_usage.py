"""The command as an instructor uses it: the wrong folder, the wrong name, no right to write, Ctrl-C, a large class."""

import errno
import os
import subprocess
import sys
import zipfile
from argparse import ArgumentParser
from pathlib import Path

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, lines, one, run  # noqa: F401  (fixtures)
from test_classroom_collect import collect
from test_classroom_faults import command, never, stand_in  # noqa: F401  (a fixture)

from autograder import cli as main
from autograder.classroom import cli, grades, writing
from autograder.classroom.errors import BadRelease, NothingToGrade
from autograder.classroom.grades import Row
from autograder.classroom.grading import Result
from autograder.classroom.release import find_release

LAB = small.LAB
OTHER = "lab2_online_softmax"


def options(root):
    places = {"--submitted": "submitted", "--out": "out", "--released": "labs"}
    return [word for option, name in places.items() for word in (option, str(root / name))]


def tree_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- the lab's name ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lab1_tree_pass", "lab1", "three_pass", "LAB1_THREE_PAS", "homework"])
def test_a_misspelt_lab_gets_the_names_there_are(tmp_path, name):
    labs = small.write_release(tmp_path)
    small.write(labs / OTHER / f"{OTHER}.ipynb", small.released())
    with pytest.raises(BadRelease) as error:
        find_release(name, labs)
    said = str(error.value)
    assert f"Released are {LAB}, {OTHER}" in said and "--released" in said and "\n" not in said
    assert (f"did you mean {LAB}?" in said) == ("did you mean" in said) == (name != "homework")


def test_a_lab_may_be_named_by_its_file(one, stand_in):
    assert main.main(["grade", str(one / "labs" / LAB / f"{LAB}.ipynb"), *options(one)]) == 0
    assert [line["lab"] for line in lines(one).values()] == [LAB]


# -- the wrong folder --------------------------------------------------------------------------


def test_a_students_own_folder_is_that_students(tmp_path):
    small.hand_in(tmp_path, "ann", small.answered())
    small.write(tmp_path / "submitted" / "ann" / OTHER / f"{OTHER}.ipynb", small.answered())
    found = collect(tmp_path / "submitted" / "ann", LAB)
    (ann,) = found.submissions
    assert (ann.student, ann.name, ann.problem) == ("ann", f"{LAB}.ipynb", None)
    assert found.ignored == ("ann is one student's folder, not a class's.",)
    packed = tmp_path / "Ann Lee.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{LAB}/{LAB}.ipynb", "{}")
    assert [item.student for item in collect(packed, LAB).submissions] == ["Ann Lee"]


def test_a_folder_called_as_a_lab_does_not_speak_for_the_class(tmp_path):
    small.hand_in(tmp_path, "ann", small.answered())
    small.write(tmp_path / "submitted" / LAB / f"{LAB}.ipynb", small.answered())
    assert {item.student for item in collect(tmp_path / "submitted", LAB).submissions} == {"ann", LAB}


def test_a_whole_course_is_taken_by_its_submissions(one):
    """What a run leaves has the layout of a course: source, autograded and feedback are no students."""
    run(one)
    small.write(one / "out" / "source" / LAB / "more.txt", b"")
    found = collect(one / "out", LAB)
    assert [item.student for item in found.submissions] == ["ann"]
    assert "out is a whole nbgrader course" in found.ignored[0]


def test_the_folder_above_is_told_which_one_is_meant(tmp_path):
    for group in ("monday", "tuesday"):
        small.hand_in(tmp_path / "all" / group, "ann", small.answered())
        (tmp_path / "all" / group / "submitted").rename(tmp_path / group)
        (tmp_path / "all" / group).rmdir()
        (tmp_path / group).rename(tmp_path / "all" / group)
    with pytest.raises(NothingToGrade, match="monday in it looks like a class: give that folder with --submitted"):
        collect(tmp_path / "all", LAB)


@pytest.mark.parametrize("out", ["submitted", "submitted/results", "submitted/ann/deep"])
def test_results_do_not_go_among_the_submissions(one, stand_in, capsys, out):
    before = tree_of(one / "submitted")
    assert command(one, "--out", str(one / out)) == 2
    assert "lies in the one that was handed in" in capsys.readouterr().err
    assert tree_of(one / "submitted") == before


@pytest.mark.parametrize("deep", [False, True])
def test_results_are_not_written_over_the_submissions(one, stand_in, capsys, deep):
    """OUT/submitted is where a run keeps what it judged; in the place of what was handed in that would be a loss."""
    before = tree_of(one / "submitted")
    given = one / "submitted" / "ann" if deep else one / "submitted"
    assert command(one, "--submitted", str(given), "--out", str(one)) == 2
    assert "would be written over what was handed in" in capsys.readouterr().err
    assert tree_of(one / "submitted") == before


# -- no right to write, no package, no patience ------------------------------------------------


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(one, monkeypatch, capsys, number):
    def refused(*_, **__):
        raise OSError(number, os.strerror(number), "somewhere")

    monkeypatch.setattr("autograder.child.run_judge", never)
    monkeypatch.setattr(writing, "claimed_folder", refused)
    assert command(one, "--seed", "5") == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert os.strerror(number) in said and "give another folder with --out" in said


def test_without_nbgrader_it_is_said_what_to_install():
    script = (
        "import sys; sys.modules['nbgrader'] = None\n"
        "from autograder import cli\n"
        "sys.exit(cli.main(['grade', 'lab1_three_pass', '--submitted', '.', '--out', 'nowhere']))"
    )
    root = str(Path(main.__file__).resolve().parents[1])
    env = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "needs the package nbgrader" in done.stderr and "[instructor]" in done.stderr


def test_an_interrupt_says_that_nothing_is_lost(one, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("autograder.child.run_judge", interrupted)
    monkeypatch.setattr("autograder.source.gather_notebook", small.gather)
    assert main.main(["grade", LAB, *options(one), "--jobs", "1"]) == main.INTERRUPTED
    assert "the same command goes on from there" in capsys.readouterr().err
    assert not (one / "out" / "grades.csv").exists()


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("2026-10-01T23:59+02:00", "2026-10-01 21:59:00 UTC"),
        ("2026-10-01 23:59", "2026-10-01 23:59:00 UTC"),
        ("2026-10-01 23:59:30 UTC", "2026-10-01 23:59:30 UTC"),
        ("2026-10-01 23:59 CEST", None),
        ("Friday", None),
    ],
)
def test_due_dates(given, taken, capsys):
    parser = ArgumentParser()
    cli.add_parser(parser.add_subparsers())
    usage = ["grade", LAB, "--submitted", "x", "--out", "y", "--due", given]
    if taken is not None:
        assert parser.parse_args(usage).due == taken
        return
    with pytest.raises(SystemExit):
        parser.parse_args(usage)
    assert "2026-10-01T23:59+02:00 was expected" in capsys.readouterr().err


# -- what is said at the end -------------------------------------------------------------------


def result(rows, tmp_path, ignored=()):
    places = {"grades": tmp_path / "grades.csv", "feedback": tmp_path / "feedback", "gradebook": "here"}
    return Result(rows=tuple(rows), ignored=tuple(ignored), **places)


def test_a_large_class_fits_the_terminal(tmp_path):
    rows = [Row(f"s{at:04}", LAB, grades.GRADED, 1.0, 2.0) for at in range(1000)]
    rows += [Row(f"t{at:04}", LAB, grades.UNJUDGED, None, 2.0, notes=("It is cut off.",)) for at in range(100)]
    said = cli.summary(result(rows, tmp_path, [f"file {at}" for at in range(50)])).splitlines()
    assert len(said) < 120
    assert "... and 1,040 more lines in grades.csv" in said
    assert "1,100 lines: 1,000 graded, 100 could not be judged." in said
    assert sum(line.startswith("  t0") for line in said) == 20 and "  and 80 more" in said and "  and 30 more" in said


def test_the_end_tells_what_is_left_to_do(tmp_path):
    done = cli.summary(result([Row("ann", LAB, grades.GRADED, 2.0, 2.0)], tmp_path))
    assert "By hand" not in done
    waits = cli.summary(result([Row("ann", LAB, grades.MANUAL, 1.0, 2.0)], tmp_path))
    assert "By hand" in waits and str(tmp_path) in waits and "formgrader" in waits
    assert "c.CourseDirectory.db_url" in waits  # the gradebook is not in that folder
    assert "1 line: 1 needs manual grading." in waits


def test_help_says_what_is_taken_and_what_the_exit_status_means(capsys):
    with pytest.raises(SystemExit):
        main.main(["grade", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for words in ("Canvas", "Moodle", "Gradescope", "Blackboard", "--due", "--jobs", "Exit status: 0 all graded, 1"):
        assert words in said, words
