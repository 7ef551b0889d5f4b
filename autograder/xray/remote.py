"""A look beside a real GPU: the kernel's text runs on the simulator in a child process.

The simulator flag must be set before numba is imported, and here numba already drives a GPU. Arrays
go to the child and back through a temporary folder, with their strides, since strides decide sectors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from autograder.xray.look import Configuration
from autograder.xray.result import XRay
from autograder.xray.wire import arrays_from, pack_argument, trace_from_json, unpack_into

WALL_SECONDS = 180


def trace_elsewhere(setting: Configuration, arguments: list[Any], step_limit: int | None) -> XRay:
    """Like ``trace_here``, in a child process under the simulator flag."""
    from autograder.source import SourceRefused, gather_live

    try:
        source = gather_live(setting.kernel)
    except SourceRefused as refused:
        message = f"`{setting.name}` is not written yet." if refused.untouched else str(refused)
        return XRay(setting.name, setting.grid, setting.block, message=message)
    with tempfile.TemporaryDirectory(prefix="autograder-xray-") as name:
        folder = Path(name)
        packed, raw = [], {}
        for position, argument in enumerate(arguments):
            entry, data = pack_argument(position, argument)
            packed.append(entry)
            raw.update(data)
        np.savez(folder / "arrays.npz", **raw)
        request = {"source": source.as_json(), "grid": list(setting.grid), "block": list(setting.block),
                   "arguments": packed, "step_limit": step_limit, "shared": setting.dynamic_shared}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        problem = _run_child(folder)
        if problem:
            return XRay(setting.name, setting.grid, setting.block, message=problem)
        answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
        if answer["message"]:
            return XRay(setting.name, setting.grid, setting.block, message=answer["message"])
        with np.load(folder / "written.npz", allow_pickle=False) as written:
            for entry, argument in zip(packed, arguments):
                if isinstance(argument, np.ndarray) and argument.flags.writeable:
                    unpack_into(argument, arrays_from(entry, written))
        with np.load(folder / "touches.npz", allow_pickle=False) as touches:
            trace = trace_from_json(answer["trace"], touches)
    return XRay(setting.name, setting.grid, setting.block, trace,
                details=("Counted on the simulator from the kernel's text, not on the GPU.",))


def _run_child(folder: Path) -> str:
    """Run the child on ``folder``; a sentence when it gave no answer."""
    package = str(Path(__file__).resolve().parents[2])
    paths = [package, *(p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-P", "-m", "autograder.xray.child", str(folder)]
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=WALL_SECONDS)
    except subprocess.TimeoutExpired:
        return (f"The look took longer than {WALL_SECONDS} s and was stopped."
                " Use fewer blocks or a smaller array, and check that every loop ends.")
    except OSError as error:
        return f"The process that runs the simulator could not be started: {error}."
    sys.stdout.write(done.stdout)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"The process that runs the simulator stopped with status {done.returncode}: {last}"
    return ""
