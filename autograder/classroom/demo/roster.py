"""Who is in the bundled class, and what each of them handed in.

Kernels come from the exercises' own right variants and named bugs, so the class grows up with the
labs; a few texts of other kinds (an endless loop, an import) are added here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from autograder.exercises import all_exercises, get

ALL = "every check"  # of Answer.lost: all checks of the exercise
FIRST_LABS = ("lab1_three_pass", "lab2_online_softmax")
ALL_LABS = (*FIRST_LABS, "lab3_merge_reduce", "lab4_one_pass", "lab5_online_attention")


@dataclass(frozen=True)
class Answer:
    """What stands in one solution cell. ``text`` None leaves the released stub; ``lost`` are the names
    of the checks that it must lose; ``bug`` is the known mistake that must be named, None for none."""

    text: str | None
    lost: frozenset[str] | str = frozenset()
    bug: str | None = None


@dataclass(frozen=True)
class Student:
    """One member of the class. ``answers`` by exercise id; an exercise that is not named gets a right
    answer. ``written`` is the answer to the written question, None leaves it empty. ``damage`` says
    how the file is spoilt (see :mod:`.files`), per lab; ``labs`` are those that were handed in: most of the
    class has come as far as the second."""

    id: str
    about: str
    answers: dict[str, Answer] = field(default_factory=dict)
    written: str | None = "The maximum has to be known before the first exponential is summed."
    damage: dict[str, str] = field(default_factory=dict)
    style: int = 0
    labs: tuple[str, ...] = FIRST_LABS
    untouched: bool = False

    def answer(self, exercise_id: str) -> Answer:
        """What this student has in the solution cell of an exercise."""
        if self.untouched:
            return Answer(None, ALL)
        return self.answers.get(exercise_id) or right(exercise_id, self.style)

    def hands_in(self, lab: str) -> bool:
        """Whether this student has a folder for the lab."""
        return lab in self.labs


def right(exercise_id: str, style: int = 0) -> Answer:
    """A right answer; ``style`` picks among the exercise's variants, round and round."""
    variants = get(exercise_id).variants
    return Answer(variants[style % len(variants)].text)


def wrong(exercise_id: str, bug_id: str) -> Answer:
    """A known mistake of an exercise. Raises KeyError when the exercise has none of that id."""
    for bug in get(exercise_id).bugs:
        if bug.id == bug_id:
            return Answer(bug.text, bug.checks, bug.title)
    raise KeyError(f"{exercise_id} has no known mistake {bug_id!r}")


def _wrong(**bugs: str) -> dict[str, Answer]:
    """``lab1_row_max="zero_padding"`` and so on, as answers by exercise id; without the lab where one name is
    one exercise only. Raises KeyError for a name that no exercise has, or several have."""
    ids: dict[str, list[str]] = {}
    for exercise in all_exercises():
        for name in {exercise.id.replace(".", "_"), exercise.id.split(".")[1], exercise.name}:
            ids.setdefault(name, []).append(exercise.id)
    found = {}
    for name, bug in bugs.items():
        if len(ids.get(name, [])) != 1:
            raise KeyError(f"{name} names {len(ids.get(name, []))} exercises, not one")
        found[ids[name][0]] = wrong(ids[name][0], bug)
    return found


ENDLESS = """import numba
from numba import cuda


@cuda.jit
def row_sum(X, out):
    row = cuda.blockIdx.x
    total = numba.float32(0.0)
    col = 0
    while col < X.shape[1]:
        total += X[row, col]
    if cuda.threadIdx.x == 0:
        out[row] = total
"""

IMPORTS = """import os
import math
import numba
from numba import cuda


@cuda.jit
def safe_softmax(X, Y):
    os.system("echo hello")
    row = cuda.blockIdx.x
    for col in range(cuda.threadIdx.x, X.shape[1], cuda.blockDim.x):
        Y[row, col] = math.exp(X[row, col])
"""

HOST_LIBRARY = """import numpy as np
from numba import cuda


@cuda.jit
def online_softmax_tiled(X, Y):
    row = cuda.blockIdx.x
    m = np.max(X[row])
    Y[row] = np.exp(X[row] - m) / np.sum(np.exp(X[row] - m))
"""

SCRIPT = "Because <script>alert('marks')</script> the row has to be read before it can be scaled."


def roster() -> tuple[Student, ...]:
    """The class, in the order of its names."""
    return tuple(
        sorted((*_right(), *_common(), *_traffic_and_safety(), *_odd()), key=lambda student: student.id)
    )


def _right() -> tuple[Student, ...]:
    return (
        Student("ada", "right, in the first style", style=0, labs=ALL_LABS),
        Student(
            "bruno",
            "right, in another style, helpers in a cell of their own",
            style=1,
            damage={"lab1_three_pass": "own_cell", "lab2_online_softmax": "own_cell"},
        ),
        Student("chloe", "right, in a third style", style=2, labs=ALL_LABS),
        Student(
            "dmitri",
            "right; the file has a byte order mark, or another name",
            style=1,
            damage={"lab1_three_pass": "bom", "lab2_online_softmax": "renamed"},
        ),
    )


def _common() -> tuple[Student, ...]:
    return (
        Student(
            "emeka",
            "0 as the padding of a maximum",
            _wrong(row_max="zero_padding", safe_softmax="zero_padding", online_softmax_tiled="zero_padding"),
        ),
        Student(
            "fatima",
            "no maximum at all",
            _wrong(safe_softmax="no_maximum", online_softmax_rows="no_maximum"),
            style=1,
        ),
        Student(
            "gita",
            "never rescales",
            _wrong(
                predict_bytes="one_transfer_missing",
                online_softmax_rows="d_not_rescaled",
                online_softmax_tiled="d_not_rescaled",
                lab2_breaking_value="maximum_in_first_tile",
                forgiving_value="late_maximum",
                online_softmax_tree="d_not_rescaled",
                lab4_softmax_row_cache="d_not_rescaled",
                online_attention="o_not_rescaled",
                lab5_breaking_value="loud_first",
            ),
            labs=ALL_LABS,
        ),
        Student(
            "hans",
            "rescales after adding",
            _wrong(
                row_sum="tail_dropped",
                online_softmax_rows="rescaled_after_adding",
                online_softmax_tiled="rescaled_after_adding",
                merge="one_factor_for_both",
                choose_softmax="boundary_excluded",
                naive_bytes="matrix_once",
                online_bytes="keys_once",
            ),
            labs=ALL_LABS,
        ),
        Student(
            "ines",
            "first tile's maximum for all",
            _wrong(safe_softmax="first_tile_maximum", online_softmax_tiled="first_tile_maximum"),
            style=1,
        ),
        Student(
            "jamal",
            "a maximum that starts at 0, or is not stored",
            _wrong(
                row_max="starts_at_zero",
                safe_softmax="starts_at_zero",
                online_softmax_tiled="maximum_not_stored",
            ),
        ),
        Student(
            "kaito",
            "a finite stand-in for -inf; -inf - -inf",
            _wrong(
                safe_softmax="finite_stand_in",
                online_softmax_rows="inf_minus_inf",
                online_softmax_tiled="inf_minus_inf",
                merge="finite_stand_in",
                softmax_register_cache="finite_stand_in",
                online_attention="finite_stand_in",
            ),
            labs=ALL_LABS,
        ),
        Student(
            "lea",
            "adds the lanes' d although each lane has its own m",
            _wrong(
                safe_softmax="own_maximum",
                online_softmax_tiled="lanes_d_added",
                merge="d_added",
                online_softmax_warp="lanes_d_added",
                lab3_breaking_value="same_maximum_in_every_thread",
                softmax_row_cache="lanes_d_added",
            ),
            style=1,
            labs=ALL_LABS,
        ),
    )


def _traffic_and_safety() -> tuple[Student, ...]:
    return (
        Student(
            "mateo",
            "reads past the tail; forgets whose row it is",
            _wrong(
                row_max="reads_past_the_tail", row_sum="adds_into_global", online_softmax_rows="row_of_block_0"
            ),
        ),
        Student(
            "nadia",
            "a barrier is missing",
            _wrong(
                row_max="no_barrier_in_tree",
                safe_softmax="no_barrier_before_reuse",
                online_softmax_tiled="no_barrier_after_tile",
                online_softmax_vec4="misaligned_row",
                online_softmax_grid_stride="row_not_guarded",
                online_attention="writes_past_the_last_query",
            ),
            labs=ALL_LABS,
        ),
        Student(
            "olu",
            "right numbers, too much traffic",
            _wrong(
                row_max="reads_twice",
                safe_softmax="fourth_read",
                online_softmax_rows="three_passes",
                online_softmax_tiled="own_chunk",
                lab2_predict_sectors="as_if_coalesced",
                online_softmax_vec4="scalar_loads",
                lab3_predict_requests="per_lane",
                lab4_softmax_row_cache="reads_x_again",
                lab4_predict_sectors="two_passes",
                online_attention="keys_from_global",
            ),
            style=1,
            labs=ALL_LABS,
        ),
        Student(
            "petra",
            "writes its input; sums in float16",
            _wrong(row_sum="writes_input", safe_softmax="float16_sum", online_softmax_tiled="writes_input"),
            style=1,
        ),
    )


def _odd() -> tuple[Student, ...]:
    return (
        Student(
            "quinn",
            "an endless loop; copied cells",
            {"lab1.row_sum": Answer(ENDLESS, ALL)},
            damage={"lab2_online_softmax": "copied"},
        ),
        Student(
            "rosa",
            "an import that no kernel may use; NumPy inside a kernel",
            {
                "lab1.safe_softmax": Answer(IMPORTS, ALL),
                "lab2.online_softmax_tiled": Answer(HOST_LIBRARY, ALL),
            },
            written=SCRIPT,
        ),
        Student(
            "samir",
            "not a notebook; a file that was cut off",
            damage={"lab1_three_pass": "not_a_notebook", "lab2_online_softmax": "cut_off"},
        ),
        Student(
            "tove",
            "everything right, but all metadata stripped; lab 2 not handed in",
            labs=("lab1_three_pass",),
            damage={"lab1_three_pass": "stripped"},
        ),
        Student("ulla", "opened it and handed it in as it was", written=None, untouched=True, labs=ALL_LABS),
    )
