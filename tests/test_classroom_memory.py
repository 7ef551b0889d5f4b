"""A large class fits into memory: what a run holds of a submission is small, however long its reports are."""

import copy
import io
import tracemalloc

import classroom_lab as small
import pytest
from classroom_lab import alembic_once  # noqa: F401  (fixture)

from autograder.classroom.collect import collect
from autograder.classroom.judge_class import Work, judge_class
from autograder.classroom.normalise import normalise
from autograder.classroom.prepare import prepare
from autograder.classroom.reading import parse_notebook
from autograder.classroom.release import find_release, load_release
from autograder.classroom.tree import read_tree
from autograder.classroom.verdict_store import VerdictStore
from autograder.report import Report

LONG = 200_000  # characters of a report's message
STUDENTS = 30


@pytest.fixture
def release(tmp_path):
    return load_release(small.LAB, find_release(small.LAB, small.write_release(tmp_path)))


def wordy(source, check_id, seed):
    """A judge whose every report is long and its own."""
    return Report("lab1.row_max", "", False, 0.0, 1.0, message=f"{source.digest} {check_id} ".ljust(LONG, "x"))


def class_of(release):
    return [Work(at, release, small.answered(f"{small.GOOD}  # {at}")) for at in range(STUDENTS)]


@pytest.mark.parametrize("jobs", [1, 3])
def test_reports_go_to_the_file_and_verdicts_are_told_when_asked_for(release, tmp_path, jobs):
    work = class_of(release)
    options = {"judge": wordy, "gather": small.gather, "jobs": jobs, "stream": io.StringIO()}
    with VerdictStore(tmp_path / "verdicts.db", "engine") as store:
        judge_class(class_of(release)[:1], 4, **options, cache=store)  # imports what it needs
        tracemalloc.start()
        try:
            judged = judge_class(work, 5, **options, cache=store)
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(list(judged)) == len(judged) == STUDENTS and 0 in judged and STUDENTS not in judged
        # of 61 reports: row_max of each student in two checks, and one row_sum; a few of each thread may wait
        assert held < 2 * LONG and peak < 30 * LONG
        for at in (0, STUDENTS - 1):
            assert [verdict.reason.split()[0] for verdict in judged[at]][:2] == ["@cuda.jit"] * 2
            assert all(f"# {at} " in verdict.reason for verdict in judged[at][:2])


def test_what_the_file_did_not_take_is_held(release, tmp_path):
    """A store that cannot be written keeps what it is given, and what it has already can still be read."""
    with VerdictStore(tmp_path / "verdicts.db", "engine") as store:
        store["early"] = wordy(small.Source("a"), "c", 5)
        store._file.execute("PRAGMA query_only = ON")
        store["late"] = wordy(small.Source("b"), "c", 5)
        assert "cannot be written" in store.problem
        assert store["early"].message.startswith("a c") and store["late"].message.startswith("b c")
    with VerdictStore(tmp_path / "verdicts.db", "engine") as store:
        assert "early" in store and "late" not in store


def test_a_verdict_that_is_lost_waits_for_a_person(release):
    cache = {}
    options = {"judge": wordy, "gather": small.gather, "stream": io.StringIO()}
    judged = judge_class(class_of(release)[:1], 5, **options, cache=cache)
    cache.clear()
    assert {verdict.points for verdict in judged[0]} == {None}
    assert all("Run the same command again" in verdict.reason for verdict in judged[0])


def test_cells_that_nobody_changed_are_there_once(release, tmp_path):
    before = copy.deepcopy(release.notebook)
    for student in ("ann", "bob"):
        small.hand_in(tmp_path, student, small.answered(f"{small.GOOD}  # {student}"))
    tree, left_out = read_tree(tmp_path / "submitted", tmp_path / "scratch")
    ann, bob = (prepare(one, release).notebook for one in collect(tree, small.LAB, left_out).submissions)
    own = [at for at, (one, other) in enumerate(zip(ann.cells, bob.cells, strict=True)) if one is not other]
    assert {ann.cells[at].id for at in own} == {"row_max", "row_sum", "lab1_written"}
    assert ann.cells[own[0]].source.endswith("# ann") and bob.cells[own[0]].source.endswith("# bob")
    assert release.notebook == before
    broken = normalise(
        release, parse_notebook(b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "1"}]}').cells
    )
    assert broken.problem and broken.notebook.cells is not release.cleared.cells
