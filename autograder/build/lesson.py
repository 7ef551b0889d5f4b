"""Running a lesson and making its outputs the same each time.

A lesson runs in a fresh kernel on the simulator, with a configuration of its own: nothing of the
person who builds, no times, no random ids, no paths.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from nbformat import NotebookNode

import autograder
from autograder.build.layout import BuildError
from autograder.build.notebook import METADATA

CELL_TIMEOUT_S = 300
RAISES = "raises-exception"

_RC = "svg.hashsalt: online-softmax-course\n"
_IPYTHON = """\
c = get_config()
c.InlineBackend.figure_formats = {"svg"}
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = "ERROR"
"""
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def run_lesson(notebook: NotebookNode, folder: Path, show: str) -> NotebookNode:
    """Execute ``notebook`` with ``folder`` as the current one and return it with clean outputs.

    ``show`` names the source in messages. Raises BuildError when a cell fails that should not, does
    not fail that should, writes to stderr, or shows something that differs from run to run.
    """
    execute(notebook, folder, show)
    clean(notebook)
    problems = [f"{show}, {problem}" for problem in complaints(notebook, folder)]
    if problems:
        raise BuildError(*problems)
    return notebook


def execute(notebook: NotebookNode, folder: Path, show: str, allow_errors: bool = False) -> None:
    """Run every cell in a fresh kernel of this very Python, on the simulator, outputs in place.

    Raises BuildError with the failing cell and its error, or the cell that ran too long.
    """
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets import default

    class ThisPython(AsyncKernelManager):
        """A kernel that no kernelspec of the user can replace."""

        @default("kernel_spec_manager")
        def _own_kernel(self) -> KernelSpecManager:
            return KernelSpecManager(kernel_dirs=[])

    client = NotebookClient(
        notebook,
        kernel_manager_class=ThisPython,
        kernel_name="python3",
        timeout=CELL_TIMEOUT_S,
        record_timing=False,
        coalesce_streams=True,
        allow_errors=allow_errors,
        resources={"metadata": {"path": str(folder)}},
    )
    with tempfile.TemporaryDirectory(prefix="lesson-") as settings:
        try:
            client.execute(env=kernel_environment(Path(settings)))
        except CellExecutionError as error:
            raise BuildError(f"{show} fails when run:\n{_COLOUR.sub('', str(error))}") from error
        except CellTimeoutError as error:
            raise BuildError(f"{show}: a cell ran for more than {CELL_TIMEOUT_S} s.\n{error}") from error
        except DeadKernelError as error:
            raise BuildError(f"{show}: the kernel died ({error}).") from error


def kernel_environment(settings: Path) -> dict[str, str]:
    """Environment variables for a repeatable kernel; its settings are written under ``settings``."""
    profile = settings / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_config.py").write_text(_IPYTHON, encoding="utf-8")
    (profile / "ipython_kernel_config.py").write_text(_IPYTHON, encoding="utf-8")
    (settings / "matplotlibrc").write_text(_RC, encoding="utf-8")
    here = str(Path(autograder.__file__).resolve().parent.parent)
    return {
        **os.environ,
        "IPYTHONDIR": str(settings / "ipython"),
        "MATPLOTLIBRC": str(settings / "matplotlibrc"),
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")])),
        "SOURCE_DATE_EPOCH": "0",  # the date that matplotlib writes into an SVG
    }


def clean(notebook: NotebookNode) -> None:
    """Take out of the outputs what a reader does not need and a second run would change, in place.

    An error keeps its name and message: a traceback holds paths and line numbers of the machine.
    """
    notebook.metadata = METADATA
    count = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
            elif output.output_type == "error":
                output.evalue = _COLOUR.sub("", output.evalue)
                output.traceback = [f"{output.ename}: {output.evalue}"]


def complaints(notebook: NotebookNode, folder: Path) -> list[str]:
    """What is wrong with the outputs of a cleaned lesson, as sentences that begin with the cell."""
    found = []
    text = ""  # the prose above the cell
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            text = cell.source
            continue
        where = f"cell {number} ({cell.source.strip().splitlines()[0] if cell.source.strip() else 'empty'})"
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if RAISES in cell.metadata.get("tags", ()):
            if not errors:
                found.append(f"{where} is tagged {RAISES} but runs without an error.")
            elif errors[0].ename not in text:
                found.append(
                    f"{where} fails with {errors[0].ename}, which the text above it does not announce: {errors[0].evalue}"
                )
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                found.append(f"{where} writes to stderr: {output.text.strip()[:200]}")
            shown = _text_of(output)
            if _ADDRESS.search(shown):
                found.append(f"{where} shows a memory address, which differs in each run.")
            for path in {str(folder), str(folder.parent), sys.prefix, str(Path.home()), tempfile.gettempdir()}:
                if len(path) > 3 and path in shown:
                    found.append(f"{where} shows a path of this machine: {path}")
    return found


def _text_of(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return output.evalue
    return "\n".join(value for value in output.get("data", {}).values() if isinstance(value, str))
