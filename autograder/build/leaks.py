"""What a release may not contain: a line of a solution or a hidden test, a marker, an output."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nbformat import NotebookNode

from autograder.build.rules import LIKE_MARKER, MARKER

# So many lines of one solution in a row are an answer, wherever they stand.
RUN = 4
PROSE_LINE = 20  # characters; a shorter line of a written answer is no answer
_WORTH_HIDING = re.compile(r"[A-Za-z_]\w*.*[=(+\-*/<>]")


def split_regions(text: str) -> tuple[list[str], list[list[str]]]:
    """The lines of a cell outside all marked regions, and the lines of each region."""
    outside: list[str] = []
    regions: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        match = MARKER.match(line)
        if match:
            inside = match.group(1) == "BEGIN"
            if inside:
                regions.append([])
        elif inside:
            regions[-1].append(line)
        else:
            outside.append(line)
    return outside, regions


def leak_problems(name: str, solved: NotebookNode, released: NotebookNode) -> list[str]:
    """What ``released`` (labs/…) gives away of ``solved`` (solutions/…), as sentences.

    A hidden line that the source also shows elsewhere (a barrier, a loop header) is no secret,
    unless ``RUN`` of them follow each other as they do in the solution.
    """
    regions: list[list[str]] = []
    shown: set[str] = set()
    for cell in solved.cells:
        outside, hidden = split_regions(cell.source)
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
            regions.append([line.strip() for line in outside if len(line.strip()) >= PROSE_LINE])
        else:
            regions += [_code_lines(region) for region in hidden]
            shown.update(line.strip() for line in outside)
    secret = {line for region in regions for line in region}
    found = []
    for number, cell in enumerate(released.cells, 1):
        where = f"{name}, cell {number}"
        lines = [line.strip() for line in cell.source.splitlines() if line.strip() in secret]
        found += [
            f"{where} shows a line of a solution or hidden test: {line!r}." for line in lines if line not in shown
        ]
        for region in regions:
            shared = sorted(set(_runs(region)) & set(_runs(lines)))
            if shared:
                found.append(f"{where} shows {RUN} lines of a solution in a row, {shared[0][0]!r} among them.")
        for line in cell.source.splitlines():
            if LIKE_MARKER.search(line):
                found.append(f"{where} shows the marker {line.strip()!r}.")
        if cell.get("outputs") or cell.get("execution_count") is not None:
            found.append(f"{where} has outputs; a release has none.")
    return found


def _code_lines(lines: Iterable[str]) -> list[str]:
    """The lines with something in them that could be an answer, stripped."""
    return [line.strip() for line in lines if len(line.strip()) >= 8 and _WORTH_HIDING.search(line)]


def _runs(lines: list[str]) -> list[tuple[str, ...]]:
    return [tuple(lines[start : start + RUN]) for start in range(len(lines) - RUN + 1)]
