"""``autograder grade`` and ``autograder demo``."""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ALL_GRADED, SOME_UNJUDGED, UNUSABLE = 0, 1, 2
MOST_LINES, MOST_SENTENCES = 60, 20  # on the terminal; a large class is read in grades.csv and the report
INSTALL = 'python -m pip install "online-softmax-course[instructor]"'


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
        help="the hidden run's seed, or a file with a secret in it (default: drawn once and kept in OUT/seed.txt)",
    )
    grade.add_argument(
        "--due",
        type=_time,
        metavar="TIME",
        help="when the labs were due, for example 2026-10-01T23:59+02:00 (without an offset: UTC); later work "
        "gets the status late (default: the due date in the gradebook, if it has one)",
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


def _time(text: str) -> str:
    """A due date as nbgrader reads it. Abbreviations of zones mean different places, so only UTC is taken."""
    try:
        time = datetime.fromisoformat(text.removesuffix("UTC").strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"a time such as 2026-10-01T23:59+02:00 was expected, not {text!r}") from None
    utc = time.astimezone(UTC) if time.tzinfo else time
    return f"{utc:%Y-%m-%d %H:%M:%S} UTC"


def run_grade(args: argparse.Namespace) -> int:
    """Grade, print the table, and say by the exit status how it went."""
    from autograder.classroom.errors import ClassroomError

    try:
        from autograder.classroom.grading import grade
        from autograder.classroom.seeds import find_seed, keep_seed

        labs = list(dict.fromkeys(Path(lab).name.removesuffix(".ipynb") for lab in args.labs))
        seed, origin = find_seed(args.seed, args.out)
        # Kept before judging: a run that is stopped must go on with the same seed.
        result = grade(
            labs,
            args.submitted,
            args.out,
            seed,
            released=args.released,
            db_url=args.db,
            due=args.due,
            jobs=args.jobs,
            dask=args.dask,
            ready=(lambda: keep_seed(seed, args.out)) if args.seed is None else None,
        )
    except (ClassroomError, OSError, ModuleNotFoundError) as error:
        print(_told(error, args.out), file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print("\nWhat has been judged is kept: the same command goes on from there.", file=sys.stderr)
        raise
    print(summary(result))
    print(f"Seed: {origin}.")
    return ALL_GRADED if result.complete else SOME_UNJUDGED


def _told(error: Exception, out: Path) -> str:
    """The sentence for what has ended a command that writes to ``out``. Raises ``error`` when it is a fault of ours."""
    if isinstance(error, OSError):
        return _not_written(out, error)
    return _not_installed(error) if isinstance(error, ModuleNotFoundError) else str(error)


def _not_written(out: Path, error: OSError) -> str:
    said = f"The results could not be written to {out} ({error.strerror or error})."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{said} Make it writable, or give another folder with --out."
    room = "Make room. " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return f"{said} {room}Run the same command again: what has been judged is kept."


def _not_installed(error: ModuleNotFoundError) -> str:
    """A sentence about a package that is missing. Raises ``error`` when it is none that is installed."""
    if (error.name or "autograder").partition(".")[0] == "autograder":
        raise error
    return f"Grading a class needs the package {error.name}, which is not installed: {INSTALL}"


def summary(result) -> str:
    """The table, what needs attention, and where everything is."""
    from autograder.classroom import grades

    rows = result.rows
    lines = [grades.table(rows[:MOST_LINES], shutil.get_terminal_size((160, 24)).columns)]
    if len(rows) > MOST_LINES:
        lines.append(f"... and {len(rows) - MOST_LINES:,} more lines in {result.grades.name}")
    count = {status: sum(row.status == status for row in rows) for status in grades.STATUSES}
    told = ", ".join(f"{number:,} {status}" for status, number in count.items() if number)
    lines += ["", f"{len(rows):,} line{'' if len(rows) == 1 else 's'}: {told}."]
    unjudged = [row for row in rows if row.status == grades.UNJUDGED and row.notes]
    lines += _some([f"{grades.plain(row.student)}, {row.lab}: {grades.plain(row.notes[0])}" for row in unjudged])
    lines += _some([grades.plain(sentence) for sentence in result.ignored])
    lines += [
        f"Grades:    {result.grades}",
        f"Feedback:  {result.feedback}",
        f"Gradebook: {result.gradebook}",
    ]
    lines += [f"Report:    {result.report}"] if result.report else []
    if count[grades.MANUAL] or count[grades.UNJUDGED]:
        out = result.grades.parent
        elsewhere = "" if Path(result.gradebook).parent == out else " with c.CourseDirectory.db_url set"
        lines.append(
            f"By hand:   start JupyterLab in {out}{elsewhere}, give points in nbgrader's formgrader, and run the same "
            "command again"
        )
    return "\n".join(lines)


def _some(sentences: Sequence[str]) -> list[str]:
    shown = [f"  {sentence}" for sentence in sentences[:MOST_SENTENCES]]
    more = len(sentences) - len(shown)
    return [*shown, f"  and {more:,} more"] if more else shown


def run_demo(args: argparse.Namespace) -> int:
    """Make the class, grade it, compare."""
    from autograder.classroom.errors import ClassroomError

    try:
        from autograder.classroom.demo import run

        return run(args.out, released=args.released, jobs=args.jobs)
    except (ClassroomError, OSError, ModuleNotFoundError) as error:
        print(_told(error, args.out), file=sys.stderr)
        return UNUSABLE
