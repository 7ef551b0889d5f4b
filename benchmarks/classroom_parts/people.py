"""A class as a teacher meets it, made by a script: the same seed makes the same bytes.

Each student and lab is of one kind, in fixed shares: right answers in the styles of the catalogue, known
mistakes in one or two exercises, the notebook as it was handed out, an endless loop, a kernel that may not be
judged, and a file that is damaged. No two students have one text, but for those who wrote nothing.
"""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from autograder.classroom.demo.files import DAMAGES, submission
from autograder.classroom.demo.roster import Answer, Student, right
from autograder.classroom.files import write_atomically
from autograder.classroom.release import Release
from autograder.exercises import all_exercises
from autograder.exercises.model import Exercise

from .texts import varied

RIGHT, BUGS, UNTOUCHED, ENDLESS, REFUSED, BROKEN = "right", "bugs", "untouched", "endless", "refused", "broken"
SHARES = {RIGHT: 0.65, BUGS: 0.25, UNTOUCHED: 0.03, ENDLESS: 0.02, REFUSED: 0.025, BROKEN: 0.025}
SPOILT = tuple(sorted(set(DAMAGES) - {"none"}))

LOOP = "    left = 1\n    while left > 0:\n        left *= 1\n"
REFUSALS = (
    ("import os\n", '    os.system("echo hello")\n'),
    ("import numpy as np\n", "    largest = np.max({first})\n"),
    ("", "    print(open('/etc/hostname').read())\n"),
)


@dataclass(frozen=True)
class HandIn:
    """What one student hands in for one lab. ``mistakes`` are the ids of the wrong exercises, with the checks
    that each must fail."""

    student: str
    lab: str
    kind: str
    answers: dict[str, Answer]
    mistakes: dict[str, frozenset[str] | str]
    damage: str = "none"

    def file(self, release: Release) -> tuple[str, bytes]:
        """Name and bytes of the file."""
        person = Student(
            self.student,
            self.kind,
            self.answers,
            written=None if self.kind == UNTOUCHED else f"Because the maximum moves. ({self.student})",
            damage={self.lab: self.damage},
            labs=(self.lab,),
            untouched=self.kind == UNTOUCHED,
        )
        return submission(person, release)


def kinds(count: int, rng: random.Random, offset: float = 0.5) -> list[str]:
    """The kind of each of ``count`` students, in random order: of each kind its share, but for less than one
    student. ``offset``, from 0 to 1, says which way the shares are rounded."""
    limits = list(accumulate(SHARES.values()))
    drawn = [list(SHARES)[min(bisect(limits, (at + offset) / count), len(limits) - 1)] for at in range(count)]
    rng.shuffle(drawn)
    return drawn


def make_class(labs: Sequence[str], count: int, seed: int) -> list[HandIn]:
    """``count`` students in ``labs``; over all labs together the shares hold for a small class, too."""
    made = []
    for at, lab in enumerate(labs):
        drawn = kinds(count, random.Random(f"{seed} {lab}"), (at + 0.5) / len(labs))
        for number, kind in enumerate(drawn):
            made.append(replace(_hand_in(f"{seed} {lab} {number}", lab, kind), student=f"student{number:05d}"))
    return made


def write_class(hand_ins: Iterable[HandIn], releases: dict[str, Release], folder: Path) -> None:
    """Write STUDENT/LAB/LAB.ipynb under ``folder``."""
    for one in hand_ins:
        name, data = one.file(releases[one.lab])
        write_atomically(folder / one.student / one.lab / name, data)


def _hand_in(seed: str, lab: str, kind: str) -> HandIn:
    rng = random.Random(seed)
    exercises = [exercise for exercise in all_exercises() if exercise.lab == lab]
    if kind == UNTOUCHED:
        return HandIn("", lab, kind, {}, {})
    texts = {exercise.id: right(exercise.id, rng.randrange(60)).text for exercise in exercises}
    mistakes: dict[str, frozenset[str] | str] = {}
    kernels = [exercise for exercise in exercises if exercise.kind == "kernel"]
    if kind == BUGS:
        for exercise in rng.sample(exercises, min(rng.choice((1, 2)), len(exercises))):
            bug = rng.choice(exercise.bugs)
            texts[exercise.id], mistakes[exercise.id] = bug.text, bug.checks
    elif kind in (ENDLESS, REFUSED):
        exercise = rng.choice(kernels)
        texts[exercise.id] = _spoilt(exercise, texts[exercise.id], kind, rng)
        mistakes[exercise.id] = "every check"
    answers = {name: Answer(varied(text, rng)) for name, text in texts.items()}
    damage = rng.choice(SPOILT) if kind == BROKEN else "none"
    return HandIn("", lab, kind, answers, mistakes, damage)


def _spoilt(exercise: Exercise, text: str, kind: str, rng: random.Random) -> str:
    """The kernel with a loop that never ends, or with something that no kernel may use, as its first lines."""
    above, below = ("", LOOP) if kind == ENDLESS else rng.choice(REFUSALS)
    head = re.compile(rf"^def {exercise.name}\((\w+)[^)]*\):\n", re.MULTILINE)
    found = head.search(text)
    if found is None:
        raise ValueError(f"{exercise.id} has a right variant whose kernel does not begin as expected")
    return above + text[: found.end()] + below.format(first=found[1]) + text[found.end() :]
