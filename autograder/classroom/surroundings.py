"""What nbgrader needs around its calls: programs on PATH, one engine per database, and silence."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sysconfig
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from autograder.classroom.errors import GradebookError


@contextlib.contextmanager
def nbgrader_environment(engines: Engines | None = None) -> Iterator[None]:
    """What nbgrader needs around its calls. It runs ``alembic`` from PATH when it makes a gradebook, so
    this environment's programs come first: without them a half-made gradebook would remain. Its use
    of SQLAlchemy warns about the order of its own steps, which no reader can act on. And it makes a new
    SQLAlchemy engine about fifteen times per submission, each of which prepares every statement anew:
    here they share one per database, which halves the time of a submission."""
    import nbgrader.api
    from sqlalchemy.exc import SAWarning

    old = os.environ.get("PATH", "")
    path = os.pathsep.join(part for part in (sysconfig.get_path("scripts"), old) if part)
    if shutil.which("alembic", path=path) is None:
        raise GradebookError(
            "The program alembic is missing, and nbgrader needs it to make a gradebook: "
            "install the course's packages again."
        )
    make_engine = nbgrader.api.create_engine
    os.environ["PATH"] = path
    nbgrader.api.create_engine = engines.get if engines is not None else make_engine
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)
            yield
    finally:
        os.environ["PATH"] = old
        nbgrader.api.create_engine = make_engine


class Engines:
    """One SQLAlchemy engine per database URL. A sqlite file is a copy that is worked on out of sight: what is
    written into it need not reach the disk before the whole of it is put in place."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def get(self, db_url: str, **options: Any) -> Any:
        """The engine for ``db_url``, made on first use. Raises GradebookError when its driver is missing."""
        from sqlalchemy import create_engine, event
        from sqlalchemy.exc import NoSuchModuleError

        if db_url not in self._made:
            try:
                engine = create_engine(with_driver(db_url), **options)
            except (ImportError, NoSuchModuleError) as error:
                raise GradebookError(
                    f"The database {shown(db_url)} needs a driver that is not installed ({error}): for PostgreSQL, "
                    'python -m pip install "online-softmax-course[postgresql]".'
                ) from error
            if engine.dialect.name == "sqlite":
                event.listen(engine, "connect", _without_waiting)
            self._made[db_url] = engine
        return self._made[db_url]


def _without_waiting(connection: Any, _record: Any) -> None:
    """nbgrader commits some forty times for a submission, and the disk is slower than all else it does."""
    connection.execute("PRAGMA synchronous = OFF")


def with_driver(db_url: str) -> Any:
    """The URL, where it names PostgreSQL and no driver, with the one that is installed: which one SQLAlchemy
    takes depends on its version."""
    from sqlalchemy.engine import make_url

    url = make_url(db_url)
    drivers = [name for name in ("psycopg", "psycopg2") if find_spec(name) is not None]
    if url.drivername == "postgresql" and drivers:
        return url.set(drivername=f"postgresql+{drivers[0]}")
    return url


def shown(db_url: str) -> str:
    """The URL without its password, to be printed."""
    from sqlalchemy.engine import make_url

    return make_url(db_url).render_as_string(hide_password=True)


class Log(logging.Logger):
    """Keeps nbgrader's messages instead of printing them."""

    def __init__(self) -> None:
        super().__init__("autograder.classroom", logging.ERROR)
        self.messages: list[str] = []
        self.propagate = False

    def handle(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
