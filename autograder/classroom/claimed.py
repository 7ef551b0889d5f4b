"""Folders of a run that is at work, which its death does not leave behind for ever: each is claimed by a lock
that ends with the process, so that the next run can tell what a killed one left from what another one uses.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from autograder.classroom.errors import ClassroomError
from autograder.classroom.files import remove_folder
from autograder.classroom.locks import lock

CLAIM = ".in-use"
NEWBORN_S = 600.0  # a folder without a claim may be one that a run is just making
POLL_S = 0.1


@contextlib.contextmanager
def claimed_folder(prefix: str, parent: Path) -> Iterator[Path]:
    """A new folder in ``parent``, gone afterwards. Those of the same ``prefix`` that dead runs left are removed
    first."""
    sweep(prefix, parent)
    folder, claim = _claim(prefix, parent)
    try:
        yield folder
    finally:
        claim.close()
        remove_folder(folder)


def sweep(prefix: str, parent: Path) -> list[Path]:
    """Remove the folders of dead runs; gives those that are gone. What cannot be removed stays, without a word:
    it costs nothing but its place."""
    gone = []
    for folder in sorted(parent.glob(f"{prefix}*")):
        with contextlib.suppress(OSError):
            if _is_ours(folder) and not _in_use(folder):
                remove_folder(folder)
                gone.append(folder)
    return gone


@contextlib.contextmanager
def alone(place: Path, wait_s: float, sentence: str) -> Iterator[None]:
    """Hold the lock file ``place``. Raises ClassroomError(``sentence``) when another process has held it for
    ``wait_s`` seconds."""
    until = time.monotonic() + wait_s
    with place.open("ab") as file:
        while True:
            try:
                lock(file)
                break
            except OSError as error:
                if time.monotonic() > until:
                    raise ClassroomError(sentence) from error
                time.sleep(POLL_S)
        yield


def _claim(prefix: str, parent: Path) -> tuple[Path, BinaryIO]:
    """A new folder and its claim. Where the file system has no locks nothing is claimed, and nothing swept."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            claim = (folder / CLAIM).open("wb")
        except OSError:
            remove_folder(folder)
            raise
        try:
            lock(claim)
        except BlockingIOError:  # another run is just sweeping it away
            claim.close()
            continue
        except OSError:
            pass
        return folder, claim


def _is_ours(folder: Path) -> bool:
    """A real folder of this user; a link in a temporary folder may be somebody's trap."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and (not hasattr(os, "getuid") or found.st_uid == os.getuid())


def _in_use(folder: Path) -> bool:
    try:
        claim = (folder / CLAIM).open("r+b")
    except FileNotFoundError:
        return time.time() - os.lstat(folder).st_mtime < NEWBORN_S
    with claim:
        try:
            lock(claim)
        except OSError:
            return True
    return False
