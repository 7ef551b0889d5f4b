"""Names of students that some program could take for more than a name."""

from __future__ import annotations

import os
from pathlib import Path

from hostile.model import CANARY, FULL, LAB, NAME, Attack

STUDENTS = {
    "option": "-rf",
    "formula": "=cmd|' C calc'!A0",
    "shell": f"$(touch {CANARY.name})`touch {CANARY.name}`;touch {CANARY.name}",
    "SQL": "x'); DROP TABLE grade; --",
    "template": "{student_id} %s {0} ${HOME} {{7*7}}",
    "pattern": "[a-z]* (?P<x>.*) \\1",
    "script": "<img src=x onerror=alert('hostile')>",
    "two lines": "eve\nbob",
    "turned": "\u202egnp.bob",
    "long": "e" * 250,
}


def named(name: str, text: str) -> Attack:
    return Attack(f"name: {name}", "a name that is more than a name", exercise=NAME, cell=lambda _: text)


def backslashes(folder: Path, data: bytes) -> None:
    """A file whose name is a path on another system."""
    (folder / LAB).mkdir()
    (folder / LAB / f"x\\..\\..\\{LAB}.ipynb").write_bytes(data)


ATTACKS: tuple[Attack, ...] = ()
if os.name == "posix":
    ATTACKS = (
        *(named(name, text) for name, text in STUDENTS.items()),
        Attack("name: path of a file", "another folder", lay=backslashes, earns=FULL),
    )
