"""The course itself: every notebook is what its source builds, and nothing leaks."""

from pathlib import Path

from autograder.build.drift import check
from autograder.build.layout import find_course
from autograder.exercises import labs

COURSE = find_course(Path(__file__).resolve().parent.parent)


def test_the_course_is_in_step_with_its_sources():
    verdict = check(COURSE)
    assert verdict.problems == ()
    assert verdict.warnings == ()


def test_every_lab_of_the_exercises_has_a_source():
    assert {lab.name for lab in COURSE.labs} == set(labs())
