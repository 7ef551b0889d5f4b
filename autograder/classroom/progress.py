"""A progress bar with rate and time left; plain lines where the output is not a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

BAR = 24  # characters
LINE_EVERY = 5.0  # seconds between plain lines


class Progress:
    """Counts ``total`` steps of ``label``. Use as a context manager; call ``step`` once per step.

    On a terminal one line is redrawn (at most ten times a second); elsewhere a line is printed at
    most every few seconds and one at the end, so that a log stays short.
    """

    def __init__(
        self,
        label: str,
        total: int,
        unit: str = "",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label, self.total, self.unit = label, total, unit
        self.stream = sys.stderr if stream is None else stream
        self.clock = clock
        self.done = 0
        self.live = bool(getattr(self.stream, "isatty", lambda: False)())
        self.started = self.shown = clock()
        self.width = 0

    def __enter__(self) -> Progress:
        self.started = self.shown = self.clock()
        if self.live:
            self._draw()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.live:
            self._draw()
            self.stream.write("\n")
        elif kind is None and self.total:
            self.stream.write(f"{self.text()}\n")
        self.stream.flush()

    def step(self, what: str = "") -> None:
        """One more step is done; ``what`` names it on a terminal."""
        self.done += 1
        now = self.clock()
        if now - self.shown < (0.1 if self.live else LINE_EVERY) or self.done == self.total:
            return
        self.shown = now
        if self.live:
            self._draw(what)
        else:
            self.stream.write(f"{self.text()}\n")
            self.stream.flush()

    def text(self) -> str:
        """The line as it stands: count, share, rate, and time left or taken."""
        spent = max(self.clock() - self.started, 1e-9)
        share = self.done / self.total if self.total else 1.0
        unit = f" {self.unit}" if self.unit else ""
        line = f"{self.label} {self.done}/{self.total}{unit} ({share:.0%})"
        if not self.done:
            return line
        line += f", {self.done / spent:.1f}/s"
        if self.done < self.total:
            return f"{line}, {duration(spent / self.done * (self.total - self.done))} left"
        return f"{line}, {duration(spent)} in all"

    def _draw(self, what: str = "") -> None:
        filled = round(BAR * self.done / self.total) if self.total else BAR
        line = f"[{'#' * filled}{'.' * (BAR - filled)}] {self.text()}"
        if what:
            line += f"  {what}"
        line = line[:110]
        self.stream.write("\r" + line.ljust(self.width))
        self.stream.flush()
        self.width = len(line)


def duration(seconds: float) -> str:
    """ "4 s", "2 min 05 s" or "1 h 02 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
