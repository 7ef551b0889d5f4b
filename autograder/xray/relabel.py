"""A trace of a gathered text, told in the lines of the cell or file that the text came from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autograder.simulator.trace import Place, Trace


def relabel(trace: Trace, source: Any) -> Trace:
    """``trace`` with the line numbers of ``source``'s text replaced by the student's own."""
    from autograder.judge.lines import Lines

    lines = Lines(source)

    def number(line: int) -> int:
        return lines.number(line) or line

    def place(old: Place) -> Place:
        return replace(old, line=number(old.line))

    touches = trace.touches
    if touches is not None and len(touches.line):
        seen, where = np.unique(touches.line, return_inverse=True)
        mapped = np.array([number(int(line)) for line in seen], dtype=np.int32)
        touches = replace(touches, line=mapped[where.reshape(-1)])
    return replace(
        trace,
        lines=tuple(replace(line, line=number(line.line)) for line in trace.lines),
        findings=tuple(
            replace(f, message=lines.rewrite(f.message), places=tuple(place(p) for p in f.places))
            for f in trace.findings
        ),
        touches=touches,
    )


def relabel_message(message: str, source: Any) -> str:
    """A sentence about the text as one about the student's own lines."""
    from autograder.judge.lines import Lines

    return Lines(source).rewrite(message)
