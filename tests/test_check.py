"""``check`` and ``start`` in a notebook, under nbgrader's rules for what a graded cell may put out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import notebook
from autograder.report import Report

ROOT = str(Path(__file__).resolve().parents[1])
SETUP = """\
from autograder.notebook import start ; print(start())
import math
import numba
import numpy as np
from numba import cuda
from autograder import check
"""
RIGHT = """\
@cuda.jit
def online_softmax_rows(X, Y):
    row = cuda.grid(1)
    if row < X.shape[0]:
        m = numba.float32(-math.inf)
        d = numba.float32(0.0)
        for col in range(X.shape[1]):
            x = X[row, col]
            m_new = max(m, x)
            if m_new > -math.inf or math.isnan(x):
                d = d * math.exp(m - m_new) + math.exp(x - m_new)
            m = m_new
        for col in range(X.shape[1]):
            Y[row, col] = math.exp(X[row, col] - m) / d
"""
WRONG = RIGHT.replace("d * math.exp(m - m_new) + ", "d + ")
ENDLESS = "@cuda.jit\ndef row_max(X, out):\n    while True:\n        out[0] = X[0, 0]\n"
STUB = "@cuda.jit\ndef safe_softmax(X, Y):\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
FORGED = "class Forged:\n    py_func = None\n    def __getattr__(self, name):\n        return lambda *a, **k: 10**9\nforged = Forged()\n"

# the cell, the points it must earn, words that must be in its output
CHECKS = [
    ('check("lab2.online_softmax_rows.values", online_softmax_rows)', 2.0, "PASSED"),
    ('check("lab2.online_softmax_rows", online_softmax_rows)', 6.0, "All 4 checks pass"),
    (WRONG + "", None, ""),
    ('check("lab2.online_softmax_rows.rescale", online_softmax_rows)', "less", "d not rescaled"),
    ('check("lab2.online_softmax_rows.values", None)', 0.0, "could not be judged"),
    ('check("lab2.online_softmax_rows.values", 3.0)', 0.0, "could not be judged"),
    ('check("lab2.online_softmax_rows.values", np.max)', 0.0, "could not be judged"),
    ('check("lab2.online_softmax_rows.values", online_softmax_rows[1, 64])', 0.0, "could not be judged"),
    ('check("lab2.online_softmax_rows.value", online_softmax_rows)', 0.0, "Did you mean"),
    ("check(None, online_softmax_rows)", 0.0, "could not be judged"),
    ('check("lab1.row_sum.values", online_softmax_rows)', 0.0, "Rename it"),
    (FORGED, None, ""),
    ('check("lab2.online_softmax_rows.values", forged)', 0.0, "could not be judged"),
    (STUB, None, ""),
    ('check("lab1.safe_softmax.values", safe_softmax)', 0.0, "is not written yet"),
    (ENDLESS, None, ""),
    ('check("lab1.row_max.values", row_max)', 0.0, "while True"),
    ("def three_pass_bytes(rows, n):\n    return 16 * rows * n", None, ""),
    ('check("lab1.predict_bytes.answer", three_pass_bytes)', 1.0, "PASSED"),
]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    cells = [nbformat.v4.new_code_cell(text) for text in (SETUP, RIGHT, *(text for text, _, _ in CHECKS))]
    nb = nbformat.v4.new_notebook(cells=cells)
    folder = tmp_path_factory.mktemp("lab")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    manager = client.NotebookClient(nb, timeout=120, allow_errors=True, resources={"metadata": {"path": str(folder)}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", environment)
        manager.execute(env={**environment, "PYTHONPATH": ROOT})
    return nb.cells


def test_the_setup_cell_says_where_kernels_run(executed):
    (output,) = executed[0].outputs
    assert output.name == "stdout" and output.text.startswith(("simulator (numba", "GPU: "))


@pytest.mark.parametrize("number", [n for n, (_, points, _) in enumerate(CHECKS) if points is not None])
def test_a_graded_cell_earns_its_points_and_says_why(executed, number):
    _, points, words = CHECKS[number]
    cell = executed[number + 2]
    kinds = [output.output_type for output in cell.outputs]
    assert "error" not in kinds
    printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    assert all(output.name == "stdout" for output in cell.outputs if output.output_type == "stream")
    shown = [output.data for output in cell.outputs if output.output_type == "display_data"]
    assert len(shown) == 1 and "<div" in shown[0]["text/html"]
    assert words in " ".join(shown[0]["text/plain"].split())
    assert "NOT YET" not in printed and "PASSED" not in printed  # told once
    (result,) = [output for output in cell.outputs if output.output_type == "execute_result"]
    value = float(result.data["text/plain"])
    assert 0.0 < value < 2.0 or value == 0.0 if points == "less" else value == points


@pytest.mark.parametrize("number", [0, 3, 4, 8, 14, 16])
def test_nbgrader_reads_the_same_points(executed, number):
    utils = pytest.importorskip("nbgrader.utils")
    cell = executed[number + 2]
    cell.metadata["nbgrader"] = {"grade": True, "solution": False, "points": 6}
    earned, most = utils.determine_grade(cell)
    (result,) = [output for output in cell.outputs if output.output_type == "execute_result"]
    assert (earned, most) == (float(result.data["text/plain"]), 6)


def test_jupyter_shows_a_table(executed):
    (shown,) = [output for output in executed[2].outputs if output.output_type == "display_data"]
    assert "<table" in shown.data["text/html"]


def fake(monkeypatch, outcome):
    def judge_live(check_id, obj):
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(notebook, "judge_live", judge_live)


def test_an_interrupt_ends_the_check_with_a_short_traceback(monkeypatch):
    fake(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        notebook.check("lab1.row_max.values", print)
    assert "stopped" in str(caught.value) and len(caught.traceback) == 2
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ((print,), 'check("lab1.print.values", print)'),
        (("lab1.row_sum.values",), 'check("lab1.row_sum.values", row_sum)'),
        ((print, "lab1.row_max.values"), 'check("lab1.row_max.values", print)'),
    ],
)
def test_a_call_with_the_wrong_arguments_is_a_sentence_and_no_points(arguments, call, capsys):
    assert notebook.check(*arguments) == 0.0
    out, err = capsys.readouterr()
    assert call in " ".join(out.split()) and err == ""


def test_a_fault_of_ours_is_a_sentence_and_no_points(monkeypatch, capsys):
    fake(monkeypatch, RuntimeError("boom"))
    assert notebook.check("lab1.row_max.values", print) == 0.0
    out, err = capsys.readouterr()
    assert "The check itself failed (RuntimeError: boom)" in out and err == ""


def test_an_interrupt_is_not_swallowed(monkeypatch):
    fake(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        notebook.check("lab1.row_max.values", print)


@pytest.mark.parametrize("points", [1, 1.5, 7.0, -1.0])
def test_points_are_plain_floats_between_nothing_and_all(monkeypatch, capsys, points):
    fake(monkeypatch, Report("lab1.row_max", "x", False, points, 2.0, message="m"))
    value = notebook.check("lab1.row_max.values", print)
    assert type(value) is float and 0.0 <= value <= 2.0
    assert capsys.readouterr().out.strip()


@pytest.fixture
def in_a_session(tmp_path):
    """Runs a script in a fresh interpreter without the simulator flag."""
    return lambda code, **variables: _session(tmp_path / "session.py", code, variables)


def _session(path, code, variables):
    path.write_text(code)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120,
        env={**environment, "PYTHONPATH": ROOT, **variables},
    )  # fmt: skip


NO_GPU = "from autograder import gpu_probe\ngpu_probe.seems_present = lambda: False\n"


def test_start_sets_the_flag_before_numba_loads(in_a_session):
    done = in_a_session(
        "import sys\nimport autograder, autograder.notebook\nassert 'numba' not in sys.modules\n" + NO_GPU +
        "print(autograder.notebook.start())\nfrom numba import cuda\nimport numpy as np\n"
        "@cuda.jit\ndef k(x):\n    x[0] = cuda.shfl_sync(0xffffffff, cuda.threadIdx.x, 3)\n"
        "x = np.zeros(1)\nk[1, 32](x)\nprint(x[0])\n"
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[0].startswith("simulator (numba") and lines[1] == "3.0", done.stderr
    assert done.stderr == ""


def test_start_says_what_to_do_when_numba_was_there_first_and_checks_still_work(in_a_session):
    code = (
        "import numba\nfrom numba import cuda\nimport math\n" + NO_GPU + "from autograder.notebook import start\nprint(start())\n"
        "from autograder import check\n"
        + RIGHT + 'print(check("lab2.online_softmax_rows.values", online_softmax_rows))\n'
    )
    done = in_a_session(code)
    lines = done.stdout.splitlines()
    assert "Restart the kernel" in lines[0] and lines[-1] == "2.0", done.stdout + done.stderr


def test_start_tells_why_a_gpu_is_not_used(in_a_session):
    done = in_a_session(
        "from autograder import gpu_probe\ngpu_probe.seems_present = lambda: True\n"
        "gpu_probe._SCRIPT = 'raise RuntimeError(\"CUDA_ERROR_UNSUPPORTED_PTX_VERSION\")'\n"
        "from autograder.notebook import start\nprint(start())\n"
    )
    assert done.stdout.startswith("simulator (numba") and "driver is older" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_start_takes_a_gpu_that_works_and_no_other(in_a_session):
    done = in_a_session(
        "from autograder import gpu_probe\ngpu_probe.seems_present = lambda: True\n"
        "gpu_probe._SCRIPT = 'print(\"\\\\\"Tesla T4\\\\\"\")'\n"
        "from autograder.notebook import start\nprint(start())\nimport os\nprint(os.environ.get('NUMBA_ENABLE_CUDASIM'))\n"
    )
    assert done.stdout.splitlines() == ["GPU: Tesla T4", "None"], done.stderr


def test_a_flag_that_is_set_already_means_the_simulator(in_a_session):
    done = in_a_session(
        "from autograder import gpu_probe\ngpu_probe.seems_present = lambda: 1 / 0\n"
        "from autograder.notebook import start\nprint(start())\n", NUMBA_ENABLE_CUDASIM="1",
    )  # fmt: skip
    assert done.stdout.startswith("simulator (numba"), done.stderr
