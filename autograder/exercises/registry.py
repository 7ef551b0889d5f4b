"""All exercises, in the order of the labs."""

from __future__ import annotations

import difflib

from . import lab1, lab2, lab3, lab4, lab5
from .model import Exercise

_ALL: tuple[Exercise, ...] = (
    *lab1.EXERCISES,
    *lab2.EXERCISES,
    *lab3.EXERCISES,
    *lab4.EXERCISES,
    *lab5.EXERCISES,
)


class UnknownExercise(KeyError):
    """No exercise has this id; the message is a sentence."""

    def __str__(self) -> str:
        return str(self.args[0])


def all_exercises() -> tuple[Exercise, ...]:
    """Every exercise, lab by lab, in the order in which a student meets them."""
    return _ALL


def labs() -> tuple[str, ...]:
    """The names of the labs, in order: "lab1_three_pass", …"""
    return tuple(dict.fromkeys(exercise.lab for exercise in _ALL))


def get(exercise_id: str) -> Exercise:
    """The exercise "lab2.online_softmax_tiled". Raises UnknownExercise (a KeyError) with a sentence
    that names the nearest ones."""
    for exercise in _ALL:
        if exercise.id == exercise_id:
            return exercise
    known = [exercise.id for exercise in _ALL]
    near = difflib.get_close_matches(str(exercise_id), known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"The exercises are {', '.join(known)}."
    raise UnknownExercise(f"There is no exercise {exercise_id!r}. {hint}")
