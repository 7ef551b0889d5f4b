"""A source as a notebook, and a notebook as bytes that are the same each time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.build.cells import finish_cell, is_setup, number_cells
from autograder.build.layout import BuildError

# Fixed, so that a notebook does not change with the Python that builds it.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_HEADER = re.compile(r"^# %%")


@dataclass(frozen=True)
class Source:
    """A py:percent script, parsed: ``cells`` as written, ``lines`` the line each of them starts at
    (0 where unknown), ``show`` the name for messages ("solutions/lab1_three_pass.py")."""

    show: str
    cells: tuple[NotebookNode, ...]
    lines: tuple[int, ...]

    def place(self, index: int) -> str:
        """Where cell ``index`` is, for a message: file, line and grade_id if it has one."""
        grade_id = self.cells[index].metadata.get("nbgrader", {}).get("grade_id")
        where = f"line {self.lines[index]}" if self.lines[index] else f"cell {index + 1}"
        return f"{self.show}, {where}" + (f" ({grade_id})" if grade_id else "")


def read_source(path: Path, show: str) -> Source:
    """Parse the py:percent script at ``path``.

    Raises BuildError when the file cannot be read, holds no cells, or has a broken cell header.
    """
    import jupytext  # here, since students' machines need not have it

    try:
        text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        cells = tuple(jupytext.reads(text, fmt="py:percent").cells)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BuildError(f"{show} cannot be read as a py:percent script: {error}") from error
    headers = [n for n, line in enumerate(text.split("\n"), 1) if _HEADER.match(line)]
    if not headers or not cells:
        raise BuildError(f"{show} has no cells. A cell begins with a line `# %%`.")
    for index, cell in enumerate(cells):
        if not isinstance(cell.metadata.get("nbgrader", {}), dict):
            raise BuildError(f"{show}, cell {index + 1}: nbgrader=… in the cell header is not a JSON object.")
    lines = tuple(headers) if len(headers) == len(cells) else (0,) * len(cells)
    return Source(show, cells, lines)


def make_notebook(source: Source, repository: str, graded: bool) -> NotebookNode:
    """The notebook of ``source``, without outputs: a lab's (``graded``) or a lesson's.

    Raises BuildError unless exactly one cell is the setup cell, before any other code.
    """
    cells = []
    for index, written in enumerate(source.cells):
        cell = nbformat.from_dict(written)
        cell.metadata.pop("lines_to_next_cell", None)
        try:
            finish_cell(cell, repository, graded)
        except BuildError as error:
            raise BuildError(f"{source.place(index)}: {error}") from error
        if cell.cell_type == "code":
            cell["outputs"], cell["execution_count"] = [], None
        cells.append(cell)
    code = [cell for cell in cells if cell.cell_type == "code"]
    if sum(map(is_setup, cells)) != 1 or not is_setup(code[0]):
        raise BuildError(
            f'{source.show}: the first code cell must be the setup cell, once: `# %% tags=["setup"]` and below it `# setup`.'
        )
    number_cells(cells)
    return nbformat.from_dict({"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5})


def to_bytes(notebook: NotebookNode) -> bytes:
    """The notebook as a file: UTF-8, keys in order, one newline at the end, on every system."""
    return (nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n").encode("utf-8")


def from_bytes(data: bytes) -> NotebookNode:
    """The notebook in a file's bytes. Raises ValueError when it is not one."""
    try:
        return nbformat.reads(data.decode("utf-8"), as_version=nbformat.NO_CONVERT)
    except Exception as error:  # nbformat raises half a dozen kinds for a file that is no notebook
        raise ValueError(f"not a notebook: {error}") from error
