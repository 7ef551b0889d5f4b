"""What an exercise is, as data. No exercise of its own lives here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np


@dataclass(frozen=True)
class Inputs:
    """The arguments of one launch or call.

    ``arrays`` are named in the order of the kernel's array parameters (inputs and outputs, outputs
    filled with NaN); ``scalars`` follow them. For a host or break-it exercise only ``scalars`` is used.
    ``block`` is the number of threads a block where the case, not the exercise, decides it.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    scalars: dict[str, int | float] = field(default_factory=dict)
    block: int | None = None


@dataclass(frozen=True)
class Case:
    """One launch that a check makes.

    ``name`` is unique in its check and stable ("ragged n=257"); cases of one ``group`` earn their
    points together; ``reason`` says in a sentence why the case is there; ``make(seed)`` gives the
    same inputs for the same seed; ``counted`` says that what is moved in this case of `values` or `rescale`
    counts in `traffic`, too.
    """

    name: str
    group: str
    reason: str
    make: Callable[[int], Inputs]
    counted: bool = False


@dataclass(frozen=True)
class Budget:
    """Global traffic allowed, per array, in multiples of the array's own size.

    ``loads={"X": 2}`` allows X to be read twice over, ``stores={"Y": 1}`` written once; an array
    that is not named may not be touched that way. With ``coalesced`` the sectors of each array may
    not pass the fewest that those bytes need when every warp reads whole rows in order; the exact
    figure is ``rows x sectors of a row`` and allows each row's own misalignment. ``vector`` is the number
    of values that a lane takes with one request: with 4, every row that starts on a 16-byte boundary must
    be moved in requests of 32 x 4 values (its last one to three values may take one more).
    """

    loads: dict[str, float] = field(default_factory=dict)
    stores: dict[str, float] = field(default_factory=dict)
    coalesced: bool = True
    vector: int = 1


@dataclass(frozen=True)
class Check:
    """One graded check: ``name`` is "values", "rescale", "traffic", "safety" or "answer"."""

    name: str
    points: float
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class NamedBug:
    """A wrong kernel that people really write.

    ``text`` is a complete kernel module (imports, constants, device functions, the kernel under the
    exercise's own name); ``checks`` are the names of exactly the checks that it fails; ``title`` is
    the short name ("d not rescaled"); ``explain`` is one or two plain sentences: the mistake and
    where to look.
    """

    id: str
    title: str
    explain: str
    text: str
    checks: frozenset[str]


@dataclass(frozen=True)
class Variant:
    """A right kernel in one style; ``text`` as in :class:`NamedBug`."""

    id: str
    text: str


@dataclass(frozen=True)
class Harness:
    """The kernel that calls a student's device function.

    ``text`` is the text of one ``@cuda.jit`` kernel called ``name`` with array ``parameters``; it is
    put below the student's source, whose function it calls by the exercise's own name. It may begin with
    import lines of its own; the exercise's ``launch`` gives its shape. ``gives`` says what the function
    must return: "a pair (m, d)".
    """

    name: str
    parameters: tuple[str, ...]
    text: str
    gives: str = ""


@dataclass(frozen=True)
class Break:
    """What a break-it exercise asks for: the input that exposes, or spares, a wrong kernel.

    The student writes ``value(i, n)``, the number at position i of n. ``inputs(values)`` makes the
    arguments of a launch out of those numbers, float64 [n]; ``wrong`` and ``right`` are complete kernel
    modules under the name and contract of the exercise ``of``. With ``exposes`` the wrong kernel must
    miss the gate and the right one pass it; without, both must pass and not all values may be equal.
    ``limit`` is the largest value allowed in absolute terms (an infinity or a NaN is never allowed
    unless ``infinite`` is set, which allows -inf). ``hint`` is the sentence that a wrong answer is told,
    ``noun`` what the values are together ("row"). ``recognise(values)`` gives the id of the exercise's
    named bug that a wrong answer looks like, or "".
    """

    of: str
    wrong: str
    right: str
    inputs: Callable[[np.ndarray], Inputs]
    exposes: bool = True
    limit: float = 1e4
    infinite: bool = False
    hint: str = ""
    noun: str = "row"
    recognise: Callable[[np.ndarray], str] | None = None


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lab.

    ``id`` is "lab2.online_softmax_tiled"; ``kind`` is "kernel", "device" (a device function, called by
    ``harness``), "host" (a formula or a choice) or "break" (an input for ``breaks``); ``name`` is the
    name that the student's kernel or function must have; ``parameters`` are its parameter names (for
    messages, a student's own names are accepted); ``launch(inputs)`` gives ``(grid, block)``;
    ``reference(inputs)`` gives each output array in float64 (or the right answer of a host exercise);
    ``outputs`` names the arrays that the kernel must fill, all others must stay as they were.

    ``budget`` is one for all cases, or a function of a case's inputs. ``magnitude(inputs)`` gives, for
    each output, what the gate's relative error is relative to, where that is not the reference itself:
    a sum that cancels is legitimately far from a small result. ``reduced(inputs)`` is the number of
    values that each output reduces (default: the last axis of the first array).

    For messages: ``axes`` are the words for the two axes of an output; ``where(inputs, array, row, col)``
    is a phrase for an element where those words say too little; ``row_values(inputs, row)`` are the
    values, float64 [n], over which the online recurrence of an output row runs (default: the row of the
    first array, where an exercise takes one array and gives another), ``along`` is what one of them is
    called and ``tile`` how many are handled together (default: the threads of a block that has a row);
    ``keep(inputs, chosen)`` is the same launch without those that the boolean ``chosen`` [n] leaves out.
    """

    id: str
    lab: str  # "lab2_online_softmax"
    kind: str
    name: str
    title: str
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]
    launch: Callable[[Inputs], tuple[tuple[int, ...], tuple[int, ...]]] | None
    reference: Callable[[Inputs], dict[str, np.ndarray] | float | int | str]
    budget: Budget | Callable[[Inputs], Budget] | None
    checks: tuple[Check, ...]
    bugs: tuple[NamedBug, ...] = ()
    variants: tuple[Variant, ...] = ()
    read: str = ""  # where to read about it: "lesson 02, section 'Order matters'"
    harness: Harness | None = None
    breaks: Break | None = None
    magnitude: Callable[[Inputs], dict[str, np.ndarray]] | None = None
    reduced: Callable[[Inputs], int] | None = None
    axes: tuple[str, str] = ("row", "column")
    where: Callable[[Inputs, str, int, int], str] | None = None
    row_values: Callable[[Inputs, int], np.ndarray] | None = None
    along: str = "column"
    tile: int | None = None
    keep: Callable[[Inputs, np.ndarray], Inputs] | None = None

    def allowed(self, inputs: Inputs) -> Budget | None:
        """The traffic allowed for ``inputs``."""
        return self.budget(inputs) if callable(self.budget) else self.budget

    @property
    def source_kind(self) -> str:
        """What must be gathered: "kernel", "device" or "host"."""
        return "host" if self.kind == "break" else self.kind

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of the parameters of what is launched: the kernel's, or its harness's."""
        return self.harness.parameters if self.harness is not None else self.parameters

    @property
    def by_rows(self) -> bool:
        """Whether row r of the one output depends on row r of the one input alone."""
        return self.kind == "kernel" and len(self.parameters) == 2

    def values_of(self, inputs: Inputs, row: int) -> np.ndarray | None:
        """The values over which the recurrence of an output row runs, float64 [n]; None where there is no
        such thing."""
        if self.row_values is not None:
            return np.asarray(self.row_values(inputs, row), dtype=np.float64)
        first = next(iter(inputs.arrays.values()))
        if not self.by_rows or first.ndim != 2 or row >= first.shape[0]:
            return None
        return first[row].astype(np.float64)

    def kept(self, inputs: Inputs, chosen: np.ndarray) -> Inputs:
        """The inputs without the values of :meth:`values_of` that the boolean ``chosen`` [n] leaves out."""
        if self.keep is not None:
            return self.keep(inputs, chosen)
        first = next(iter(inputs.arrays))
        return replace(inputs, arrays={**inputs.arrays, first: inputs.arrays[first][:, chosen]})

    def reduces(self, inputs: Inputs) -> int:
        """How many values each output reduces: the gate's tolerance grows with its square root."""
        if self.reduced is not None:
            return int(self.reduced(inputs))
        return int(next(iter(inputs.arrays.values())).shape[-1])

    def check(self, name: str) -> Check:
        """The check called ``name``. Raises KeyError when there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"{self.id} has no check {name!r}")
