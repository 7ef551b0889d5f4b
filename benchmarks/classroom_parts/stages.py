"""Grade a class in this process with a judge that knows every report already, and say as the last line how long
each stage took and what memory is left at its end, as JSON: what grading costs beside judging.

    python stages.py SUBMITTED OUT REPORTS LAB ...

REPORTS is the store of verdicts that an earlier run of real judging left (verdicts.db). Each check gets a report
of its own, as large as a real one: one of those that the store has for its id, in turn.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import psutil

from autograder.child import codec
from autograder.classroom import grading, writing
from autograder.report import Report

MARK = "stages "
SEED = 5
STAGES = {"read": (grading, "_prepare"), "judge": (grading, "judge_class"), "write": (writing, "write"),
          "report": (grading, "report_or_reason")}  # fmt: skip


def main() -> None:
    submitted, out, reports, *labs = sys.argv[1:]
    spent: dict[str, dict[str, float]] = {}
    for stage, (module, name) in STAGES.items():
        setattr(module, name, _watched(getattr(module, name), stage, spent))
    judge = known_judge(Path(reports))
    grading.grade(labs, Path(submitted), Path(out), SEED, judge=judge)
    print(MARK + json.dumps(spent))


def known_judge(store: Path) -> Any:
    """A judge that takes its reports from a store of verdicts."""
    known: dict[str, list[str]] = defaultdict(list)
    with sqlite3.connect(store) as file:
        for (text,) in file.execute("SELECT report FROM verdicts ORDER BY key"):
            known[check_of(json.loads(text))].append(text)

    def judge(source: Any, check_id: str, seed: int) -> Report:
        text = random.Random(source.digest).choice(known[check_id])
        return codec.report_from_dict(json.loads(text))

    return judge


def check_of(report: dict[str, Any]) -> str:
    """The id of the one check that a kept report is of."""
    (check,) = report["checks"]
    return check["id"]


def _watched(function: Any, stage: str, spent: dict[str, dict[str, float]]) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        result = function(*args, **options)
        spent[stage] = {
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "rss_mb": psutil.Process().memory_info().rss / 1e6,
        }
        return result

    return call


if __name__ == "__main__":
    main()
