"""Writes that are whole or did not happen."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

ASIDE = ".old-"


def write_atomically(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Put ``data`` at ``path`` in one step: a reader sees the old file or the new one. ``mode`` is
    the file's permissions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
    if os.name == "nt":
        for where, _, names in os.walk(folder):
            for name in names:
                os.chmod(os.path.join(where, name), stat.S_IWRITE)
    shutil.rmtree(folder)
