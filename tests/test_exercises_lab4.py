"""Lab 4's exercises as data: the contract, sizes around the caches' limits, and formulas that are counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from autograder import figures
from autograder.exercises import lab4, references
from autograder.exercises.model import Inputs
from autograder.exercises.texts import kernel_text
from autograder.judge import judge
from autograder.simulator import launch
from autograder.source import gather_script, gather_text

ROOT = Path(__file__).parents[1]
KERNELS = (lab4.ROW, lab4.REGISTERS)
POINTS = {
    "lab4.predict_sectors": {"answer": 1},
    "lab4.softmax_row_cache": {"values": 2, "rescale": 2, "traffic": 2, "safety": 1},
    "lab4.softmax_register_cache": {"values": 2, "rescale": 2, "traffic": 2, "safety": 1},
    "lab4.choose_softmax": {"answer": 2},
}


def lengths(exercise, check, seed=0):
    return {case.make(seed).arrays["X"].shape[1] for case in exercise.check(check).cases}


def traced(exercise, variant, rows, n):
    """A launch of a right kernel on ordinary numbers: (X, Y, trace)."""
    kernel = gather_text(kernel_text(exercise.id, variant), exercise.name).load()
    X = np.random.default_rng(n).normal(size=(rows, n)).astype(np.float32)
    Y = np.full_like(X, np.nan)
    return X, Y, launch(kernel, (rows,), (256,), [X, Y], names=["X", "Y"])


def test_points_and_contract():
    assert {e.id: {check.name: check.points for check in e.checks} for e in lab4.EXERCISES} == POINTS
    for exercise in KERNELS:
        X = np.zeros((5, 8), np.float32)
        assert exercise.launch(Inputs(arrays={"X": X, "Y": X.copy()})) == ((5,), (256,))
        budget = exercise.allowed(Inputs(arrays={"X": X, "Y": X.copy()}))
        assert (budget.loads, budget.stores, budget.coalesced) == ({"X": 1}, {"Y": 1}, True)


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.id)
def test_lengths_stand_at_the_limits_of_the_cache_and_never_pass_them(exercise):
    limit = {"lab4.softmax_row_cache": 4096, "lab4.softmax_register_cache": 8192}[exercise.id]
    assert lengths(exercise, "values") == {1, 31, 257, 512, 1000, limit - 1, limit}
    for check in ("values", "rescale", "traffic", "safety"):
        for seed in range(8):
            assert max(lengths(exercise, check, seed)) <= limit
    assert max(lengths(exercise, "safety")) > limit // 2, "half a cache must show in safety too"


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.id)
def test_every_right_kernel_moves_what_the_formula_says(exercise):
    for variant in exercise.variants:
        X, Y, trace = traced(exercise, variant.id, 2, 1000)
        np.testing.assert_allclose(Y, references.softmax(X), rtol=1e-5)
        moved = trace.traffic.load_sectors + trace.traffic.store_sectors
        reference = lab4.PREDICT_SECTORS.reference(Inputs(scalars={"rows": 2, "n": 1000}))
        assert moved == reference == 500, variant.id
        assert not trace.findings


def test_16_byte_loads_take_a_quarter_of_the_requests_and_as_many_sectors():
    plain = traced(lab4.REGISTERS, "two_reductions", 1, 1024)[2].traffic
    wide = traced(lab4.REGISTERS, "sixteen_bytes", 1, 1024)[2].traffic
    assert (wide.load_sectors, wide.store_sectors) == (plain.load_sectors, plain.store_sectors) == (128, 128)
    assert 4 * wide.load_requests == plain.load_requests


def test_neighbours_cost_four_times_the_sectors():
    (bug,) = (bug for bug in lab4.REGISTERS.bugs if bug.id == "four_neighbours")
    kernel = gather_text(bug.text, "softmax_register_cache").load()
    X = np.zeros((1, 1024), np.float32)
    trace = launch(kernel, (1,), (256,), [X, X.copy()], names=["X", "Y"])
    assert (trace.traffic.load_sectors, trace.traffic.store_sectors) == (512, 512)


def test_the_chooser_is_asked_on_both_sides_of_the_boundary_for_every_seed():
    for seed in range(6):
        asked = [case.make(seed).scalars["n"] for case in lab4.CHOOSE.check("answer").cases]
        assert {1, 4097, 8192, 8193} <= set(asked) and max(asked) >= 2**20
        assert any(8193 < n <= 12_288 for n in asked), "tells 8,192 from 12,288"
        for n in asked:
            right = "register_cache" if n <= 8192 else "warp"
            assert lab4.CHOOSE.reference(Inputs(scalars={"n": n})) == right


@pytest.mark.parametrize("exercise", (lab4.CHOOSE, lab4.PREDICT_SECTORS), ids=lambda exercise: exercise.id)
def test_a_wrong_answer_is_named(exercise):
    for seed in (0, 12345):
        for variant in exercise.variants:
            assert judge(gather_text(variant.text, exercise.name, kind="host"), exercise.id, seed).passed
        for bug in exercise.bugs:
            report = judge(gather_text(bug.text, exercise.name, kind="host"), exercise.id, seed)
            assert report.points == 0 or len(report.checks[0].cases) > 1
            assert not report.passed and report.checks[0].bug["id"] == bug.id, (seed, bug.id)


def test_the_labs_solution_is_one_of_the_right_kernels():
    for exercise in KERNELS:
        source = gather_script(ROOT / "solutions" / "lab4_one_pass.py", exercise.name)
        report = judge(source, f"{exercise.id}.traffic")
        assert report.passed, report.checks[0].message
        mine = re.sub(r'\s*#.*|\s*""".*?"""', "", source.text[source.text.index(f"def {exercise.name}") :])
        theirs = kernel_text(exercise.id, "two_reductions")
        assert squeezed(mine) == squeezed(theirs[theirs.index(f"def {exercise.name}") :])


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_the_film_of_one_pass_is_two_transfers_a_tile():
    film = figures.transfer_film(kind="one_pass", columns=4)
    assert (film.transfers, film.fetches, film.stores) == (4, 2, 2)
    assert [dict(frame.state)["kept"] for frame in film.frames] == ["4", "8", "8", "8"]
    assert film.frames[-1].written == 8 and dict(film.frames[-1].state)["d"] == "1.58"
    assert "one pass: 4 transfers" in str(film)
    with pytest.raises(ValueError, match="'one_pass'"):
        figures.transfer_film(kind="none")


# What the lesson quotes


@pytest.fixture(scope="module")
def lesson():
    return (ROOT / "course" / "04_one_pass.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def compiler():
    record = json.loads((ROOT / "course" / "data" / "registers.json").read_text(encoding="utf-8"))
    assert "python course/data/registers.py" in record["made_by"]["command"]
    return record["kernels"]


@pytest.mark.parametrize(
    ("line", "kernel"),
    [
        ("row cache, shared memory", "row_cache two_reductions"),
        ("32 slots, constant loop, padded with −inf", "register_cache two_reductions"),
        ("32 slots, constant loop, each use guarded", "register_cache guarded_slots"),
        ("32 slots, 16-byte loads", "register_cache sixteen_bytes"),
        ("32 slots, loop to a run-time bound", "register_cache used_slots"),
    ],
)
def test_the_lessons_registers_are_the_record(lesson, compiler, line, kernel):
    found = re.search(rf"\| {line} \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", lesson)
    made = compiler[kernel]
    wanted = [made[card]["registers"] for card in ("T4", "A100", "H200")]
    assert [int(found[k]) for k in (1, 2, 3)] == wanted
    assert {int(found[4])} == {made[card]["stack"] for card in made}


def test_the_lessons_slots_are_the_record(lesson, compiler):
    (pairs,) = re.findall(r"for slots, used in \((.*)\):", lesson)
    for slots, used in re.findall(r"\((\d+), (\d+)\)", pairs):
        name = "register_cache two_reductions" + ("" if slots == "32" else f", {slots} slots")
        assert compiler[name]["H200"] == {**compiler[name]["H200"], "registers": int(used), "stack": 0}
    assert "with 128 slots was given 512 bytes of stack" in lesson
    assert compiler["register_cache two_reductions, 128 slots"]["H200"]["stack"] == 512


def test_the_lessons_times_are_the_record(lesson):
    path = ROOT / "benchmarks" / "merge_reduce.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (record["gpu"], record["rows"], record["n"]) == ("NVIDIA H200", 32768, 4096)
    quoted = {
        "online, tile by tile": "online_softmax_tiled",
        "online, shuffles": "online_softmax_warp",
        "three passes": "safe_softmax",
        "online, tree": "online_softmax_tree",
        "online, tree, 16-byte loads": "online_softmax_vec4",
    }
    for line, name in quoted.items():
        (ms,) = re.findall(rf"# \| {line} \| \d \| ([\d.]+) \|", lesson)
        assert float(ms) == record["kernels"][name]["ms"], line


def test_the_lessons_times_of_the_lab_are_the_record(lesson):
    record = json.loads((ROOT / "benchmarks" / "one_pass.json").read_text(encoding="utf-8"))
    assert (record["gpu"], record["rows"], record["n"]) == ("NVIDIA H200", 32768, 4096)
    for name in ("row cache", "register cache"):
        (ms,) = re.findall(rf"# \| {name}, lab 4 \| 1 \| ([\d.]+) \|", lesson)
        assert float(ms) == record["ms"][name]
