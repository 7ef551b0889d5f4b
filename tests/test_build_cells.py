"""The setup cell, nbgrader's metadata and cell ids."""

import ast
import re

import nbformat
import pytest
from build_sample import LAB, make_course
from nbgrader.nbgraderformat import MetadataValidator

from autograder.build.builder import read_sources
from autograder.build.cells import SETUP_CELL, nbgrader_metadata, setup_cell
from autograder.build.layout import BuildError, find_course, find_root
from autograder.build.notebook import make_notebook, to_bytes


def notebook_of(tmp_path, lab=LAB, **kwargs):
    course = make_course(tmp_path, lab=lab)
    return make_notebook(read_sources(course)["lab9_sample"], course.repository, graded=True, **kwargs)


def test_setup_cell_holds_the_address_once_and_is_python():
    text = setup_cell("https://example.org/course")
    assert text.count("git+https://example.org/course") == 1
    assert setup_cell("git+https://example.org/course") == text
    assert "__PACKAGE__" not in text
    assert len(text.splitlines()) <= 40
    ast.parse(text)


def test_setup_cell_chooses_the_place_before_numba_is_imported():
    assert SETUP_CELL.index("print(start())") < SETUP_CELL.index("import numba")


def test_setup_cell_hides_no_error():
    assert not re.search(r"\bexcept\b|\btry\b|2>|DEVNULL|warnings", SETUP_CELL)
    assert "raise RuntimeError" in SETUP_CELL


@pytest.mark.parametrize("address", ["", 'https://example.org/"x', "two words", "a\nb"])
def test_an_address_that_would_break_the_cell_is_refused(address):
    with pytest.raises(BuildError, match="not an address"):
        setup_cell(address)


def test_nbgrader_takes_every_cell_and_roles_are_as_expected(tmp_path):
    notebook = notebook_of(tmp_path)
    MetadataValidator().validate_nb(notebook)
    nbformat.validate(notebook)
    roles = {
        cell.metadata.nbgrader.grade_id: (
            cell.metadata.nbgrader.grade,
            cell.metadata.nbgrader.solution,
            cell.metadata.nbgrader.locked,
            cell.metadata.nbgrader.get("points"),
        )
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    }
    assert roles == {
        "setup": (False, False, True, None),
        "double": (False, True, False, None),
        "double_values": (True, False, True, 2),
        "lab9_written": (True, True, False, 1),
    }


def test_an_unknown_key_is_named_with_its_line(tmp_path):
    with pytest.raises(BuildError, match=r"solutions/lab9_sample.py, line 10 \(double\).*'solutoin'"):
        notebook_of(tmp_path, LAB.replace('"solution": true}\ndef', '"solutoin": true}\ndef'))


def test_points_are_there_exactly_where_there_is_a_grade():
    assert "points" not in nbgrader_metadata({"grade_id": "a", "solution": True, "points": 3}, "code")
    assert nbgrader_metadata({"grade_id": "a", "grade": True, "points": 3}, "code")["points"] == 3


def test_ids_are_grade_ids_or_hashes_and_stay(tmp_path):
    lab = LAB + "\n# %% [markdown]\n# Again.\n\n# %% [markdown]\n# Again.\n"
    first, second = notebook_of(tmp_path / "a", lab), notebook_of(tmp_path / "b", lab)
    ids = [cell.id for cell in first.cells]
    assert ids == [cell.id for cell in second.cells]
    assert len(set(ids)) == len(ids)
    assert {"setup", "double", "double_values", "lab9_written"} <= set(ids)
    assert ids[-1] == ids[-2] + "-2"
    assert to_bytes(first) == to_bytes(second)


def test_text_above_a_cell_does_not_change_the_ids_below(tmp_path):
    before = {cell.id for cell in notebook_of(tmp_path / "a").cells}
    after = {cell.id for cell in notebook_of(tmp_path / "b", "# %% [markdown]\n# New.\n\n" + LAB).cells}
    assert before < after and len(after) == len(before) + 1


@pytest.mark.parametrize(
    "lab",
    [
        LAB.replace('# %% tags=["setup"]\n# setup\n', ""),
        LAB.replace("# %% [markdown]\n# # A", "# %%\nx = 1\n\n# %% [markdown]\n# # A"),
        LAB + '\n# %% tags=["setup"]\n# setup\n',
    ],
    ids=["none", "not first", "twice"],
)
def test_the_setup_cell_comes_once_and_first(tmp_path, lab):
    with pytest.raises(BuildError, match="setup cell"):
        notebook_of(tmp_path, lab)


def test_a_source_without_cells_is_refused(tmp_path):
    with pytest.raises(BuildError, match="solutions/lab9_sample.py has no cells"):
        read_sources(make_course(tmp_path, lab="x = 1\n"))


def test_a_course_is_found_from_within_and_its_absence_is_said(tmp_path):
    course = make_course(tmp_path / "course-copy")
    assert find_root(course.root / "solutions") == course.root
    with pytest.raises(BuildError, match="no course in"):
        find_root(tmp_path)


def test_the_address_can_be_overridden_and_must_be_somewhere(tmp_path):
    course = make_course(tmp_path)
    assert course.repository == "https://example.org/course"
    assert find_course(tmp_path, "https://example.org/fork").repository == "https://example.org/fork"
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    with pytest.raises(BuildError, match="No Repository address"):
        find_course(tmp_path)
