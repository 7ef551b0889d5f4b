"""What a launch left in the arrays: inputs unchanged, outputs written, outputs right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exercises import gate
from . import launches
from .launches import Launched, Program

NEAR = 0.1  # relative error up to which an output shows that the work was done


@dataclass(frozen=True)
class Outcome:
    """The verdict on the arrays of one launch. ``wrong`` marks, per output, the elements over the
    gate; ``worst`` is the gate's result on the worst output and ``array`` its name."""

    passed: bool
    fraction: float | None
    message: str
    array: str = ""
    worst: gate.GateResult | None = None
    wrong: dict[str, np.ndarray] | None = None


def assess(
    program: Program, launched: Launched, inputs_too: bool = True, loose: float | None = None
) -> Outcome:
    """Judge the arrays after a launch against the exercise's float64 reference; with ``inputs_too`` the
    inputs must be as they were. ``loose`` is a relative error that replaces the gate's own."""
    if launched.problem:
        return Outcome(False, None, launched.problem)
    changed = input_change(program, launched) if inputs_too else ""
    missing = missing_writes(program, launched)
    exercise = program.exercise
    reference = exercise.reference(launched.inputs)
    length = exercise.reduces(launched.inputs)
    sizes = exercise.magnitude(launched.inputs) if exercise.magnitude is not None else {}
    held = {
        name: (launched.arrays[name], reference[name], length, sizes.get(name), loose) for name in exercise.outputs
    }
    results = {name: gate.compare(*one) for name, one in held.items()}
    wrong = {name: gate.fractions(*one) > 1.0 for name, one in held.items()}
    array, worst = max(results.items(), key=lambda item: item[1].fraction)
    if missing:
        message = missing
    elif changed:
        message = changed
    elif not worst.passed:
        message = describe(program, launched, array, worst)
    else:
        message = ""
    if message and (missing or changed):
        message = " ".join(filter(None, (launches.swapped(program), message)))
    return Outcome(
        passed=not message,
        fraction=float("inf") if missing else float(worst.fraction),
        message=message,
        array=array,
        worst=worst,
        wrong=wrong,
    )


def not_yet(program: Program, launched: Launched) -> str:
    """What a case of ``traffic`` or ``safety`` says when its output is not even near the right one: an
    element that was not written, or one that is off by more than a tenth. "" otherwise."""
    outcome = assess(program, launched, inputs_too=False, loose=NEAR)
    if outcome.passed:
        return ""
    return (
        f"{outcome.message.rstrip('.')}. What this kernel does counts once its output is near the right one on easy "
        "inputs like these: first make `values` pass."
    )


def input_change(program: Program, launched: Launched) -> str:
    """A sentence when an input is not as it was, bit by bit; "" when all are."""
    for name, before in launched.inputs.arrays.items():
        if name in program.exercise.outputs:
            continue
        after = launched.arrays[name]
        differs = before.view(np.uint8) != after.view(np.uint8) if before.size else np.zeros(0, bool)
        if not differs.any():
            continue
        per_element = differs.reshape(*before.shape, before.itemsize).any(axis=-1)
        index = tuple(int(i) for i in np.argwhere(per_element)[0])
        return (
            f"the kernel changed its input: {place(program.own(name), index)} was {number(before[index])} "
            f"and is {number(after[index])}{_by_line(program, launched, name)}. Write to "
            f"{program.own(program.exercise.outputs[0])} only."
        )
    return ""


def missing_writes(program: Program, launched: Launched) -> str:
    """A sentence when an element of an output still holds what was there before the launch."""
    for name in program.exercise.outputs:
        holes = launches.unwritten(launched.arrays[name])
        count = int(holes.sum())
        if not count:
            continue
        own = program.own(name)
        read = _lines_with(program, launched, name, "load")
        if read:
            return (
                f"{own} holds what was there before the launch: {read} reads {own} before the kernel "
                "has written it. An output starts undefined; compute its value, then store it."
            )
        added = unstored_atomic(program, launched, name)
        if added:
            return added
        if count == holes.size:
            which = "its one element is as it was" if count == 1 else f"all {count:,} elements are as they were"
            return f"nothing was written to {own}: {which} before the launch."
        index = tuple(int(i) for i in np.argwhere(holes)[0])
        others = {1: "all other elements were", 2: f"nor was 1 other of {holes.size:,}"}
        return (
            f"{place(own, index)} was never written "
            f"({others.get(count, f'nor were {count - 1:,} others of {holes.size:,}')})."
        )
    return ""


def unstored_atomic(program: Program, launched: Launched, name: str) -> str:
    """A sentence when the only thing that ever touches an output is an atomic, "" otherwise. An exchange
    stores its value whatever stood there, so it is none of them."""
    entries = [
        entry
        for entry in (launched.trace.lines if launched.trace is not None else ())
        if entry.space == "global" and program.contract(entry.array) == name and entry.op != "load"
    ]
    if not entries or any(entry.op == "store" or ".exch" in entry.text for entry in entries):
        return ""
    own = program.own(name)
    return (
        f"{program.lines.name(entries[0].line)} uses an atomic on {own}, which nothing has written: {own} starts "
        "undefined, and an atomic combines its value with what stands there. Work the value out first, in "
        f"variables and shared memory, and store the finished value to {own}."
    )


def describe(program: Program, launched: Launched, array: str, worst: gate.GateResult) -> str:
    """The worst element in words, with how many are wrong and where the first is."""
    where = element(program, launched, array, worst.row, worst.col)
    times = (
        ""
        if not np.isfinite(worst.fraction)
        else f" ({times_word(worst.fraction)} times the error allowed)"
    )
    parts = [f"{where}: expected {number(worst.expected)}, found {number(worst.found)}{times}"]
    if worst.failing > 1:
        first = element(program, launched, array, worst.first_row, worst.first_col)
        parts.append(f"{worst.failing:,} of {worst.size:,} elements are wrong, the first at {first}")
    total = _row_total(program, launched, array, worst.row)
    if total:
        parts.append(total)
    return "; ".join(parts) + "."


def element(program: Program, launched: Launched, array: str, row: int, col: int) -> str:
    """Words for an element of an output: "row 3, column 17", in the exercise's own words."""
    exercise = program.exercise
    if exercise.where is not None:
        return exercise.where(launched.inputs, array, row, col)
    words = f"{exercise.axes[0]} {row}"
    if launched.arrays[array].ndim > 1:
        words += f", {exercise.axes[1]} {col}"
    return words if len(exercise.outputs) == 1 else f"{program.own(array)}, {words}"


def _row_total(program: Program, launched: Launched, array: str, row: int) -> str:
    """For outputs whose rows must sum to 1: what the wrong row sums to."""
    found = launched.arrays[array]
    if not program.exercise.by_rows or found.ndim != 2 or found.shape[1] < 2:
        return ""
    expected = program.exercise.reference(launched.inputs)[array][row].sum()
    with np.errstate(all="ignore"):
        actual = float(found[row].astype(np.float64).sum())
    if not abs(expected - 1.0) < 1e-6 or abs(actual - 1.0) < 1e-3:
        return ""
    return f"row {row} sums to {number(actual)} instead of 1"


def place(name: str, index: tuple[int, ...]) -> str:
    """ "Y[3, 17]"."""
    return f"{name}[{', '.join(str(i) for i in index)}]"


def number(value: float) -> str:
    """A number short enough for a sentence."""
    return f"{float(value):.6g}"


def times_word(value: float) -> str:
    """A multiple in two or three digits: 1.02, 14, 8,300, 3.1e+07."""
    if value < 10:
        return f"{value:.2f}"
    return f"{value:,.0f}" if value < 1e6 else f"{value:.1e}"


def _by_line(program: Program, launched: Launched, array: str) -> str:
    lines = _lines_with(program, launched, array, "store")
    return f" ({lines})" if lines else ""


def _lines_with(program: Program, launched: Launched, array: str, op: str) -> str:
    """The first source line that touches a global array that way, in words; "" when none does."""
    if launched.trace is None:
        return ""
    for entry in launched.trace.lines:
        same = entry.op == op or (op == "store" and entry.op == "atomic")
        if entry.space == "global" and same and program.contract(entry.array) == array:
            return program.lines.name(entry.line)
    return ""
