"""``python -m autograder.xray.child FOLDER``: trace the launch that FOLDER describes.

Reads ``request.json`` and ``arrays.npz``; writes ``answer.json`` (the trace, or a sentence in
``message``), ``written.npz`` (the arrays after the launch) and ``touches.npz``.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np

from autograder.xray.wire import arrays_from, pack_argument, trace_to_json


def main(folder: Path) -> int:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    from autograder.source import KernelSource
    from autograder.xray.sources import trace_source

    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    source = KernelSource.from_json(request["source"])
    with np.load(folder / "arrays.npz", allow_pickle=False) as raw:
        arguments = [arrays_from(entry, raw) for entry in request["arguments"]]
    result = trace_source(source, tuple(request["grid"]), tuple(request["block"]), arguments,
                          request["step_limit"], request["shared"])
    answer = {"message": result.message, "trace": None}
    written: dict[str, np.ndarray] = {}
    touched: dict[str, np.ndarray] = {}
    if result.trace is not None:
        answer["trace"] = trace_to_json(result.trace)
        for position, argument in enumerate(arguments):
            written.update(pack_argument(position, argument)[1])
        if result.trace.touches is not None:
            touched = {f.name: getattr(result.trace.touches, f.name) for f in fields(result.trace.touches)}
    np.savez(folder / "written.npz", **written)
    np.savez(folder / "touches.npz", **touched)
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
