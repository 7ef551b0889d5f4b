"""``autograder report``: the class report of a graded class, written again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

WRITTEN, UNUSABLE = 0, 2


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand; it sets ``func(args) -> int``."""
    parser = subparsers.add_parser(
        "report",
        help="one page on how a class did",
        description="Write the class report of a graded class: one HTML page with scores, pass rates, known mistakes, "
        "kernels that are alike, and who may need help. `autograder grade` writes it too; this writes it again, for "
        "example after marks by hand. Exit status: 0 written, 2 nothing was graded there.",
    )
    parser.add_argument("grades", type=Path, metavar="DIR", help="the folder that autograder grade wrote with --out")
    parser.add_argument("--to", type=Path, metavar="FILE", help="the page to write (default: DIR/class_report.html)")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Write the page and say where it is."""
    from autograder.classroom.class_report import write_report
    from autograder.classroom.errors import ClassroomError

    try:
        path = write_report(args.grades, args.to)
    except ClassroomError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    except OSError as error:
        print(f"The report could not be written ({error}).", file=sys.stderr)
        return UNUSABLE
    print(f"Class report: {path}")
    return WRITTEN
