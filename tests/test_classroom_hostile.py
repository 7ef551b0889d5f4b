"""One class of all attackers and two honest students, graded by the real judge: nobody earns more than the kernel
does, reads what is not theirs, writes anywhere, stops the others, or leaves a process behind."""

import faulthandler
import functools
import html
import io
import json
import os
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import hostile
import nbgrader.api
import pytest
from hostile import ATTACKS, CANARY, HONEST, LAB, LAB2, MARK, SECRET
from hostile.files import packed
from hostile.model import FULL, LESS, NOTHING, UNJUDGED, WRITTEN, Seat
from nbconvert.filters import markdown2html, strip_files_prefix

from autograder.child import run_judge
from autograder.classroom import grades, grading
from autograder.classroom.collect import Submission, collect
from autograder.classroom.defusing import defuse
from autograder.classroom.feedback import clean_html
from autograder.classroom.names import student_id
from autograder.classroom.prepare import prepare
from autograder.classroom.reading import parse_notebook
from autograder.classroom.release import find_release, load_release
from autograder.classroom.tree import read_tree
from autograder.exercises import all_exercises, get
from autograder.judge.traffic import borrowed
from autograder.source import cells, gather_notebook

SEED = 7364529183645201347
LONGEST_S = 400  # on a machine with nothing else to do it takes a tenth
BY_NAME = {attack.name: attack for attack in ATTACKS}


@dataclass(frozen=True)
class Check:
    """One check of a graded notebook: ``points`` of ``most``, and what was said."""

    id: str
    exercise: str
    name: str
    points: float | None
    most: float
    words: str


@dataclass(frozen=True)
class Graded:
    """The class after grading; ``alone`` is the result of the honest students without the others."""

    root: Path
    seats: dict[str, Seat]
    result: grading.Result
    alone: grading.Result
    seconds: float
    before: dict[str, bytes]

    def row(self, attack):
        """The attacker's row of the lab in question."""
        folder = self.seats[attack.name].student
        return next(row for row in self.result.rows if (row.student, row.lab) == (student_id(folder)[0], attack.lab))

    def checks(self, attack):
        """All checks of the attacker's lab, with the points in grades.csv and the words in the notebook."""
        for cell in notebook_at(self.page(attack, "autograded", "ipynb"))["cells"]:
            call = re.fullmatch(r'check\("(\w+\.(\w+)\.(\w+))", \w+\)', "".join(cell["source"]))
            if call and cell["metadata"].get("nbgrader", {}).get("grade"):
                words = next("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")
                most = get(call[1].rpartition(".")[0]).check(call[3]).points
                yield Check(call[1], call[2], call[3], self.row(attack).points[call[1]], most, " ".join(words.split()))

    def page(self, attack, step="feedback", ending="html"):
        return self.root / "out" / step / self.row(attack).student / attack.lab / f"{attack.lab}.{ending}"


@functools.cache
def notebook_at(path):
    return json.loads(path.read_text(encoding="utf-8"))


def contents(folder):
    """Every file below a folder, links not followed, with its bytes."""
    found = {}
    for where, _, names in os.walk(folder):
        for path in (Path(where, name) for name in names):
            found[str(path.relative_to(folder))] = (
                path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            )
    return found


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile")
    CANARY.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nbgrader.api, "get_alembic_version", functools.lru_cache(nbgrader.api.get_alembic_version))
        (root / "tmp").mkdir()
        patch.setattr(tempfile, "tempdir", str(root / "tmp"))
        seats = hostile.hand_in_class(root / "submitted", ATTACKS)
        for student in HONEST:
            shutil.copytree(root / "submitted" / student, root / "honest" / student)
        before = contents(root / "submitted")
        faulthandler.dump_traceback_later(LONGEST_S, exit=True)  # an attack that hangs is told by its place
        started = time.monotonic()
        result = grading.grade([LAB, LAB2], root / "submitted", root / "out", SEED, jobs=2, stream=io.StringIO())
        seconds = time.monotonic() - started
        faulthandler.cancel_dump_traceback_later()
        alone = grading.grade([LAB], root / "honest", root / "alone", SEED, jobs=2, stream=io.StringIO())
    yield Graded(root, seats, result, alone, seconds, before)
    shutil.rmtree(CANARY)


def attacks(*kinds):
    chosen = [attack for attack in ATTACKS if not kinds or attack.exercise in kinds]
    return pytest.mark.parametrize("attack", chosen, ids=[attack.name for attack in chosen])


@attacks()
def test_nobody_earns_more_than_the_kernel_does(graded, attack):
    exercise, row = graded.seats[attack.name].exercise, graded.row(attack)
    assert row.status != grades.MISSING
    checks = list(graded.checks(attack))
    assert len(checks) == {LAB: 13, LAB2: 11}[attack.lab]
    for check in checks:
        own = check.exercise == exercise
        if not own and not attack.alone:
            continue  # another attack's
        earns = attack.earns if own else attack.others
        earns = earns.get(check.name) if isinstance(earns, dict) else earns
        assert earns is None or is_right(earns, check), (earns, check)
    if attack.exercise == WRITTEN:
        assert row.points[WRITTEN] is None and row.status == grades.MANUAL
    if row.status != grades.UNJUDGED:
        assert row.score == sum(check.points for check in checks)


def is_right(earns, check):
    if earns in (UNJUDGED, LESS):
        return check.points is None if earns == UNJUDGED else 0.0 <= check.points < check.most
    return check.points == {FULL: check.most, NOTHING: 0.0}[earns]


@attacks()
def test_the_reason_is_a_sentence(graded, attack):
    row, exercise = graded.row(attack), graded.seats[attack.name].exercise
    lost = [check for check in graded.checks(attack) if check.exercise == exercise and check.points != check.most]
    for check in lost:
        assert check.words.endswith((".", "!", "?")) and len(check.words) > 60
    said = " ".join([*row.notes, *row.bugs, *(check.words for check in lost)])
    assert attack.says in said, said
    assert "Traceback" not in said and "itself failed" not in said
    if attack.earns == UNJUDGED:
        assert attack.says in row.notes[0]


def test_nothing_was_written_anywhere_else(graded):
    assert not list(CANARY.iterdir())
    assert contents(graded.root / "submitted") == graded.before
    assert sorted(os.listdir(graded.root)) == ["alone", "honest", "out", "submitted", "tmp"]
    assert not os.listdir(graded.root / "tmp")
    for step in ("autograded", "feedback", "submitted"):
        for folder in (graded.root / "out" / step).iterdir():
            assert folder.is_dir() and not folder.is_symlink() and set(os.listdir(folder)) <= {LAB, LAB2}
    assert not Path(CANARY.name).exists()


def test_the_honest_students_notice_nothing(graded):
    alone = {row.student: row for row in graded.alone.rows}
    together = {row.student: row for row in graded.result.rows if row.lab == LAB}
    assert set(alone) == set(HONEST)
    for student in HONEST:
        assert together[student] == alone[student] and alone[student].score == 16.0
        for step, ending in (("feedback", "html"), ("autograded", "ipynb"), ("submitted", "ipynb")):
            mine, other = (graded.root / out / step / student / LAB / f"{LAB}.{ending}" for out in ("out", "alone"))
            assert mine.read_bytes() == other.read_bytes(), step


def test_the_seed_is_nowhere(graded):
    digits = str(SEED).encode()
    for name, data in contents(graded.root / "out").items():
        assert digits not in data and f"{SEED:x}".encode() not in data, name


def test_nobody_reads_what_bob_wrote(graded):
    for step in ("feedback", "autograded", "submitted"):
        for name, data in contents(graded.root / "out" / step).items():
            assert (SECRET.encode() in data or html.escape(SECRET).encode() in data) == name.startswith("bob/"), name


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no list of processes")
def test_no_process_is_left(graded):
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            assert MARK.encode() not in line


def test_the_class_is_graded_in_a_bounded_time(graded):
    assert graded.seconds < LONGEST_S


class Powers(HTMLParser):
    """What a page runs, loads or jumps to by a script."""

    def __init__(self, page):
        super().__init__()
        self.found, self._script = set(), False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._script = tag == "script"
        if tag in ("iframe", "object", "embed", "base", "form"):
            self.found.add(tag)
        for name, value in attrs:
            plain = "".join(char for char in (value or "").lower() if char.isprintable() and char != " ")
            if name.startswith("on") or plain.startswith(("javascript:", "vbscript:", "data:text")):
                self.found.add(f"{tag} {name} {value}")
            if name == "src":
                self.found.add(f"{tag} {plain if not plain.startswith('data:image/') else 'a picture'}")

    def handle_data(self, data):
        if self._script:
            self.found.add(data)

    def handle_endtag(self, tag):
        self._script = False


@functools.cache
def powers(path):
    return frozenset(Powers(path.read_text(encoding="utf-8")).found)


@attacks()
def test_a_page_runs_nothing_of_a_students(graded, attack):
    page, honest = graded.page(attack), graded.root / "alone" / "feedback" / "ann" / LAB / f"{LAB}.html"
    assert page.stat().st_size < 3_000_000
    assert powers(page) - powers(honest) <= {"img a picture"}


def test_what_the_instructor_opens_runs_nothing_either(graded):
    report, other = (powers(graded.root / out / "class_report.html") for out in ("out", "alone"))
    assert not [one for one in report - other if re.search("alert|onerror|javascript", one)]
    lines = (graded.root / "out" / "grades.csv").read_text("utf-8").splitlines()
    assert len(lines) == 1 + len(graded.result.rows)
    assert not any(line.startswith(("=", "+", "-", "@", "\t", '"=', '"-')) for line in lines)
    for attack in ATTACKS:
        book = notebook_at(graded.page(attack, "autograded", "ipynb"))
        text = "".join("".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "markdown")
        assert "<script>alert" not in text and "](javascript:" not in text
        assert book["metadata"]["kernelspec"]["name"] == "python3" and "bash" not in str(book["metadata"])


# what the attacks found, where the class alone does not show it


def test_what_a_kernel_prints_in_grading_is_not_shown(graded):
    attack = BY_NAME["prints without an end"]
    for step, ending in (("feedback", "html"), ("autograded", "ipynb")):
        assert str(7 * 142857143) not in graded.page(attack, step, ending).read_text(encoding="utf-8")


SLOW_TEXTS = {
    "spaces in a link": "](" + " " * 90_000 + ")",
    "spaces in a link in brackets": "](<" + " " * 90_000 + ")",
    "spaces": "a" + " " * 90_000 + "b",
    "brackets": "[" * 90_000,
    "pictures": "![" * 45_000,
    "lists": "<ul>" * 22_000,
    "headings": "# a\n" * 22_000,
    "formulas": "\\\\(" * 30_000,
}


@pytest.mark.parametrize("text", SLOW_TEXTS.values(), ids=SLOW_TEXTS.keys())
def test_no_answer_takes_long_to_set(text):
    """Each of these once took from half a minute to five."""
    started = time.process_time()
    made = defuse(text)
    clean_html(markdown2html(strip_files_prefix(made)))
    assert time.process_time() - started < 5
    assert "".join(made.split()) == "".join(text.split()) and defuse(made) == made


K = "from numba import cuda\n@cuda.jit\ndef row_max(X, out):\n    out[0] = 1.0\n"
SLOW_CODE = {
    "names and branches": ["".join(f"x{n} = 1\n" for n in range(9_000)), "if y: z = 1\n" * 7_000],
    "functions": ["def f(): 0\n" * 8_000] * 2,
    "functions and commands": ["%time\n" * 10_000 + "def f(): 0\n" * 3_000],
    "star imports": ["from numpy import *\n" * 4_900],
}


@pytest.mark.parametrize("texts", SLOW_CODE.values(), ids=SLOW_CODE.keys())
def test_no_code_takes_long_to_read(texts):
    """Each of these once took from seven seconds to minutes, for every exercise."""
    notebook = {"cells": [{"cell_type": "code", "source": text, "metadata": {}} for text in (*texts, K)]}
    started = time.process_time()
    assert gather_notebook(notebook, "row_max").text.endswith("out[0] = 1.0\n")
    assert time.process_time() - started < 6


def test_an_old_notebook_of_many_cells_is_not_converted():
    cell = {"cell_type": "code", "input": "x", "outputs": [], "language": "python", "metadata": {}}
    old = {"nbformat": 3, "metadata": {"name": ""}, "worksheets": [{"metadata": {}, "cells": [cell] * 1001}]}
    assert "1,001 cells; more than 1,000 are not read" in parse_notebook(json.dumps(old).encode()).problem


def test_whatever_a_file_does_to_us_is_its_students_problem(monkeypatch, tmp_path):
    release = load_release(LAB, find_release(LAB, None))
    path = tmp_path / f"{LAB}.ipynb"
    path.write_bytes(release.path.read_bytes())
    monkeypatch.setattr("autograder.classroom.prepare.normalise", lambda *_: 1 / 0)
    made = prepare(Submission("eve", LAB, path, path.name), release)
    assert made.problem == "The file could not be read (ZeroDivisionError)." and made.notebook is not None


def test_nobody_says_when_their_own_work_came(tmp_path):
    """A timestamp.txt counts in nbgrader's own layout, and not in what a student has packed."""
    book = (hostile.model.LABS / LAB / f"{LAB}.ipynb").read_bytes()
    early = b"2001-01-01 00:00:00 UTC"
    inside = packed({f"{LAB}/{LAB}.ipynb": book, f"{LAB}/timestamp.txt": early})
    files = {
        f"ann/{LAB}/{LAB}.ipynb": book,
        f"ann/{LAB}/timestamp.txt": early,
        "eve.zip": inside,
        f"zoe/{LAB}.zip": packed({f"{LAB}.ipynb": book, "timestamp.txt": early}),
        f"Mal Lory_1_assignsubmission_file_/{LAB}.ipynb": book,
        "Mal Lory_1_assignsubmission_file_/timestamp.txt": early,
    }
    for name, data in files.items():
        place = tmp_path / "class" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    (tmp_path / "scratch").mkdir()
    tree, _ = read_tree(tmp_path / "class", tmp_path / "scratch")
    found = {item.student: item for item in collect(tree, LAB).submissions}
    assert {name: item.timestamp for name, item in found.items()} == {
        "ann": early.decode(), "eve": None, "zoe": None, "Mal Lory": None,
    }  # fmt: skip
    assert all(item.path is not None for item in found.values())


def test_every_traffic_check_counts_rows_whose_maximum_moves():
    """Two launches of the other checks: one of several tiles, one of a ragged ramp. Right kernels keep the budget there."""
    asked = [exercise for exercise in all_exercises() if any(check.name == "traffic" for check in exercise.checks)]
    assert len(asked) >= 10
    for exercise in asked:
        check = exercise.check("traffic")
        counted = borrowed(exercise, check)
        assert len(counted) == 2 and {case.group for case in counted} == {case.group for case in check.cases}
        for case, name in zip(counted, ("values", "rescale"), strict=True):
            (same,) = [other for other in exercise.check(name).cases if other.name == case.name]
            mine, theirs = case.make(5), same.make(5)
            assert (mine.scalars, mine.block) == (theirs.scalars, theirs.block)
            assert all(
                (mine.arrays[one] == theirs.arrays[one]).all() for one in mine.arrays if one not in exercise.outputs
            )


LOCAL = """import numba
from numba import cuda


@cuda.jit
def row_max(X, out):
    big = cuda.local.array(524288, numba.uint8)
    big[0] = 1
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = X[cuda.blockIdx.x, 0]
"""


def test_local_memory_beyond_a_thread_is_a_verdict_with_a_line():
    """256 threads of half a MiB each once took all memory, and the check "could not be judged"."""
    notebook = {"cells": [{"cell_type": "code", "source": LOCAL, "metadata": {}}]}
    report = run_judge(gather_notebook(notebook, "row_max"), "lab1.row_max.values")
    assert report.error is None and not report.passed and report.points == 0
    said = " ".join(case.message for check in report.checks for case in check.cases) + report.message
    assert "local memory" in said and "524,288" in said


def test_syntax_trees_that_are_remembered_are_bounded():
    for number in range(12):
        cells.make_cell(f"x = [{number}, (1, 2)]\n" * 2000, "cell 1")
    kept = sum(len(text) for text, _ in cells._KEPT)
    assert 0 < kept <= cells.KEPT_CHARACTERS
    one = cells.make_cell("a = 1\n", "cell 1")
    assert cells.make_cell("a = 1\n", "cell 2").tree is one.tree
    for number in range(600):
        cells.make_cell(f"b = {number}\n", "cell 1")
    assert len(cells._KEPT) <= cells.KEPT_CELLS
