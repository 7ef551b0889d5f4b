"""Times of the solutions of labs 1 to 3 on a real GPU, as lesson 03 quotes them.

    PYTHONPATH=. python benchmarks/merge_reduce.py OUT.json      (from the repository root, on a machine with a GPU)

Each kernel runs over float32 [32768, 4096] as its lab launches it, after one warm-up; the time is the best of 20
launches between two CUDA events. The output is checked against float64 first.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.pop("NUMBA_ENABLE_CUDASIM", None)

ROWS, N, RUNS = 32768, 4096, 20
HEAD = """import math
import numba
import numpy as np
from numba import cuda
from autograder.kernels import load4, store4
"""
LABS = ("lab1_three_pass", "lab2_online_softmax", "lab3_merge_reduce")


def kernels(source: Path) -> str:
    """The text of a lab's constants, kernels and device functions: its solution cells, and TILE or THREADS."""
    kept = []
    for cell in source.read_text(encoding="utf-8").split("\n# %%"):
        head, _, body = cell.partition("\n")
        if '"solution": true' in head and "markdown" not in head or body.startswith(("TILE =", "THREADS =")):
            kept.append(body)
    return HEAD + "\n".join(kept)


def main(out: Path) -> None:
    import numpy as np
    from numba import cuda

    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for lab in LABS:  # numba reads kernels from files
            path = Path(folder) / f"{lab}.py"
            path.write_text(kernels(Path("solutions") / f"{lab}.py"), encoding="utf-8")
            spec = importlib.util.spec_from_file_location(lab, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            names |= vars(module)
        blocks = 4 * cuda.get_current_device().MULTIPROCESSOR_COUNT
        launches = {
            "safe_softmax": (ROWS, 256),
            "online_softmax_tiled": (ROWS, 256),
            "online_softmax_tree": (ROWS, 256),
            "online_softmax_warp": (ROWS, 256),
            "online_softmax_vec4": (ROWS, 256),
            "online_softmax_grid_stride": (blocks, 256),
        }
        host = np.random.default_rng(0).normal(size=(ROWS, N)).astype(np.float32)
        wide = np.exp(host[:64].astype(np.float64))
        right = wide / wide.sum(axis=1, keepdims=True)
        x, y = cuda.to_device(host), cuda.device_array((ROWS, N), np.float32)
        found = {}
        for name, shape in launches.items():
            launch = names[name][shape]  # type: ignore[index]
            launch(x, y)
            worst = float(np.abs(y.copy_to_host()[:64] / right - 1).max())
            if not worst < 1e-5:
                raise SystemExit(f"{name} is wrong on this GPU: relative error {worst}")
            found[name] = {"grid": shape[0], "block": shape[1], "ms": round(min(times(launch, x, y)), 3)}
    device = cuda.get_current_device().name
    record = {"gpu": device.decode() if isinstance(device, bytes) else device, "rows": ROWS, "n": N, "runs": RUNS,
              "kernels": found}
    out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(out.read_text(encoding="utf-8"))


def times(launch: object, *arguments: object) -> list[float]:
    """Milliseconds of each of RUNS launches."""
    from numba import cuda

    found = []
    for _ in range(RUNS):
        start, end = cuda.event(), cuda.event()
        start.record()
        launch(*arguments)  # type: ignore[operator]
        end.record()
        end.synchronize()
        found.append(cuda.event_elapsed_time(start, end))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
