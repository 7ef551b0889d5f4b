"""Running a lesson: the same outputs each time, and a sentence for whatever is wrong with one."""

import json

import nbformat
import pytest
from build_sample import LESSON, SHORT_SETUP, make_course

from autograder.build import cells
from autograder.build.builder import build_lesson, read_sources
from autograder.build.layout import BuildError
from autograder.build.lesson import complaints
from autograder.build.notebook import from_bytes

PICTURE = """\
# %%
import matplotlib.pyplot as plt
plt.plot([1, 2], [2, 1])
plt.show()

# %%
import os
os.environ["NUMBA_ENABLE_CUDASIM"]

# %%
import sys
print("a", flush=True)
print("b", flush=True)
{3.0, 1.0, "text"}
"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "SETUP_CELL", SHORT_SETUP)

    def run(text):
        course = make_course(tmp_path, lesson=text)
        return build_lesson(course, course.lessons[0], read_sources(course)["00_sample"])

    return run


def test_a_lesson_has_outputs_and_a_second_run_gives_the_same_bytes(build):
    data = build(LESSON + PICTURE)
    assert build(LESSON + PICTURE) == data
    notebook = from_bytes(data)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all("execution" not in cell.metadata for cell in code)
    assert code[1].outputs == [{"name": "stdout", "output_type": "stream", "text": "8\n"}]
    assert code[2].outputs[0].traceback == ["IndexError: list index out of range"]
    assert code[4].outputs[0].data["image/svg+xml"].count("1970-01-01") == 1
    assert code[5].outputs[0].data["text/plain"] == "'1'"
    assert code[6].outputs[0].text == "a\nb\n"
    assert json.loads(data)["metadata"] == {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


def test_a_cell_that_fails_is_named_with_its_error(build):
    with pytest.raises(BuildError, match="(?s)course/00_sample.py fails when run.*sum.numbers.*TypeError"):
        build(LESSON.replace("numbers = [3, 1, 4]", 'numbers = [3, "x"]'))


def executed(source, output, tags=(), above="Text."):
    """A notebook of a text cell and a code cell with one output."""
    return nbformat.from_dict(
        {
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": above},
                {
                    "cell_type": "code",
                    "metadata": {"tags": list(tags)},
                    "source": source,
                    "execution_count": 1,
                    "outputs": [output] if output else [],
                },
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def result(text):
    return {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": text}}


ERROR = {"output_type": "error", "ename": "IndexError", "evalue": "out of range", "traceback": []}


@pytest.mark.parametrize(
    "notebook, said",
    [
        (executed("f", result("<function f at 0x7f00deadbeef>")), "cell 2 (f) shows a memory address"),
        (executed("f", {"output_type": "stream", "name": "stderr", "text": "hm\n"}), "cell 2 (f) writes to stderr: hm"),
        (executed("f", result("'/course-folder/lesson/x.py'")), "shows a path of this machine: /course-folder/lesson"),
        (executed("f", None, ["raises-exception"]), "is tagged raises-exception but runs without an error"),
        (executed("f", ERROR, ["raises-exception"]), "fails with IndexError, which the text above it does not announce"),
    ],
)  # fmt: skip
def test_outputs_that_differ_from_run_to_run_or_surprise(notebook, said, tmp_path):
    from pathlib import Path

    found = complaints(notebook, Path("/course-folder/lesson"))
    assert any(said in line for line in found), found


def test_an_announced_error_and_a_plain_result_are_fine(tmp_path):
    announced = executed("f", ERROR, ["raises-exception"], above="This fails with an `IndexError`.")
    assert complaints(announced, tmp_path) == []
    assert complaints(executed("1 + 1", result("2")), tmp_path) == []
