"""Who each student is on the platform that the class was downloaded from: kept beside the grades, so that marks find
their way back without a roster."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from autograder.classroom.collect import Submission
from autograder.classroom.files import write_atomically

PLATFORMS_FILE = "platforms.json"


def keep(out: Path, submissions: Iterable[Submission]) -> None:
    """Add the students of ``submissions`` to the file in ``out``; no file where no platform has named anybody."""
    known = read(out)
    named = {item.student: (item.platform, item.platform_id) for item in submissions if item.platform_id}
    if named and known | named != known:
        plain = {student: list(who) for student, who in sorted((known | named).items())}
        text = json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
        write_atomically(out / PLATFORMS_FILE, text.encode("utf-8", "replace"))


def read(out: Path) -> dict[str, tuple[str, str]]:
    """(platform, id there) by student; nothing where there is no such file, or it is damaged."""
    try:
        found = json.loads((out / PLATFORMS_FILE).read_text(encoding="utf-8"))
        return {str(student): (str(platform), str(own)) for student, (platform, own) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
