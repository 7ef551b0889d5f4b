"""A kernel's source from text: a notebook file, a script, or a string. Nothing in them is run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.source import advice
from autograder.source import scope as scopes
from autograder.source.assemble import DECORATORS, WANTED, assemble
from autograder.source.cells import MAX_FILE, Cell, make_cell
from autograder.source.model import KernelSource, SourceRefused
from autograder.source.rules import Surroundings
from autograder.source.scope import Scope
from autograder.source.values import Constant, Foreign, Function

MAX_NOTEBOOK = 50_000_000  # bytes of a notebook file, pictures included
_SETUP_CELL = re.compile(r"^from autograder\.notebook import", re.MULTILINE)
_SETUP_SCRIPT = re.compile(
    r"^# setup\s*$|^# %%.*tags=\[[^\]]*\"setup\"|^from autograder\.notebook import", re.MULTILINE
)


def gather_text(text: str, name: str, kind: str = "kernel", origin: str = "text") -> KernelSource:
    """The source of ``name`` in a module's ``text``. ``kind`` is "kernel", "device" or "host"; ``origin`` is
    for messages only. A device function that was asked for as a kernel comes back as what it is.

    Raises SourceRefused when it is missing or is not what the rules allow.
    """
    _known(kind)
    return _from_text(text, name, kind, origin, "")


def _from_text(text: str, name: str, kind: str, origin: str, label: str) -> KernelSource:
    cell = make_cell(text, label, limit=MAX_FILE)
    if cell.tree is None:
        raise SourceRefused(f"{origin} {cell.problem}", line=cell.problem_line, hint="mend it first")
    scope = scopes.read([cell], main=False, setup=is_setup_script(text))
    return from_scope(scope, [cell], name, kind, origin)


def gather_script(path: str | os.PathLike[str], name: str, kind: str = "kernel") -> KernelSource:
    """The source of ``name`` in the ``.py`` file at ``path`` (jupytext's percent format included).

    Raises SourceRefused as :func:`gather_text`, and when the file cannot be read.
    """
    _known(kind)
    path = Path(path)
    return _from_text(_read(path, 4 * MAX_FILE), name, kind, path.name, path.name)


def gather_notebook(
    path_or_nb: str | os.PathLike[str] | Mapping[str, Any], name: str, kind: str = "kernel", before: str | None = None
) -> KernelSource:
    """The source of ``name`` in a notebook: a path, or the notebook as a dict (an nbformat node too).

    ``before`` is the nbgrader ``grade_id`` of the check cell: only code cells above it count, as if the
    notebook had been run from the top to there. Raises SourceRefused.
    """
    _known(kind)
    if isinstance(path_or_nb, Mapping):
        origin, notebook = "the notebook", path_or_nb
    else:
        path = Path(path_or_nb)
        origin, notebook = path.name, _notebook(path)
    above, below = _code_cells(notebook, origin, before)
    scope = scopes.read(above)
    try:
        return from_scope(scope, above, name, kind, origin, above_check=before is not None)
    except SourceRefused as refusal:
        later = scopes.read(below)
        if scope.get(name) is None and isinstance(later.get(name), Function):
            label, _ = later.places[name]
            raise SourceRefused(
                f"`{name}` is defined below its check", label=label, hint="move the cell above the check"
            ) from None
        raise refusal


def is_setup_cell(text: str) -> bool:
    """True for the text of the setup cell that every notebook of the course has."""
    return bool(_SETUP_CELL.search(text))


def is_setup_script(text: str) -> bool:
    """True for a percent script of the course: its setup cell is a marker that the builder fills in."""
    return bool(_SETUP_SCRIPT.search(text))


def from_scope(
    scope: Scope, cells: list[Cell], name: str, kind: str, origin: str, above_check: bool = False
) -> KernelSource:
    """The source of ``name`` as ``scope`` has it. ``cells`` are searched for the reason when it is missing."""
    value = scope.get(name)
    if value is None:
        raise _missing(scope, cells, name, kind, origin, above_check)
    label, line = scope.places.get(name, ("", 0))
    wanted = WANTED[kind]
    if isinstance(value, Foreign):
        is_function = any(label == where for where, _ in scope.definitions.get(name, ()))
        raise SourceRefused(
            f"`{name}` {value.what}",
            line=value.line,
            label=value.label,
            hint=value.hint if is_function else _define(name, kind),
        )
    if not isinstance(value, Function):
        what = "is a number" if isinstance(value, Constant) else "is something of a module"
        raise SourceRefused(f"`{name}` {what}, not {wanted}", line=line, label=label, hint=_define(name, kind))
    surroundings = Surroundings(scope.get, lambda: sorted(scope.names))
    return assembled(value, kind, surroundings, origin, scope, name)


def assembled(
    value: Function, kind: str, surroundings: Surroundings, origin: str, scope: Scope | None, name: str
) -> KernelSource:
    """:func:`assemble`, with a remark when an untouched stub hides an earlier definition."""
    notes = scope.notes_on(name) if scope is not None else ()
    try:
        return assemble(value, kind, surroundings, origin, notes)
    except RecursionError:
        raise SourceRefused(f"`{name}` is nested too deeply", label=value.unit.label) from None
    except SourceRefused as refusal:
        if refusal.untouched and notes and not refusal.hint:
            raise SourceRefused(
                refusal.sentence, line=refusal.line, label=refusal.label, hint=notes[0], untouched=True
            ) from None
        raise


def _define(name: str, kind: str) -> str:
    written = f"write `def {name}(...):`"
    return written if kind == "host" else f"{written} with {DECORATORS[kind]} above it"


def _missing(scope: Scope, cells: list[Cell], name: str, kind: str, origin: str, above_check: bool) -> SourceRefused:
    definition = re.compile(rf"^[ \t]*def\s+{re.escape(name)}\b", re.MULTILINE)
    for cell in reversed(cells):
        if not definition.search(cell.text):
            continue
        if cell.tree is None:
            return SourceRefused(
                f"`{name}` cannot be read: its cell {cell.problem}",
                line=cell.problem_line,
                label=cell.label,
                hint="mend the cell and run it",
            )
        if cell.magic:
            return SourceRefused(
                f"`{name}` is in a cell that starts with `{cell.magic}`",
                line=1,
                label=cell.label,
                hint=f"take `{cell.magic}` off the cell",
            )
    functions = [n for n, value in scope.names.items() if isinstance(value, Function)]
    close = advice.near(name, functions)
    if not close:
        close = next((f"did you mean `{n}`?" for n in functions if n.lower() == name.lower()), "")
    where = f"in {origin}{' above the check' if above_check else ''}"
    return SourceRefused(f"there is no `{name}` {where}", hint=close or _define(name, kind))


# files
def _known(kind: str) -> None:
    if kind not in WANTED:
        raise ValueError(f'kind is "kernel", "device" or "host", not {kind!r}')


def _read(path: Path, limit: int) -> str:
    try:
        if path.stat().st_size > limit:
            raise SourceRefused(f"{path.name} is larger than {limit / 1e6:.0f} MB", hint="is it the right file?")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceRefused(f"{path.name} is not a text file", hint="save it as UTF-8") from None
    except OSError as error:
        raise SourceRefused(f"{path.name} cannot be read: {(error.strerror or 'unknown error').lower()}") from None


def _notebook(path: Path) -> Any:
    text = _read(path, MAX_NOTEBOOK)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise SourceRefused(f"{path.name} is not a notebook", hint="open it in JupyterLab and save it again") from None


def _code_cells(notebook: Any, origin: str, before: str | None) -> tuple[list[Cell], list[Cell]]:
    """The code cells above the check cell, and those below it. Labels count all cells from 1."""
    cells = notebook.get("cells") if isinstance(notebook, Mapping) else None
    if not isinstance(cells, list):
        hint = "open it in JupyterLab and save it again"
        if isinstance(notebook, Mapping) and "worksheets" in notebook:
            raise SourceRefused(f"{origin} is in an old notebook format", hint=hint)
        raise SourceRefused(f"{origin} is not a notebook: it has no cells", hint=hint)
    above: list[Cell] = []
    below: list[Cell] = []
    target = above
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, Mapping):
            raise SourceRefused(f"{origin} is not a notebook: its cell {number} has no text")
        grade_id, tags = _metadata(cell)
        if before is not None and grade_id == before and target is above:
            target = below
        if cell.get("cell_type") != "code":
            continue
        text = _source(cell.get("source", ""))
        setup = "setup" in tags or grade_id == "setup" or is_setup_cell(text)
        target.append(make_cell(text, f"cell {number}", setup=setup))
    if before is not None and target is above:
        raise SourceRefused(
            f"the check cell `{before}` is not in {origin}", hint="copy your cells into a fresh copy of the lab"
        )
    return above, below


def _metadata(cell: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """(grade_id or "", tags) of a cell, whatever a student did to its metadata."""
    metadata = cell.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    nbgrader, tags = metadata.get("nbgrader"), metadata.get("tags")
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, Mapping) else ""
    return (grade_id if isinstance(grade_id, str) else ""), (tags if isinstance(tags, list) else [])


def _source(source: Any) -> str:
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""
