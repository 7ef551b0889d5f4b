"""What the builder adds to the cells of a source: the setup cell, nbgrader's metadata, ids."""

from __future__ import annotations

import hashlib
from typing import Any

from nbformat import NotebookNode

from autograder.build.layout import BuildError

SETUP_SOURCE = "# setup"
SETUP_ID = "setup"

# The one setup cell. __PACKAGE__ is the address for pip. It must run where nothing of the course is
# installed, so it may use the standard library alone until the package is there.
SETUP_CELL = """\
# Run this cell first. Where the course is missing (on Colab, say), it installs it.
import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("autograder") is None:
    wheels = sorted(Path().glob("online_softmax_course-*.whl"))
    package = str(wheels[-1]) if wheels else "__PACKAGE__"
    print("Installing the course from", package)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", package]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"pip could not install the course:\\n{done.stdout}{done.stderr}")
    importlib.invalidate_caches()

# Chooses the GPU, or the simulator where there is none, and so comes before numba is imported.
from autograder.notebook import start

print(start())

import math

import numba
import numpy as np
from numba import cuda

from autograder import check, xray"""


def setup_cell(repository: str) -> str:
    """The text of the setup cell of a course that lives at ``repository`` (an address git can clone)."""
    address = repository.strip().removeprefix("git+")
    if not address or any(char in address for char in "\"'\\ \n"):
        raise BuildError(f"{repository!r} is not an address that git could clone.")
    return SETUP_CELL.replace("__PACKAGE__", f"git+{address}")


def is_setup(cell: NotebookNode) -> bool:
    """Whether the cell of a source stands for the setup cell."""
    return SETUP_ID in cell.metadata.get("tags", ())


def finish_cell(cell: NotebookNode, repository: str, graded: bool) -> None:
    """Turn one cell of a source into its final form, in place.

    The setup cell gets its text. In a lab (``graded``) it is locked, and what nbgrader needs to know
    of every other cell is filled in. Cells of a lesson carry no nbgrader metadata.
    """
    if is_setup(cell):
        cell.source = setup_cell(repository)
        if graded:
            cell.metadata["nbgrader"] = {"grade_id": SETUP_ID, "locked": True}
    if "nbgrader" in cell.metadata:
        cell.metadata["nbgrader"] = nbgrader_metadata(cell.metadata["nbgrader"], cell.cell_type)


def nbgrader_metadata(given: dict[str, Any], cell_type: str) -> dict[str, Any]:
    """nbgrader's metadata (schema 3) in full, from the few keys that a source gives.

    ``locked`` is true for a test cell and false for every cell that a student fills in. ``points``
    is there exactly for cells with ``grade``.
    """
    grade, solution = bool(given.get("grade", False)), bool(given.get("solution", False))
    task = bool(given.get("task", False))
    full = {
        "schema_version": 3,
        "grade_id": given.get("grade_id", ""),
        "grade": grade,
        "solution": solution,
        "locked": bool(given.get("locked", grade and not solution)),
        "task": task,
        "cell_type": cell_type,
    }
    if grade or task:
        full["points"] = given.get("points", 0)
    unknown = set(given) - set(full) - {"points"}
    if unknown:
        raise BuildError(
            f"cell {full['grade_id'] or '(no grade_id)'}: nbgrader has no key {sorted(unknown)[0]!r}; "
            "it has grade_id, grade, solution, points, locked and task."
        )
    return full


def number_cells(cells: list[NotebookNode]) -> None:
    """Give every cell an id that stays: its grade_id, or a hash of its text, in place.

    Equal cells get a number behind the hash, in order. jupytext's own ids are random.
    """
    seen: dict[str, int] = {}
    for cell in cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if is_setup(cell):
            base = SETUP_ID
        elif grade_id:
            base = grade_id[:60]
        else:
            base = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[base] = seen.get(base, 0) + 1
        cell["id"] = base if seen[base] == 1 else f"{base}-{seen[base]}"
