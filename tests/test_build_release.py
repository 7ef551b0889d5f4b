"""nbgrader's own generate_assignment, in a folder of its own."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from build_sample import LAB, make_course

from autograder.build.builder import build_labs, read_sources, write
from autograder.build.layout import BuildError
from autograder.build.leaks import leak_problems
from autograder.build.notebook import from_bytes
from autograder.build.release import release

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("course"))
    files = build_labs(course, course.labs, read_sources(course))
    write(files)
    return course, files


def cells(files, path):
    return {cell.id: cell for cell in from_bytes(files[path]).cells}


def test_the_release_has_stubs_for_solutions(built):
    course, files = built
    solved, released = cells(files, course.labs[0].solved), cells(files, course.labs[0].released)
    assert list(solved) == list(released)
    assert released["double"].source == (
        'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
    )
    assert released["lab9_written"].source == "YOUR ANSWER HERE"
    assert released["double_values"].source == solved["double_values"].source
    assert (
        leak_problems("labs/x", *(from_bytes(files[p]) for p in (course.labs[0].solved, course.labs[0].released))) == []
    )


def test_tests_and_the_setup_cell_are_locked_with_checksums(built):
    course, files = built
    released = cells(files, course.labs[0].released)
    for name in ("setup", "double_values"):
        assert released[name].metadata.editable is False
        assert released[name].metadata.deletable is False
    for name in ("setup", "double", "double_values", "lab9_written"):
        assert len(released[name].metadata.nbgrader.checksum) == 32
    assert "editable" not in released["double"].metadata


def test_nothing_else_is_left_behind(built):
    course, files = built
    there = {course.show(path) for path in course.root.rglob("*") if path.is_file()}
    assert there == {
        "pyproject.toml",
        "solutions/lab9_sample.py",
        "course/00_sample.py",
        "solutions/lab9_sample/lab9_sample.ipynb",
        "labs/lab9_sample/lab9_sample.ipynb",
    }


def test_a_second_build_gives_the_same_bytes_and_writes_nothing(built):
    course, files = built
    again = build_labs(course, course.labs, read_sources(course))
    assert again == files
    assert write(again) == []


def test_nbgraders_command_with_the_courses_settings_gives_the_same_release(built, tmp_path):
    """An instructor may as well run `nbgrader generate_assignment` from the root."""
    course, files = built
    lab = course.labs[0]
    (tmp_path / "nbgrader_config.py").write_bytes((ROOT / "nbgrader_config.py").read_bytes())
    write({tmp_path / "solutions" / lab.name / f"{lab.name}.ipynb": files[lab.solved]})
    (tmp_path / "solutions" / lab.name / "answers.py").write_text("twice = x + x\n", encoding="utf-8")
    run_nbgrader(tmp_path, "generate_assignment", lab.name)
    made = tmp_path / "labs" / lab.name
    assert made.joinpath(f"{lab.name}.ipynb").read_bytes() == files[lab.released]
    assert [path.name for path in made.iterdir()] == [f"{lab.name}.ipynb"]  # the stray script stayed behind


def run_nbgrader(root, *arguments):
    """`nbgrader …` in ``root``, with this environment's programs first as in an activated one."""
    import os

    path = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_what_nbgrader_refuses_is_a_build_error_with_its_words(tmp_path):
    course = make_course(tmp_path, lab=LAB.replace("    ### END SOLUTION\n", ""))
    with pytest.raises(BuildError, match="(?s)nbgrader did not release lab9_sample.*no end solution statement"):
        build_labs(course, course.labs, read_sources(course))
    assert not (tmp_path / "labs").exists()


def test_no_labs_need_no_nbgrader():
    assert release({}) == {}
