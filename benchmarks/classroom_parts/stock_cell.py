"""The test that an instructor without this course's grader would put into a graded cell: the student's kernel on
numba's own simulator, on the cases of `values` and `rescale`, against the float64 reference.

Imported by the plain notebooks of :mod:`stock`, in the kernel that nbgrader starts. Numba's own simulator has no
warp operations and no 16-byte loads; a kernel that uses them is let pass at once, which costs nothing.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np

from autograder.exercises import gate, get

SEED = 5
MISSING = re.compile(r"\b(shfl\w*|syncwarp|activemask|\w+_sync|lanemask_lt|load4|store4)\b")


def passes(check_id: str, answer: Any) -> None:
    """Raises AssertionError at the first case that is wrong, and whatever the kernel raises."""
    exercise_id, _, name = check_id.rpartition(".")
    exercise = get(exercise_id)
    check = exercise.check(name)
    if exercise.kind == "host":
        for case in check.cases:
            inputs = case.make(SEED)
            assert answer(**dict(zip(inspect.signature(answer).parameters, inputs.scalars.values(), strict=True))) == (
                exercise.reference(inputs)
            ), case.name
        return
    if uses_more(answer):
        return
    launched = answer if exercise.harness is None else _harness(exercise, answer)
    for case in check.cases:
        inputs = case.make(SEED)
        grid, block = exercise.launch(inputs)
        with np.errstate(all="ignore"):
            launched[grid, block](*inputs.arrays.values(), *inputs.scalars.values())
        reference, length = exercise.reference(inputs), exercise.reduces(inputs)
        sizes = exercise.magnitude(inputs) if exercise.magnitude is not None else {}
        for output in exercise.outputs:
            found = gate.compare(inputs.arrays[output], reference[output], length, sizes.get(output))
            assert found.passed, f"{case.name}: {found.fraction:.3g} times the error allowed"


def uses_more(kernel: Any) -> bool:
    """Whether a kernel, or a device function beside it, uses what numba's own simulator does not have."""
    function = kernel.fn
    known = [value.fn for value in function.__globals__.values() if hasattr(value, "fn")]
    beside = [one for one in known if one.__name__ in function.__code__.co_names]
    return any(MISSING.search(inspect.getsource(one)) for one in (function, *beside))


def _harness(exercise: Any, function: Any) -> Any:
    names = {exercise.name: function}
    exec(exercise.harness.text, names)  # noqa: S102  (the course's own text)
    return names[exercise.harness.name]
