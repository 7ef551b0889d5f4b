"""The class's seed: the same for every student of a run, unknown to them, and kept for a re-run."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

from autograder.classroom.errors import ClassroomError
from autograder.classroom.files import write_atomically

SEED_FILE = "seed.txt"


def find_seed(given: str | None, out: Path) -> tuple[int, str]:
    """The seed (0 <= seed < 2**63) and a word on where it came from.

    ``given`` is a number, or the path of a file whose content is the secret; None takes the seed kept
    in ``out``, or draws one, to be kept with :func:`keep_seed` once there is something to keep it for.
    """
    if given is None:
        kept = out / SEED_FILE
        if kept.is_file():
            return _from_text(
                kept.read_text(encoding="utf-8", errors="replace").strip(), str(kept)
            ), f"from {kept}"
        return secrets.randbits(62), f"drawn now and kept in {kept}"
    if given.strip().isdecimal():
        return _from_text(given.strip(), "--seed"), "given"
    path = Path(given)
    if not path.is_file():
        raise ClassroomError(
            f"--seed takes a whole number or a file with the secret in it; {given} is neither."
        )
    content = path.read_bytes().strip()
    if not content:
        raise ClassroomError(f"The seed file {path} is empty: write any secret text into it.")
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") >> 1, f"from {path}"


def keep_seed(seed: int, out: Path) -> None:
    """Keep the seed in ``out``, readable to its owner only, so that grading again gives the same."""
    write_atomically(out / SEED_FILE, f"{seed}\n".encode(), mode=0o600)


def _from_text(text: str, where: str) -> int:
    if not text.isdecimal() or len(text) > 19 or int(text) >= 2**63:
        raise ClassroomError(f"The seed in {where} is not a whole number from 0 to 2**63 - 1.")
    return int(text)
