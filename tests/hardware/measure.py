"""Count and judge the cases on a real GPU, and write what the tools said as JSON.

    PYTHONPATH=.:tests python -m hardware.measure all OUT      (from the repository root, on the GPU machine)
    PYTHONPATH=.:tests python -m hardware.measure traffic OUT [NAME]  (only what ncu counts, of launches so named)

Needs Nsight Compute (``ncu``) and ``compute-sanitizer`` on the PATH, numba-cuda and a GPU. OUT receives
``traffic.json`` and ``verdicts.json``; the repository keeps them in tests/hardware/data/.
"""

from __future__ import annotations

import concurrent.futures
import csv
import io
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

METRICS = {
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "atomic_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "reduction_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "global_loads": "smsp__inst_executed_op_global_ld.sum",
    "global_stores": "smsp__inst_executed_op_global_st.sum",
    "global_atomics": "smsp__inst_executed_op_global_atom.sum",
    "global_reductions": "smsp__inst_executed_op_global_red.sum",
    "shared_loads": "smsp__inst_executed_op_shared_ld.sum",
    "shared_stores": "smsp__inst_executed_op_shared_st.sum",
    "shared_atomics": "smsp__inst_executed_op_shared_atom.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "local_loads": "smsp__inst_executed_op_local_ld.sum",
    "local_stores": "smsp__inst_executed_op_local_st.sum",
}
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def traffic_cases(beginning: str) -> list:
    """The launches whose names begin so."""
    from hardware import merging_cases  # noqa: F401  adds its own
    from hardware.traffic_cases import CASES

    return [case for case in CASES if case.name.startswith(beginning)]


def run_traffic(beginning: str) -> None:
    """Launch every traffic case once, in order."""
    from numba import cuda

    for case in traffic_cases(beginning):
        case.kernel[case.grid, case.block](*case.make(cuda.to_device))
        cuda.synchronize()


def run_verdict(name: str) -> None:
    """Launch one sanitizer case."""
    import numpy as np
    from hardware.sanitizer_cases import CASES
    from numba import cuda

    case = next(c for c in CASES if c.name == name)
    arrays = [cuda.to_device(np.ones(s, np.float32)) for s in case.shapes]
    arrays += [cuda.device_array(s, np.float32) for s in case.fresh]
    case.kernel[case.grid, case.block](*arrays, *case.scalars)
    cuda.synchronize()


def measure_traffic(beginning: str) -> dict:
    cases = traffic_cases(beginning)
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", ",".join(METRICS.values()),
               sys.executable, "-m", "hardware.measure", "run-traffic", beginning]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise SystemExit(f"ncu gave no table:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))[1:]  # the first row holds the units
    if len(rows) != len(cases):
        raise SystemExit(f"{len(rows)} kernels were profiled, {len(cases)} launched:\n{done.stderr[-2500:]}")
    out = {}
    for case, row in zip(cases, rows):
        assert case.kernel.py_func.__name__ in row["Kernel Name"], (case.name, row["Kernel Name"])
        out[case.name] = {key: int(float(row[m].replace(",", ""))) for key, m in METRICS.items()
                          if row.get(m) not in (None, "", "n/a")}
    return out


def measure_verdict(name: str, tool: str) -> dict:
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "20", sys.executable, "-m", "hardware.measure",
               "run-verdict", name]
    if tool == "racecheck":
        command[3:3] = ["--racecheck-report", "all"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return {"errors": None, "timeout": True, "text": []}
    text = (done.stdout + done.stderr).splitlines()
    said = [re.sub(r"^=+ ?", "", line).strip() for line in text if line.startswith("=========")]
    summary = next((line for line in reversed(said) if "SUMMARY" in line), "")
    counts = [int(n) for n in re.findall(r"(\d+) (?:hazard|error)", summary)]
    return {"errors": max(counts) if counts else None, "summary": summary,
            "text": [line for line in said if "SUMMARY" not in line][:8]}


def machine() -> dict:
    def first(*command: str) -> str:
        try:
            return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[-1]
        except (OSError, IndexError):
            return "unknown"

    from importlib.metadata import version

    return {"gpu": first("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
            "driver": first("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
            "ncu": first("ncu", "--version"), "compute-sanitizer": first("compute-sanitizer", "--version"),
            "numba": version("numba"), "numba-cuda": version("numba-cuda"), "python": platform.python_version(),
            "command": "PYTHONPATH=.:tests python -m hardware.measure all OUT"}


def main() -> None:
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what == "run-traffic":
        run_traffic(sys.argv[2])
    elif what == "run-verdict":
        run_verdict(sys.argv[2])
    elif what in ("all", "traffic"):
        out = Path(sys.argv[2])
        out.mkdir(parents=True, exist_ok=True)
        about, beginning = machine(), sys.argv[3] if len(sys.argv) > 3 else ""
        (out / "traffic.json").write_text(json.dumps({"machine": about, "launches": measure_traffic(beginning)}, indent=1) + "\n")
        print("traffic counted", flush=True)
        if what == "traffic":
            return
        from hardware.sanitizer_cases import CASES

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            jobs = {(c.name, tool): pool.submit(measure_verdict, c.name, tool) for c in CASES for tool in TOOLS}
            verdicts = {c.name: {tool: jobs[c.name, tool].result() for tool in TOOLS} for c in CASES}
        (out / "verdicts.json").write_text(json.dumps({"machine": about, "kernels": verdicts}, indent=1) + "\n")
        for name, by_tool in verdicts.items():
            print(f"{name:45}", *(f"{tool}={by_tool[tool]['errors']}" for tool in TOOLS))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
