"""The two things that leave this package: a kernel's text, and a refusal in a sentence."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any


class SourceRefused(ValueError):
    """A student's text that cannot be judged, with the reason in words.

    ``sentence`` says what is wrong, ``hint`` what to do instead ("" when there is nothing to say),
    ``line`` is the line in the student's own cell or file (None when no line is to blame), ``label``
    the cell or file. ``untouched`` is True when the exercise is still the stub that was handed out.
    ``str()`` joins them: "line 7 of cell 4: `np.max` is not available ...; keep a running maximum".
    """

    def __init__(
        self, sentence: str, *, line: int | None = None, hint: str = "", label: str = "", untouched: bool = False
    ) -> None:
        self.sentence = sentence = _one_line(sentence)
        self.line = line or None
        self.hint = hint = _one_line(hint)
        self.label = label
        self.untouched = untouched
        start = place(None if untouched else self.line, label)  # an untouched stub's sentence has its line
        super().__init__(start + sentence + (f"; {hint}" if hint else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return _refused_again, (self.sentence, self.line, self.hint, self.label, self.untouched)


def _one_line(text: str) -> str:
    """``text`` without line ends and, when a student's giant name is in it, not longer than 300 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:297] + "..."


def _refused_again(sentence: str, line: int | None, hint: str, label: str, untouched: bool) -> SourceRefused:
    return SourceRefused(sentence, line=line, hint=hint, label=label, untouched=untouched)


def place(line: int | None, label: str) -> str:
    """The start of a message: "line 7 of cell 4: ", "cell 4: " or ""."""
    if line and label:
        return f"line {line} of {label}: "
    return f"line {line}: " if line else f"{label}: " if label else ""


@dataclass(frozen=True)
class KernelSource:
    """One kernel or host function and exactly what it names, as a module's text.

    ``name`` is the name of the ``def``; ``kind`` is "kernel", "device" (a device function) or "host";
    ``text`` holds imports, constants, device functions and the kernel, in that order, the functions
    verbatim. ``lines[i]`` and ``labels[i]`` say where line ``i + 1`` of the text stands in the student's
    own work (0 and "" for lines made here). ``notes`` are remarks for the student. Two sources are
    equal when name, kind and text are.
    """

    name: str
    kind: str
    text: str
    origin: str = field(default="", compare=False)
    lines: tuple[int, ...] = field(default=(), compare=False, repr=False)
    labels: tuple[str, ...] = field(default=(), compare=False, repr=False)
    notes: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def digest(self) -> str:
        """sha256 of kind, name and text, in hex: the key of a cached verdict."""
        whole = "\0".join((self.kind, self.name, self.text))
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()

    def user_line(self, n: int) -> int:
        """The student's line for line ``n`` of ``text`` (from 1); 0 for a line made here."""
        return self.lines[n - 1] if 0 < n <= len(self.lines) else 0

    def user_label(self, n: int) -> str:
        """The student's cell or file for line ``n`` of ``text``; "" for a line made here."""
        return self.labels[n - 1] if 0 < n <= len(self.labels) else ""

    def load(self) -> Any:
        """The kernel (or host function) itself, made by running ``text`` in a fresh namespace.

        Call it only where a kernel may run: the judging child, or the student's own process. The
        simulator flag must be set before. Raises SourceRefused when ``text`` is not what the rules
        accept or the installed numba cannot take it.
        """
        from autograder.source.loader import load

        return load(self)

    def as_json(self) -> dict[str, Any]:
        """A plain dict for a pipe; :meth:`from_json` reads it back."""
        return {
            "name": self.name,
            "kind": self.kind,
            "text": self.text,
            "origin": self.origin,
            "lines": list(self.lines),
            "labels": list(self.labels),
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> KernelSource:
        """The source that :meth:`as_json` wrote."""
        return cls(
            data["name"],
            data["kind"],
            data["text"],
            data["origin"],
            tuple(data["lines"]),
            tuple(data["labels"]),
            tuple(data["notes"]),
        )
