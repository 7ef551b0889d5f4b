"""Kernels out of notebook files and scripts: which cells count, IPython's commands, broken files."""

from __future__ import annotations

import json

import pytest

from autograder.source import SourceRefused, gather_notebook, gather_script

SETUP = "import math\nimport numba\nimport numpy as np\nfrom numba import cuda"
KERNEL = "@cuda.jit\ndef k(X):\n    X[0] = {}"


def code(source, grade_id: str | None = None, **metadata) -> dict:
    if grade_id:
        metadata["nbgrader"] = {"grade_id": grade_id}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": [], "execution_count": None}


def book(*cells) -> dict:
    made = [cell if isinstance(cell, dict) else code(cell) for cell in (SETUP, *cells)]
    return {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def refusal(notebook, name="k", **options) -> SourceRefused:
    with pytest.raises(SourceRefused) as caught:
        gather_notebook(notebook, name, **options)
    assert "\n" not in str(caught.value)
    return caught.value


def test_only_code_cells_above_the_check_count():
    notebook = book(
        "T = 1",
        {"cell_type": "markdown", "metadata": {}, "source": "T = 7"},
        KERNEL.format("T"),
        code("check('x', k)", "first"),
        "T = 2",
        KERNEL.format("T + 1"),
        code("check('x', k)", "second"),
        "T = 3",
    )
    first = gather_notebook(notebook, "k", before="first")
    assert "T = 1\n" in first.text and "T + 1" not in first.text
    assert set(first.labels) == {"", "cell 4"} and first.lines[-1] == 3 and first.origin == "the notebook"
    second = gather_notebook(notebook, "k", before="second")
    assert "T = 2\n" in second.text and "T + 1" in second.text and set(second.labels) == {"", "cell 7"}
    assert second.notes == ("`k` is defined in cell 4 and cell 7; the last one counts",)
    assert "T = 3\n" in gather_notebook(notebook, "k").text


def test_a_kernel_below_its_check_is_told():
    notebook = book(code("check('x', k)", "first"), KERNEL.format("1"))
    found = refusal(notebook, before="first")
    assert str(found) == "cell 3: `k` is defined below its check; move the cell above the check"


def test_a_missing_check_cell_is_told():
    found = refusal(book(KERNEL.format("1")), before="first")
    assert str(found) == "the check cell `first` is not in the notebook; copy your cells into a fresh copy of the lab"


def test_a_missing_kernel_is_told():
    found = refusal(book("@cuda.jit\ndef kk(X):\n    X[0] = 1", code("check('x', k)", "c")), before="c", name="kkk")
    assert str(found) == "there is no `kkk` in the notebook above the check; did you mean `kk`?"
    assert "write `def k(...):`" in refusal(book(), name="k", kind="host").hint


@pytest.mark.parametrize(
    "setup",
    [
        code("try:\n    import autograder\nexcept ImportError:\n    pass", tags=["setup"]),
        code("# anything", "setup"),
        code("from autograder.notebook import start\nprint(start())"),
    ],
)
def test_the_setup_cell_gives_its_names_whatever_it_says(setup):
    notebook = {"cells": [setup, code(KERNEL.format("np.float32(math.exp(numba.float32(1)))"))]}
    assert gather_notebook(notebook, "k").text.startswith(
        "import math\nimport numba\nimport numpy as np\nfrom numba import cuda\n"
    )


def test_the_built_setup_cell_is_understood():
    build = pytest.importorskip("autograder.build.cells")
    notebook = {"cells": [code(build.setup_cell("https://example.org/course.git")), code(KERNEL.format("math.exp(1)"))]}
    assert gather_notebook(notebook, "k").text.startswith("import math\nfrom numba import cuda\n")


MAGIC_CELLS = {
    "line magic": "%matplotlib inline\nT = 5",
    "shell": "!pip install 'x\n!echo ( \"\nT = 5",
    "help": "np.max?\n?np.max\nnp.max??\nT = 5",
    "assigned": "files = !ls\nx, y = %time 3\nT = 5",
    "indented": "if True:\n    !ls\n    %time 3\nT = 5",
    "continued": "!ls \\\n  -l\nT = 5",
    "capture": "%%capture out\nT = 5",
    "time": "%%time\nT = 5",
    "indented cell": "  T = 4\n  T += 1",
    "prompts": ">>> T = 5\n>>> def f():\n...     return 1",
    "numbered prompts": "In [3]: T = 5\n   ...: U = 6",
    "many": "\n".join(f"%magic {n}" for n in range(60)) + "\nT = 5",
    "blank lines": "\n\n  \nT = 5\n\n",
    "list of lines": ["T = 4\n", "T = 5"],
    "await": "await something()\nT = 5",
    "windows": "T = 4\r\nT = 5\r\n",
    "percent in brackets": "U = (7\n% 4)\nT = 5",
    "question in text": "'''really?\nyes?\n'''\nT = 5",
}


@pytest.mark.parametrize("cell", MAGIC_CELLS.values(), ids=MAGIC_CELLS.keys())
def test_commands_of_ipython_are_set_aside(cell):
    assert "\nT = 5\n" in gather_notebook(book(cell, KERNEL.format("T")), "k").text


def test_other_cell_magics_and_broken_cells_bind_nothing():
    text = gather_notebook(
        book("T = 5", "%%bash\nT = 6", "%%writefile x.py\nT = 7", "T = = 8", "T = 9 (", KERNEL.format("T")), "k"
    ).text
    assert "\nT = 5\n" in text


def test_a_kernel_under_a_cell_magic_is_told():
    found = refusal(book("%%time\n" + KERNEL.format("1")))
    assert str(found) == (
        "line 3 of cell 2: `k` is in a cell that starts with `%%time`, which hides its text; "
        "take `%%time` off the cell and run it again"
    )
    found = refusal(book("%%bash\n" + KERNEL.format("1")))
    assert str(found) == "line 1 of cell 2: `k` is in a cell that starts with `%%bash`; take `%%bash` off the cell"
    captured = gather_notebook(book("%%capture\n\n" + KERNEL.format("1")), "k")
    assert [n for n in captured.lines if n] == [3, 4, 5]


def test_a_command_inside_a_kernel_is_told():
    found = refusal(book("\n@cuda.jit\ndef k(X):\n    %time X[0] = 1\n    X[1] = 2"))
    assert (
        str(found) == "line 4 of cell 2: `%time X[0] = 1` is a command of IPython and cannot stand in `k`; take it out"
    )


def test_a_kernel_in_a_broken_cell_is_told():
    found = refusal(book("x = 1\n@cuda.jit\ndef k(X):\n    X[0] = = 1"))
    assert found.line == 4 and found.label == "cell 2" and "its cell has a syntax error" in found.sentence
    assert found.hint == "mend the cell and run it"


def test_lines_and_cells_in_refusals():
    notebook = book(
        "@cuda.jit(device=True)\ndef f(x):\n    return np.sum(x)", "\n\n@cuda.jit\ndef k(X):\n    X[0] = f(X)"
    )
    assert str(refusal(notebook)) == (
        "line 3 of cell 2: `np.sum` is not available inside a GPU kernel; add up in a loop"
    )
    source = gather_notebook(
        book("@cuda.jit(device=True)\ndef f(x):\n    return x", "\n\n@cuda.jit\ndef k(X):\n    X[0] = f(X)"), "k"
    )
    numbers = {source.text.split("\n")[i]: (source.lines[i], source.labels[i]) for i in range(len(source.lines))}
    assert numbers["    return x"] == (3, "cell 2") and numbers["def k(X):"] == (4, "cell 3") and numbers[""] == (0, "")


def test_host_functions():
    notebook = book("SIZE = 4", "def total(rows, n):\n    return rows * n * SIZE")
    source = gather_notebook(notebook, "total", kind="host")
    assert source.text == "SIZE = 4\n\n\ndef total(rows, n):\n    return rows * n * SIZE\n" and source.kind == "host"
    assert "put @cuda.jit above it" in refusal(notebook, "total").hint
    assert "take the decorator off" in refusal(book(KERNEL.format("1")), kind="host").hint


FILES = {
    "not json": b"hello",
    "empty": b"",
    "list": b"[]",
    "number": b"3",
    "no cells": b"{}",
    "cells no list": b'{"cells": 3}',
    "cell no dict": b'{"cells": [3]}',
    "old format": b'{"worksheets": [{"cells": []}], "nbformat": 3}',
    "binary": bytes(range(256)),
    "deep": b"[" * 100_000,
    "deep inside": b'{"cells": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "big number": b'{"cells": ' + b"9" * 10_000 + b"}",
    "merge conflict": b'<<<<<<< HEAD\n{"cells": []}\n',
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES.keys())
def test_a_file_that_is_no_notebook_is_told(content, tmp_path):
    path = tmp_path / "lab.ipynb"
    path.write_bytes(content)
    found = refusal(path)
    assert "lab.ipynb" in str(found) and str(tmp_path) not in str(found)


def test_odd_cells_do_no_harm(tmp_path):
    cells = [
        {"cell_type": "code"},
        {"cell_type": "code", "source": 3, "metadata": 4},
        {},
        {"cell_type": None, "source": None},
        code(None),
        code([1, "x = 1", None]),
        {"cell_type": "code", "metadata": {"nbgrader": [], "tags": 3}, "source": "y = 1"},
        {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": {}}}, "source": "z = 1"},
        code(SETUP),
        code(KERNEL.format("x + y + z")),
    ]
    path = tmp_path / "lab.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert "x = 1\ny = 1\nz = 1\n" in gather_notebook(path, "k").text
    assert gather_notebook(str(path), "k").origin == "lab.ipynb"


def test_files_that_cannot_be_read_are_told(tmp_path):
    assert "no such file" in str(refusal(tmp_path / "none.ipynb"))
    with pytest.raises(SourceRefused, match="is a directory|cannot be read"):
        gather_script(tmp_path, "k")
    (tmp_path / "bad.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceRefused, match="bad.py is not a text file"):
        gather_script(tmp_path / "bad.py", "k")
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbf" + (SETUP + "\n" + KERNEL.format("1") + "\n").encode())
    assert gather_script(tmp_path / "bom.py", "k").lines[-1] == 7
    (tmp_path / "broken.py").write_text("def k(:\n")
    with pytest.raises(SourceRefused, match="line 1: broken.py has a syntax error"):
        gather_script(tmp_path / "broken.py", "k")


def test_the_nbformat_node_works_as_well(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    node = nbformat.from_dict(book(KERNEL.format("1")))
    assert gather_notebook(node, "k").text == gather_notebook(book(KERNEL.format("1")), "k").text


def test_nothing_is_run(tmp_path):
    marker = tmp_path / "ran"
    evil = f"open({str(marker)!r}, 'w').close()"
    gather_notebook(
        book(
            evil,
            f"T = 3 if {evil} else 3",
            f"def f(x={evil}):\n    pass",
            f"@{evil}\ndef g():\n    pass",
            f"!touch {marker}",
            KERNEL.format("1"),
        ),
        "k",
    )
    assert not marker.exists()
