"""Our simulator against numba's own, in one run: three-pass softmax, 4 x 1024, blocks of 256 threads.

    python benchmarks/simulator.py [--rounds 3]      against the stock simulator
    python benchmarks/simulator.py --growth          cost and memory from 8 to 64 rows of 4,096

The two run in turn, in this process, on the same kernel object and the same input; the ratio of each
pair is printed, and the median. CPU seconds (``process_time``) stand beside wall seconds, because the
stock simulator runs one OS thread per CUDA thread.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np  # noqa: E402
from simulator_kernels import three_pass  # noqa: E402

from autograder.simulator import launch  # noqa: E402

ROWS, N, BLOCK = 4, 1024, 256


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def growth() -> None:
    """One process per size, so that each shows its own peak memory."""
    code = (
        "import resource, sys, time, numpy as np\n"
        "from simulator_kernels import three_pass\n"
        "from autograder.simulator import launch\n"
        "X = np.random.default_rng(0).normal(size=(int(sys.argv[1]), 4096)).astype(np.float32); Y = np.empty_like(X)\n"
        "launch(three_pass, 1, 256, (X[:1].copy(), Y[:1].copy()))\n"
        "t = time.process_time(); trace = launch(three_pass, len(X), 256, (X, Y)); t = time.process_time() - t\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "print(f'{len(X):3} rows {trace.accesses:9,} accesses {t:6.2f} s CPU {t / trace.accesses * 1e6:5.2f} us each '\n"
        "      f'{peak:5.0f} MiB peak')\n")
    root = Path(__file__).resolve().parents[1]
    path = os.pathsep.join([str(root), str(root / "tests")])
    for rows in (8, 16, 32, 64):
        subprocess.run([sys.executable, "-c", code, str(rows)], check=True, env={**os.environ, "PYTHONPATH": path})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    args = parser.parse_args()
    if args.growth:
        growth()
        return
    rounds = args.rounds
    X = np.random.default_rng(0).normal(size=(ROWS, N)).astype(np.float32)
    Y = np.empty_like(X)
    # `install()` is not called, so kernel[grid, block] is still the stock simulator
    ways = {
        "stock": lambda: three_pass[ROWS, BLOCK](X, Y),
        "traced": lambda: launch(three_pass, ROWS, BLOCK, (X, Y)),
        "untraced": lambda: launch(three_pass, ROWS, BLOCK, (X, Y), record=False),
    }
    accesses = launch(three_pass, ROWS, BLOCK, (X, Y)).accesses  # also warms the rewriting cache
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            repeats = 1 if name == "stock" else 5
            runs = [timed(work) for _ in range(repeats)]
            seen[name].append((statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs)))
    print(f"three-pass softmax, {ROWS}x{N} float32, {BLOCK} threads a block, {accesses:,} recorded accesses")
    for name, pairs in seen.items():
        wall = statistics.median(p[0] for p in pairs)
        cpu = statistics.median(p[1] for p in pairs)
        line = f"{name:9} {wall:7.3f} s wall {cpu:7.3f} s CPU"
        if name != "stock":
            ratios = [s[0] / p[0] for s, p in zip(seen["stock"], pairs)]
            line += f"   stock/{name} {statistics.median(ratios):6.1f}x (rounds {min(ratios):.1f} to {max(ratios):.1f})"
        print(line)
    rate = accesses / statistics.median(p[0] for p in seen["traced"])
    print(f"traced with four sanitizer checks: {rate / 1e6:.2f} million accesses a second")


if __name__ == "__main__":
    main()
