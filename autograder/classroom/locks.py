"""A lock on an open file that ends with the process that holds it."""

from __future__ import annotations

from typing import BinaryIO


def lock(file: BinaryIO) -> None:
    """Lock an open file for this process, without waiting. Raises OSError when another has it (BlockingIOError
    where the system tells), or when the file system has no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
