"""From lines of the canonical text to lines that the student can find."""

from __future__ import annotations

import re

from ..source import KernelSource

_LINE_WORDS = re.compile(r"\b([Ll]ines?) (\d+(?:(?:, | and | or )(?:line )?\d+)*)")


class Lines:
    """The words for places in one source. ``ours`` is what a line is called that the student did not write."""

    def __init__(self, source: KernelSource, ours: str = "") -> None:
        self._source = source
        self._ours = ours or source.name
        labels = [label for label in source.labels if label]
        self._home = labels[-1] if labels else ""  # the kernel itself comes last in the text

    def number(self, line: int) -> int:
        """The student's line for a line of the text; 0 where the line was put there by us."""
        if not 1 <= line <= len(self._source.lines):
            return 0
        return self._source.user_line(line)

    def name(self, line: int) -> str:
        """ "line 7", or "line 2 of cell 3" when that is not the cell of the kernel itself."""
        number = self.number(line)
        if not number:
            return self._ours
        label = self._source.labels[line - 1] if line <= len(self._source.labels) else ""
        return f"line {number} of {label}" if label and label != self._home else f"line {number}"

    def rewrite(self, message: str) -> str:
        """A sentence about the text ("line 12 reads…") as one about the student's own lines."""
        return _LINE_WORDS.sub(self._replace, message)

    def _replace(self, match: re.Match[str]) -> str:
        word, numbers = match.groups()
        if numbers.isdigit():
            name = self.name(int(numbers))
            return name[0].upper() + name[1:] if word[0] == "L" and name.startswith("line") else name
        mapped = re.sub(r"\d+", lambda one: str(self.number(int(one[0])) or one[0]), numbers)
        return f"{word} {mapped}"
