"""`autograder build` and `autograder build --check` on a sample course."""

import argparse
import os

import pytest
from build_sample import EXPECTED, LAB, SHORT_SETUP, make_course

from autograder.build import builder, cells, drift, rules
from autograder.build.cli import add_parser
from autograder.build.layout import BuildError
from autograder.build.notebook import from_bytes, to_bytes


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sample's files, built once: {path below the course: bytes}."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "SETUP_CELL", SHORT_SETUP)
        course = make_course(tmp_path_factory.mktemp("built"))
        files = builder.build(course)
    return {course.show(path): data for path, data in files.items()}


@pytest.fixture
def course(tmp_path, monkeypatch, built):
    """A built sample course whose labs and lessons "build" at once to what was built before."""
    monkeypatch.setattr(cells, "SETUP_CELL", SHORT_SETUP)
    course = make_course(tmp_path)
    builder.write({tmp_path / name: data for name, data in built.items()})
    monkeypatch.setattr(
        drift,
        "build_labs",
        lambda c, labs, s: {p: built[c.show(p)] for lab in labs for p in (lab.solved, lab.released)},
    )
    monkeypatch.setattr(drift, "build_lesson", lambda c, lesson, s, run: built[c.show(lesson.notebook)])
    return course


def problems(course, **kwargs):
    return drift.check(course, expected=EXPECTED, **kwargs).problems


def edit(path, cell, **changes):
    """Change one cell of the notebook at ``path`` as a person might."""
    notebook = from_bytes(path.read_bytes())
    for key, value in changes.items():
        next(one for one in notebook.cells if one.id == cell)[key] = value
    path.write_bytes(to_bytes(notebook))


def test_what_was_just_built_is_in_step(course):
    verdict = drift.check(course, expected=EXPECTED)
    assert verdict == drift.Verdict((), ())


def test_the_three_notebooks_are_built(built):
    assert sorted(built) == [
        "course/00_sample.ipynb",
        "labs/lab9_sample/lab9_sample.ipynb",
        "solutions/lab9_sample/lab9_sample.ipynb",
    ]


def test_an_edited_notebook_is_drift(course):
    edit(course.labs[0].solved, "double_values", source='check("lab9.double.values", triple)')
    (found,) = problems(course)
    assert found.startswith("solutions/lab9_sample/lab9_sample.ipynb is not what its source builds (cell 5 has another")


def test_another_output_of_a_lesson_is_drift_unless_quick(course, monkeypatch):
    path = course.lessons[0].notebook
    path.write_bytes(path.read_bytes().replace(b"8\\n", b"9\\n"))
    assert "course/00_sample.ipynb is not what its source builds (cell 3 has another output)" in problems(course)[0]
    assert problems(course, run=False) == ()


def test_only_the_name_of_the_simulator_may_differ(course):
    path = course.lessons[0].notebook
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"simulator (sample 1.0)\\n"', b'"simulator (other 2.0)\\n"'))
    assert path.read_bytes() != data
    assert problems(course) == ()
    path.write_bytes(data.replace(b"simulator (sample 1.0)", b"simulator (other 2.0)"))  # in the cell's text, too
    assert len(problems(course)) == 1


def test_a_missing_notebook_and_a_broken_one(course):
    course.labs[0].released.unlink()
    course.lessons[0].notebook.write_text("not json", encoding="utf-8")
    found = problems(course)
    assert found[0] == "labs/lab9_sample/lab9_sample.ipynb is missing. Run autograder build."
    assert found[1].startswith("course/00_sample.ipynb cannot be read")


def test_a_leak_is_said_besides_the_drift(course):
    edit(course.labs[0].released, "double", source="def double(x):\n    twice = x + x")
    found = problems(course)
    assert any("shows a line of a solution" in line for line in found)
    assert any("is not what its source builds" in line for line in found)


@pytest.mark.parametrize(
    "name, said",
    [
        ("solutions/lab9_sample/answers.py", "would be copied into the release"),
        ("solutions/lab9_sample/notes.md", "stray file"),
        ("labs/lab9_sample/old.ipynb", "stray file"),
        ("labs/gradebook.db", "stray file"),
        ("labs/lab0_gone/lab0_gone.ipynb", "stray file"),
        ("labs/other-1.0-py3-none-any.whl", "stray file"),
        ("course/99_gone.ipynb", "stray file"),
    ],
)
def test_stray_files(course, name, said):
    path = course.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}", encoding="utf-8")
    (found,) = problems(course)
    assert found.startswith(name) and said in found


@pytest.mark.parametrize(
    "name",
    ["labs/lab9_sample/online_softmax_course-0.1.0-py3-none-any.whl", "labs/lab9_sample/.ipynb_checkpoints/x.ipynb"],
)
def test_a_wheel_and_an_editors_leavings_are_no_strays(course, name):
    path = course.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    assert problems(course) == ()


def test_zero_sources_fail(course):
    (course.root / "solutions" / "lab9_sample.py").unlink()
    (course.root / "course" / "00_sample.py").unlink()
    empty = make_course(course.root, lab=None, lesson=None)
    found = problems(empty)
    assert found[:2] == ("There are no lab sources: no solutions/*.py.", "There are no lesson sources: no course/*.py.")
    assert len(found) == 5  # and the notebooks without a source are strays
    with pytest.raises(BuildError, match="There are no sources"):
        builder.build(empty)


def test_a_lab_that_no_exercise_belongs_to(course):
    found = drift.check(course, expected={}).problems
    assert "autograder.exercises has no exercise of lab lab9_sample" in found[0]


def test_rules_are_part_of_the_check(tmp_path, monkeypatch, course):
    broken = make_course(course.root, lab=LAB.replace("### BEGIN", "### begin"))
    assert any("not a marker" in line for line in problems(broken))


def test_a_failing_build_writes_nothing(course, monkeypatch, built):
    before = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    broken = make_course(course.root, lesson="# %%\n1\n")
    with pytest.raises(BuildError, match="setup cell"):
        builder.build(broken, ["00_sample"])
    after = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    assert {path for path in before if before[path] != after[path]} == {broken.lessons[0].source}
    assert set(before) == set(after)


def test_writing_is_all_or_nothing_and_whole(tmp_path, monkeypatch):
    (tmp_path / "b").write_text("a file where a folder should be", encoding="utf-8")
    with pytest.raises(OSError):
        builder.write({tmp_path / "a" / "one": b"1", tmp_path / "b" / "two": b"2"})
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["b"]
    written = builder.write({tmp_path / "one": b"1"})
    assert written == [tmp_path / "one"]
    assert (tmp_path / "one").read_bytes() == b"1"
    assert os.stat(tmp_path / "one").st_mode & 0o777 == 0o644
    assert builder.write({tmp_path / "one": b"1"}) == []


def command(*arguments):
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    args = parser.parse_args(["build", *map(str, arguments)])
    return args.func(args)


def test_the_command_checks(course, capsys, monkeypatch):
    monkeypatch.setattr(drift, "expected_checks", lambda lab: EXPECTED[lab])
    monkeypatch.chdir(course.root / "course")
    assert command("--check") == 0
    assert "1 labs and 1 lessons are in step" in capsys.readouterr().out
    edit(course.labs[0].solved, "double", source="x")
    assert command("--check", "--quick") == 1
    assert "autograder build: 1 problem." in capsys.readouterr().err


def test_the_command_names_style_and_fails_on_it_when_strict(course, capsys, monkeypatch):
    monkeypatch.setattr(drift, "expected_checks", lambda lab: EXPECTED[lab])
    monkeypatch.setattr(rules, "MAX_PROSE_WORDS", 2)
    assert command("--check", "--root", course.root) == 0
    assert "style: solutions/lab9_sample.py, line 1: 3 words" in capsys.readouterr().out
    assert command("--check", "--strict", "--root", course.root) == 1
    assert "style:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["lab8_other"], "no lab or lesson called lab8_other. There is 00_sample, lab9_sample"),
        (["--check", "lab9_sample"], "leave out the names"),
        (["--quick"], "go with --check"),
    ],
)
def test_the_command_explains_a_wrong_call(course, capsys, arguments, said):
    assert command(*arguments, "--root", course.root) == 1
    assert said in capsys.readouterr().err
