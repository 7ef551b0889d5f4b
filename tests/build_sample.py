"""A course of one lab and one lesson, small enough to build within a test."""

from __future__ import annotations

from pathlib import Path

from autograder.build.layout import Course, find_course
from autograder.build.rules import Expected

LAB = '''\
# %% [markdown]
# # A sample lab

# %% tags=["setup"]
# setup

# %% [markdown]
# Double every number.

# %% nbgrader={"grade_id": "double", "solution": true}
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    twice = x + x
    return twice
    ### END SOLUTION

# %% nbgrader={"grade_id": "double_values", "grade": true, "points": 2}
check("lab9.double.values", double)

# %% [markdown] nbgrader={"grade_id": "lab9_written", "grade": true, "solution": true, "points": 1}
# Because adding a number to itself doubles it.
'''

LESSON = """\
# %% [markdown]
# # A sample lesson

# %% tags=["setup"]
# setup

# %%
numbers = [3, 1, 4]
print(sum(numbers))

# %% [markdown]
# The next cell fails with an `IndexError`.

# %% tags=["raises-exception"]
numbers[3]

# %%
len(numbers)
"""

PYPROJECT = '[project.urls]\nRepository = "https://example.org/course"\n'
EXPECTED = {"lab9_sample": {"lab9.double.values": Expected(points=2, name="double")}}
SHORT_SETUP = 'print("simulator (sample 1.0)")'  # in place of the setup cell, where a test runs a lesson


def make_course(root: Path, lab: str | None = LAB, lesson: str | None = LESSON) -> Course:
    """Write the sample's sources under ``root`` (None leaves one out) and return the course."""
    for folder in ("solutions", "course"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    if lab is not None:
        (root / "solutions" / "lab9_sample.py").write_text(lab, encoding="utf-8")
    if lesson is not None:
        (root / "course" / "00_sample.py").write_text(lesson, encoding="utf-8")
    return find_course(root)
