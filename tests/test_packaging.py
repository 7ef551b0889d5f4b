"""What is declared against what is used, and what a package and a student's bundle contain."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OWN = canonicalize_name(PROJECT["name"])


def requirements(*extras):
    """The requirements of the package with some extras, own extras followed: {name: Requirement}."""
    found = {}
    queue = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    while queue:
        one = Requirement(queue.pop())
        if canonicalize_name(one.name) == OWN:
            queue += [line for extra in one.extras for line in PROJECT["optional-dependencies"][extra]]
        else:
            found[canonicalize_name(one.name)] = one
    return found


def closure(names):
    """Everything that gets installed with the distributions ``names`` (extras left out)."""
    found, queue = set(), list(names)
    while queue:
        name = canonicalize_name(queue.pop())
        if name in found:
            continue
        found.add(name)
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # an extra that is not installed here
            continue
        for line in needed:
            one = Requirement(line)
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                queue.append(one.name)
    return found


# pyproject.toml against itself and its twins


def test_versions_agree():
    import autograder

    assert autograder.__version__ == PROJECT["version"]


def environment_yml():
    """environment.yml without a YAML reader: {conda package: bounds}, and the lines for pip."""
    conda, pip = {}, []
    for line in (ROOT / "environment.yml").read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"  - ([a-z0-9_.-]+)([<>=!].*)?", line):
            conda[match[1]] = match[2] or ""
        elif match := re.fullmatch(r"      - (.+)", line):
            pip.append(match[1])
    return conda, pip


def test_conda_and_pip_ask_for_the_same():
    conda, pip = environment_yml()
    assert pip == ["-e .[test]"]
    python, conda_only = conda.pop("python"), {"pip", "git", "conda-forge"}
    assert Requirement(f"python{python}").specifier == Requirement(f"python{PROJECT['requires-python']}").specifier
    everywhere = {name: one for name, one in requirements("test").items() if one.marker is None}
    left_to_pip = {name for name, one in requirements("test").items() if one.marker is not None}
    assert left_to_pip == {"numba-cuda"}
    assert {name: str(Requirement(name + bounds).specifier) for name, bounds in conda.items() if name not in conda_only} == {
        name: str(one.specifier) for name, one in everywhere.items()
    }  # fmt: skip


def constraints():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_constraints_are_names_and_versions_only():
    lines = constraints()
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*==[0-9][0-9a-z.]*", line) for line in lines), lines
    names = [line.split("==")[0] for line in lines]
    assert names == sorted(set(names))


def test_constraints_lie_within_the_bounds_and_cover_them():
    pinned = dict(line.split("==") for line in constraints())
    for name, one in requirements("test").items():
        assert name in pinned, f"constraints.txt has no {name}"
        assert one.specifier.contains(Version(pinned[name])), f"{name}: {pinned[name]} is outside of {one.specifier}"


def test_numba_cuda_is_asked_for_only_where_it_exists():
    marker = requirements()["numba-cuda"].marker

    def wanted(system, machine):
        return marker.evaluate({"sys_platform": system, "platform_machine": machine})

    assert wanted("linux", "x86_64") and wanted("win32", "AMD64")
    assert not wanted("darwin", "arm64") and not wanted("darwin", "x86_64") and not wanted("linux", "aarch64")


def imported(path):
    """Top-level names of the packages that a Python file imports from outside the standard library."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"autograder"}


def test_everything_that_is_imported_is_declared():
    used = {name: path for path in sorted((ROOT / "autograder").rglob("*.py")) for name in imported(path)}
    providers = metadata.packages_distributions()
    installed = closure(requirements("instructor") | requirements("cluster"))
    for name, path in used.items():  # a package that is not installed here (an extra) is called as it is imported
        assert installed & {canonicalize_name(d) for d in providers.get(name, [name])}, f"{path}: {name} is not declared"


FORBID = """
import sys
from importlib.abc import MetaPathFinder

class Forbid(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {forbidden!r}:
            raise ImportError(name + " is not there for students")

sys.meta_path.insert(0, Forbid())
"""


def test_a_student_needs_no_more_than_the_core(tmp_path):
    """check and xray work with the core dependencies: what Colab installs."""
    only_more = closure(requirements("test")) - closure(requirements()) - {"packaging"}
    providers = metadata.packages_distributions()
    forbidden = sorted(n for n, ds in providers.items() if {canonicalize_name(d) for d in ds} <= only_more)
    assert {"nbgrader", "jupytext", "nbclient", "sqlalchemy", "jupyterlab"} <= set(forbidden)
    code = FORBID.format(forbidden=forbidden) + (
        "from autograder.notebook import start\n"
        "print(start())\n"
        "import numpy as np\n"
        "from numba import cuda\n"
        "from autograder import check, xray\n"
        "def three_pass_bytes(rows, n):\n"
        "    return 4 * 4 * rows * n\n"
        "assert check('lab1.predict_bytes.answer', three_pass_bytes) == 1.0\n"
        "from autograder.exercises import get\n"
        "exercise = get('lab1.row_max')\n"
        "from autograder.source import gather_text\n"
        "kernel = gather_text(exercise.variants[0].text, 'row_max').load()\n"
        "look = xray(kernel[2, 128], np.ones((2, 256), np.float32), np.zeros(2, np.float32))\n"
        "assert '<svg' in look._repr_html_()\n"
    )
    script = tmp_path / "student.py"  # a file, since a check looks for the text of what it judges
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, script], env=plain_env(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout


def plain_env(**more):
    """The environment with this checkout's package on the path."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, **more}


def test_importing_the_package_does_not_import_numba():
    code = "import sys, autograder, autograder.cli, autograder.notebook; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=plain_env(), capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


# the wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The package's wheel, built from a copy of the sources."""
    import shutil

    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(ROOT / "autograder", copy / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(copy)]
    if Version(metadata.version("setuptools")) >= Version("77"):
        command.append("--no-build-isolation")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "autograder").rglob("*")
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.parts)
    }
    assert names == files


def test_the_setup_cell_looks_for_the_wheel_under_its_name(wheel):
    from fnmatch import fnmatch

    from autograder.build.cells import SETUP_CELL

    (pattern,) = re.findall(r'glob\("([^"]+)"\)', SETUP_CELL)
    assert fnmatch(wheel.name, pattern)


def test_the_wheel_knows_the_exercises_and_has_the_command(wheel, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    code = (
        "import autograder, sys\n"
        "from autograder.exercises import all_exercises\n"
        "print(autograder.__file__)\n"
        "print(*[exercise.id for exercise in all_exercises() if exercise.variants and exercise.checks])\n"
        "from autograder.cli import main\n"
        "sys.exit(main(['--version']))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    where, ids, version = done.stdout.splitlines()
    assert Path(where).is_relative_to(tmp_path)
    assert {"lab1.row_max", "lab2.online_softmax_tiled"} <= set(ids.split())
    assert version == f"autograder {PROJECT['version']}"
    (script,) = (PROJECT["scripts"]).items()
    assert script == ("autograder", "autograder.cli:main")
    assert any((tmp_path / "site" / "bin").glob("autograder*"))


def test_the_setup_cell_installs_the_wheel_that_lies_beside_the_notebook(wheel, tmp_path):
    """In an environment that has the dependencies, but not the course; as on Colab after an upload."""
    import shutil
    import venv

    from autograder.build.cells import setup_cell

    venv.create(tmp_path / "env", with_pip=True, symlinks=os.name != "nt")
    scripts = "Scripts" if os.name == "nt" else "bin"
    python = tmp_path / "env" / scripts / "python"
    asked = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True
    )
    # A plain path line brings the dependencies in, but not this checkout: .pth files are read in
    # an environment's own folder only.
    Path(asked.stdout.strip(), "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    shutil.copy(wheel, tmp_path)
    (tmp_path / "cell.py").write_text(
        setup_cell("https://example.invalid/nowhere") + "\nimport autograder\nprint(autograder.__file__)\n",
        encoding="utf-8",
    )
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NUMBA_ENABLE_CUDASIM")}
    done = subprocess.run([python, "cell.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    installing, where, file = done.stdout.splitlines()
    assert installing == f"Installing the course from {wheel.name}"
    assert where.startswith(("simulator (", "GPU: "))
    assert Path(file).is_relative_to(tmp_path / "env")


def test_the_setup_cell_shows_pips_error_when_nothing_can_be_installed(tmp_path):
    from autograder.build.cells import setup_cell

    text = setup_cell((tmp_path / "nowhere").as_uri())
    missing = (
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'autograder' else find(name, *rest)\n"
    )
    (tmp_path / "cell.py").write_text(missing + text, encoding="utf-8")
    done = subprocess.run([sys.executable, "cell.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "RuntimeError: pip could not install the course" in done.stderr
    assert "nowhere" in done.stderr.partition("pip could not install the course")[2]


# the bundle for students


def test_a_students_bundle_has_no_solutions(tmp_path):
    for name in (
        "README.md", "pyproject.toml", "labs/lab1/lab1.ipynb", "course/00_x.ipynb", "autograder/notebook.py",
        "solutions/lab1.py", "solutions/lab1/lab1.ipynb", "tests/test_x.py", "nbgrader_config.py", ".ci/run",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    (tmp_path / ".gitattributes").write_bytes((ROOT / ".gitattributes").read_bytes())

    def git(*arguments):
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *identity, *arguments], cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "-m", "x")
    git("archive", "--format=zip", "-o", "bundle.zip", "HEAD")
    names = {name for name in zipfile.ZipFile(tmp_path / "bundle.zip").namelist() if not name.endswith("/")}
    assert names == {
        "README.md", "pyproject.toml", "labs/lab1/lab1.ipynb", "course/00_x.ipynb", "autograder/notebook.py",
    }  # fmt: skip
