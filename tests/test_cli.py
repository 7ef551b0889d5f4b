"""``autograder check`` and the command as a whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import cli
from autograder.exercises import get

ROOT = str(Path(__file__).resolve().parents[1])
ROWS = "lab2.online_softmax_rows"
RIGHT = get(ROWS).variants[0].text
WRONG = get(ROWS).bugs[0].text


@pytest.fixture
def kernel(tmp_path):
    def write(text, name="lab.py"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def notebook_of(*cells):
    made = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None} for text in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_right_kernel_exits_0(kernel, capsys):
    assert cli.main(["check", ROWS, kernel(RIGHT)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"PASSED  {ROWS}: 6 of 6 points") and err == ""


def test_a_wrong_kernel_exits_1_and_is_named(kernel, capsys):
    assert cli.main(["check", f"{ROWS}.rescale", kernel(WRONG), "--seed", "5"]) == 1
    assert "This looks like: d not rescaled" in " ".join(capsys.readouterr().out.split())


def test_json(kernel, capsys):
    path = kernel(notebook_of("import math\nfrom numba import cuda, float32", RIGHT), "lab.ipynb")
    assert cli.main(["check", ROWS, path, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["exercise"] == ROWS and data["source"] == path and data["passed"] is True
    assert (data["points"], data["max_points"]) == (6.0, 6.0) and len(data["checks"]) == 4


def test_an_untouched_stub_fails(kernel, capsys):
    text = "from numba import cuda\n\n@cuda.jit\ndef online_softmax_rows(X, Y):\n    raise NotImplementedError()\n"
    assert cli.main(["check", ROWS, kernel(text)]) == 1
    assert "is not written yet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("exercise", "name", "text", "words"),
    [
        (ROWS, "missing.py", None, "There is no file"),
        (ROWS, "lab.txt", RIGHT, "neither a Python file (.py) nor a notebook"),
        (ROWS, "lab.ipynb", "not json", "lab.ipynb"),
        (ROWS, "lab.ipynb", "[]", "lab.ipynb"),
        (ROWS, "lab.ipynb", '{"cells": 3}', "lab.ipynb"),
        (ROWS, "lab.ipynb", notebook_of("x = 1"), "online_softmax_rows"),
        (ROWS, "lab.py", "def broken(:\n", "lab.py"),
        (ROWS, "lab.py", "\x00\x01", "lab.py"),
        (ROWS, "lab.py", "", "online_softmax_rows"),
        (ROWS, "lab.py", RIGHT.replace("(X, Y):\n", "(X, Y):\n    open('x', 'w')\n"), "open"),
        ("lab2.online_softmax", "lab.py", RIGHT, "Did you mean lab2.online_softmax_rows"),
        ("nonsense", "lab.py", RIGHT, "The exercises are lab1.row_max"),
    ],
)
def test_what_cannot_be_judged_exits_2_with_a_reason(kernel, capsys, tmp_path, exercise, name, text, words):
    path = str(tmp_path / name) if text is None else kernel(text, name)
    assert cli.main(["check", exercise, path]) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in " ".join(err.split()) and "could not be judged" in err
    assert cli.main(["check", exercise, path, "--json"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert data["error"] and data["passed"] is False and data["checks"] == []


def test_a_folder_is_not_a_file(tmp_path, capsys):
    (tmp_path / "lab.py").mkdir()
    assert cli.main(["check", ROWS, str(tmp_path / "lab.py")]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_usage_errors_exit_2(capsys):
    for wrong in ([], ["check"], ["check", ROWS], ["check", ROWS, "x.py", "--seed", "x"], ["unknown"]):
        with pytest.raises(SystemExit) as caught:
            cli.main(wrong)
        assert caught.value.code == 2
    capsys.readouterr()


def test_an_interrupt_exits_130(monkeypatch, kernel, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "check_file", interrupted)
    assert cli.main(["check", ROWS, kernel(RIGHT)]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_part_that_is_not_installed_is_told(monkeypatch, capsys):
    monkeypatch.setitem(cli.ELSEWHERE, "build", ("autograder.no_such_part", "…"))
    assert cli.main(["build"]) == 2
    assert "needs a package that is not installed" in capsys.readouterr().err


def run(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    return subprocess.run(
        [sys.executable, "-m", "autograder", *arguments], capture_output=True, text=True, timeout=120,
        env={**environment, "PYTHONPATH": ROOT},
    )  # fmt: skip


def test_the_module_is_the_command():
    done = run("--version")
    assert done.returncode == 0 and done.stdout.startswith("autograder 0.")
    listed = run("--help").stdout
    assert all(name in listed for name in ("check", "xray", "build", "grade", "demo"))
    assert run("check", ROWS, "nothing.py").returncode == 2


def test_help_and_check_import_no_numba_and_no_other_part():
    code = (
        "import sys\nfrom autograder import cli\n"
        "cli.main(['check', 'lab1.row_max', 'nothing.py'])\n"
        "bad = [m for m in sys.modules if m == 'numba' or m.startswith(('autograder.build', 'autograder.classroom', 'autograder.xray', 'nbgrader', 'IPython'))]\n"
        "assert not bad, bad\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ROOT})
    assert done.returncode == 0, done.stderr
