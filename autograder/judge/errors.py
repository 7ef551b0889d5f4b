"""Exceptions from a student's kernel or function, as sentences with the student's line."""

from __future__ import annotations

import re
from types import TracebackType

from .lines import Lines

OWN_SENTENCES = ("StepLimit", "LaunchError", "KernelError", "KernelTypeError", "MemoryFault")


def is_step_limit(problem: BaseException) -> bool:
    """Whether the simulator stopped because it had simulated enough."""
    return type(problem).__name__ == "StepLimit"


def is_the_kernels(problem: BaseException, filename: str | None) -> bool:
    """Whether an exception of a launch comes from the kernel: the simulator says so, or a frame of the
    text was running. Anything else is a fault of ours, and not to be blamed on the student."""
    return type(problem).__name__ in OWN_SENTENCES or line_of(problem, filename) > 0


def sentence(problem: BaseException, lines: Lines, filename: str | None) -> str:
    """What went wrong, where, and what to do. ``filename`` is the name under which the text was
    loaded; frames of other files are the simulator's and never shown."""
    if hasattr(problem, "sentence"):  # a refusal or a host function's error: in the student's words already
        line, label = getattr(problem, "line", None), getattr(problem, "label", "")
        where = f"line {line}{f' of {label}' if label else ''}: " if line else ""
        return _end(f"{where}{problem.sentence}" if where not in str(problem) else str(problem))
    line = line_of(problem, filename)
    where = lines.name(line) if line else ""
    text = lines.rewrite(str(problem)).strip()
    if type(problem).__name__ in OWN_SENTENCES and text:
        return _end(text) if not where or "line " in text else _end(f"{where}: {text}")
    return f"{where}: {_explain(problem, text)}" if where else _capital(_explain(problem, text))


def _explain(problem: BaseException, text: str) -> str:
    if isinstance(problem, ZeroDivisionError):
        return "this divides by zero. Guard the division, or start from a value that is not 0."
    if isinstance(problem, UnboundLocalError):
        name = _quoted(text)
        return f"`{name}` is used before it is given a value. Set it before the loop or branch that changes it."
    if isinstance(problem, NameError):
        return f"`{_quoted(text)}` is not defined. Check its spelling, or define it above the kernel."
    if isinstance(problem, AttributeError):
        return f"{_end(text)} Check the name against the numba.cuda reference."
    if isinstance(problem, RecursionError):
        return "the function calls itself without an end. A GPU kernel may not recurse; use a loop."
    if isinstance(problem, MemoryError):
        return "this asks for more memory than the simulator may use. Make the array smaller."
    if isinstance(problem, OverflowError):
        return f"{_end(text)} The number is too large for its type."
    if isinstance(problem, IndexError):
        return f"{_end(text)} Check the number of indices and their range."
    if isinstance(problem, TypeError):
        return f"{_end(text)} Check the types on this line: numbers, array elements, indices that are integers."
    if isinstance(problem, AssertionError):
        return f"the assertion does not hold{': ' + text if text else ''}."
    return f"{type(problem).__name__}: {_end(text)}" if text else f"{type(problem).__name__}."


def line_of(problem: BaseException, filename: str | None) -> int:
    """The line of the text where it happened: the simulator's word, or the innermost frame's."""
    place = getattr(problem, "place", None)
    if place is not None and getattr(place, "line", 0):
        return int(place.line)
    if isinstance(problem, SyntaxError) and problem.lineno:
        return int(problem.lineno)
    line = 0
    traceback: TracebackType | None = problem.__traceback__
    while traceback is not None:
        if filename is not None and traceback.tb_frame.f_code.co_filename == filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _quoted(text: str) -> str:
    found = re.search(r"'([^']+)'", text)
    return found[1] if found else text


def _end(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
