"""Check ids: "lab2.online_softmax_tiled" is an exercise, "lab2.online_softmax_tiled.rescale" one check."""

from __future__ import annotations

import difflib

from .. import exercises
from ..exercises.model import Check, Exercise


class UnknownCheck(ValueError):
    """No exercise or check has this id. The message is a sentence that names the nearest ones."""


def parse(check_id: object) -> tuple[Exercise, tuple[Check, ...]]:
    """The exercise and the checks that an id names: one check, or all of an exercise's.
    Raises UnknownCheck."""
    if not isinstance(check_id, str):
        raise UnknownCheck(
            f"A check is named by a text such as {_example()!r}, not by {_kind_of(check_id)}."
        )
    wanted = check_id.strip()
    for exercise in exercises.all_exercises():
        if wanted == exercise.id:
            return exercise, exercise.checks
        for check in exercise.checks:
            if wanted == f"{exercise.id}.{check.name}":
                return exercise, (check,)
    near = difflib.get_close_matches(wanted, _all_ids(), n=3, cutoff=0.5)
    hint = f" Did you mean {_or(near)}?" if near else f" The exercises are {', '.join(_exercise_ids())}."
    raise UnknownCheck(f"There is no check called {wanted!r}.{hint}")


def _exercise_ids() -> list[str]:
    return [exercise.id for exercise in exercises.all_exercises()]


def _all_ids() -> list[str]:
    checks = [f"{e.id}.{check.name}" for e in exercises.all_exercises() for check in e.checks]
    return [*_exercise_ids(), *checks]


def _example() -> str:
    return _all_ids()[-1]


def _or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _kind_of(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
