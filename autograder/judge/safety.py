"""The safety check: the sanitizer's findings and the outputs, in several thread orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import launches, outputs
from .launches import Launched, Program
from .reports import WORDS_LIMIT


@dataclass(frozen=True)
class Safety:
    """What all thread orders of one case showed. ``findings`` are sentences, each place once;
    ``more`` counts those beyond; ``message`` is "" when the case is safe and its output near the right one."""

    findings: tuple[str, ...]
    more: int
    message: str
    runs: tuple[Launched, ...]
    far: bool = False  # nothing but the output is wrong


def orders(seed: int) -> tuple[str | int, ...]:
    """The thread orders that are tried: both directions, and one drawn from the seed."""
    return ("forward", "reverse", int(seed) + 1)


def examine(program: Program, inputs, seed: int, step_limit: int) -> Safety:
    """Run one case in every order. A problem in one order ends it: the rest would say the same."""
    runs: list[Launched] = []
    for order in orders(seed):
        runs.append(launches.launch(program, inputs, order=order, step_limit=step_limit))
        if runs[-1].problem:
            break
    findings, more = collect(program, runs, outputs_too=True)
    message = _message(program, runs, findings, more)
    far = "" if message else outputs.not_yet(program, runs[0])
    return Safety(findings, more, message or far, tuple(runs), bool(far))


def collect(
    program: Program, runs: Sequence[Launched], outputs_too: bool = False
) -> tuple[tuple[str, ...], int]:
    """The findings of several launches in words, one for each kind and place, five at most; and how
    many of the launch with the most are not told. With ``outputs_too`` an atomic on an output that
    nothing has written is one of them: global memory that a kernel never stored to is undefined."""
    told: dict[tuple, str] = {}
    most = 0
    for run in runs:
        if run.trace is None:
            continue
        undefined = {
            name: sentence
            for name in (program.exercise.outputs if outputs_too else ())
            if (sentence := outputs.unstored_atomic(program, run, name))
        }
        most = max(most, run.trace.findings_total + len(undefined))
        for finding in run.trace.findings:
            where = tuple((place.function, place.line) for place in finding.places)
            message = program.lines.rewrite(finding.message)
            told.setdefault((finding.tool, finding.array, where), f"{finding.tool}: {message}")
        for name, sentence in undefined.items():
            told.setdefault(("initcheck", name), f"initcheck: {sentence}")
    sentences = tuple(told.values())[:WORDS_LIMIT]
    return sentences, max(0, most - len(sentences))


def _message(program: Program, runs: Sequence[Launched], findings: Sequence[str], more: int) -> str:
    for run in runs:
        if run.problem:
            return run.problem
    if findings:
        return findings[0] + (f" ({more + len(findings) - 1:,} more findings)" if more + len(findings) > 1 else "")
    return _order_matters(program, runs)


def _order_matters(program: Program, runs: Sequence[Launched]) -> str:
    """A GPU promises no order between threads, so a result that changes with it is a race."""
    first = runs[0]
    for other in runs[1:]:
        for name in program.exercise.outputs:
            differs = ~alike(first.arrays[name], other.arrays[name])
            if differs.any():
                index = tuple(int(i) for i in np.argwhere(differs)[0])
                return (
                    f"the result depends on the order in which the threads run: "
                    f"{outputs.place(program.own(name), index)} is {outputs.number(first.arrays[name][index])} in one "
                    f"order and {outputs.number(other.arrays[name][index])} in another. A barrier "
                    "(cuda.syncthreads) is probably missing between a write and a read of shared memory."
                )
    return ""


def alike(a: np.ndarray, b: np.ndarray, rtol: float = 1e-4) -> np.ndarray:
    """Elementwise: equal up to the order of a float32 sum; NaN is like NaN."""
    with np.errstate(all="ignore"):
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        near = np.abs(wide_a - wide_b) <= rtol * np.maximum(np.abs(wide_a), np.abs(wide_b)) + 1e-37
    near &= np.isfinite(wide_a) & np.isfinite(wide_b)
    return near | (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
