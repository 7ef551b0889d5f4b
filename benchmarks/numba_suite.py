"""numba-cuda's own tests (numba.cuda.tests.cudapy) under its simulator, stock and ours.

    python benchmarks/numba_suite.py            compare, and say what differs
    python benchmarks/numba_suite.py --write    also write benchmarks/numba_suite.json

Needs numba-cuda and the package ``filecheck``. Three runs: stock; ours; ours with the simulator skip lifted
for the subjects that our simulator supports (``LIFTED``, by the reason that numba gives for the skip).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pkgutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIFTED = (
    "syncwarp not implemented on cudasim",
    "Warp Operations are not yet implemented on cudasim",
    'only get given a Python "int", assumes 32 bits',
    "math.remainder(0, 0) raises a ValueError on CUDASim",
    "trunc only supported on NumPy float64",
    "numpy does not support trunc for float16",
    "libdevice",
    "Simulator doesn't support concurrent kernels",
    "Global device array capture not supported in simulator",
    "Overflow behavior differs on CPython",
)

# These start a Python of their own, in which our simulator is not installed: what they print is the stock
# simulator's, whose threads print over each other now and then.
ELSEWHERE = ("test_print.",)


class Record(unittest.TextTestResult):
    """Keeps every test's outcome by its id."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.outcome: dict[str, list[str]] = {}

    def note(self, test, what, why=""):
        self.outcome[test.id()] = [what, why.strip().splitlines()[-1][:200] if why.strip() else ""]

    def addSuccess(self, test):  # noqa: N802
        super().addSuccess(test)
        self.note(test, "passed")

    def addSkip(self, test, reason):  # noqa: N802
        super().addSkip(test, reason)
        self.note(test, "skipped", str(reason))

    def addFailure(self, test, err):  # noqa: N802
        super().addFailure(test, err)
        self.note(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):  # noqa: N802
        super().addError(test, err)
        self.note(test, "failed", self._exc_info_to_string(err, test))

    def addExpectedFailure(self, test, err):  # noqa: N802
        super().addExpectedFailure(test, err)
        self.note(test, "passed")

    def addUnexpectedSuccess(self, test):  # noqa: N802
        super().addUnexpectedSuccess(test)
        # numba marks what its own simulator cannot do; doing it is no failure
        self.note(test, "passed", "unexpected success")


def run(mode: str, only: str = "") -> dict[str, list[str]]:
    """Run the suite in this process. mode: "stock", "ours" or "lifted"."""
    from numba.cuda import testing

    if mode != "stock":
        from autograder.simulator import install

        install()
    if mode == "lifted":
        stock_skip = testing.skip_on_cudasim

        def skip(reason):
            lifted = any(part.lower() in reason.lower() for part in LIFTED)
            return (lambda test: test) if lifted else stock_skip(reason)

        testing.skip_on_cudasim = skip
    import numba.cuda.tests.cudapy as package

    outcome: dict[str, list[str]] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        if not module.startswith("test_") or only not in module:
            continue
        name = f"numba.cuda.tests.cudapy.{module}"
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                suite = unittest.defaultTestLoader.loadTestsFromName(name)
            except BaseException as reason:  # pytest's own Skipped is none of unittest's, nor an Exception
                if type(reason).__name__ not in ("SkipTest", "Skipped"):
                    raise
                outcome[name] = ["skipped", str(reason)]
                continue
            result = unittest.TextTestRunner(stream=io.StringIO(), resultclass=Record).run(suite)
        outcome.update(result.outcome)
    return outcome


def child(mode: str, only: str) -> tuple[dict[str, list[str]], float]:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, "--run", mode, "--only", only], capture_output=True, text=True,
                          env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"})
    if done.returncode:
        raise SystemExit(f"the {mode} run ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1]), time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", choices=("stock", "ours", "lifted"))
    parser.add_argument("--only", default="", help="run only modules whose name holds this")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.run:
        print(json.dumps(run(args.run, args.only)))
        return
    results, seconds = {}, {}
    for mode in ("stock", "ours", "lifted"):
        results[mode], seconds[mode] = child(mode, args.only)
        kinds = [what for what, _ in results[mode].values()]
        print(f"{mode:7} {len(kinds):5} run {kinds.count('passed'):5} passed {kinds.count('skipped'):5} skipped "
              f"{kinds.count('failed'):4} failed {seconds[mode]:6.1f} s")
    lost = {t: results["ours"].get(t, ["missing", ""]) for t, (what, _) in results["stock"].items()
            if what == "passed" and results["ours"].get(t, ["missing"])[0] != "passed"}
    elsewhere = {t: lost.pop(t) for t in list(lost) if any(part in t for part in ELSEWHERE)}
    print(f"\npassed with stock, not with ours: {len(lost)} (and {len(elsewhere)} that ran outside our simulator)")
    for test, (what, why) in lost.items():
        print(f"  {test.removeprefix('numba.cuda.tests.cudapy.')}: {what}: {why}")
    gained = [t for t, (what, _) in results["lifted"].items() if what == "passed" and results["stock"][t][0] == "skipped"]
    failed = {t: why for t, (what, why) in results["lifted"].items() if what == "failed"
              and results["stock"][t][0] == "skipped"}
    print(f"\nskipped with stock, passed with ours: {len(gained)}; skip lifted but failed: {len(failed)}")
    for test, why in failed.items():
        print(f"  {test.removeprefix('numba.cuda.tests.cudapy.')}: {why}")
    if args.write:
        reasons: dict[str, int] = {}
        for what, why in results["lifted"].values():
            if what == "skipped":
                reasons[why] = reasons.get(why, 0) + 1
        counts = {m: {k: [w for w, _ in r.values()].count(k) for k in ("passed", "skipped", "failed")}
                  for m, r in results.items()}
        (HERE / "numba_suite.json").write_text(json.dumps({
            "counts": counts, "seconds": {m: round(s, 1) for m, s in seconds.items()}, "lost": lost,
            "lost outside our simulator": elsewhere,
            "gained": sorted(gained), "left out, by reason": dict(sorted(reasons.items(), key=lambda r: -r[1])),
            "lifted but failed": failed}, indent=1) + "\n")


if __name__ == "__main__":
    main()
