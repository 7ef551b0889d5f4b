"""The command ``autograder``: check, xray, build, grade, report, export, demo.

Exit status of ``check``: 0 passed, 1 failed, 2 could not be judged. The other parts are imported only
when they are asked for, so that ``autograder check`` answers quickly.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .report import Report

# Subcommands that live elsewhere: the module with their add_parser, and a line of help.
ELSEWHERE = {
    "xray": ("autograder.xray", "what a kernel moves, by source line, and which tile each pass reads"),
    "build": ("autograder.build.cli", "make the notebooks from their sources, or check that they agree"),
    "grade": ("autograder.classroom.cli", "grade a folder of submissions"),
    "report": ("autograder.classroom.class_report.cli", "one page on how a graded class did"),
    "export": ("autograder.classroom.exports.cli", "marks of a graded class for Canvas, Moodle or Gradescope"),
    "demo": ("autograder.classroom.cli", "grade the bundled class and print its table"),
}
PASSED, FAILED, NOT_JUDGED, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _speak_utf8()
    try:
        parsed = _parser(arguments).parse_args(arguments)
    except _MissingPart as missing:
        print(f"autograder: {missing}", file=sys.stderr)
        return NOT_JUDGED
    try:
        return int(parsed.func(parsed) or 0)
    except KeyboardInterrupt:
        print("autograder: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone (`| head`)
        sys.stderr.close()
        return FAILED


class _MissingPart(Exception):
    """A subcommand's module cannot be imported."""


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograder", description="Judges GPU softmax kernels on a machine with no GPU."
    )
    parser.add_argument("--version", action="version", version=f"autograder {version()}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_check(subparsers)
    asked = next((word for word in arguments if not word.startswith("-")), None)
    if asked in ELSEWHERE:
        _add_elsewhere(asked, subparsers)
    for name, (_, help_line) in ELSEWHERE.items():
        if name not in subparsers.choices:  # for the list in --help
            subparsers.add_parser(name, help=help_line, add_help=False)
    return parser


def _add_elsewhere(name: str, subparsers: Any) -> None:
    module, _ = ELSEWHERE[name]
    try:
        part = importlib.import_module(module)
    except ImportError as problem:
        raise _MissingPart(f"`autograder {name}` needs a package that is not installed: {problem}") from problem
    part.add_parser(subparsers)


def _add_check(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "check",
        help="judge the kernel of one exercise in a file",
        description="Judge the kernel of one exercise. Exit status: 0 passed, 1 failed, 2 could not be judged.",
    )
    parser.add_argument("id", help="an exercise (lab2.online_softmax_tiled) or one of its checks (….rescale)")
    parser.add_argument("file", type=Path, metavar="FILE", help="a .py file or a notebook (.ipynb)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the inputs (default 0)")
    parser.set_defaults(func=check)


def check(arguments: argparse.Namespace) -> int:
    """``autograder check``."""
    report = check_file(arguments.id, arguments.file, arguments.seed)
    if arguments.json:
        print(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    elif report.error is not None:
        print(_words(report), file=sys.stderr)
    else:
        print(_words(report))
    if report.error is not None:
        return NOT_JUDGED
    return PASSED if report.passed else FAILED


def check_file(check_id: str, path: Path, seed: int = 0) -> Report:
    """The report on one exercise's kernel in a script or notebook file. Never raises for what is, or is
    not, in the file."""
    from dataclasses import replace

    from .child import run_judge
    from .judge.ids import UnknownCheck, parse
    from .judge.reports import could_not_judge, refused
    from .source import SourceRefused

    try:
        exercise, _ = parse(check_id)
    except UnknownCheck as problem:
        return could_not_judge(check_id, str(path), str(problem))
    unreadable = _unreadable(path)
    if unreadable:
        return could_not_judge(check_id, str(path), unreadable)
    try:
        source = _gather(path, exercise.name, exercise.source_kind)
    except SourceRefused as refusal:
        return refused(check_id, str(path), refusal)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        kind = "notebook" if path.suffix == ".ipynb" else "Python file"
        return could_not_judge(check_id, str(path), f"{path} is not a {kind} that can be read ({problem}).")
    return replace(run_judge(source, check_id, seed), source=str(path))


def _gather(path: Path, name: str, kind: str) -> Any:
    from .source import gather_notebook, gather_script

    gather = gather_notebook if path.suffix == ".ipynb" else gather_script
    return gather(path, name, kind=kind)


def _unreadable(path: Path) -> str:
    if path.suffix not in (".py", ".ipynb"):
        return f"{path} is neither a Python file (.py) nor a notebook (.ipynb)."
    if not path.exists():
        return f"There is no file {path}."
    if not path.is_file():
        return f"{path} is a folder, not a file."
    return ""


def _words(report: Report) -> str:
    from .render import words

    return words(report)


def version() -> str:
    """The version of the package."""
    from . import __version__

    return __version__


def _speak_utf8() -> None:
    """Verdicts hold ✗ and ×; a Windows console or a C locale may not print them as they are."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
