"""The student's work goes into the released notebook; nothing else of the file counts."""

import copy
import json

import classroom_lab as small
import pytest

from autograder.classroom.errors import BadRelease
from autograder.classroom.normalise import defined_names, normalise, untouched
from autograder.classroom.reading import parse_notebook
from autograder.classroom.release import find_release, load_release

MAX, SUM = small.GOOD, small.GOOD.replace("row_max", "row_sum")


@pytest.fixture
def release(tmp_path):
    return load_release(small.LAB, find_release(small.LAB, small.write_release(tmp_path)))


def normal(release, notebook):
    reading = parse_notebook(json.dumps(notebook).encode())
    assert reading.problem is None
    return normalise(release, reading.cells)


def sources(result):
    return {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in result.notebook.cells
        if "nbgrader" in cell.metadata
    }


def roles(notebook):
    return [
        (cell.cell_type, dict(cell.metadata.nbgrader))
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    ]


def check_answers(release, result):
    """The three answers are in place, and every role is the release's."""
    found = sources(result)
    assert (found["row_max"], found["row_sum"], found["lab1_written"]) == (MAX, SUM, "Because.")
    assert roles(result.notebook) == roles(release.notebook)
    assert found["row_max_values"] == 'check("lab1.row_max.values", row_max)'


def test_the_release(release):
    assert [check.check_id for check in release.checks] == [
        "lab1.row_max.values",
        "lab1.row_max.rescale",
        "lab1.row_sum.values",
    ]
    assert release.written == {"lab1_written": 2.0}
    assert release.solutions == ("row_max", "row_sum", "lab1_written")
    assert release.max_score == 5


def test_an_honest_notebook_is_not_repaired(release):
    result = normal(release, small.answered())
    check_answers(release, result)
    assert result.repairs == () and result.problem is None
    assert normal(release, released := small.released()).notebook == untouched(release)
    assert released.cells[3].source == small.STUB


def test_outputs_and_foreign_metadata_are_left_behind(release):
    notebook = small.answered()
    notebook.metadata["language_info"] = {"name": "perl"}
    notebook.cells[4].outputs = [
        {"output_type": "execute_result", "data": {"text/plain": "1.0"}, "metadata": {}, "execution_count": 1}
    ]
    notebook.cells[3].metadata.nbgrader.update(points=50, grade=True, locked=True)
    result = normal(release, notebook)
    check_answers(release, result)
    assert result.notebook.metadata == release.notebook.metadata
    assert all(not cell.get("outputs") for cell in result.notebook.cells)


def test_a_changed_test_cell_does_not_count(release):
    notebook = small.answered()
    notebook.cells[4].source = "1.0"
    result = normal(release, notebook)
    check_answers(release, result)
    assert result.repairs == ("Cell row_max_values had been changed; the released one counts.",)


def test_missing_test_cells_come_back(release):
    notebook = small.answered()
    notebook.cells = [cell for cell in notebook.cells if not cell.id.startswith("row_max_")]
    result = normal(release, notebook)
    check_answers(release, result)


def test_a_split_cell_keeps_both_halves(release):
    notebook = small.answered()
    half = copy.deepcopy(notebook.cells[3])
    half.id, half.source = "half", "TILE = 256"
    notebook.cells.insert(3, half)
    result = normal(release, notebook)
    check_answers(release, result)
    extra = next(cell for cell in result.notebook.cells if cell.source == "TILE = 256")
    assert extra.metadata == {} and "2 times" in result.repairs[0]


@pytest.mark.parametrize("first", [True, False])
def test_a_copied_stub_does_not_undo_the_answer(release, first):
    notebook = small.answered()
    twin = copy.deepcopy(notebook.cells[3])
    twin.id, twin.source = "twin", small.STUB
    notebook.cells.insert(3 if first else 4, twin)
    result = normal(release, notebook)
    check_answers(release, result)
    assert len(result.notebook.cells) == len(release.notebook.cells)


def test_stripped_metadata_with_ids(release):
    notebook = small.answered()
    for cell in notebook.cells:
        cell.metadata = {}
    result = normal(release, notebook)
    check_answers(release, result)
    assert len(result.notebook.cells) == len(release.notebook.cells)
    assert len(result.repairs) == 3


def test_stripped_metadata_and_ids(release):
    notebook = small.answered()
    for cell in notebook.cells:
        cell.metadata = {}
        del cell["id"]
    result = normal(release, notebook)
    check_answers(release, result)
    assert len(result.notebook.cells) == len(release.notebook.cells)
    assert any("by the name row_max" in sentence for sentence in result.repairs)
    assert any("by its place" in sentence for sentence in result.repairs)


def test_cells_in_another_order(release):
    notebook = small.answered()
    notebook.cells.reverse()
    check_answers(release, normal(release, notebook))


def test_the_kernel_in_a_new_cell(release):
    notebook = small.answered()
    notebook.cells[3].source, notebook.cells[3].metadata, notebook.cells[3].id = MAX, {}, "mine"
    result = normal(release, notebook)
    check_answers(release, result)
    assert len(result.repairs) == 1


def test_helper_cells_stay_where_they_were(release):
    notebook = small.answered()
    helper = {
        "cell_type": "code",
        "source": "HELPER = 1",
        "metadata": {"nbgrader": {"grade": True, "points": 9}},
    }
    note = {"cell_type": "markdown", "source": "my note", "metadata": {}}
    notebook.cells.insert(3, helper)
    notebook.cells.append(note)
    result = normal(release, notebook)
    check_answers(release, result)
    texts = [cell.source for cell in result.notebook.cells]
    assert texts.index("HELPER = 1") == texts.index(MAX) - 1
    assert texts[-1] == "my note"
    ids = [cell.id for cell in result.notebook.cells]
    assert len(set(ids)) == len(ids)


def test_a_free_cell_keeps_the_students_text(release):
    notebook = small.answered()
    notebook.cells[2].source = "Write row_max. I tried 3 ways."
    assert any(cell.source.endswith("3 ways.") for cell in normal(release, notebook).notebook.cells)


def test_a_missing_answer_counts_as_not_answered(release):
    notebook = small.answered()
    del notebook.cells[7]
    result = normal(release, notebook)
    assert sources(result)["row_sum"] == small.STUB_SUM
    assert result.repairs == ("Cell row_sum is missing from the file; it counts as not answered.",)


def test_a_cell_that_became_text(release):
    notebook = small.answered()
    cell = notebook.cells[3]
    notebook.cells[3] = {"cell_type": "raw", "source": MAX, "metadata": cell.metadata, "id": cell.id}
    result = normal(release, notebook)
    check_answers(release, result)
    assert "had become a raw cell" in result.repairs[0]


def test_the_notebook_of_something_else(release):
    other = {
        "cells": [{"cell_type": "code", "source": "print(1)"}, {"cell_type": "markdown", "source": "# Poems"}]
    }
    result = normal(release, other)
    assert "another lab" in result.problem
    assert result.notebook == untouched(release)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@cuda.jit\ndef f(x): pass\nT = 1\nU: int = 2", {"f", "T", "U"}),
        ("def g(:\n  x\nT = 3\nif T == 4:", {"g", "T"}),
        ("", set()),
    ],
)
def test_names(text, names):
    assert defined_names(text) == names


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda nb: nb.cells[4].update(source="assert True"), "not one check"),
        (lambda nb: nb.cells[4].metadata.nbgrader.update(points=5), "worth 5 points"),
        (lambda nb: nb.cells[4].metadata.nbgrader.update(grade_id="row_max"), "two cells"),
        (lambda nb: nb.cells[4].update(source='check("lab9.nothing.values", row_max)'), "does not have"),
        (lambda nb: nb.update(cells=nb.cells[:1]), "no graded cell"),
    ],
)
def test_a_release_that_cannot_be_graded_against(tmp_path, change, words):
    notebook = small.released()
    change(notebook)
    path = small.write(tmp_path / "x.ipynb", notebook)
    with pytest.raises(BadRelease, match=words):
        load_release(small.LAB, path)


def test_a_release_that_is_not_there(tmp_path):
    with pytest.raises(BadRelease, match="--released"):
        find_release(small.LAB, tmp_path)
    with pytest.raises(BadRelease, match="cannot be read"):
        load_release(small.LAB, small.write(tmp_path / "x.ipynb", b"nothing"))


def test_two_answers_in_one_cell_both_count(release):
    """The second cell's stub would stand below the answer and hide it."""
    notebook = small.answered(row_max=f"{MAX}\n\n\n{SUM}")
    del notebook.cells[7]
    result = normal(release, notebook)
    found = sources(result)
    assert SUM in found["row_max"] and "NotImplementedError" not in found["row_sum"]
    assert result.repairs == ("Cell row_sum is missing from the file; row_sum was found in another cell.",)
    assert roles(result.notebook) == roles(release.notebook)


def test_reordered_cells_go_back_to_their_places(release):
    notebook = small.answered()
    notebook.cells = notebook.cells[::-1]
    check_answers(release, normal(release, notebook))


def test_names_of_long_cells_are_found_by_pattern():
    text = "def found(x):\n    pass\n" + "y = 1\n" * 10_000
    assert defined_names(text) == {"found", "y"}


def test_many_large_cells_take_little_time(release):
    import time

    notebook = small.answered()
    code = "x = [1, (2, 3), {4: 5}]\n" * 400
    for number in range(24):
        notebook.cells.insert(2, {"cell_type": "code", "source": f"{code}# {number}", "metadata": {}, "outputs": []})
    began = time.process_time()
    check_answers(release, normal(release, notebook))
    assert time.process_time() - began < 6
