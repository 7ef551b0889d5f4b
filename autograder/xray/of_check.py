"""The picture for a check of traffic: where the kernel reads and writes on the check's first case."""

from __future__ import annotations

from autograder.figures.access import access_picture
from autograder.judge import launches
from autograder.judge.ids import parse
from autograder.source import KernelSource
from autograder.xray.relabel import relabel


def picture_of(source: KernelSource, check_id: str, seed: int = 0) -> str:
    """An HTML ``<img>`` with the picture in it, "" where the launch ends early. Runs the kernel: call it where
    the judge runs."""
    exercise, (check, *_) = parse(check_id)
    program = launches.load(source, exercise)
    run = launches.launch(program, check.cases[0].make(seed), step_limit=launches.STEP_LIMIT, touches=True)
    return access_picture(relabel(run.trace, source)).img() if run.trace is not None else ""
