"""Kernels that ask for more than their share, through the real child."""

from autograder.child import run_judge
from autograder.source import cells, gather_notebook

LOCAL = """import numba
from numba import cuda


@cuda.jit
def row_max(X, out):
    big = cuda.local.array(524288, numba.uint8)
    big[0] = 1
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = X[cuda.blockIdx.x, 0]
"""


def test_local_memory_beyond_a_thread_is_a_verdict_with_a_line():
    """256 threads of half a MiB each once took all memory, and the check "could not be judged"."""
    notebook = {"cells": [{"cell_type": "code", "source": LOCAL, "metadata": {}}]}
    report = run_judge(gather_notebook(notebook, "row_max"), "lab1.row_max.values")
    assert report.error is None and not report.passed and report.points == 0
    said = " ".join(case.message for check in report.checks for case in check.cases) + report.message
    assert "local memory" in said and "524,288" in said


def test_syntax_trees_that_are_remembered_are_bounded():
    for number in range(40):
        cells.make_cell(f"x = [{number}, (1, 2)]\n" * 2000, "cell 1")
    kept = sum(len(text) for text, _ in cells._KEPT)
    assert 0 < kept <= cells.KEPT_CHARACTERS
    one = cells.make_cell("a = 1\n", "cell 1")
    assert cells.make_cell("a = 1\n", "cell 2").tree is one.tree
    for number in range(600):
        cells.make_cell(f"b = {number}\n", "cell 1")
    assert len(cells._KEPT) <= cells.KEPT_CELLS
