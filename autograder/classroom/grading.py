"""Grade a class: collect, normalise, judge, write. One call does it all."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.classroom import grades, platforms, verdicts, writing
from autograder.classroom.claimed import claimed_folder
from autograder.classroom.class_report import report_or_reason
from autograder.classroom.class_report.times import Stopwatch
from autograder.classroom.collect import collect
from autograder.classroom.errors import NothingToGrade
from autograder.classroom.grades import Row
from autograder.classroom.judge_class import Work, judge_class
from autograder.classroom.prepare import Prepared, prepare
from autograder.classroom.release import Release, find_release, load_release
from autograder.classroom.surroundings import shown
from autograder.classroom.tree import read_tree
from autograder.classroom.verdict_store import STORE_FILE, VerdictStore, engine_digest
from autograder.classroom.verdicts import Verdict

INTAKE = "autograder-intake-"  # where archives are unpacked, in the system's temporary folder


@dataclass(frozen=True)
class Result:
    """What a run did. ``rows`` sorted by lab and student; ``ignored`` are sentences about files that were
    left out."""

    rows: tuple[Row, ...]
    ignored: tuple[str, ...]
    grades: Path
    feedback: Path
    gradebook: str
    report: Path | None = None

    @property
    def complete(self) -> bool:
        """Every submission that was handed in has been judged in full."""
        return all(row.status != grades.UNJUDGED for row in self.rows)


def grade(
    labs: Sequence[str],
    submitted: Path,
    out: Path,
    seed: int,
    *,
    released: Path | None = None,
    db_url: str | None = None,
    due: str | None = None,
    jobs: int = 1,
    dask: str | None = None,
    stream: Any = None,
    ready: Callable[[], None] | None = None,
    **judging: Any,
) -> Result:
    """Grade every submission of ``labs`` under ``submitted`` and write the results into ``out``:
    grades.csv, class_report.html, feedback/, autograded/, submitted/ (as judged), source/ (the released
    labs) and gradebook.db, unless ``db_url`` names another database. ``due`` is the labs' due date (None: the one
    that the gradebook has). Kernels are judged in ``jobs`` children at a time, in the sandbox where there is one,
    or on the cluster whose scheduler is at ``dask``.

    ``judging`` goes to :func:`judge_class` (judge, gather, cache; the default cache is a store of verdicts
    in ``out``, so that a run that was stopped goes on where it was). ``ready`` is called when there is
    something to grade and nothing stands in the way. But for these two, nothing in ``out`` changes before
    everything is judged and written aside. Raises ClassroomError with a sentence.
    """
    target = writing.Target(out.resolve(), db_url, due)
    writing.keep_apart(target.out, submitted.resolve())
    releases = [load_release(lab, find_release(lab, released)) for lab in labs]
    prepared, ignored = _prepare(releases, submitted.resolve())
    writing.check(target, releases)
    work = [
        Work((item.submission.student, item.release.lab), item.release, item.notebook)
        for item in prepared
        if item.problem is None and not item.submission.missing
    ]
    if ready is not None:
        ready()
    watch = Stopwatch(judging.get("judge"))
    with contextlib.ExitStack() as stack:
        cache = judging.get("cache")
        if cache is None:
            cache = stack.enter_context(VerdictStore(target.out / STORE_FILE, _engine(judging.get("judge"))))
        with _place(dask, watch, stream) as (runner, notes):
            options = {**judging, "judge": watch, "runner": runner, "jobs": jobs, "stream": stream, "cache": cache}
            judged = judge_class(work, seed, **options)
            ignored += sorted(notes)
        rows = writing.write(target, releases, prepared, ChainMap(_unusable(prepared), judged), stream)
        ignored += filter(None, [getattr(cache, "problem", "")])
    platforms.keep(target.out, (item.submission for item in prepared))
    watch.keep(target.out)
    report, reason = report_or_reason(target.out)
    ignored += [reason] if reason else []
    return Result(
        tuple(rows),
        tuple(ignored),
        grades=target.out / writing.GRADES_FILE,
        feedback=target.out / "feedback",
        gradebook=shown(db_url) if db_url else str(target.gradebook),
        report=report,
    )


def _unusable(prepared: Sequence[Prepared]) -> dict[tuple[str, str], tuple[Verdict, ...]]:
    """The verdicts on what could not be read."""
    return {
        (item.submission.student, item.release.lab): tuple(
            verdicts.could_not(cell, item.problem) for cell in item.release.checks
        )
        for item in prepared
        if item.problem is not None
    }


@contextlib.contextmanager
def _place(dask: str | None, watch: Stopwatch, stream: Any) -> Iterator[tuple[Any, set[str]]]:
    """Where kernels are judged: the cluster's runner, or None for this machine, and sentences that the cluster
    adds. On this machine the children are in the sandbox; where there is none, a line says so."""
    if dask is not None:
        from autograder.classroom.cluster import connected

        with connected(dask, watch.note) as cluster:
            yield cluster, cluster.notes
    elif watch.judge is not None:
        yield None, set()
    else:
        from autograder.child import sandboxing

        with sandboxing() as sentence:
            if sentence:
                print(sentence, file=sys.stderr if stream is None else stream)
            yield None, set()


def _engine(judge: Any) -> str:
    """What stands for the judge in the store of verdicts."""
    own = "" if judge is None else f"{judge.__module__}.{judge.__qualname__}"
    return f"{engine_digest()}{own}"


def _prepare(releases: Sequence[Release], submitted: Path) -> tuple[list[Prepared], list[str]]:
    """Every submission of every lab, read and normalised. What was unpacked is gone afterwards."""
    prepared, ignored, nothing = [], {}, []
    with claimed_folder(INTAKE, Path(tempfile.gettempdir())) as scratch:
        tree, left_out = read_tree(submitted, scratch)
        for release in releases:
            try:
                found = collect(tree, release.lab, left_out, str(submitted))
            except NothingToGrade as error:
                nothing.append(error)
                continue
            ignored.update(dict.fromkeys(found.ignored))
            prepared += [prepare(submission, release) for submission in found.submissions]
    if nothing:
        raise nothing[0]
    return _of_other_labs(prepared, len(releases)), list(ignored)


def _of_other_labs(prepared: list[Prepared], labs: int) -> list[Prepared]:
    """With several labs, a file whose name does not say which one it is of is tried for each: where
    nothing of the lab is in it, it was not handed in for it."""
    if labs < 2:
        return prepared
    used = {item.submission.path for item in prepared if item.problem is None and item.submission.path}
    return [
        item.as_missing() if item.foreign and item.submission.path in used else item
        for item in prepared
    ]
