"""What a notebook calls: ``start()`` in its setup cell, ``check(id, kernel)`` in its graded cells.

nbgrader reads a graded cell's outputs: an error or any text on stderr is 0 points, a number as the
cell's last value is that many points, anything else (silence too) is full marks, and a number above
the cell's points stops the grading of everyone. So ``check`` prints to stdout only, always returns a
plain float between 0 and the points of the check, and raises nothing but KeyboardInterrupt.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import metadata

from .report import Report

ORIGIN = "notebook"


_NOTHING = object()  # no second argument


def check(check_id: str, obj: object = _NOTHING) -> float:
    """Judge a kernel (or, for a formula, a function) and return the points it earned.

    ``check_id``: "lab2.online_softmax_tiled.rescale", or an exercise without the check's name for all
    of its checks. The verdict is printed; in Jupyter it is a table of the cases.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            report = judge_live(check_id, obj)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the check was stopped; run the cell again for a verdict") from None
        except Exception as problem:  # ours, not the student's; silence would be full marks
            report = _internal(check_id, problem)
        show(report)
    return float(min(max(report.points, 0.0), report.max_points))


def judge_live(check_id: str, obj: object) -> Report:
    """The report on an object of this session. Raises only for faults of the autograder itself."""
    from .child import run_judge
    from .judge.ids import UnknownCheck, parse
    from .judge.reports import could_not_judge, refused
    from .source import SourceRefused, gather_live

    turned = _wrong_arguments(check_id, obj)
    if turned:
        return could_not_judge(getattr(check_id, "__name__", check_id), ORIGIN, turned)
    try:
        exercise, _ = parse(check_id)
    except UnknownCheck as problem:
        return could_not_judge(check_id, ORIGIN, str(problem))
    try:
        source = gather_live(obj, kind=exercise.source_kind)
    except SourceRefused as refusal:
        return refused(check_id, ORIGIN, refusal)
    return run_judge(source, check_id, seed=0)


def _wrong_arguments(check_id: object, obj: object) -> str:
    """A sentence when ``check`` was not called with a name and a kernel, in that order; "" otherwise."""
    if obj is _NOTHING:
        if isinstance(check_id, str):
            call = f'check("{check_id}", {(check_id.split(".") + ["row_max"])[1]})'
        else:
            name = getattr(check_id, "__name__", "row_max")
            call = f'check("lab1.{name}.values", {name})'
        return f"check takes two things, the exercise's name and then your kernel, as in `{call}`."
    if isinstance(obj, str) and not isinstance(check_id, str):
        call = f'check("{obj}", {getattr(check_id, "__name__", "row_max")})'
        return f"the exercise's name comes first, then your kernel: `{call}`."
    return ""


def show(report: Report) -> None:
    """Print the verdict; in Jupyter display it once, as a table with the same in words for whatever
    shows no HTML."""
    from .render import html, words

    if not _in_jupyter():
        print(words(report))
        return
    from IPython.display import display

    sys.stdout.flush()
    display({"text/plain": words(report), "text/html": html(report)}, raw=True)


def _internal(check_id: object, problem: Exception) -> Report:
    from .judge.reports import could_not_judge

    return could_not_judge(
        check_id,
        ORIGIN,
        f"The check itself failed ({type(problem).__name__}: {problem}). This is no fault of your kernel: run "
        "the setup cell again, and if that does not help tell your instructor.",
    )


def _in_jupyter() -> bool:
    """Whether displayed HTML has somewhere to go: a kernel of Jupyter, not a terminal's IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def start() -> str:
    """Choose the GPU or the simulator for this notebook, and say which in one line.

    To be called before numba is imported. The GPU is taken when a kernel really runs on it (tried in
    another process, so a broken driver cannot hurt this one); everything else gets the simulator.
    Checks are judged on the simulator in either case.
    """
    from .child import warm_up
    from .gpu_probe import probe

    warm_up()  # a child imports numba while this process does
    loaded = "numba" in sys.modules
    flag = os.environ.get("NUMBA_ENABLE_CUDASIM", "")
    if loaded and not _simulating():
        found = probe()
        if found.usable:
            return f"GPU: {found.name}"
        return (
            "numba was loaded before this cell, without the simulator, and there is no GPU to use. Restart the "
            "kernel (menu Kernel, Restart) and run this cell first. Checks work all the same."
        )
    found = None if loaded or flag not in ("", "0") else probe()
    if found is not None and found.usable:
        return f"GPU: {found.name}"
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    from .simulator import install

    install()
    reason = f"; {found.reason}" if found is not None and found.reason else ""
    return f"simulator ({_simulator_version()}){reason}"


def _simulating() -> bool:
    """Whether the numba that is loaded already was told to simulate."""
    from numba import config

    return bool(config.ENABLE_CUDASIM)


def _simulator_version() -> str:
    for package in ("numba-cuda", "numba"):
        try:
            return f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            continue
    return "numba"
