"""`autograder grade` against stock nbgrader, in one run on one machine: a made class on all labs.

    python benchmarks/classroom.py --students 200 --labs all --subset 16 --sample 3 --growth 50,200,1000 --write

The class is made by a script (benchmarks/classroom_parts/people.py): 65 % right answers in several styles, 25 % with
one or two known mistakes, the rest untouched, endless, refused or broken; no two students have one text. Modes:

* ``stock``: `nbgrader autograde`, serial, on plain notebooks that test each kernel on numba's own simulator;
* ``stock+ours``: the same, on this course's notebooks, whose cells call its `check`;
* ``ours 1 job``, ``ours 2 jobs``, ``ours dask``: `autograder grade`, the last on a dask cluster of two workers.

Stock modes run a sample (--sample hand-ins a lab) and are extrapolated to the class by kind; ours grade a class of
--subset students of the same mix. --growth grades lab 1 with a judge that knows every report already, so that what
is left is reading, gradebook, feedback and report. Works on Linux and macOS. ``--write`` writes classroom.json.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from classroom_parts import people, stages, stock
from classroom_parts.people import HandIn
from classroom_parts.timing import watched

from autograder.classroom.class_report.times import read_times
from autograder.classroom.release import Release, find_release, load_release
from autograder.exercises import labs as all_labs

OUT = HERE / "classroom.json"
MODES = ("stock", "stock+ours", "ours 1 job", "ours 2 jobs", "ours dask")
SAME = "ours 1 job, the stock tool's sample"
SEED = 5
FAVOURS = (
    "What favours the stock tool: it tests `values`, `rescale` and formulas only, since numba's simulator counts no "
    "traffic and finds no race (ours judges all checks); kernels with warp operations or 16-byte loads, which it "
    "cannot run, and the break-it exercises cost it nothing; endless loops, which cost it a timeout each, refused and "
    "broken files are counted as if they were untouched; kernels that make its threads wait for ever are not sampled."
)


@dataclass(frozen=True)
class Plan:
    """What is measured: the class as a whole, the smaller one that ours grades, and the stock tools' sample."""

    releases: dict[str, Release]
    whole: list[HandIn]
    subset: list[HandIn]
    sample: dict[str, list[HandIn]]

    @property
    def sampled(self) -> list[HandIn]:
        """The stock tools' sample of all labs."""
        return [one for hand_ins in self.sample.values() for one in hand_ins]


def make_plan(labs: Sequence[str], students: int, subset: int, sample: int, seed: int) -> Plan:
    """Make the classes. The sample is drawn from the whole one."""
    releases = {lab: load_release(lab, find_release(lab, HERE.parent / "labs")) for lab in labs}
    whole = people.make_class(labs, students, seed)
    chosen = {lab: stock.sample([one for one in whole if one.lab == lab], sample) for lab in labs}
    return Plan(releases, whole, people.make_class(labs, subset, seed + 1), chosen)


# -- the modes -----------------------------------------------------------------------------------


def run_stock(plan: Plan, ours: bool, folder: Path) -> dict[str, Any]:
    """`nbgrader autograde` on each lab's sample."""
    runs, class_s, by_lab, scores = [], 0.0, {}, {}
    for lab, hand_ins in plan.sample.items():
        release = plan.releases[lab] if ours else stock.plain(plan.releases[lab])
        run = stock.autograde(release, hand_ins, folder / lab)
        mine = [one for one in plan.whole if one.lab == lab]
        seconds = stock.whole_class_s(run, hand_ins, mine)
        runs.append(run)
        class_s += seconds
        by_lab[lab] = round(60 * len(mine) / seconds, 2)
        scores |= {(one.student, lab): run.scores[one.student] for one in hand_ins}
        say(f"  {lab}: {', '.join(f'{one.kind} {run.each_s[one.student]:.1f} s' for one in hand_ins)}")
    submissions = sum(len(run.each_s) for run in runs)
    checks = sum(stock.kernel_checks(one, plan.releases[one.lab], ours) for one in plan.sampled)
    return {
        "submissions measured": submissions,
        "wall_s": total(run.usage.wall_s for run in runs),
        "cpu_s": total(run.usage.cpu_s for run in runs),
        "peak_mb": round(max(run.usage.peak_mb for run in runs)),
        "start_s of one process": round(sum(run.start_s for run in runs) / len(runs), 2),
        "class_s extrapolated": round(class_s),
        "submissions a minute": round(60 * len(plan.whole) / class_s, 2),
        "submissions a minute by lab": by_lab,
        "kernel checks a minute": round(60 * checks / sum(sum(run.each_s.values()) for run in runs), 1),
        "scores": {f"{student} {lab}": score for (student, lab), score in scores.items()},
    }


def run_ours(plan: Plan, hand_ins: Sequence[HandIn], folder: Path, jobs: int = 1, dask: bool = False) -> dict[str, Any]:
    """`autograder grade` on the hand-ins of all labs."""
    people.write_class(hand_ins, plan.releases, folder / "submitted")
    labs = list(dict.fromkeys(one.lab for one in hand_ins))
    command = [sys.executable, "-m", "autograder", "grade", *labs, "--submitted", "submitted", "--out", "out"]
    command += ["--seed", str(SEED), "--jobs", str(jobs)]
    with cluster(2) if dask else contextlib.nullcontext() as found:
        address, also = found or (None, ())
        usage = watched(command + (["--dask", address] if address else []), folder, python_path(), also)
    if usage.status == 2:
        raise RuntimeError(f"autograder grade ended with {usage.status}:\n{usage.text[-3000:]}")
    times = read_times(folder / "out")
    judging = sum(one.seconds for one in times.values())
    others = sum(one.seconds for check_id, one in times.items() if not stock.testable(check_id))
    count = len(hand_ins)
    checks = sum(one.judged for check_id, one in times.items() if stock.is_kernel(check_id))
    return {
        "submissions measured": count,
        "wall_s": round(usage.wall_s, 1),
        "cpu_s": round(usage.cpu_s, 1),
        "peak_mb": round(usage.peak_mb),
        "judging_s, all children together": round(judging, 1),
        "of that, checks that the stock tool has not": round(others, 1),
        "beside judging, s a submission": round((usage.wall_s - judging / jobs_of(jobs, dask)) / count, 2),
        "class_s at this rate": round(usage.wall_s / count * len(plan.whole)),
        "submissions a minute": round(60 * count / usage.wall_s, 2),
        "kernel checks a minute": round(60 * checks / usage.wall_s, 1),
        "not as the class must get": differences(hand_ins, folder / "out"),
    }


def jobs_of(jobs: int, dask: bool) -> int:
    """How many kernels are judged at a time."""
    return 2 if dask else jobs


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A dask cluster in a process of its own: its address, and the process."""
    command = [sys.executable, str(HERE / "classroom_parts" / "cluster.py"), str(workers)]
    environment = {**os.environ, **python_path()}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process.stdout.readline().strip(), (process.pid,)
        finally:
            process.stdin.close()
            process.wait(60)


def grow(plan: Plan, sizes: Sequence[int], reports: Path, folder: Path) -> list[dict[str, Any]]:
    """What a submission of the first lab costs beside judging, in classes of several sizes."""
    lab = next(iter(plan.releases))
    grown = []
    for size in sizes:
        here = folder / str(size)
        people.write_class(people.make_class([lab], size, SEED), plan.releases, here / "submitted")
        command = [sys.executable, stages.__file__, "submitted", "out", str(reports), lab]
        usage = watched(command, here, python_path())
        if usage.status:
            raise RuntimeError(f"grading {size} submissions ended with {usage.status}:\n{usage.text[-3000:]}")
        spent = json.loads(usage.text.rpartition(stages.MARK)[2])
        unjudged = sum(row["status"] == "could not be judged" for row in rows(here / "out"))
        grown.append({
            "submissions": size,
            "could not be judged": unjudged,
            "wall_s": round(usage.wall_s, 1),
            "peak_mb": round(usage.peak_mb),
            **{f"{stage}, ms a submission": round(1000 * one["wall_s"] / size) for stage, one in spent.items()},
            **{f"{stage}, CPU ms a submission": round(1000 * one["cpu_s"] / size) for stage, one in spent.items()},
            **{f"after {stage}, MB": round(one["rss_mb"]) for stage, one in spent.items()},
        })  # fmt: skip
        say("  " + ", ".join(f"{name} {value}" for name, value in grown[-1].items()))
    return grown


# -- what came out -------------------------------------------------------------------------------


def rows(out: Path) -> list[dict[str, str]]:
    """The lines of grades.csv."""
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def differences(hand_ins: Sequence[HandIn], out: Path) -> list[str]:
    """Sentences about right answers that lost points and mistakes that lost none."""
    lines = {(row["student"], row["lab"]): row for row in rows(out)}
    found = []
    for one in hand_ins:
        row = lines[one.student, one.lab]
        if one.kind == people.BROKEN or row["status"] == "could not be judged":
            if one.kind != people.BROKEN:
                found.append(f"{one.student} {one.lab}: could not be judged")
            continue
        short = {exercise for exercise in one.answers if loses(exercise, row)}
        if short != set(one.mistakes):
            found.append(f"{one.student} {one.lab}: lost in {sorted(short)}, should in {sorted(one.mistakes)}")
    return found


def loses(exercise_id: str, row: dict[str, str]) -> bool:
    """Whether a line of grades.csv is short of points in an exercise."""
    from autograder.exercises import get

    return any(float(row[f"{exercise_id}.{check.name}"] or 0) < check.points for check in get(exercise_id).checks)


def ratios(modes: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Submissions a minute of each mode against the stock tool's."""
    base = modes.get("stock")
    if base is None:
        return {}
    found = {
        f"{name} / stock": round(mode["submissions a minute"] / base["submissions a minute"], 1)
        for name, mode in modes.items()
        if name not in ("stock", SAME)
    }
    if SAME in modes:
        one = modes[SAME]
        seconds = base["wall_s"] / one["wall_s"]
        found["ours 1 job / stock, the stock tool's sample on both sides, starts included"] = round(seconds, 1)
        spared = one["wall_s"] - one["of that, checks that the stock tool has not"]
        checks = one["kernel checks a minute"] / base["kernel checks a minute"]
        found["the same, kernel checks a minute"] = round(checks, 1)
        found["the same, without the checks that the stock tool has not (computed)"] = round(base["wall_s"] / spared, 1)
    return found


def measure(plan: Plan, modes: Sequence[str], sizes: Sequence[int], folder: Path) -> dict[str, Any]:
    """Run everything, one after the other."""
    found: dict[str, dict[str, Any]] = {}
    work = {
        "stock": lambda here: run_stock(plan, False, here),
        "stock+ours": lambda here: run_stock(plan, True, here),
        SAME: lambda here: run_ours(plan, plan.sampled, here),
        "ours 1 job": lambda here: run_ours(plan, plan.subset, here),
        "ours 2 jobs": lambda here: run_ours(plan, plan.subset, here, jobs=2),
        "ours dask": lambda here: run_ours(plan, plan.subset, here, dask=True),
    }
    notes = [FAVOURS]
    for name, run in work.items():
        if name not in modes and not (name == SAME and "stock" in modes):
            continue
        if name == "ours dask" and not has_distributed():
            notes.append("ours dask was left out: dask.distributed is not installed.")
            continue
        say(f"{name} ...")
        found[name] = run(folder / name_of(name))
        say("  " + json.dumps(found[name]))
    graded = [folder / name_of(name) / "out" for name in found if name.startswith("ours") and name != SAME]
    tables = {(out / "grades.csv").read_bytes() for out in graded}
    growth = []
    if sizes:
        store = (graded or [folder / name_of(SAME) / "out"])[0] / "verdicts.db"
        say("growth ...")
        growth = grow(plan, sizes, store, folder / "growth")
    return {
        "modes": found,
        "ratios": ratios(found),
        "grades.csv of ours is the same in all modes": len(tables) <= 1,
        "stock+ours gives other scores than ours": other_scores(found, folder),
        "growth, lab 1, with a judge that knows every report": growth,
        "notes": notes,
    }


def other_scores(found: dict[str, dict[str, Any]], folder: Path) -> list[str]:
    """Hand-ins of the sample to which `nbgrader autograde` on our notebooks gave another score than ours."""
    if "stock+ours" not in found or SAME not in found:
        return []
    # Who is in the sample of one lab alone has a line without a score in the others.
    graded = [row for row in rows(folder / name_of(SAME) / "out") if row["score"]]
    ours = {f"{row['student']} {row['lab']}": float(row["score"]) for row in graded}
    theirs = found["stock+ours"]["scores"]
    return [f"{one}: {theirs[one]:g}, ours {ours[one]:g}" for one in theirs if theirs[one] != ours[one]]


def name_of(mode: str) -> str:
    """The mode's folder."""
    return mode.replace(" ", "_").replace(",", "")


def has_distributed() -> bool:
    """Whether dask.distributed is installed."""
    from importlib.util import find_spec

    return find_spec("distributed") is not None


def described(plan: Plan, options: argparse.Namespace) -> dict[str, Any]:
    """The class and the machine, for the record."""
    launched = [one for one in plan.whole if stock.finishes(one)]
    return {
        "command": "python " + " ".join(["benchmarks/classroom.py", *sys.argv[1:]]),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
        "class": {
            "students": options.students,
            "labs": list(plan.releases),
            "submissions": len(plan.whole),
            "kinds": dict(Counter(one.kind for one in plan.whole)),
            "graded by ours": f"a class of {options.subset} students of the same mix, {len(plan.subset)} submissions; "
            "rates as measured on it, starts included",
            "graded by the stock tool": f"{len(plan.sampled)} submissions, extrapolated to the whole class: one start "
            "a lab, and of each kind its sample's mean",
            "kernels that the stock simulator can run, a submission": {
                "sample": mean(stock.runnable(one) for one in plan.sampled),
                "class": mean(stock.runnable(one) for one in launched),
            },
        },
    }


def mean(values: Any) -> float:
    """The mean, rounded."""
    found = list(values)
    return round(sum(found) / max(len(found), 1), 2)


def total(values: Any) -> float:
    """The sum, rounded."""
    return round(sum(values), 1)


def python_path() -> dict[str, str]:
    """Where the commands find the package."""
    return {"PYTHONPATH": str(HERE.parent)}


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--students", type=int, default=200, help="of the class that is spoken of (200)")
    parser.add_argument("--labs", default="all", help='"all", or names with commas between')
    parser.add_argument("--subset", type=int, default=16, help="students whom ours grades, of the same mix (16)")
    parser.add_argument("--sample", type=int, default=3, help="hand-ins of each lab for the stock tool (3)")
    parser.add_argument("--growth", default="50,200,1000", help="class sizes, or nothing (50,200,1000)")
    parser.add_argument("--modes", default=",".join(MODES), help="some of: " + ", ".join(MODES))
    parser.add_argument("--seed", type=int, default=1, help="of the class")
    parser.add_argument("--keep", type=Path, help="a new folder for all that is made (default: a temporary one)")
    parser.add_argument("--write", action="store_true", help=f"write benchmarks/{OUT.name}")
    options = parser.parse_args()
    labs = all_labs() if options.labs == "all" else tuple(options.labs.split(","))
    plan = make_plan(labs, options.students, options.subset, options.sample, options.seed)
    record = described(plan, options)
    say(json.dumps(record["class"], indent=1))
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="classroom-")))
        sizes = [int(size) for size in options.growth.split(",") if size]
        record |= measure(plan, options.modes.split(","), sizes, folder.resolve())
    say(json.dumps({key: record[key] for key in ("ratios", "notes")}, indent=1, ensure_ascii=False))
    wrong = [text for mode in record["modes"].values() for text in mode.get("not as the class must get", ())]
    say("\n".join(dict.fromkeys(wrong)) or "Marks are as the class must get.")
    if options.write:
        OUT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
