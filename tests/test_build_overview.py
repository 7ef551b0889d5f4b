"""The README's table of lessons and labs."""

from pathlib import Path

import pytest

from autograder.build.builder import build_readme, read_sources
from autograder.build.drift import readme_drift
from autograder.build.layout import BuildError, find_course
from autograder.build.overview import BEGIN, END, table, with_overview
from autograder.exercises import all_exercises

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def course():
    found = find_course(ROOT)
    return found, read_sources(found)


def test_every_exercise_and_all_its_points_are_in_the_table(course):
    rows = table(*course, all_exercises()).splitlines()[2:]
    assert [row.split("|")[1].strip()[1:3] for row in rows] == [lesson.name[:2] for lesson in course[0].lessons]
    for exercise in all_exercises():
        (row,) = [row for row in rows if f"`{exercise.name}`" in row and f"/{exercise.lab}/" in row]
        own = [one for one in all_exercises() if one.lab == exercise.lab]
        points = sum(check.points for one in own for check in one.checks)
        assert float(row.split("|")[4]) == points + 2  # two more for the written answer
        assert "hour" in row.split("|")[5]


def test_the_readme_is_in_step(course):
    assert readme_drift(*course) == []
    assert list(build_readme(*course)) == [ROOT / "README.md"]


def test_a_table_that_is_not_in_step_is_renewed(course):
    old = f"# A\n\n{BEGIN}\nsomething else\n{END}\n\nmore\n"
    new = with_overview(old, *course, all_exercises())
    assert new.startswith(f"# A\n\n{BEGIN}\n| lesson") and new.endswith(f"{END}\n\nmore\n")
    assert with_overview(new, *course, all_exercises()) == new
    assert with_overview("no table\n", *course, all_exercises()) == "no table\n"


def test_a_lab_that_does_not_say_how_long_it_takes_is_named(course, monkeypatch):
    found, sources = course
    monkeypatch.setattr("autograder.build.overview._TIME", __import__("re").compile("never there (x)"))
    with pytest.raises(BuildError, match=r"lab1_three_pass\.py does not say how long"):
        table(found, sources, all_exercises())
