"""The stock tools: `nbgrader autograde`, one submission after the other, on plain notebooks or on ours."""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.preprocessors import ComputeChecksums

from autograder.classroom.cells import nbgrader_data
from autograder.classroom.files import write_atomically
from autograder.classroom.gradebook import Course
from autograder.classroom.release import Release
from autograder.exercises import get

from .people import BUGS, RIGHT, UNTOUCHED, HandIn
from .stock_cell import MISSING
from .timing import Usage, watched

HERE = Path(__file__).resolve().parent
PLAIN_SETUP = """import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import math

import numba
import numpy as np
from numba import cuda
from stock_cell import passes
"""
TESTED = ("values", "rescale", "answer")
TIMEOUT_S = 1800  # of a cell: a right answer is never cut off
CONVERTING = re.compile(r"Converting notebook .*[/\\]submitted[/\\]([^/\\]+)[/\\]")


@dataclass(frozen=True)
class Run:
    """One `nbgrader autograde` of one lab: what it used, the seconds until its first submission and those of each,
    by student, and the scores in its gradebook."""

    usage: Usage
    start_s: float
    each_s: dict[str, float]
    scores: dict[str, float]


def plain(release: Release) -> Release:
    """The lab without this course's package: no pictures and no x-ray; graded cells call
    :func:`stock_cell.passes` for `values`, `rescale` and formulas, and there are no others."""
    notebook = copy.deepcopy(release.notebook)
    checks = {cell.grade_id: cell.check_id for cell in release.checks}
    kept = []
    for cell in notebook.cells:
        data = nbgrader_data(cell)
        if data.get("grade_id") in checks:
            if not testable(checks[data["grade_id"]]):
                continue
            cell.source = cell.source.replace("check(", "passes(")
        elif "setup" in cell.metadata.get("tags", ()):
            cell.source = PLAIN_SETUP
        elif cell.cell_type == "code" and not data.get("solution") and not _defines_only(cell.source):
            continue
        kept.append(cell)
    for cell in kept:  # a cell that changed has another checksum
        nbgrader_data(cell).pop("checksum", None)
    notebook.cells = kept
    return replace(release, notebook=ComputeChecksums().preprocess(notebook, {})[0])


def testable(check_id: str) -> bool:
    """Whether a plain cell takes the place of the check: the stock simulator counts nothing and finds no race."""
    exercise_id, _, name = check_id.rpartition(".")
    return name in TESTED and get(exercise_id).kind != "break"


def sample(class_: Sequence[HandIn], count: int) -> list[HandIn]:
    """``count`` hand-ins of one lab that the stock tools can finish: one that nobody began, one in three with
    mistakes, the others right. Of each kind those that have an ordinary number of kernels for the stock
    simulator to run, not the first that come."""
    untouched = 1 if count > 2 else 0
    bugs = max(1, count // 3) if count > 1 else 0
    wanted = {RIGHT: count - bugs - untouched, BUGS: bugs, UNTOUCHED: untouched}
    chosen = []
    for kind, number in wanted.items():
        found = sorted((one for one in class_ if one.kind == kind and finishes(one)), key=runnable)
        chosen += [found[int((at + 0.5) * len(found) / number)] for at in range(number) if found]
    return chosen


def finishes(one: HandIn) -> bool:
    """Whether the stock tools come to the end of a hand-in: no endless loop, no broken file, nothing that may not
    be run, and no kernel that leaves threads of the stock simulator waiting for ever."""
    return one.kind in (RIGHT, UNTOUCHED) or (
        one.kind == BUGS and all("safety" not in checks for checks in one.mistakes.values())
    )


def runnable(one: HandIn) -> int:
    """How many of its kernels the stock simulator can run."""
    texts = [answer.text or "" for name, answer in one.answers.items() if get(name).kind in ("kernel", "device")]
    return sum(not MISSING.search(text) for text in texts)


def is_kernel(check_id: str) -> bool:
    """Whether a check launches a kernel of the student's."""
    return get(check_id.rpartition(".")[0]).kind in ("kernel", "device")


def kernel_checks(one: HandIn, release: Release, ours: bool) -> int:
    """How many kernel checks the graded cells of a hand-in make: ours all, plain ones those that the stock
    simulator can run."""
    checks = [cell.check_id for cell in release.checks if is_kernel(cell.check_id)]
    texts = {name: answer.text or "" for name, answer in one.answers.items()}
    made = [check_id for check_id in checks if check_id.rpartition(".")[0] in texts]
    if ours:
        return len(made)
    return sum(testable(check_id) and not MISSING.search(texts[check_id.rpartition(".")[0]]) for check_id in made)


def autograde(release: Release, hand_ins: Sequence[HandIn], folder: Path) -> Run:
    """Put up a course in ``folder`` and run `nbgrader autograde` on the hand-ins, made from ``release``. Raises
    RuntimeError when it stops on the way."""
    lab, db_url = release.lab, f"sqlite:///{folder / 'gradebook.db'}"
    for one in hand_ins:
        write_atomically(folder / "submitted" / one.student / lab / f"{lab}.ipynb", one.file(release)[1])
    write_atomically(folder / "source" / lab / f"{lab}.ipynb", json.dumps(release.notebook).encode())
    Course(folder, db_url).register(release)
    command = [
        sys.executable, "-m", "nbgrader", "autograde", lab, f"--CourseDirectory.root={folder}", f"--db={db_url}",
        f"--Execute.timeout={TIMEOUT_S}", "--create",
    ]  # fmt: skip
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    packages = os.pathsep.join((str(HERE.parents[1]), str(HERE)))
    usage = watched(command, folder, {"PYTHONPATH": packages, "PATH": path})
    starts: dict[str, float] = {}
    for at, line in usage.lines:
        found = CONVERTING.search(line)
        if found:
            starts.setdefault(found[1], at)
    ends = [*list(starts.values())[1:], usage.wall_s]
    each = {student: end - at for (student, at), end in zip(starts.items(), ends, strict=True)}
    if usage.status or each.keys() != {one.student for one in hand_ins}:
        raise RuntimeError(f"nbgrader autograde ended with {usage.status}:\n{usage.text[-3000:]}")
    scores = {one.student: Course(folder, db_url).marks(one.student, lab).score for one in hand_ins}
    return Run(usage, min(starts.values()), each, scores)


def whole_class_s(run: Run, sampled: Sequence[HandIn], class_: Sequence[HandIn]) -> float:
    """Seconds for a whole class of one lab: the start once, and of each kind the mean of its sample as often as
    the class has it. A kind that was not sampled is taken to cost as little as the cheapest that was."""
    means = {}
    for kind in {one.kind for one in sampled}:
        seconds = [run.each_s[one.student] for one in sampled if one.kind == kind]
        means[kind] = sum(seconds) / len(seconds)
    counts = Counter(one.kind for one in class_)
    return run.start_s + sum(count * means.get(kind, min(means.values())) for kind, count in counts.items())


def _defines_only(text: str) -> bool:
    """Whether a cell holds constants and functions only, such as a solution may use."""
    return all(
        (isinstance(node, ast.FunctionDef) and not node.decorator_list)
        or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant))
        for node in ast.parse(text).body
    )
