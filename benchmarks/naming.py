"""Does a wrong kernel get its own name? Judges benchmarks/unseen, kernels that no catalogue was made from.

    NUMBA_ENABLE_CUDASIM=1 PYTHONPATH=. python benchmarks/naming.py [--only WORD] [--messages] [--first-seed]

Each file of benchmarks/unseen is a whole module with one wrong kernel; its docstring is the mistake in its
author's words. The judge sees it with two seeds. For each check that fails, benchmarks/naming.json records the
named bugs, whether the first divergence of the running state was told, and the CPU seconds of the feedback.

A person has read what each check said and given a verdict, in benchmarks/unseen/verdicts.json, by file and check:

* ``right``: one bug is named, and it is the author's mistake (of two mistakes: one of them);
* ``one of several``: the mistake is among several that are named;
* ``wrong``: other mistakes are named, and not this one;
* ``missing``: nothing is named; ``place`` then says whether the message tells the place all the same.

A verdict holds the bugs that were named when it was given. Exit status 1: a kernel was not caught, a failing
check has no verdict, or what is named has changed since its verdict was given.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

HERE = Path(__file__).resolve().parent
UNSEEN = HERE / "unseen"
VERDICTS = UNSEEN / "verdicts.json"
OUT = HERE / "naming.json"
SEEDS = (0, 20_261)
TOLD = "The running state first goes wrong"
WORDS = ("right", "one of several", "wrong", "missing")


def exercise_id(path: Path) -> str:
    """lab2_online_softmax_tiled__forgot_guard.py -> lab2.online_softmax_tiled."""
    return path.stem.split("__")[0].replace("_", ".", 1)


def feedback(path: Path, seed: int) -> tuple[Any, float]:
    """The report on one kernel, and the CPU seconds that it took."""
    from autograder.judge import judge
    from autograder.judge.ids import parse
    from autograder.judge.reports import refused
    from autograder.source import SourceRefused, gather_script

    exercise, _ = parse(exercise_id(path))
    began = time.process_time()
    try:
        source = gather_script(path, exercise.name, kind=exercise.source_kind)
    except SourceRefused as refusal:
        return refused(exercise.id, path.name, refusal), time.process_time() - began
    report = judge(source, exercise.id, seed)
    return report, time.process_time() - began


def failing(report: Any) -> dict[str, dict[str, Any]]:
    """What each failing check said."""
    told = {}
    for check in report.checks:
        if check.passed:
            continue
        cases = [f"{case.name}: {case.message}" for case in check.cases if not case.passed]
        told[check.id.rsplit(".", 1)[1]] = {
            "named": [bug["title"] for bug in check.bugs],
            "state_told": any(TOLD in case for case in cases),
            "message": check.message,
            "bug_messages": [bug["message"] for bug in check.bugs],
            "cases": cases[:3],
            "findings": list(check.findings[:2]),
        }
    return told


def examine(path: Path, seeds: tuple[int, ...], verdicts: dict[str, Any]) -> dict[str, Any]:
    """All that is known of one kernel."""
    seen = {}
    for seed in seeds:
        report, seconds = feedback(path, seed)
        seen[seed] = {
            "caught": not report.passed and report.error is None,
            "error": report.error,
            "cpu_s": round(seconds, 2),
            "checks": failing(report),
        }
    names = sorted({name for one in seen.values() for name in one["checks"]}, key=_order)
    given = verdicts.get(path.name, {})
    return {
        "exercise": exercise_id(path),
        "mistake": ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))),
        "seeds": {str(seed): one for seed, one in seen.items()},
        "verdicts": {name: given.get(name, {}).get("verdict", "") for name in names},
        "places": {name: given[name]["place"] for name in names if "place" in given.get(name, {})},
    }


def _order(name: str) -> int:
    return ("values", "rescale", "traffic", "safety").index(name)


def stale(name: str, kernel: dict[str, Any], verdicts: dict[str, Any]) -> list[str]:
    """Why the verdicts on this kernel do not hold for what was said."""
    problems = []
    for seed, one in kernel["seeds"].items():
        if one["error"] is not None:
            problems.append(f"{name}: not judged (seed {seed}): {one['error']}")
        elif not one["caught"]:
            problems.append(f"{name}: NOT CAUGHT with seed {seed}")
        for check, said in one["checks"].items():
            given = verdicts.get(name, {}).get(check)
            if given is None:
                problems.append(f"{name} {check}: no verdict yet")
            elif given["verdict"] not in WORDS:
                problems.append(f"{name} {check}: no such verdict as {given['verdict']!r}")
            elif said["named"] != _was(given, seed):
                problems.append(
                    f"{name} {check}, seed {seed}: named {_was(given, seed)} when the verdict was given, "
                    f"and {said['named']} now"
                )
    for check, given in verdicts.get(name, {}).items():
        for seed in given["named"]:
            if seed in kernel["seeds"] and check not in kernel["seeds"][seed]["checks"]:
                problems.append(f"{name} {check}, seed {seed}: failed when the verdict was given, and passes now")
    return problems


def _was(given: dict[str, Any], seed: str) -> list[str]:
    """What was named with a seed. Where a seed is not in the verdict, as with the first that is."""
    return given["named"].get(seed, next(iter(given["named"].values())))


def summary(kernels: dict[str, Any]) -> dict[str, Any]:
    """The counts. A kernel counts by the first check that fails, which is what its author reads first."""
    first, every, state = collections.Counter(), collections.Counter(), collections.Counter()
    for kernel in kernels.values():
        given = list(kernel["verdicts"].items())
        first[(given[0][1] or "no verdict") if given else "passes"] += 1
        every.update(verdict or "no verdict" for _, verdict in given)
        for name, verdict in given:
            if verdict == "missing":
                state[kernel["places"].get(name, "not said")] += 1
    seconds = [one["cpu_s"] for kernel in kernels.values() for one in kernel["seeds"].values()]
    return {
        "kernels": len(kernels),
        "failing checks": sum(every.values()),
        "by first failing check": dict(first),
        "by failing check": dict(every),
        "place told where no bug is named": dict(state),
        "cpu_s median": round(statistics.median(seconds), 2),
        "cpu_s worst": max(seconds),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only files with this in their name; nothing is written")
    parser.add_argument("--messages", action="store_true", help="print what each failing check said")
    parser.add_argument("--first-seed", action="store_true", help="only the first seed; nothing is written")
    options = parser.parse_args()
    verdicts = json.loads(VERDICTS.read_text(encoding="utf-8")) if VERDICTS.exists() else {}
    paths = [path for path in sorted(UNSEEN.glob("*__*.py")) if options.only in path.name]
    kernels, problems = {}, []
    for path in paths:
        kernel = examine(path, SEEDS[:1] if options.first_seed else SEEDS, verdicts)
        kernels[path.name] = kernel
        problems += stale(path.name, kernel, verdicts)
        print(f"{path.name}: {kernel['verdicts'] or 'passes'}", flush=True)
        if options.messages:
            _say(kernel)
    if not options.only:
        problems += [f"{name}: a verdict, and no such file" for name in verdicts.keys() - kernels.keys()]
    counts = summary(kernels)
    if not (options.only or options.first_seed):
        text = json.dumps({"summary": counts, "seeds": SEEDS, "kernels": kernels}, indent=1, ensure_ascii=False)
        OUT.write_text(text + "\n", encoding="utf-8")
    for key, value in counts.items():
        print(f"{key}: {value}")
    print(*problems, sep="\n", file=sys.stderr)
    return 1 if problems else 0


def _say(kernel: dict[str, Any]) -> None:
    print(f"  mistake: {kernel['mistake']}")
    for seed, one in kernel["seeds"].items():
        for check, said in one["checks"].items():
            print(f"  seed {seed} {check}: named {said['named']}, state told: {said['state_told']}")
            print(*(f"      {case}" for case in said["cases"][:2]), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
