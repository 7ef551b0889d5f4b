"""One launch of a kernel on copies of a case's arrays."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exercises.model import Exercise, Inputs
from ..source import KernelSource
from . import errors
from .compose import harnessed
from .lines import Lines

if TYPE_CHECKING:
    from ..simulator import Trace

STEP_LIMIT = 2_000_000
"""Steps of one launch. Right kernels take under a tenth of it in every case; simulating this many takes
one to three seconds, so a loop without an end is told in that time."""

# A NaN that no arithmetic makes: where an output still holds these bits, nothing was stored.
_CANARY = {
    np.dtype(np.float32): (np.uint32, 0x7FC0DEAD),
    np.dtype(np.float64): (np.uint64, 0x7FF8_0000_DEAD_BEEF),
}


@dataclass(frozen=True)
class Program:
    """A loaded kernel with what is needed to talk about it.

    ``names`` are the kernel's own parameter names; ``filename`` is the one it was loaded under.
    """

    kernel: Any
    exercise: Exercise
    names: tuple[str, ...]
    lines: Lines
    filename: str | None

    def own(self, array: str) -> str:
        """What the student calls an array of the exercise."""
        return dict(zip(self.exercise.arrays, self.names, strict=False)).get(array, array)

    def contract(self, own: str) -> str:
        """What the exercise calls the array that the student calls ``own``."""
        return dict(zip(self.names, self.exercise.arrays, strict=False)).get(own, own)


@dataclass(frozen=True)
class Launched:
    """The arrays after a launch and its trace; ``problem`` is a sentence when it ended early."""

    inputs: Inputs
    arrays: dict[str, np.ndarray]
    trace: Trace | None
    problem: str = ""
    endless: bool = False


def load(source: KernelSource, exercise: Exercise) -> Program:
    """Execute the source's text and wrap its kernel, a device function's within its harness. Whatever the
    text raises is passed on."""
    ours = ""
    if exercise.harness is not None:
        ours = f"the kernel that calls `{source.name}`"
        source = harnessed(source, exercise.harness)
    from ..simulator import install

    install()  # so that the types a kernel declares are kept
    kernel = source.load()
    return Program(
        kernel=kernel,
        exercise=exercise,
        names=parameters(source),
        lines=Lines(source, ours),
        filename=_filename(kernel),
    )


def parameters(source: KernelSource) -> tuple[str, ...]:
    """Names of the parameters of the source's kernel or function, in order."""
    definition = _definition(source)
    return tuple(argument.arg for argument in definition.args.args) if definition else ()


def launch(
    program: Program,
    inputs: Inputs,
    *,
    order: str | int = "forward",
    step_limit: int,
    record: bool = True,
    touches: bool = False,
) -> Launched:
    """Run the program on copies; outputs are filled with the canary first. Without ``record`` the trace
    counts no traffic, in half the time; with ``touches`` it keeps each access of the first block. Never raises
    for what the kernel does, only for faults of ours."""
    from ..simulator import launch as simulate

    exercise = program.exercise
    arrays = {
        name: canary(array) if name in exercise.outputs else array.copy()
        for name, array in inputs.arrays.items()
    }
    arguments = [*arrays.values(), *inputs.scalars.values()]
    grid, block = exercise.launch(inputs)
    try:
        with np.errstate(all="ignore"):
            trace = simulate(
                program.kernel,
                grid,
                block,
                arguments,
                names=list(program.names),
                order=order,
                step_limit=step_limit,
                record=record,
                touches=touches,
            )
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as problem:  # the kernel is the student's: anything may come out of it
        if not errors.is_the_kernels(problem, program.filename):
            raise
        sentence = errors.sentence(problem, program.lines, program.filename)
        if exercise.harness is not None and isinstance(problem, (TypeError, ValueError)):
            sentence = _unfit_result(program, problem) or sentence
        elif isinstance(problem, (IndexError, TypeError)):
            sentence = " ".join(filter(None, (swapped(program), sentence)))
        return Launched(inputs, arrays, None, sentence, errors.is_step_limit(problem))
    return Launched(inputs, arrays, trace)


def _unfit_result(program: Program, problem: BaseException) -> str:
    """A sentence when the harness, not the device function itself, could not go on: it then got something
    else than it needs. "" otherwise."""
    line = errors.line_of(problem, program.filename)
    if line and not program.lines.number(line):
        gives = program.exercise.harness.gives or "what the exercise asks for"
        return f"`{program.exercise.name}` must return {gives}; what it gave cannot be used ({problem})."
    return ""


def swapped(program: Program) -> str:
    """A sentence when the kernel has the exercise's parameters in another order; "" otherwise."""
    wanted, own = program.exercise.arrays, program.names
    if tuple(own) == tuple(wanted) or sorted(own) != sorted(wanted):
        return ""
    return f"this exercise passes ({', '.join(wanted)}); yours names ({', '.join(own)})."


def canary(array: np.ndarray) -> np.ndarray:
    """An array like ``array`` in which every element holds the canary NaN (a plain copy for types
    that have no NaN)."""
    filled = np.array(array, order="C")
    if filled.dtype in _CANARY:
        bits, value = _CANARY[filled.dtype]
        filled.view(bits)[...] = value
    return filled


def unwritten(array: np.ndarray) -> np.ndarray:
    """Boolean, shape of ``array``: where the canary is still in place."""
    if array.dtype not in _CANARY:
        return np.zeros(array.shape, dtype=bool)
    bits, value = _CANARY[array.dtype]
    return np.ascontiguousarray(array).view(bits) == value


def _definition(source: KernelSource) -> ast.FunctionDef | None:
    found = None
    for node in ast.parse(source.text).body:
        if isinstance(node, ast.FunctionDef) and node.name == source.name:
            found = node
    return found


def _filename(kernel: Any) -> str | None:
    for name in ("py_func", "fn", "__wrapped__"):
        inner = getattr(kernel, name, None)
        if hasattr(inner, "__code__"):
            return inner.__code__.co_filename
    code = getattr(kernel, "__code__", None)
    return code.co_filename if code is not None else None
