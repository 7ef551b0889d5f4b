"""Writes that are whole or did not happen."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

from autograder.classroom.locks import lock

ASIDE = ".old-"
PART = ".part"  # the end of the hidden file that a write grows in
WINDOWS = os.name == "nt"


def write_atomically(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Put ``data`` at ``path`` in one step: a reader sees the old file or the new one. ``mode`` is
    the file's permissions. What killed runs left of earlier writes to ``path`` is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear_parts(path)
    file, part = _new_part(path)
    try:
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if not WINDOWS:  # while the file is open its lock keeps it from other runs
                _put(part, path, mode)
        if WINDOWS:  # an open file cannot be moved there, and not removed either
            _put(part, path, mode)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _put(part: Path, path: Path, mode: int) -> None:
    os.chmod(part, mode)
    os.replace(part, path)


def _new_part(path: Path) -> tuple[BinaryIO, Path]:
    """A new hidden file beside ``path``, open and locked; where the file system has no locks, only open."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=PART, dir=path.parent)
        file = os.fdopen(handle, "wb")
        try:
            if not WINDOWS:
                lock(file)
        except BlockingIOError:  # another run is just clearing it away
            file.close()
            continue
        except OSError:
            pass
        if _is_at(file, name):
            return file, Path(name)
        file.close()


def _is_at(file: BinaryIO, name: str) -> bool:
    """Whether the open file still has its name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(name))
    except FileNotFoundError:
        return False


def _clear_parts(path: Path) -> None:
    """Remove the parts that dead runs left. One that is being written is locked, or open where that protects it."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.\w{{8}}{re.escape(PART)}", re.DOTALL)
    for name in os.listdir(path.parent):
        if ours.fullmatch(name):
            part = path.parent / name
            with contextlib.suppress(OSError), contextlib.ExitStack() as held:
                if not WINDOWS:
                    lock(held.enter_context(part.open("r+b")))
                part.unlink()


def replace_folder(new: Path, place: Path) -> None:
    """Move the folder ``new`` to ``place``; what was there is removed. The old folder steps aside
    by a rename first, so that ``place`` never holds a mix of the two."""
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = None
    if place.exists():
        aside = Path(tempfile.mkdtemp(prefix=ASIDE, dir=place.parent))
        os.rename(place, aside / place.name)
    os.rename(new, place)
    if aside is not None:
        remove_folder(aside)


def mend_replaced(parent: Path) -> None:
    """After a :func:`replace_folder` inside ``parent`` that a kill has cut short: a folder that had stepped aside
    comes back where nothing has taken its place, and is removed elsewhere. Nobody else may be at it."""
    for aside in sorted(parent.glob(f"{ASIDE}*")):
        for old in sorted(aside.iterdir()):
            if not (parent / old.name).exists():
                os.rename(old, parent / old.name)
        remove_folder(aside)


def remove_folder(folder: Path) -> None:
    """Remove a folder, if it is there. Windows does not remove read-only files (nbgrader makes what
    it grades read-only), so they are unlocked first."""
    if not folder.exists():
        return
    if WINDOWS:
        for where, _, names in os.walk(folder):
            for name in names:
                os.chmod(os.path.join(where, name), stat.S_IWRITE)
    shutil.rmtree(folder)
