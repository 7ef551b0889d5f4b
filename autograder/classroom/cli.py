"""``autograder grade`` and ``autograder demo``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

ALL_GRADED, SOME_UNJUDGED, UNUSABLE = 0, 1, 2


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the two subcommands; each sets ``func(args) -> int``."""
    grade = subparsers.add_parser(
        "grade",
        help="grade a class's submissions",
        description="Grade what was handed in: a folder of STUDENT/LAB/LAB.ipynb, a download of Canvas, Moodle, "
        "Gradescope or Blackboard (the zip archive or its folder), a folder of notebooks, or one notebook. No "
        "student's cell is run: kernels are read from the notebooks and judged in limited child processes. "
        "A run that was stopped goes on where it was. Exit status: 0 all graded, 1 something could not be "
        "judged, 2 nothing to grade.",
    )
    grade.add_argument("labs", nargs="+", metavar="LAB", help="the lab's name, for example lab1_three_pass")
    grade.add_argument(
        "--submitted",
        type=Path,
        required=True,
        metavar="PATH",
        help="the folder, zip archive or notebook with what was handed in",
    )
    grade.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="where grades.csv, class_report.html, feedback/ and gradebook.db go",
    )
    grade.add_argument("--released", type=Path, metavar="DIR", help="the released notebooks (default: labs)")
    grade.add_argument(
        "--seed",
        metavar="N|FILE",
        help="the hidden run's seed, or a file with a secret in it "
        "(default: drawn once and kept in OUT/seed.txt)",
    )
    grade.add_argument("--db", metavar="URL", help="nbgrader's database (default: sqlite, OUT/gradebook.db)")
    _add_jobs(grade)
    grade.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="judge on the dask cluster whose scheduler is at ADDRESS (tcp://host:8786) instead of on this "
        "machine; the results are the same",
    )
    grade.set_defaults(func=run_grade)
    demo = subparsers.add_parser(
        "demo",
        help="grade the bundled class and compare with what it should get",
        description="Make a class of known submissions for the labs, grade it, and check every mark. Exit "
        "status: 0 all as expected, 1 a difference, 2 the labs were not found.",
    )
    demo.add_argument(
        "--out",
        type=Path,
        default=Path("demo_class"),
        metavar="DIR",
        help="where it goes (default: demo_class)",
    )
    demo.add_argument("--released", type=Path, metavar="DIR", help="the released notebooks (default: labs)")
    _add_jobs(demo)
    demo.set_defaults(func=run_demo)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=_positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="judging processes at a time (default: one per core)",
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 was expected, not {text!r}")
    return int(text)


def run_grade(args: argparse.Namespace) -> int:
    """Grade, print the table, and say by the exit status how it went."""
    from autograder.classroom.errors import ClassroomError
    from autograder.classroom.grading import grade
    from autograder.classroom.seeds import find_seed, keep_seed

    try:
        labs = list(dict.fromkeys(Path(lab).name for lab in args.labs))
        seed, origin = find_seed(args.seed, args.out)
        # Kept before judging: a run that is stopped must go on with the same seed.
        result = grade(
            labs,
            args.submitted,
            args.out,
            seed,
            released=args.released,
            db_url=args.db,
            jobs=args.jobs,
            dask=args.dask,
            ready=(lambda: keep_seed(seed, args.out)) if args.seed is None else None,
        )
    except ClassroomError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    except OSError as error:
        print(
            f"The results could not be written to {args.out} ({error}). Run the same command again.",
            file=sys.stderr,
        )
        return UNUSABLE
    print(summary(result))
    print(f"Seed: {origin}.")
    return ALL_GRADED if result.complete else SOME_UNJUDGED


def summary(result) -> str:
    """The table, what needs attention, and where everything is."""
    from autograder.classroom import grades

    lines = [grades.table(result.rows, shutil.get_terminal_size((160, 24)).columns), ""]
    counts = {}
    for row in result.rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    lines.append("; ".join(f"{count} {status}" for status, count in sorted(counts.items())) + ".")
    for row in result.rows:
        if row.status == grades.UNJUDGED and row.notes:
            lines.append(f"  {grades.plain(row.student)}, {row.lab}: {grades.plain(row.notes[0])}")
    lines += [f"  {grades.plain(sentence)}" for sentence in result.ignored]
    lines += [
        f"Grades:    {result.grades}",
        f"Feedback:  {result.feedback}",
        f"Gradebook: {result.gradebook}",
    ]
    lines += [f"Report:    {result.report}"] if result.report else []
    return "\n".join(lines)


def run_demo(args: argparse.Namespace) -> int:
    """Make the class, grade it, compare."""
    from autograder.classroom.demo import run
    from autograder.classroom.errors import ClassroomError

    try:
        return run(args.out, released=args.released, jobs=args.jobs)
    except ClassroomError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
