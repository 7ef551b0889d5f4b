"""``autograder export``: marks for Canvas, Moodle and Gradescope."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.classroom.exports import gradescope

COMPLETE, INCOMPLETE, UNUSABLE = 0, 1, 2
SHOWN = 20  # sentences on the terminal
_KINDS = {
    "canvas": ("the CSV file that Canvas's gradebook imports", "FILE", "the CSV file to write"),
    "moodle": ("the CSV file that Moodle's gradebook imports, with feedback", "FILE", "the CSV file to write"),
    "gradescope": (
        "a results.json for each submission",
        "DIR",
        "the folder to write: DIR/LAB/STUDENT/results.json",
    ),
}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the subcommand; it sets ``func(args) -> int``."""
    parser = subparsers.add_parser(
        "export",
        help="marks for Canvas, Moodle or Gradescope",
        description="Write the marks of a graded class for another gradebook. A mark that is missing or could not be "
        "judged stays empty, and a note says why. Exit status: 0 done, 1 done, but a submission could not be "
        "judged or the roster does not fit, 2 nothing written.",
    )
    kinds = parser.add_subparsers(title="formats", metavar="FORMAT", required=True)
    for kind, (about, where, help_line) in _KINDS.items():
        one = kinds.add_parser(kind, help=about, description=f"Write {about}.")
        one.add_argument(
            "--grades",
            type=Path,
            required=True,
            metavar="DIR",
            help="the folder that autograder grade wrote with --out",
        )
        one.add_argument("--to", type=Path, required=True, metavar=where, help=help_line)
        one.add_argument("--lab", action="append", metavar="LAB", help="this lab only (may be given several times)")
        one.add_argument(
            "--roster",
            type=Path,
            metavar="CSV",
            help="who is who: columns student, email, sis_id, and if you like login, name, section, canvas_id",
        )
        one.add_argument("--finished", action="store_true", help="leave out marks that still wait for a person")
        if kind == "gradescope":
            one.add_argument(
                "--visibility",
                choices=gradescope.VISIBILITIES,
                default="after_published",
                help="when students see the results (default: after_published)",
            )
        else:
            one.add_argument(
                "--name",
                action="append",
                type=_renaming,
                metavar="LAB=NAME",
                help="what the lab is called there, for example 'lab1_three_pass=Lab 1 (4711)'",
            )
        one.set_defaults(func=run, kind=kind)


def _renaming(text: str) -> tuple[str, str]:
    lab, equals, name = text.partition("=")
    if not (lab and equals and name.strip()):
        raise argparse.ArgumentTypeError(f"LAB=NAME was expected, not {text!r}")
    return lab, name.strip()


def run(args: argparse.Namespace) -> int:
    """Export, say what is empty and why, and tell by the exit status how it went."""
    from autograder.classroom import platforms
    from autograder.classroom.errors import ClassroomError
    from autograder.classroom.exports import canvas, moodle
    from autograder.classroom.exports.people import match, read_roster
    from autograder.classroom.exports.sheet import Request, choose
    from autograder.classroom.grades import plain
    from autograder.classroom.outcome import read_outcome

    try:
        outcome = read_outcome(args.grades)
        labs = choose(outcome, args.lab)
        titles = dict(getattr(args, "name", None) or ())
        choose(outcome, tuple(titles))
        students = sorted({line.student for lab in labs for line in outcome.of(lab)})
        roster = None if args.roster is None else read_roster(args.roster)
        people, strangers = match(students, roster, platforms.read(args.grades))
        request = Request(outcome, labs, people, titles, args.finished)
        if args.kind == "gradescope":
            done = gradescope.export(request, args.to, args.visibility)
        else:
            done = {"canvas": canvas, "moodle": moodle}[args.kind].export(request, args.to)
        sentences = [*strangers, *done.notes]
        beside = write_notes(args.to, sentences)
    except ClassroomError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    except OSError as error:
        print(f"The export could not be written ({error}).", file=sys.stderr)
        return UNUSABLE
    for sentence in sentences[:SHOWN]:
        print(f"  {plain(sentence)}")
    if len(sentences) > SHOWN:
        print(f"  and {len(sentences) - SHOWN} more in {beside}")
    print(f"{done.marks} marks of {len(people)} students: {done.written}")
    return INCOMPLETE if strangers or done.unjudged else COMPLETE


def write_notes(to: Path, sentences: Sequence[str]) -> Path:
    """The sentences in a text file beside ``to``: a gradebook has no room for them. None: no file."""
    from autograder.classroom.files import write_atomically

    path = to.with_name(f"{to.name}.notes.txt")
    if sentences:
        write_atomically(path, ("\n".join(sentences) + "\n").encode("utf-8", "replace"))
    else:
        path.unlink(missing_ok=True)
    return path
