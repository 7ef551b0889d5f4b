"""The gradebook's file: worked on as a copy, put in place whole."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

from autograder.classroom.errors import GradebookChanged, GradebookError

LOCK_WAIT = 30.0  # seconds to wait while another program holds the gradebook
POLL_S = 0.1
_AGAIN = "Close what uses it, such as a formgrader that is saving, and run the same command again."


class SqliteFile:
    """A gradebook file that is worked on as a copy and replaced in one transaction."""

    def __init__(self, final: Path, copy: Path) -> None:
        self.final, self.copy = final, copy
        self._version: int | None = None
        self._watch: sqlite3.Connection | None = None

    def check_out(self) -> None:
        """Copy the gradebook, if there is one. Raises GradebookError when it is not one."""
        if not self.final.exists():
            return
        try:
            self._watch = sqlite3.connect(self.final, timeout=LOCK_WAIT)
            self._version = self._data_version()
            with contextlib.closing(sqlite3.connect(self.copy)) as copy:
                _back_up(self._watch, copy)
        except sqlite3.Error as error:
            again = f" {_AGAIN}" if "locked" in str(error) else ""
            raise GradebookError(f"The gradebook {self.final} cannot be read ({error}).{again}") from error

    def check_in(self) -> None:
        """Put the copy in place. Readers see the old gradebook or the new one, never half of it.
        Raises GradebookChanged when somebody else changed the gradebook meanwhile, and GradebookError
        when somebody holds it."""
        if self._watch is None:
            if self.final.exists():
                raise GradebookChanged(self._changed())
            self.final.parent.mkdir(parents=True, exist_ok=True)
            with self.copy.open("r+b") as file:
                os.fsync(file.fileno())  # so that no power cut leaves half of it under the final name
            os.replace(self.copy, self.final)
            return
        if self._data_version() != self._version:
            raise GradebookChanged(self._changed())
        try:
            with contextlib.closing(sqlite3.connect(self.copy)) as copy:
                _back_up(copy, self._watch)
        except sqlite3.Error as error:
            raise GradebookError(
                f"The gradebook {self.final} could not be written ({error}); it is as it was. {_AGAIN}"
            ) from error

    def close(self) -> None:
        """Let go of the file."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _changed(self) -> str:
        return (
            f"Somebody changed the gradebook {self.final} while this run was grading; nothing was "
            "overwritten. Run the same command again."
        )

    def _data_version(self) -> int:
        return self._watch.execute("PRAGMA data_version").fetchone()[0]


def _back_up(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy a whole database in one transaction. Raises sqlite3.OperationalError when another program has held
    either for LOCK_WAIT seconds: Python's backup would wait for ever."""
    until = time.monotonic() + LOCK_WAIT

    def watch(status: int, *_: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > until:
            raise sqlite3.OperationalError(f"another program has held it for {LOCK_WAIT:g} s: database is locked")

    source.backup(target, progress=watch, sleep=POLL_S)


def sqlite_path(db_url: str) -> Path | None:
    """The file of a sqlite URL, None for another kind of database. Raises GradebookError."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(db_url)
    except ArgumentError as error:
        raise GradebookError(
            f"--db takes a database URL such as sqlite:///gradebook.db; {db_url} is none."
        ) from error
    if url.get_backend_name() != "sqlite":
        return None
    if not url.database or url.database == ":memory:":
        raise GradebookError(
            "A gradebook in memory would be lost: give a file, as in --db sqlite:///gradebook.db."
        )
    return Path(url.database).resolve()
