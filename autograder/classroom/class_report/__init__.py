"""The class report: one HTML page that shows an instructor how a class did and what it gets wrong."""

from __future__ import annotations

from pathlib import Path

REPORT_FILE = "class_report.html"


def write_report(folder: Path, to: Path | None = None) -> Path:
    """Write the report on what was graded into ``folder``; ``to`` is the file (default: class_report.html in
    the folder). Returns where it is. Raises ClassroomError when nothing was graded there, and OSError."""
    from autograder.classroom.class_report.page import page
    from autograder.classroom.files import write_atomically
    from autograder.classroom.outcome import read_outcome

    path = folder / REPORT_FILE if to is None else to
    write_atomically(path, page(read_outcome(folder)).encode("utf-8", "replace"))
    return path


def report_or_reason(folder: Path) -> tuple[Path | None, str]:
    """As :func:`write_report`, for the end of a long run: where the report is, or None and a sentence."""
    try:
        return write_report(folder), ""
    except Exception as error:  # the marks are safe already, and a page must not turn them into a failure
        why = f"{type(error).__name__}: {error}"
        return None, f"The class report could not be written ({why}). The marks are not affected."
