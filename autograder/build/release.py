"""The student's version of a lab, by nbgrader's own generate_assignment.

nbgrader works on a course folder with a gradebook and changes the process's directory, so it runs
in a process and a folder of its own. The gradebook, which holds hidden tests in clear, goes with
the folder.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path

import autograder
from autograder.build.layout import BuildError
from autograder.build.notebook import from_bytes, to_bytes

TIMEOUT_S = 300


def release(solved: Mapping[str, bytes]) -> dict[str, bytes]:
    """The released notebook of each lab, from its solved one: {lab: notebook file} both ways.

    Raises BuildError with nbgrader's own complaint when it refuses a lab.
    """
    if not solved:
        return {}
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        root = Path(folder).resolve()
        for name, data in solved.items():
            path = root / "solutions" / name / f"{name}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
        _run_nbgrader(root, sorted(solved))
        return {name: to_bytes(from_bytes((root / "labs" / name / f"{name}.ipynb").read_bytes())) for name in solved}


def _run_nbgrader(root: Path, names: list[str]) -> None:
    here = str(Path(autograder.__file__).resolve().parent.parent)
    environment = {
        **os.environ,
        # nbgrader runs `alembic` by name: without it the gradebook is left half made.
        "PATH": sysconfig.get_path("scripts") + os.pathsep + os.environ.get("PATH", ""),
        "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")])),
    }
    command = [sys.executable, "-m", "autograder.build.release", str(root), *names]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"nbgrader did not release {', '.join(names)} within {TIMEOUT_S} s.") from error
    missing = [name for name in names if not (root / "labs" / name / f"{name}.ipynb").is_file()]
    if done.returncode != 0 or missing:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").replace(str(root), "…")
        raise BuildError(f"nbgrader did not release {', '.join(missing or names)}. It said:\n{said[-2000:]}")


def _generate(root: str, names: list[str]) -> None:
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    config = Config()
    config.CourseDirectory.root = root
    config.CourseDirectory.source_directory = "solutions"
    config.CourseDirectory.release_directory = "labs"
    config.CourseDirectory.solution_directory = "solution_copies"
    for name in names:
        config.CourseDirectory.assignment_id = name
        GenerateAssignment(coursedir=CourseDirectory(config=config), config=config).start()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    _generate(sys.argv[1], sys.argv[2:])
