"""Files that are not what they should be become sentences, never exceptions."""

import json

import classroom_lab as small
import pytest

from autograder.classroom.reading import Cell, parse_notebook, read_notebook


def as_bytes(notebook) -> bytes:
    return json.dumps(notebook).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"\x00" * 500, "nothing but zero bytes"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
        (b"%PDF-1.7", "PDF"),
        (b'{"cells": [\n<<<<<<< HEAD\n 1\n=======\n 2\n>>>>>>> theirs\n]}', "unfinished merge"),
        (b'{"a": 1} {"b": 2}', "more follows"),
        (b"Dear instructor, my notebook did not save.", "not a notebook"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not a notebook"),
        (b"PK\x03\x04 a zip file", "not a notebook"),
        (b'{"cells": [{"cell_type": "code", "sou', "cut off"),
        (b'{"cells": [', "cut off"),
        (b'{"cells": [}', "broken at line 1"),
        (b'{\n "cells": [\n  {"a" 1}\n ]\n}', "broken at line 3"),
        (b"{}", "no cells"),
        (b'{"cells": {}}', "no cells"),
        (b'{"cells": []}', "no cells"),
        (b'{"cells": [1, null, {"cell_type": "code", "source": 3}]}', "no cells"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b'{"cells": ' + b"9" * 5000 + b"}", "too long"),
        (b'{"nbformat": 3, "worksheets": 5}', "old format"),
    ],
)
def test_what_is_not_a_notebook_is_named(data, words):
    reading = parse_notebook(data)
    assert reading.cells == ()
    assert words in reading.problem
    assert reading.problem.endswith(".")


def test_an_ordinary_notebook():
    reading = parse_notebook(as_bytes(small.answered()))
    assert reading.problem is None and reading.notes == ()
    assert reading.cells[3] == Cell("code", small.GOOD, "row_max", "row_max")
    assert reading.cells[0] == Cell("markdown", "# A small lab", "title", None)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_other_encodings_are_read_and_said(encoding):
    notebook = small.answered(written="Größe")
    data = json.dumps(notebook, ensure_ascii=False).encode(encoding)
    reading = parse_notebook(data)
    assert [cell.source for cell in reading.cells if cell.grade_id == "lab1_written"] == ["Größe"]
    assert len(reading.notes) == 1


def test_source_as_lines_and_foreign_line_ends():
    data = as_bytes({"cells": [{"cell_type": "code", "source": ["a = 1\r\n", "b\x00 = '\ud800'\r"]}]})
    assert parse_notebook(data).cells[0].source == "a = 1\nb\N{REPLACEMENT CHARACTER} = '?'\n"


def test_metadata_of_wrong_types_is_ignored():
    cell = {"cell_type": "code", "source": "x", "id": 7, "metadata": {"nbgrader": {"grade_id": ["a"]}}}
    others = [{**cell, "metadata": value} for value in ({"nbgrader": 5}, [], None, "x")]
    reading = parse_notebook(as_bytes({"cells": [cell, *others], "nbformat": "four"}))
    assert reading.cells == (Cell("code", "x"),) * 5


def test_broken_cells_are_left_out_and_counted():
    reading = parse_notebook(
        as_bytes({"cells": [{"cell_type": "code", "source": "x"}, {"cell_type": "film"}, 4]})
    )
    assert len(reading.cells) == 1
    assert reading.notes[0].endswith("left out: 2.")


def test_an_old_format_is_converted():
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [
            {
                "metadata": {},
                "cells": [
                    {
                        "cell_type": "code",
                        "input": "x = 1",
                        "outputs": [],
                        "language": "python",
                        "metadata": {},
                        "collapsed": False,
                    },
                ],
            }
        ],
    }
    reading = parse_notebook(as_bytes(old))
    assert reading.cells[0].source == "x = 1"
    assert "old format 3" in reading.notes[0]


def test_limits(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.classroom.reading.LARGEST_FILE", 10)
    path = small.write(tmp_path / "a.ipynb", small.answered())
    assert "MB" in read_notebook(path).problem
    assert "cannot be opened" in read_notebook(tmp_path / "b.ipynb").problem
    huge = {"cells": [{"cell_type": "code", "source": "x" * 1_000_001}]}
    assert "1,000,001 characters" in parse_notebook(as_bytes(huge)).problem
    many = {"cells": [{"cell_type": "code", "source": ""}] * 5001}
    assert "5,001 cells" in parse_notebook(as_bytes(many)).problem


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_without_a_mark(encoding):
    reading = parse_notebook(json.dumps(small.answered()).encode(encoding))
    assert reading.cells[3].source == small.GOOD and "UTF-" in reading.notes[0]


def test_what_follows_a_whole_notebook_is_left_out():
    data = as_bytes(small.answered())
    assert parse_notebook(data + b"\x00" * 4096).notes == ()
    reading = parse_notebook(data + b"\n" + data)
    assert reading.cells[3].source == small.GOOD and "After the end of the notebook" in reading.notes[0]


def test_a_giant_cell_is_left_out_and_the_others_count():
    notebook = json.loads(as_bytes(small.answered()))
    notebook["cells"].insert(1, {"cell_type": "code", "source": "x = 1\n" * 20_000})
    reading = parse_notebook(as_bytes(notebook))
    assert reading.problem is None and "Cell 2 holds 120,000 characters and was left out" in reading.notes[0]
    assert [cell.source for cell in reading.cells if cell.grade_id == "row_max"] == [small.GOOD]


def test_five_megabytes_of_cells_are_refused_before_they_are_parsed():
    """They once took 80 s and 1.2 GB."""
    cell = {"cell_type": "code", "source": "x = [1, (2, 3), {4: 5}]\n" * 2000}
    reading = parse_notebook(as_bytes({"cells": [cell] * 104}))
    assert "characters of code; more than 250,000 are not read" in reading.problem


def test_scripts():
    from autograder.classroom import scripts

    text = "# ---\n# jupyter: 1\n# ---\n\n# %% [markdown]\n# Why *so*?\n#\n# Because.\n\n"
    text += "# %% nbgrader={\"a\": 1}\nx = 1\n"
    text += "# In[ ]:\n\n\ny = 2\n# %% [md]\n\"\"\"\nquoted\n\"\"\"\n#%%\n\n"
    assert scripts.cells(text) == [
        ("markdown", "Why *so*?\n\nBecause."),
        ("code", "x = 1"),
        ("code", "y = 2"),
        ("markdown", "quoted"),
    ]
    assert scripts.cells("def f():\r\n    pass\r\n") == [("code", "def f():\n    pass")]
    assert parse_notebook(b"x = 1\n", "lab.py").cells[0].source == "x = 1"
