"""The simulator inside numba alone, which is all that macOS and ARM have.

The suite runs on numba-cuda where it is installed; these tests run the simulator's own tests and
every exercise once more without it, in a process of their own. `make test-numba-only` does the
first in an environment that really has no numba-cuda.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="there is no numba-cuda: the whole suite runs without it"
)


def run(*arguments):
    paths = [str(TESTS / "numba_only"), str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=TESTS.parent,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
    )


def test_numbas_own_simulator_is_what_runs():
    done = run("-c", "import numba.cuda; print(numba.cuda.__file__)")
    assert done.returncode == 0, done.stderr
    parts = Path(done.stdout.strip()).parts
    assert parts[-3:-1] == ("numba", "cuda") and "numba_cuda" not in parts


def test_the_simulators_tests_pass():
    files = sorted(str(path) for path in TESTS.glob("test_simulator*.py"))
    assert files
    done = run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout[-4000:]


JUDGE_EVERYTHING = """
import numba.cuda
from autograder.exercises import all_exercises
from autograder.judge import judge
from autograder.source import gather_text

for exercise in all_exercises():
    for variant in exercise.variants[:1]:
        report = judge(gather_text(variant.text, exercise.name, kind=exercise.source_kind), exercise.id)
        print(exercise.id, report.points, report.max_points, report.message if not report.passed else "")
"""


def test_a_right_kernel_of_every_exercise_earns_full_points():
    from autograder.exercises import all_exercises

    done = run("-c", JUDGE_EVERYTHING)
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=3) for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == [exercise.id for exercise in all_exercises()]
    assert all(float(line[1]) == float(line[2]) > 0 for line in lines), done.stdout
