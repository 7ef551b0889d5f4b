"""Put a student's work into the released notebook.

The result has the released notebook's cells, roles, points and tests, the student's text in the
solution cells, and the student's own extra cells (helpers, notes) where they stood, without any
role. A solution cell is recognised by its grade_id, else by its cell id, else by the names that it
defines, else by its place. Nothing is run.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from autograder.classroom.cells import nbgrader_data
from autograder.classroom.reading import Cell
from autograder.classroom.release import Release

LONGEST_PARSED = 20_000  # characters of a cell


@dataclass(frozen=True)
class Normalised:
    """``notebook`` is an nbformat 4 node, whose cells are not to be changed: most are those of ``release.cleared``;
    ``repairs`` are sentences, one per thing put right; ``problem`` is a sentence when nothing of the lab was found
    in the file (then ``notebook`` is the untouched release)."""

    notebook: Any
    repairs: tuple[str, ...] = ()
    problem: str | None = None


def untouched(release: Release) -> Any:
    """The released notebook, outputs cleared; its cells are not to be changed."""
    return with_cells(release.cleared, release.cleared.cells)


def with_cells(notebook: Any, cells: Iterable[Any]) -> Any:
    """A notebook like ``notebook`` with a list of ``cells`` of its own; the cells themselves are not copied."""
    return NotebookNode({**notebook, "cells": list(cells)})


def normalise(release: Release, cells: Sequence[Cell]) -> Normalised:
    """The student's ``cells`` in the released notebook."""
    matching = _Matching(release, cells)
    matching.by_grade_id()
    matching.by_cell_id()
    matching.by_text()
    matching.by_names()
    matching.by_place()
    if not matching.found_any():
        return Normalised(
            untouched(release),
            problem=f"None of the cells of {release.lab} was found in the file: "
            "is it the notebook of another lab?",
        )
    return Normalised(matching.assemble(), tuple(matching.repairs))


class _Matching:
    """Which submitted cell stands for which released cell; grown step by step."""

    def __init__(self, release: Release, cells: Sequence[Cell]) -> None:
        self.release = release
        self.released = release.cleared.cells
        self.cells = cells
        self.match: dict[int, int] = {}  # released index -> submitted index
        self.dropped: set[int] = set()  # submitted copies that say nothing new
        self.recognised: set[int] = set()  # released solution cells found by more than their text
        self.repairs: list[str] = []
        self._wanted = {check.name for check in release.checks}
        self._defined = [own.cell_type == "code" and defined_names(own.source) or frozenset() for own in cells]
        self._text = [own.source.strip() for own in cells]
        self.elsewhere: dict[int, int] = {}  # released index -> submitted index of a cell taken for another

    # -- the five ways -------------------------------------------------------------------------

    def by_grade_id(self) -> None:
        for at, cell in enumerate(self.released):
            grade_id = nbgrader_data(cell).get("grade_id")
            copies = [index for index, own in enumerate(self.cells) if grade_id and own.grade_id == grade_id]
            if not copies:
                continue
            if not self._is_solution(at):
                self.match[at] = copies[-1]
                self.dropped.update(copies[:-1])
                if any(self._text[index] != cell.source.strip() for index in copies):
                    self.repairs.append(f"Cell {grade_id} had been changed; the released one counts.")
                continue
            chosen = self._choose(at, copies)
            self._take(at, chosen)
            if self.cells[chosen].cell_type != cell.cell_type:
                self.repairs.append(
                    f"Cell {grade_id} had become a {self.cells[chosen].cell_type} cell; "
                    f"it was read as {cell.cell_type}."
                )
            if len(copies) > 1:
                self._set_aside(at, chosen, copies)
                self.repairs.append(
                    f"Cell {grade_id} appears {len(copies)} times; the last one that answers it counts."
                )

    def by_cell_id(self) -> None:
        known = {own.id: index for index, own in enumerate(self.cells) if own.id}
        for at, cell in self._open():
            index = known.get(cell.get("id"))
            if index is None or not self._free(index) or self.cells[index].cell_type != cell.cell_type:
                continue
            self._take(at, index)
            if self._is_solution(at):
                self.repairs.append(
                    f"Cell {self._name(at)} had lost its nbgrader data; it was recognised by its cell id."
                )

    def by_text(self) -> None:
        for at, cell in self._open():
            text = cell.source.strip()
            for index, own in enumerate(self.cells):
                if own.cell_type == cell.cell_type and self._text[index] == text and self._free(index):
                    self.match[at] = index
                    break

    def by_names(self) -> None:
        for at, cell in self._open(solutions=True):
            names = defined_names(cell.source)
            names = names & self._wanted or names
            found = [index for index in range(len(self.cells)) if names & self._defined[index]]
            free = [index for index in found if self._free(index)]
            if cell.cell_type != "code" or not found:
                continue
            if free:
                self._take(at, free[-1])
                self.repairs.append(
                    f"Cell {self._name(at)} had lost its nbgrader data; it was recognised by the name "
                    f"{min(names & self._defined[free[-1]])}."
                )
            elif self._above(at, found[-1]):
                self.elsewhere[at] = found[-1]
                self.recognised.add(at)
                self.repairs.append(
                    f"Cell {self._name(at)} is missing from the file; {min(names & self._defined[found[-1]])} was "
                    "found in another cell."
                )

    def _above(self, at: int, index: int) -> bool:
        """Whether the submitted cell stands for one above the released cell ``at``."""
        return any(index == own and other < at for other, own in self.match.items())

    def by_place(self) -> None:
        for at, cell in self._open(solutions=True):
            if at in self.elsewhere:
                continue
            before = max((self.match[other] for other in self.match if other < at), default=-1)
            after = min((self.match[other] for other in self.match if other > at), default=len(self.cells))
            found = [
                index
                for index in range(before + 1, after)
                if self._free(index)
                and self.cells[index].cell_type == cell.cell_type
                and self._text[index]
            ]
            # One text in the right place is the answer; before any other cell was found, place means nothing.
            if found and self.match:
                self._take(at, found[0])
                self.repairs.append(
                    f"Cell {self._name(at)} had lost its nbgrader data; it was recognised by its place."
                )
            else:
                self.repairs.append(
                    f"Cell {self._name(at)} is missing from the file; it counts as not answered."
                )

    # -- the result ----------------------------------------------------------------------------

    def found_any(self) -> bool:
        """Whether any cell with a role was found, or a solution."""
        return bool(self.recognised) or any(nbgrader_data(self.released[at]) for at in self.match)

    def assemble(self) -> Any:
        """The released notebook with the student's text and extra cells."""
        import nbformat.v4 as v4

        extras: dict[int, list[Any]] = {}
        place = {index: at for at, index in self.match.items()}
        anchor, count = -1, 0
        for index, own in enumerate(self.cells):
            if index in place:
                anchor = place[index]
            elif index not in self.dropped and self._text[index]:
                # A raw cell goes into a page as it is; as a text cell it can do no more than text.
                make = v4.new_code_cell if own.cell_type == "code" else v4.new_markdown_cell
                count += 1
                extras.setdefault(anchor, []).append(make(own.source, id=f"extra-{count}"))
        cells = extras.get(-1, [])
        for at, cell in enumerate(self.released):
            text = cell.source
            if at in self.match and (self._is_solution(at) or not nbgrader_data(cell)):
                text = self.cells[self.match[at]].source
            elif at in self.elsewhere:  # the stub would stand below the answer, and count in its place
                text = "# The answer stands in another cell."
            cells.append(cell if text == cell.source else NotebookNode({**cell, "source": text}))
            cells += extras.get(at, [])
        return with_cells(self.release.cleared, cells)

    # -- helpers -------------------------------------------------------------------------------

    def _open(self, solutions: bool = False) -> Iterable[tuple[int, Any]]:
        for at, cell in enumerate(self.released):
            if at not in self.match and (self._is_solution(at) or not solutions):
                yield at, cell

    def _free(self, index: int) -> bool:
        return index not in self.dropped and index not in self.match.values()

    def _take(self, at: int, index: int) -> None:
        self.match[at] = index
        if self._is_solution(at):
            self.recognised.add(at)

    def _is_solution(self, at: int) -> bool:
        return bool(nbgrader_data(self.released[at]).get("solution"))

    def _name(self, at: int) -> str:
        return nbgrader_data(self.released[at])["grade_id"]

    def _choose(self, at: int, copies: list[int]) -> int:
        """Of several cells with one grade_id: the last that defines what is asked, else the last
        that was changed, else the last. (Splitting a cell in JupyterLab copies its grade_id.)"""
        stub = self.released[at].source.strip()
        changed = [index for index in copies if self._text[index] not in ("", stub)]
        names = defined_names(self.released[at].source) & self._wanted
        defining = [index for index in changed if names & self._defined[index]]
        return (defining or changed or copies)[-1]

    def _set_aside(self, at: int, chosen: int, copies: list[int]) -> None:
        """Copies that are the bare stub, or the chosen text again, would only undo the answer."""
        known = {self.released[at].source.strip(), self._text[chosen]}
        self.dropped.update(index for index in copies if index != chosen and self._text[index] in known)


_DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*=[^=]", re.MULTILINE)


def defined_names(source: str) -> frozenset[str]:
    """Names that a cell's text binds at top level by def, class or plain assignment; found by
    pattern where the text is not valid Python, or is long: its tree would take a thousand times its size."""
    try:
        if len(source) > LONGEST_PARSED:
            raise ValueError(len(source))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a student's text is no news of ours
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(first or second for first, second in _DEFINITION.findall(source))
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return frozenset(names)
