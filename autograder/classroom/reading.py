"""Read a submitted notebook that may be anything at all: never runs it, never raises for its content."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.classroom import scripts
from autograder.classroom.decoding import clean_text, decode

LARGEST_FILE = 32 * 1024 * 1024  # bytes; as objects in memory it can take twenty times as much
LARGEST_CELL = 100_000  # characters of source; the judge reads no longer one either
MOST_CODE = 250_000  # characters of all code cells; a lab with every answer has 40,000
MOST_TEXT = 400_000  # characters of all cells; a lab has 30,000
MOST_CELLS = 1_000  # a lab has 140
CELL_TYPES = ("code", "markdown", "raw")  # no set: what a file has here need not be hashable


@dataclass(frozen=True)
class Cell:
    """A submitted cell, reduced to what may be trusted: its type and text, and the two marks by
    which it can be recognised (None where it has none)."""

    cell_type: str
    source: str
    id: str | None = None
    grade_id: str | None = None


@dataclass(frozen=True)
class Reading:
    """``cells`` of the notebook, or ``problem``: a sentence that says why it cannot be read.
    ``notes`` are sentences about what was put right."""

    cells: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str | None = None


def read_notebook(path: Path, name: str = "") -> Reading:
    """The cells of the notebook file at ``path``; ``name`` is what the student called it (default: the
    path's own name)."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            return Reading(
                problem=f"The file is {size / 1e6:.0f} MB; more than {LARGEST_FILE // 1_000_000} MB is "
                "not read. Clear its outputs and hand it in again."
            )
        data = path.read_bytes()
    except OSError as error:
        return Reading(problem=f"The file cannot be opened ({error.strerror or error}).")
    return parse_notebook(data, name or path.name)


def parse_notebook(data: bytes, name: str = "") -> Reading:
    """As :func:`read_notebook`, from the file's bytes; ``name`` tells a .py file from a notebook."""
    if not data.strip(b" \t\r\n\x00"):
        return Reading(problem="The file is empty." if not data.strip() else "The file holds nothing but zero bytes.")
    text, notes = decode(data)
    if name.lower().endswith(".py"):
        found = tuple(Cell(kind, clean_text(source)) for kind, source in scripts.cells(text))
        notes.append("It is a .py file, not a notebook; its text was read as cells.")
        return _within_limits(list(found), notes)
    content, problem = _load(text, notes)
    if problem is not None:
        return Reading(problem=problem)
    if not isinstance(content, dict):
        return Reading(problem="The file is JSON but not a notebook: it has no cells.")
    if "worksheets" in content or _major(content) < 4:
        sheets = content.get("worksheets")
        count = sum(_cells_of(sheet) for sheet in sheets) if isinstance(sheets, list) else _cells_of(content)
        if count > MOST_CELLS:
            return _too_many_cells(count)
        content, upgraded = _upgrade(content)
        if content is None:
            return Reading(problem=upgraded)
        notes.append(upgraded)
    raw = content.get("cells")
    if not isinstance(raw, list):
        return Reading(problem="The file is JSON but not a notebook: it has no cells.")
    if len(raw) > MOST_CELLS:
        return _too_many_cells(len(raw))
    cells, dropped = [], 0
    for item in raw:
        cell = _cell(item)
        if cell is None:
            dropped += 1
        else:
            cells.append(cell)
    if dropped:
        notes.append(f"Broken cells that could not be read and were left out: {dropped}.")
    if not cells:
        return Reading(problem="The notebook has no cells.")
    return _within_limits(cells, notes)


def _cells_of(sheet: Any) -> int:
    """Cells of one worksheet of an old notebook; 0 for anything else."""
    cells = sheet.get("cells") if isinstance(sheet, dict) else None
    return len(cells) if isinstance(cells, list) else 0


def _too_many_cells(count: int) -> Reading:
    return Reading(problem=f"The notebook has {count:,} cells; more than {MOST_CELLS:,} are not read.")


def _within_limits(cells: list[Cell], notes: list[str]) -> Reading:
    """The reading with giant cells left out, or the problem when all of it is too long: reading a text as
    Python takes a thousand times its size."""
    kept = []
    for number, cell in enumerate(cells, start=1):
        if len(cell.source) > LARGEST_CELL:
            notes.append(
                f"Cell {number} holds {len(cell.source):,} characters and was left out; more than "
                f"{LARGEST_CELL:,} are not read."
            )
        else:
            kept.append(cell)
    code = sum(len(cell.source) for cell in kept if cell.cell_type == "code")
    text = sum(len(cell.source) for cell in kept)
    for size, limit, what in ((code, MOST_CODE, "code"), (text, MOST_TEXT, "text")):
        if size > limit:
            return Reading(
                problem=f"The notebook's cells hold {size:,} characters of {what}; more than {limit:,} are not read. "
                "Take out what is not part of the lab."
            )
    if not kept:
        return Reading(problem=notes[-1] if notes else "The notebook has no cells.")
    return Reading(tuple(kept), tuple(notes))


def _load(text: str, notes: list[str]) -> tuple[Any, str | None]:
    """The JSON value, or a sentence. What follows a whole notebook is left out and noted."""
    body = text.strip("\x00 \t\r\n")
    try:
        content, end = json.JSONDecoder().raw_decode(body)
    except json.JSONDecodeError as error:
        return None, _not_json(body, error)
    except (RecursionError, ValueError):
        return None, (
            "The file is not a notebook: its JSON is nested too deeply or holds a number that is too long."
        )
    rest = body[end:].strip()
    if rest:
        if not isinstance(content, dict) or "cells" not in content:
            return None, "The file is not a notebook: its JSON ends and more follows."
        notes.append(f"After the end of the notebook {len(rest):,} characters follow; they were left out.")
    return content, None


def _not_json(text: str, error: json.JSONDecodeError) -> str:
    if not text.lstrip().startswith("{"):
        page = text[:2000].lstrip().lower()
        if page.startswith("<!doctype html") or "<html" in page:
            return "The file is a web page, not a notebook: hand in the .ipynb file itself."
        if page.startswith("%pdf"):
            return "The file is a PDF, not a notebook: hand in the .ipynb file itself."
        return "The file is not a notebook: it does not start as one."
    if "<<<<<<<" in text and ">>>>>>>" in text:
        return (
            f"The file holds an unfinished merge of two versions (line {error.lineno}): open it in a text editor "
            "and keep one."
        )
    if error.pos >= len(text.rstrip()) or not text.rstrip().endswith("}"):
        return f"The file is cut off: it ends in the middle of the notebook, at line {error.lineno}."
    return f"The file is not a notebook: its JSON is broken at line {error.lineno}."


def _major(content: dict[str, Any]) -> int:
    version = content.get("nbformat", 4)
    return version if isinstance(version, int) else 4


def _upgrade(content: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """An old notebook in today's format and a note, or None and a problem."""
    import nbformat

    log = logging.getLogger("traitlets")
    level = log.level
    log.setLevel(logging.CRITICAL)  # nbformat warns about every id that it has to invent
    try:
        version = _major(content)
        old = nbformat.reads(json.dumps(content), as_version=nbformat.NO_CONVERT)
        return nbformat.convert(old, 4), f"The notebook was in the old format {version}; it was converted."
    except Exception:  # whatever nbformat makes of a damaged old notebook
        return (
            None,
            "The notebook is in an old format and cannot be converted; save it again with JupyterLab.",
        )
    finally:
        log.setLevel(level)


def _cell(item: Any) -> Cell | None:
    if not isinstance(item, dict) or item.get("cell_type") not in CELL_TYPES:
        return None
    source = item.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None
    metadata = item.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    cell_id = item.get("id")
    return Cell(
        item["cell_type"],
        clean_text(source),
        cell_id if isinstance(cell_id, str) else None,
        grade_id if isinstance(grade_id, str) else None,
    )

