"""Work that was done is not done again: after a kill, in a second run, and for equal kernels."""

import contextlib
import io
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, one, run  # noqa: F401  (fixtures)

from autograder.classroom import cli, verdict_store
from autograder.classroom.judge_class import Work, judge_class
from autograder.classroom.release import find_release, load_release
from autograder.classroom.verdict_store import VerdictStore, engine_digest, lasting
from autograder.report import CaseResult, CheckResult, Report

REPORT = Report(
    "lab1.row_max",
    "cell 4",
    False,
    0.5,
    1.0,
    checks=(
        CheckResult(
            "lab1.row_max.values",
            False,
            0.5,
            1.0,
            cases=(CaseResult("ragged", "n", False, float("inf"), "Row 3 is \ud800."),),
            bug={"id": "zero", "title": "a", "message": "b"},
            bugs=({"id": "zero", "title": "a", "message": "b"},),
            findings=("race",),
            traffic={"loads": 3},
            ledger=({"line": 3},),
        ),
    ),
    message="Row 3.",
    details={"printed": "x\n"},
)
KEY = ("digest", (0, 3), ("", "cell 4"), (), "lab1.row_max.values", 5)


def test_a_verdict_comes_back_as_it_was(tmp_path):
    path = tmp_path / "out" / "verdicts.db"
    with VerdictStore(path, "engine") as store:
        assert KEY not in store and store.problem == ""
        store[KEY] = REPORT
    with VerdictStore(path, "engine") as store:
        assert KEY in store and store[KEY] == REPORT
        assert (*KEY[:-1], 6) not in store
    with VerdictStore(path, "another engine") as store:
        assert KEY not in store
        with pytest.raises(TypeError):
            del store[KEY]


def test_what_may_change_is_not_kept(tmp_path):
    failed = Report("lab1.row_max", "", False, 0.0, 1.0, error="The child died.")
    slow = Report("lab1.row_max", "", False, 0.0, 1.0, details={"wall_limit": True})
    assert lasting(REPORT) and not lasting(failed) and not lasting(slow)
    with VerdictStore(tmp_path / "v.db", "engine") as store:
        store["failed"], store["slow"] = failed, slow
        assert store["failed"] is failed and "slow" in store
    with VerdictStore(tmp_path / "v.db", "engine") as store:
        assert "failed" not in store and "slow" not in store


def test_the_judges_own_wall_limit_is_marked():
    from autograder.child import _too_slow

    @dataclass
    class Source:
        origin: str = ""

    assert not lasting(_too_slow(Source(), "lab1.row_max.values", 1.0))


def test_a_damaged_store_is_replaced(tmp_path):
    path = small.write(tmp_path / "v.db", b"not a database, " * 100)
    with VerdictStore(path, "engine") as store:
        assert "damaged" in store.problem
        store[KEY] = REPORT
    with VerdictStore(path, "engine") as store:
        assert KEY in store and store.problem == ""
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE verdicts SET report = '{\"checks\": 5}'")
    with VerdictStore(path, "engine") as store:
        assert KEY not in store


def test_a_store_that_cannot_be_written_stops_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(verdict_store, "LOCK_WAIT", 0.05)
    path = tmp_path / "v.db"
    with VerdictStore(path, "engine") as store:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            store[KEY] = REPORT
        assert "not kept" in store.problem and store[KEY] == REPORT
    (tmp_path / "folder.db").mkdir()
    with VerdictStore(tmp_path / "folder.db", "engine") as store:
        store[KEY] = REPORT
        assert "not kept" in store.problem and KEY in store


def test_the_engine_is_the_judges_files():
    digest = engine_digest()
    assert len(digest) == 64
    engine_digest.cache_clear()
    assert engine_digest() == digest


def test_a_changed_judge_is_another_engine(tmp_path, monkeypatch):
    """The digest is of the files' bytes: one letter more in a copy of the package changes it."""
    import shutil

    root = Path(verdict_store.__file__).resolve().parents[1]
    copy = tmp_path / "autograder"
    for part in (*verdict_store._PARTS, "classroom"):
        shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in verdict_store._FILES:
        shutil.copy(root / name, copy / name)
    monkeypatch.setattr(verdict_store, "__file__", str(copy / "classroom" / "verdict_store.py"))
    engine_digest.cache_clear()
    first = engine_digest()
    (copy / "classroom" / "grades.py").write_text("# not a part of the judge\n")
    engine_digest.cache_clear()
    assert engine_digest() == first
    with (copy / "exercises" / "lab1.py").open("a") as file:
        file.write("#")
    engine_digest.cache_clear()
    assert engine_digest() != first
    engine_digest.cache_clear()


def test_equal_kernels_are_judged_once_whoever_wrote_them(tmp_path):
    release = load_release(small.LAB, find_release(small.LAB, small.write_release(tmp_path)))
    asked = []

    def judge(source, check_id, seed):
        asked.append((source.digest, check_id))
        return small.judge(source, check_id, seed)

    texts = [small.GOOD, small.BAD, small.GOOD, small.GOOD, small.BAD]
    work = [Work(at, release, small.answered(row_max=text)) for at, text in enumerate(texts)]

    def judged(order, jobs):
        asked.clear()
        options = {"judge": judge, "gather": small.gather, "jobs": jobs, "stream": io.StringIO()}
        result = dict(judge_class([work[at] for at in order], 5, **options))
        assert len(asked) == len(set(asked)) == 5  # row_max twice in two checks, row_sum once
        return result

    first = judged(range(5), 1)
    for jobs in (2, 7):
        order = random.Random(jobs).sample(range(5), 5)
        assert judged(order, jobs) == first
    assert first[0] == first[2] and first[0] != first[1]


def test_a_second_run_judges_only_what_is_new(one):
    """Two runs of one process, with the store on disk between them."""
    asked = []

    def judge(source, check_id, seed):
        asked.append(check_id)
        return small.judge(source, check_id, seed)

    run(one, judge=judge)
    assert len(asked) == 3
    small.hand_in(one, "bob", small.answered(row_max=small.BAD))
    run(one, judge=judge)
    assert len(asked) == 5


KILLED = """
import io, sys, time
sys.path[:0] = {paths!r}
import classroom_lab as small
from autograder.classroom import cli
from autograder.classroom.seeds import find_seed
from pathlib import Path

root = Path({root!r})

def judge(source, check_id, seed):
    with open(root / "log.txt", "a") as log:
        log.write(source.digest.splitlines()[-1] + " " + check_id + " " + str(seed) + "\\n")
    time.sleep({pause})
    return small.judge(source, check_id, seed)

import autograder.child, autograder.source, autograder.classroom.grading
autograder.classroom.grading.engine_digest = lambda: "engine"  # whoever edits the course while its tests run
autograder.child.run_judge, autograder.source.gather_notebook = judge, small.gather
from argparse import ArgumentParser
parser = ArgumentParser()
cli.add_parser(parser.add_subparsers())
args = parser.parse_args(["grade", small.LAB, "--submitted", str(root / "submitted"), "--out", str(root / {out!r}),
                          "--released", str(root / "labs"), "--jobs", "1"])
sys.exit(args.func(args))
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_a_killed_run_goes_on_where_it_was(tmp_path):
    """kill -9 in the middle of judging; the second run keeps the seed and the verdicts, and its grades.csv
    is that of a run which nothing disturbed."""
    small.write_release(tmp_path)
    for number in range(3):
        text = small.GOOD + f"\n    {'bad' if number % 2 else 'fine'}{number}"
        small.hand_in(tmp_path, f"s{number}", small.answered(row_max=text))
    log = tmp_path / "log.txt"
    paths = [str(Path(small.__file__).parent), str(Path(cli.__file__).parents[2])]

    def start(out, pause):
        script = KILLED.format(paths=paths, root=str(tmp_path), out=out, pause=pause)
        return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    first = start("out", 0.15)
    deadline = time.monotonic() + 120
    while not log.exists() or log.read_text().count("\n") < 5:
        assert first.poll() is None and time.monotonic() < deadline, first.stderr.read()[-2000:]
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    begun = log.read_text().splitlines()
    assert not (tmp_path / "out" / "grades.csv").exists() and len(begun) < 7
    second = start("out", 0)
    assert second.wait(300) == 0, second.communicate()[1][-2000:]
    asked = log.read_text().splitlines()
    assert len({line.split()[-1] for line in asked}) == 1, "the seed changed"
    assert len(set(asked)) == 7 and len(asked) <= 7 + 2  # the check in hand, and the one just being written down
    seed = int(asked[0].split()[-1])
    undisturbed = run(tmp_path, seed=seed, out="calm")
    assert (tmp_path / "out" / "grades.csv").read_bytes() == undisturbed.grades.read_bytes()
