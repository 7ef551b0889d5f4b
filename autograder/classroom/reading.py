"""Read a submitted notebook that may be anything at all: never runs it, never raises for its content."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST_FILE = 64 * 1024 * 1024  # bytes; a notebook with pictures stays far below
LARGEST_CELL = 1_000_000  # characters of source
MOST_CELLS = 5_000
CELL_TYPES = frozenset({"code", "markdown", "raw"})


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


def read_notebook(path: Path) -> Reading:
    """The cells of the notebook file at ``path``."""
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
    return parse_notebook(data)


def parse_notebook(data: bytes) -> Reading:
    """As :func:`read_notebook`, from the file's bytes."""
    if not data.strip():
        return Reading(problem="The file is empty.")
    text, notes = _decode(data)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        return Reading(problem=_not_json(text, error))
    except (RecursionError, ValueError):
        return Reading(
            problem="The file is not a notebook: its JSON is nested too deeply or holds a number that is "
            "too long."
        )
    if not isinstance(content, dict):
        return Reading(problem="The file is JSON but not a notebook: it has no cells.")
    if "worksheets" in content or _major(content) < 4:
        content, upgraded = _upgrade(content)
        if content is None:
            return Reading(problem=upgraded)
        notes.append(upgraded)
    raw = content.get("cells")
    if not isinstance(raw, list):
        return Reading(problem="The file is JSON but not a notebook: it has no cells.")
    if len(raw) > MOST_CELLS:
        return Reading(problem=f"The notebook has {len(raw):,} cells; more than {MOST_CELLS:,} are not read.")
    cells, dropped = [], 0
    for item in raw:
        cell = _cell(item)
        if cell is None:
            dropped += 1
        elif len(cell.source) > LARGEST_CELL:
            return Reading(
                problem=f"Cell {len(cells) + 1} holds {len(cell.source):,} characters; "
                f"more than {LARGEST_CELL:,} are not read."
            )
        else:
            cells.append(cell)
    if dropped:
        notes.append(f"Broken cells that could not be read and were left out: {dropped}.")
    if not cells:
        return Reading(problem="The notebook has no cells.")
    return Reading(tuple(cells), tuple(notes))


def _decode(data: bytes) -> tuple[str, list[str]]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), ["The file was in UTF-16; it was read as that."]
    if data.startswith(b"\xef\xbb\xbf"):
        return data.decode("utf-8-sig", "replace"), ["The file began with a byte order mark; it was skipped."]
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), ["The file was not in UTF-8; it was read as Windows-1252."]


def _not_json(text: str, error: json.JSONDecodeError) -> str:
    if not text.lstrip().startswith("{"):
        return "The file is not a notebook: it does not start as one."
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


def clean_text(text: str) -> str:
    """``text`` with one kind of line end and nothing that cannot be stored (lone surrogates, NUL)."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return text.encode("utf-8", "replace").decode("utf-8")
