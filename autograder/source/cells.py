"""A student's cells and files as Python text: IPython commands set aside, lines kept, never run.

The line numbers of a :class:`Cell` are those the student sees. Everything that can be wrong with the
text of a cell is recorded in it (``problem``); nothing here raises for what a student wrote.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

MAX_CELL = 100_000  # characters of one cell; a longer one is left out, with a message
MAX_FILE = 400_000  # characters of a .py file
MAX_UNIT = 40_000  # characters of one function; a long one has 4,000
MAX_DEPTH = 150  # nesting of statements and expressions; people stay under 30
KEPT_CHARACTERS = 400_000  # of cells whose trees are remembered: ten notebooks, or one at the limit
KEPT_CELLS = 512
_RETRIES = 20

# Cell magics that run the rest of the cell as Python in the notebook, and whether the functions that
# it defines keep their source text for the live notebook.
_PYTHON_MAGICS = {"capture": True, "time": False, "prun": False}
_COMMAND = re.compile(r"^\s*[%!?]|\?\s*$")
_COMMAND_VALUE = re.compile(r"^(\s*)([A-Za-z_][\w ,]*)=\s*[%!]")
_CLASSIC = re.compile(r"^(>>>|\.\.\.)( |$)")
_NUMBERED = re.compile(r"^(\s*In\s*\[\d+\]: |\s*\.{3,}: ?)")
_BAD_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)

_KEPT: dict[tuple[str, int], tuple[str, ast.Module | None, str, int, frozenset[int], str]] = {}
_LOCK = Lock()


@dataclass(frozen=True)
class Unit:
    """One function's own lines, verbatim, decorators included.

    ``node`` is parsed from ``text`` alone, so its line 1 is line ``first`` of the cell ``label``.
    ``problem`` is None or (sentence, line of the cell, hint): the text cannot be used.
    """

    name: str
    text: str = field(repr=False)
    first: int
    label: str
    node: ast.FunctionDef | None = field(compare=False, repr=False)
    problem: tuple[str, int, str] | None = field(default=None, compare=False)

    def line(self, node_line: int) -> int:
        """The line of the cell for a line number in ``node``."""
        return self.first + node_line - 1


@dataclass(frozen=True)
class Cell:
    """One code cell or file. ``python`` has as many lines as ``text``; ``tree`` is None when it cannot
    be parsed, and then ``problem`` and ``problem_line`` say why; ``commands`` are the lines that
    belong to IPython; ``magic`` is the cell magic on its first line ("%%time") or ""."""

    label: str
    text: str = field(repr=False)
    python: str = field(repr=False)
    tree: ast.Module | None = field(compare=False, repr=False)
    problem: str = ""
    problem_line: int = 0
    commands: frozenset[int] = frozenset()
    magic: str = ""
    setup: bool = False  # the notebook's own setup cell

    @cached_property
    def lines(self) -> list[str]:
        """The lines of ``python``."""
        return self.python.split("\n")

    @property
    def keeps_source(self) -> bool:
        """False for a cell magic after which the notebook cannot find its functions' text."""
        return not self.magic or _PYTHON_MAGICS.get(self.magic[2:], False)


def make_cell(text: str, label: str, setup: bool = False, limit: int = MAX_CELL) -> Cell:
    """The cell for what a student wrote. ``label`` names it in messages; longer than ``limit`` is a problem."""
    python, tree, problem, line, commands, magic = _read(text, limit)
    return Cell(label, text, python, tree, problem, line, commands, magic, setup)


def _read(text: str, limit: int) -> tuple[str, ast.Module | None, str, int, frozenset[int], str]:
    """:func:`_parsed`, remembered: the checks of one notebook ask for the same cells again and again. A
    syntax tree takes two hundred times its text, so what is kept is bounded by characters."""
    key = (text, limit)
    with _LOCK:
        found = _KEPT.pop(key, None)
        if found is not None:
            _KEPT[key] = found  # the most recently used comes last
            return found
    found = _parsed(text, limit)
    with _LOCK:
        _KEPT[key] = found
        while len(_KEPT) > KEPT_CELLS or (len(_KEPT) > 1 and sum(len(kept) for kept, _ in _KEPT) > KEPT_CHARACTERS):
            del _KEPT[next(iter(_KEPT))]
    return found


def _parsed(text: str, limit: int) -> tuple[str, ast.Module | None, str, int, frozenset[int], str]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > limit:
        return "", None, f"is longer than {limit:,} characters", 0, frozenset(), ""
    lines = text.split("\n")
    commands: set[int] = set()
    start = next((i for i, line in enumerate(lines) if line.strip()), 0)
    magic = ""
    if lines[start].startswith("%%"):
        magic = (lines[start].split() or ["%%"])[0]
        if magic[2:] not in _PYTHON_MAGICS:
            return "\n" * (len(lines) - 1), ast.Module([], []), "", 0, frozenset(), magic
        lines[start] = ""
        commands.add(start + 1)
        start = next((i for i, line in enumerate(lines) if line.strip()), 0)
    lines = _undecorated(lines, start)
    tree, problem, line = _parse("\n".join(lines))
    for attempt in range(_RETRIES + 1):
        if tree is not None:
            break
        last = attempt == _RETRIES
        found = _commands(lines, line, everything=last)
        if not found:
            break
        for index in found:
            commands |= _blank(lines, index)
        tree, problem, line = _parse("\n".join(lines))
    return "\n".join(lines), tree, problem, line, frozenset(commands), magic


def _undecorated(lines: list[str], start: int) -> list[str]:
    """Without pasted prompts and without an indent that the whole cell has, as IPython reads it."""
    indent = re.match(r"[ \t]*", lines[start]).group()
    if indent:
        lines = [line[len(indent) :] if line.startswith(indent) else line for line in lines]
    for prompt in (_CLASSIC, _NUMBERED):
        if prompt.match(lines[start]) and not lines[start].startswith("..."):
            lines = [prompt.sub("", line, count=1) for line in lines]
    return lines


def _commands(lines: list[str], reported: int, everything: bool) -> list[int]:
    """Indices of the lines to hand to IPython: the one that the parser stopped at, or the first that
    looks like a command, or all of them."""

    def fits(line: str) -> bool:
        return bool(_COMMAND.search(line) or _COMMAND_VALUE.match(line))

    if not everything and 0 < reported <= len(lines) and fits(lines[reported - 1]):
        return [reported - 1]
    found = [i for i, line in enumerate(lines) if fits(line)]
    return found if everything else found[:1]


def _blank(lines: list[str], index: int) -> set[int]:
    """Replace the command at ``index`` and its continuation by a statement that does nothing."""
    line = lines[index]
    value = _COMMAND_VALUE.match(line)
    indent = re.match(r"\s*", line).group()
    lines[index] = f"{value[1]}{value[2]}= ..." if value else f"{indent}pass"
    blanked = {index + 1}
    while line.endswith("\\") and index + 1 < len(lines):
        index += 1
        line = lines[index]
        lines[index] = ""
        blanked.add(index + 1)
    return blanked


def _parse(text: str) -> tuple[ast.Module | None, str, int]:
    """(tree, "", 0), or (None, why not, line)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape must not write to stderr
            tree = ast.parse(text)
    except SyntaxError as error:
        return None, f"has a syntax error ({(error.msg or 'invalid syntax')[:200]})", error.lineno or 0
    except (RecursionError, MemoryError):
        return None, "is nested too deeply", 0
    except (ValueError, OverflowError) as error:
        return None, f"cannot be read as Python ({str(error)[:200]})", 0
    if too_deep(tree):
        return None, "is nested too deeply", 0
    return tree, "", 0


def too_deep(tree: ast.AST, limit: int = MAX_DEPTH) -> bool:
    """True when some node has more than ``limit`` ancestors. Does not recurse."""
    level: list[ast.AST] = [tree]
    for _ in range(limit + 1):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def make_unit(cell: Cell, node: ast.FunctionDef) -> Unit:
    """The unit of a function at the top level of ``cell``."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    last = node.end_lineno or node.lineno
    lines = cell.lines[first - 1 : last]
    text = "\n".join(lines) + "\n"
    name = node.name
    command = next((n for n in range(first, last + 1) if n in cell.commands), None)
    if command is not None:
        shown = cell.text.replace("\r\n", "\n").split("\n")[command - 1].strip()[:60]
        return Unit(
            name,
            text,
            first,
            cell.label,
            None,
            (f"`{shown}` is a command of IPython and cannot stand in `{name}`", command, "take it out"),
        )
    if "get_ipython" in text:
        line = next(i for i, part in enumerate(lines) if "get_ipython" in part)
        return Unit(
            name,
            text,
            first,
            cell.label,
            None,
            (f"a command of IPython cannot stand in `{name}`", first + line, "take it out"),
        )
    if len(text) > MAX_UNIT:
        return Unit(
            name,
            "",
            first,
            cell.label,
            None,
            (f"`{name}` is longer than {MAX_UNIT:,} characters", first, "a kernel of this course needs a tenth of it"),
        )
    bad = _BAD_CHARACTER.search(text)
    if bad:
        return Unit(
            name,
            text,
            first,
            cell.label,
            None,
            (
                f"`{name}` holds an invisible character (U+{ord(bad.group()):04X})",
                first + text.count("\n", 0, bad.start()),
                "delete the line and type it again",
            ),
        )
    tree, problem, line = _parse(text)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return Unit(
            name,
            text,
            first,
            cell.label,
            None,
            (
                f"the text of `{name}` cannot be read on its own{f': it {problem}' if problem else ''}",
                first + max(line - 1, 0),
                "write it as a plain `def` on lines of its own",
            ),
        )
    return Unit(name, text, first, cell.label, tree.body[0])
