"""How long judging took, by check: kept beside the grades, so that the report can name the slow exercises."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.classroom.files import write_atomically
from autograder.classroom.judging import judge_with_picture

TIMES_FILE = "judging_times.json"


@dataclass(frozen=True)
class Times:
    """Of one check: how many kernels were judged, the seconds in all and of the longest (wall clock)."""

    judged: int
    seconds: float
    longest: float

    def and_also(self, other: Times) -> Times:
        """Both together."""
        return Times(self.judged + other.judged, self.seconds + other.seconds, max(self.longest, other.longest))


class Stopwatch:
    """A judge (default: the course's own) that notes how long each call took. Safe to use from several
    threads."""

    def __init__(self, judge: Callable[[Any, str, int], Any] | None = None) -> None:
        self.judge = judge
        self.times: dict[str, Times] = {}
        self._lock = threading.Lock()

    def __call__(self, source: Any, check_id: str, seed: int) -> Any:
        judge = judge_with_picture if self.judge is None else self.judge
        started = time.perf_counter()
        try:
            return judge(source, check_id, seed)
        finally:
            self.note(check_id, time.perf_counter() - started)

    def note(self, check_id: str, seconds: float) -> None:
        """One more call took so long."""
        with self._lock:
            mine = Times(1, seconds, seconds)
            self.times[check_id] = mine.and_also(self.times[check_id]) if check_id in self.times else mine

    def keep(self, out: Path) -> None:
        """Add what was measured to the file in ``out``. A file that cannot be written is no reason to stop."""
        if not self.times:
            return
        together = read_times(out)
        for check_id, mine in self.times.items():
            together[check_id] = mine.and_also(together[check_id]) if check_id in together else mine
        plain = {
            check_id: [one.judged, round(one.seconds, 3), round(one.longest, 3)]
            for check_id, one in sorted(together.items())
        }
        with contextlib.suppress(OSError):
            write_atomically(out / TIMES_FILE, (json.dumps(plain, indent=1) + "\n").encode())


def read_times(out: Path) -> dict[str, Times]:
    """What earlier runs measured; nothing where there is no such file, or it is damaged."""
    try:
        found = json.loads((out / TIMES_FILE).read_text(encoding="utf-8"))
        return {str(key): Times(int(judged), float(all_), float(most)) for key, (judged, all_, most) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def by_exercise(times: dict[str, Times]) -> list[tuple[str, Times]]:
    """The checks of each exercise together, the longest on average first: (exercise id, times); ``judged`` is
    the most kernels that any of its checks met."""
    whole: dict[str, Times] = {}
    kernels: dict[str, int] = {}
    for check_id, one in times.items():
        exercise = check_id.rpartition(".")[0]
        whole[exercise] = one.and_also(whole[exercise]) if exercise in whole else one
        kernels[exercise] = max(kernels.get(exercise, 0), one.judged)
    found = [(name, Times(kernels[name], one.seconds, one.longest)) for name, one in whole.items()]
    return sorted(found, key=lambda item: (-item[1].seconds / max(item[1].judged, 1), item[0]))
