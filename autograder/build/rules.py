"""What a source may contain. Each function returns sentences, none when all is well."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autograder.build.cells import is_setup
from autograder.build.notebook import Source
from autograder.exercises.model import Exercise

KERNEL_CHECKS = ("values", "rescale", "traffic", "safety")

MAX_CODE_LINES = 40
MAX_PROSE_WORDS = 60

MARKER = re.compile(r"^\s*### (BEGIN|END) (SOLUTION|HIDDEN TESTS)\s*$")
# Anything that was perhaps meant as a marker. nbgrader finds only the exact words, in capitals.
LIKE_MARKER = re.compile(r"\b(begin|end)[ _-]*(solution|hidden[ _-]*test|mark[ _-]*scheme)", re.IGNORECASE)
_GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclass(frozen=True)
class Expected:
    """What a check's cell must say: its points, the name it is given, and how the name is made."""

    points: float
    name: str


def expected_checks(lab: str) -> dict[str, Expected]:
    """{check id: what its cell must say} for every check of every exercise of ``lab``."""
    from autograder.exercises import all_exercises

    return {
        f"{exercise.id}.{check.name}": Expected(check.points, exercise.name)
        for exercise in all_exercises()
        if exercise.lab == lab
        for check in exercise.checks
    }


def exercise_problems(exercises: Iterable[Exercise]) -> list[str]:
    """Kernel exercises that lack one of the four checks, or have another."""
    found = []
    for exercise in exercises:
        names = sorted(check.name for check in exercise.checks)
        if exercise.kind == "kernel" and names != sorted(KERNEL_CHECKS):
            found.append(
                f"autograder.exercises: {exercise.id} has the checks {', '.join(names) or '(none)'}; "
                f"a kernel has {', '.join(KERNEL_CHECKS)}."
            )
    return found


def lab_problems(source: Source, expected: Mapping[str, Expected]) -> list[str]:
    """Everything that is wrong with the source of a lab whose checks are ``expected``."""
    return [
        *marker_problems(source),
        *metadata_problems(source),
        *graded_cell_problems(source, expected),
    ]


def lesson_problems(source: Source) -> list[str]:
    """Everything that is wrong with the source of a lesson: it has no markers and no grades."""
    found = []
    for index, cell in enumerate(source.cells):
        if "nbgrader" in cell.metadata:
            found.append(f"{source.place(index)}: a lesson is not graded; remove nbgrader=… from the header.")
        if any(LIKE_MARKER.search(line) for line in cell.source.splitlines()):
            found.append(f"{source.place(index)}: a lesson hides nothing; remove the BEGIN and END markers.")
    return found


def marker_problems(source: Source) -> list[str]:
    """Markers that nbgrader would overlook, or that do not pair up, or stand in the wrong cell."""
    found = []
    for index, cell in enumerate(source.cells):
        place, given = source.place(index), cell.metadata.get("nbgrader", {})
        opened = None
        seen = set()
        for line in cell.source.splitlines():
            match = MARKER.match(line)
            if match is None:
                if LIKE_MARKER.search(line):
                    found.append(
                        f"{place}: {line.strip()!r} is not a marker that nbgrader sees; write "
                        "### BEGIN SOLUTION, ### END SOLUTION, ### BEGIN HIDDEN TESTS or ### END HIDDEN TESTS."
                    )
                continue
            edge, kind = match.groups()
            seen.add(kind)
            if edge == "BEGIN" and opened:
                found.append(f"{place}: {line.strip()!r} comes before the end of {opened}.")
            elif edge == "END" and opened != kind:
                found.append(f"{place}: {line.strip()!r} has no beginning.")
            opened = kind if edge == "BEGIN" else None
        if opened:
            found.append(f"{place}: ### BEGIN {opened} has no ### END {opened}.")
        if "SOLUTION" in seen and not given.get("solution"):
            found.append(f'{place}: a solution stands in a cell without "solution": true.')
        if "HIDDEN TESTS" in seen and not given.get("grade"):
            found.append(f'{place}: hidden tests stand in a cell without "grade": true.')
        if given.get("solution") and cell.cell_type == "code" and "SOLUTION" not in seen:
            found.append(f"{place}: a solution cell without ### BEGIN SOLUTION would lose all its text in the release.")
    return found


def metadata_problems(source: Source) -> list[str]:
    """grade_ids that are missing, odd or used twice, and roles that nbgrader refuses."""
    found = []
    first: dict[str, str] = {"setup": "the setup cell"}
    for index, cell in enumerate(source.cells):
        if "nbgrader" not in cell.metadata:
            continue
        place, given = source.place(index), cell.metadata["nbgrader"]
        grade_id = given.get("grade_id", "")
        if not isinstance(grade_id, str) or not _GRADE_ID.fullmatch(grade_id):
            found.append(f"{place}: grade_id must be 1 to 60 letters, digits, - or _; it is {grade_id!r}.")
            continue
        if grade_id in first:
            found.append(f"{place}: grade_id {grade_id!r} is taken by {first[grade_id]}.")
        first.setdefault(grade_id, place)
        if cell.cell_type == "markdown" and bool(given.get("grade")) != bool(given.get("solution")):
            found.append(f'{place}: a written answer needs both "grade": true and "solution": true.')
        if given.get("grade") and not _positive(given.get("points")):
            found.append(f'{place}: a graded cell needs "points" above 0; it has {given.get("points")!r}.')
    return found


def graded_cell_problems(source: Source, expected: Mapping[str, Expected]) -> list[str]:
    """Test cells that are not exactly one ``check("id", name)``, do not match the exercise, or lack."""
    found = []
    met: dict[str, str] = {}
    defined: set[str] = set()
    for index, cell in enumerate(source.cells):
        place, given = source.place(index), cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code":
            continue
        if given.get("solution"):
            defined |= set(re.findall(r"^def (\w+)\(", cell.source, re.MULTILINE))
            if given.get("grade"):
                found.append(f"{place}: a code cell is either the student's (solution) or a test (grade), not both.")
            continue
        if not given.get("grade"):
            continue
        call = parse_check(cell.source)
        if call is None:
            found.append(f'{place}: a test cell is exactly one line, check("exercise.check", name), and nothing else.')
            continue
        check_id, name = call
        if check_id not in expected:
            found.append(
                f"{place}: this lab has no check {check_id!r}. It has {', '.join(sorted(expected)) or 'none'}."
            )
            continue
        if check_id in met:
            found.append(f"{place}: {check_id} is graded a second time, after {met[check_id]}.")
        met.setdefault(check_id, place)
        want = expected[check_id]
        if name != want.name:
            found.append(f"{place}: {check_id} judges {want.name}, but the cell gives it {name}.")
        elif name not in defined:
            found.append(f"{place}: no solution cell above defines {name}.")
        if _positive(given.get("points")) and float(given["points"]) != want.points:
            found.append(
                f"{place}: the cell has {given['points']:g} points, but {check_id} is worth {want.points:g} "
                "in autograder.exercises."
            )
    missing = sorted(set(expected) - set(met))
    if missing:
        found.append(f"{source.show}: no test cell for {', '.join(missing)}.")
    return found


def parse_check(text: str) -> tuple[str, str] | None:
    """("exercise.check", "name") when ``text`` is exactly ``check("exercise.check", name)``, else None."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    match call:
        case ast.Call(
            func=ast.Name(id="check"), args=[ast.Constant(value=str(check_id)), ast.Name(id=name)], keywords=[]
        ) if text.strip() == f'check("{check_id}", {name})':
            return check_id, name
    return None


def style_problems(source: Source) -> list[str]:
    """Cells that are too long to read in one go."""
    found = []
    for index, cell in enumerate(source.cells):
        written_answer = cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution")
        if is_setup(cell) or written_answer:  # a model answer is for the person who grades
            continue
        if cell.cell_type == "code":
            lines = len([line for line in cell.source.splitlines() if line.strip() and not MARKER.match(line)])
            if lines > MAX_CODE_LINES:
                found.append(f"{source.place(index)}: {lines} lines of code in one cell; at most {MAX_CODE_LINES}.")
        else:
            words = max(map(count_words, split_folded(cell.source)))
            if words > MAX_PROSE_WORDS:
                found.append(f"{source.place(index)}: {words} words in one cell; at most {MAX_PROSE_WORDS}.")
    return found


def split_folded(text: str) -> list[str]:
    """A cell's prose in the pieces that a reader sees at once: what is open, then each folded part."""
    folded = re.findall(r"<details>(.*?)</details>", text, re.DOTALL)
    return [re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL), *folded]


def count_words(text: str) -> int:
    """Words of prose: code blocks, tables, displayed formulas, pictures and tags do not count."""
    for pattern in (r"```.*?```", r"\$\$.*?\$\$", r"<svg.*?</svg>", r"<!--.*?-->"):
        text = re.sub(pattern, " ", text, flags=re.DOTALL)
    text = re.sub(r"^\s*\|.*$|^ {4}.*$", " ", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\$[^$\n]+\$|`[^`\n]+`", "x", text)  # one formula or name is one word
    text = re.sub(r"<[^>\n]+>", " ", text)
    return len([word for word in text.split() if any(char.isalnum() for char in word)])


def _positive(points: object) -> bool:
    return isinstance(points, (int, float)) and not isinstance(points, bool) and points > 0
