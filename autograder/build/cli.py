"""`autograder build`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from autograder.build.layout import BuildError, Course, find_course, find_root

DESCRIPTION = """\
Builds the notebooks of the course from the scripts in solutions/ and course/: the solved and the
released notebook of each lab, and each lesson with its outputs. Nothing is written unless all of it
builds. With --check nothing is written: it fails when a notebook is not what its source builds, a
release gives something away, or a source breaks a rule."""


def add_parser(subparsers: argparse._SubParsersAction) -> argparse.ArgumentParser:
    """Add the command to the subparsers of `autograder`; its ``func(args)`` returns the exit code."""
    parser = subparsers.add_parser(
        "build",
        help="make the notebooks from their sources, or check them",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="labs or lessons to build (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing, fail when something is out of step")
    parser.add_argument("--quick", action="store_true", help="with --check: do not run the lessons")
    parser.add_argument("--strict", action="store_true", help="with --check: cells that are too long fail, too")
    parser.add_argument("--root", type=Path, metavar="FOLDER", help="the course (default: the one we are in)")
    parser.add_argument(
        "--repository", metavar="URL", help="where notebooks install the course from (default: pyproject.toml)"
    )
    parser.set_defaults(func=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """0 when built or in step; 1 with the problems, one a line, on stderr."""
    try:
        if args.check and args.names:
            raise BuildError("--check looks at the whole course; leave out the names.")
        if (args.quick or args.strict) and not args.check:
            raise BuildError("--quick and --strict go with --check.")
        course = find_course(args.root or find_root(Path.cwd()), args.repository)
        return run_check(course, args) if args.check else run_build(course, args)
    except BuildError as error:
        return _fail(error.problems)


def run_build(course: Course, args: argparse.Namespace) -> int:
    """Build and write; prints what was written."""
    from autograder.build.builder import build, write

    start = time.monotonic()
    files = build(course, args.names, say=_say)
    written = write(files)
    for path in written:
        print(f"wrote {course.show(path)}")
    print(f"{len(files)} notebooks built, {len(written)} changed, {time.monotonic() - start:.0f} s.")
    return 0


def run_check(course: Course, args: argparse.Namespace) -> int:
    """Compare; prints the warnings, then the problems."""
    from autograder.build.drift import check

    verdict = check(course, run=not args.quick, say=_say)
    warnings, problems = verdict.warnings, verdict.problems
    if args.strict:
        warnings, problems = (), (*problems, *warnings)
    for line in warnings:
        print(f"style: {line}")
    if problems:
        return _fail(problems)
    print(f"{len(course.labs)} labs and {len(course.lessons)} lessons are in step with their sources.")
    return 0


def _fail(problems: tuple[str, ...]) -> int:
    for line in problems:
        print(line, file=sys.stderr)
    print(f"autograder build: {len(problems)} problem{'s' if len(problems) != 1 else ''}.", file=sys.stderr)
    return 1


def _say(line: str) -> None:
    print(line, flush=True)
