"""What an attack is, and the class in which all attackers sit beside two honest students.

An attack that needs one solution cell only is dealt to whoever has that cell free, so that a notebook carries
several; one that changes the whole notebook, or how it is handed in, has a student of its own.
"""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autograder.exercises import get

LAB, LAB2 = "lab1_three_pass", "lab2_online_softmax"
LABS = Path(__file__).resolve().parents[2] / "labs"
HONEST = ("ann", "bob")
SECRET = "this sentence of bob's is nobody else's"

CANARY = Path(tempfile.gettempdir()) / f"hostile-canary-{os.getpid()}"  # where every payload tries to write
MARK = f"hostile-survivor-{os.getpid()}"  # stands in the command line of every process that one tries to start

FULL, NOTHING, LESS, UNJUDGED = "full marks", "nothing", "less than full", "no mark"
ANY, WRITTEN, NAME = "any", "lab1_written", "the student's name"  # what else an attack can be on
Marks = str | dict[str, str]  # of all checks of an exercise, or by check

EXERCISES = {
    LAB: ("row_max", "row_sum", "safe_softmax", "predict_bytes"),
    LAB2: ("online_softmax_rows", "online_softmax_tiled", "predict_sectors", "breaking_value", "forgiving_value"),
}
KERNELS = ("row_max", "row_sum", "safe_softmax")  # on which an attack may be that suits any kernel


@dataclass(frozen=True)
class Attack:
    """One attempt to be given more than a kernel earns, to read or write elsewhere, or to stop the class.

    ``tries`` says what it is after. ``cell(exercise)`` is the text of the solution cell of ``exercise``, where "" is any
    kernel's, ANY any of lab 1, WRITTEN the written answer, and NAME the name of the student's folder. ``forge(notebook)`` changes a notebook
    in which the answer to ``exercise`` is wrong, and all others are right ("": all are), and may give bytes in its place;
    ``lay(folder, data)`` hands it in in another way than as LAB.ipynb in the lab's folder. ``earns`` is what the checks
    of ``exercise`` must give, ``others`` what all others of a student of its own must; ``says`` stands in the reason.
    """

    name: str
    tries: str
    lab: str = LAB
    exercise: str = ""
    cell: Callable[[str], str] | None = None
    forge: Callable[[dict[str, Any]], bytes | None] | None = None
    lay: Callable[[Path, bytes], None] | None = None
    earns: Marks = NOTHING
    others: str = FULL
    says: str = ""

    @property
    def alone(self) -> bool:
        """Whether it has a student of its own, all of whose checks are known."""
        return self.cell is None or self.forge is not None or self.lay is not None


@dataclass(frozen=True)
class Seat:
    """Where an attack is in the class: in which student's notebook, and on which exercise."""

    student: str
    exercise: str


def right(exercise: str, lab: str = LAB) -> str:
    """A right answer."""
    return get(f"{lab[:4]}.{exercise}").variants[0].text


def wrong(exercise: str) -> str:
    """An answer that earns nothing."""
    return WRONG[exercise]


_KERNEL = """from numba import cuda


@cuda.jit
def {name}(X, out):
    out[cuda.blockIdx.x, 0, 0, 0] = 100.0
"""
WRONG = {
    **{name: _KERNEL.format(name=name) for name in KERNELS},
    "predict_bytes": "def three_pass_bytes(rows, n):\n    return -1\n",
}


@cache
def _released(lab: str) -> str:
    return (LABS / lab / f"{lab}.ipynb").read_text(encoding="utf-8")


def notebook(lab: str, answers: dict[str, str], written: str = "Because.") -> dict[str, Any]:
    """The released notebook with these texts in its solution cells; the others stay stubs."""
    made = json.loads(_released(lab))
    for cell in made["cells"]:
        grade_id = grade_id_of(cell)
        if grade_id in answers:
            cell["source"] = answers[grade_id]
        elif grade_id == WRITTEN:
            cell["source"] = written
    return made


def grade_id_of(cell: dict[str, Any]) -> str | None:
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


def find(made: dict[str, Any], grade_id: str) -> tuple[int, dict[str, Any]]:
    """Place and cell of a grade_id."""
    return next((at, cell) for at, cell in enumerate(made["cells"]) if grade_id_of(cell) == grade_id)


def code_cell(text: str, **more: Any) -> dict[str, Any]:
    made = {"cell_type": "code", "execution_count": None, "id": "mine", "metadata": {}, "outputs": [], "source": text}
    return {**made, **more}


def hand_in_class(folder: Path, attacks: tuple[Attack, ...]) -> dict[str, Seat]:
    """Write the honest students' notebooks and the attackers' under ``folder``; gives each attack's seat."""
    for student in HONEST:
        answers = {exercise: right(exercise) for exercise in EXERCISES[LAB]}
        _lay(folder, student, LAB, _bytes(notebook(LAB, answers, SECRET if student == "bob" else "Because.")))
    seats: dict[str, tuple[str, int, str]] = {}  # lab, number of the student, exercise
    answers: dict[tuple[str, int], dict[str, str]] = {}
    for attack in attacks:
        if attack.alone:
            _alone(folder, f"eve {attack.name}", attack)
            continue
        number, exercise = next(
            (number, exercise)
            for number in range(len(attacks))
            for exercise in {"": KERNELS, ANY: EXERCISES[LAB]}.get(attack.exercise, (attack.exercise,))
            if exercise not in answers.get((attack.lab, number), {})
        )
        answers.setdefault((attack.lab, number), {})[exercise] = attack.cell(exercise)
        seats[attack.name] = attack.lab, number, exercise
    for (lab, number), texts in answers.items():
        student = texts.setdefault(NAME, f"mallory {lab[:4]} {number}")
        rest = {exercise: right(exercise) for exercise in EXERCISES[LAB]} if lab == LAB else {}
        _lay(folder, student, lab, _bytes(notebook(lab, {**rest, **texts})))
    shared = {name: Seat(answers[lab, number][NAME], exercise) for name, (lab, number, exercise) in seats.items()}
    return {attack.name: shared.get(attack.name) or Seat(f"eve {attack.name}", attack.exercise) for attack in attacks}


def _alone(folder: Path, student: str, attack: Attack) -> None:
    answers = {exercise: right(exercise) for exercise in EXERCISES[LAB]}
    if attack.exercise:
        answers[attack.exercise] = attack.cell(attack.exercise) if attack.cell else wrong(attack.exercise)
    made = notebook(LAB, answers)
    data = attack.forge(made) if attack.forge else None
    data = _bytes(made) if data is None else data
    if attack.lay is None:
        _lay(folder, student, LAB, data)
    else:
        (folder / student).mkdir(parents=True, exist_ok=True)
        attack.lay(folder / student, data)


def _lay(folder: Path, student: str, lab: str, data: bytes) -> None:
    place = folder / student / lab / f"{lab}.ipynb"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def _bytes(made: dict[str, Any]) -> bytes:
    return json.dumps(made).encode()


def copied(made: dict[str, Any], grade_id: str, /, **changes: Any) -> dict[str, Any]:
    """A copy of a cell with other nbgrader data."""
    twin = copy.deepcopy(find(made, grade_id)[1])
    twin["metadata"]["nbgrader"].update(changes)
    return {**twin, "id": "twin"}
