"""Verdicts that are known already, kept beside the results: an interrupted run goes on where it was,
and a second run judges what has changed.

The store is a file that only grows. Its keys are digests of everything that a verdict depends on: the
kernel's text and where its lines stand, the check, the seed, and the judge itself (its files, the
exercises, numba, NumPy and Python). A changed judge therefore never meets an old verdict. The file is
a cache: when it is damaged or cannot be written, grading goes on without it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterator, MutableMapping
from importlib import metadata
from pathlib import Path
from typing import Any

from autograder.report import Report

STORE_FILE = "verdicts.db"
LOCK_WAIT = 10.0  # seconds to wait for another run that writes
_PARTS = ("judge", "simulator", "exercises", "source", "child", "figures", "xray")
_FILES = ("report.py", "kernels.py")
_PACKAGES = ("numba", "numba-cuda", "numpy", "llvmlite")
_TABLE = "CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, report TEXT NOT NULL) WITHOUT ROWID"


class VerdictStore(MutableMapping[Any, Report]):
    """Reports by key, in the file ``path``. ``engine`` stands for the judge.

    Keys are the tuples of :func:`judge_class`. In memory are those alone that the file does not have: reports
    that say that a check could not be judged, or that depended on the wall clock, since another run may do
    better; and all that could not be written. A large class's do not fit there. Used from one thread. Close it,
    or use it as a context manager.
    """

    def __init__(self, path: Path, engine: str) -> None:
        self.path, self.engine = path, engine
        self.problem = ""  # a sentence when the file is of no use
        self._writable = True
        self._memory: dict[Any, Report] = {}
        self._file = self._open()

    def __enter__(self) -> VerdictStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getitem__(self, key: Any) -> Report:
        report = self._memory[key] if key in self._memory else self._read(key)
        if report is None:
            raise KeyError(key)
        return report

    def __contains__(self, key: object) -> bool:
        try:
            self[key]
        except KeyError:
            return False
        return True

    def __setitem__(self, key: Any, report: Report) -> None:
        from autograder.child import codec

        self._memory[key] = report
        if self._file is None or not self._writable or not lasting(report):
            return
        text = json.dumps(codec.report_to_dict(report), default=_plain)
        try:
            with self._file:  # each verdict is a transaction: a kill loses none that was given
                self._file.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?)", (self.digest(key), text))
        except sqlite3.Error as error:  # a full disk, a lock: go on in memory, and read what is there already
            self._writable = False
            self.problem = f"Verdicts are not kept for a later run: {self.path} cannot be written ({error})."
        else:
            del self._memory[key]

    def __delitem__(self, key: Any) -> None:
        raise TypeError("verdicts are only added")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._memory)

    def __len__(self) -> int:
        return len(self._memory)

    def digest(self, key: Any) -> str:
        """The key as it stands in the file."""
        return hashlib.sha256(f"{self.engine}\n{key!r}".encode("utf-8", "surrogatepass")).hexdigest()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> sqlite3.Connection | None:
        for attempt in (1, 2):
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                file = sqlite3.connect(self.path, timeout=LOCK_WAIT, check_same_thread=False)
                try:
                    file.execute(_TABLE)
                    file.commit()
                except BaseException:
                    file.close()
                    raise
                return file
            except sqlite3.DatabaseError as error:
                if attempt == 1 and not isinstance(error, sqlite3.OperationalError):
                    self._set_aside(error)
                    continue
                self.problem = f"Verdicts are not kept for a later run: {self.path} cannot be used ({error})."
            except OSError as error:
                self.problem = f"Verdicts are not kept for a later run: {self.path} cannot be used ({error.strerror})."
            break
        return None

    def _set_aside(self, error: Exception) -> None:
        """A damaged file makes room for a new one."""
        self.problem = f"The kept verdicts in {self.path} were damaged ({error}) and are judged again."
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_name(self.path.name + ".damaged"))

    def _read(self, key: Any) -> Report | None:
        from autograder.child import codec

        if self._file is None:
            return None
        row = None
        try:
            row = self._file.execute("SELECT report FROM verdicts WHERE key = ?", (self.digest(key),)).fetchone()
        except sqlite3.Error as error:
            self._writable = False
            self.problem = f"Verdicts are not kept for a later run: {self.path} cannot be read ({error})."
        if row is None:
            return None
        try:
            return codec.report_from_dict(json.loads(row[0]))
        except (ValueError, KeyError, TypeError):
            return None  # not what we wrote: judge it again


def lasting(report: Report) -> bool:
    """Whether another run of the same judge would say the same: not what ended in an error, nor what
    the wall clock stopped."""
    return report.error is None and not report.details.get("wall_limit")


@functools.lru_cache(maxsize=1)
def engine_digest() -> str:
    """What stands for this judge: its files, and the versions of what it runs on."""
    root = Path(__file__).resolve().parents[1]
    files = [root / name for name in _FILES]
    for part in _PARTS:
        files += sorted(path for path in (root / part).rglob("*") if path.suffix in (".py", ".txt", ".json", ".csv"))
    whole = hashlib.sha256()
    for path in files:
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    whole.update(f"Python {sys.version_info[:3]}".encode())
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            whole.update(f"{package} {metadata.version(package)}".encode())
    return whole.hexdigest()


def _plain(value: Any) -> Any:
    """NumPy numbers as Python's."""
    return value.item() if hasattr(value, "item") else str(value)
