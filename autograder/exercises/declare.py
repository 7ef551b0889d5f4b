"""The three common kinds of exercise, with what all of a kind have in common filled in."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import references
from .model import Exercise, Inputs
from .texts import variants


def softmax(id: str, **given: Any) -> Exercise:
    """A kernel ``name(X, Y)`` that writes the softmax of each row of X into Y; its name is the id's second part."""
    return Exercise(
        id=id,
        kind="kernel",
        name=id.split(".")[1],
        parameters=("X", "Y"),
        outputs=("Y",),
        reference=_softmax_of_rows,
        variants=variants(id),
        **given,
    )


def formula(id: str, **given: Any) -> Exercise:
    """A host function whose answer is a number or a choice."""
    return Exercise(id=id, kind="host", outputs=(), launch=None, budget=None, variants=variants(id), **given)


def break_it(id: str, **given: Any) -> Exercise:
    """A host function ``value(i, n)`` that makes the input of ``breaks``; its name is the id's second part."""
    return Exercise(
        id=id,
        kind="break",
        name=id.split(".")[1],
        parameters=("i", "n"),
        outputs=(),
        launch=None,
        reference=lambda inputs: "",
        budget=None,
        variants=variants(id),
        **given,
    )


def _softmax_of_rows(inputs: Inputs) -> dict[str, np.ndarray]:
    return {"Y": references.softmax(inputs.arrays["X"])}
