"""Exercises as data: ids and points, cases that are fresh and repeatable, kernels that are what they say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autograder.exercises import UnknownExercise, all_exercises, families, get, labs
from autograder.exercises.cases import drawn_size, generator, host_cases
from autograder.exercises.texts import edited, kernel_text

ROOT = Path(__file__).parents[1]
KERNELS = [exercise for exercise in all_exercises() if exercise.kind == "kernel"]
ROWS = [exercise for exercise in KERNELS if exercise.by_rows]
CASES = [(exercise, check, case) for exercise in KERNELS for check in exercise.checks for case in check.cases]
IDS = [f"{exercise.id}.{check.name}.{case.name}" for exercise, check, case in CASES]

POINTS = {
    "lab1.row_max": {"values": 1, "rescale": 1, "traffic": 1, "safety": 1},
    "lab1.row_sum": {"values": 1, "rescale": 1, "traffic": 1, "safety": 1},
    "lab1.safe_softmax": {"values": 2, "rescale": 2, "traffic": 2, "safety": 1},
    "lab1.predict_bytes": {"answer": 1},
    "lab2.online_softmax_rows": {"values": 2, "rescale": 2, "traffic": 1, "safety": 1},
    "lab2.online_softmax_tiled": {"values": 2, "rescale": 3, "traffic": 2, "safety": 1},
    "lab2.predict_sectors": {"answer": 1},
    "lab2.breaking_value": {"answer": 1},
    "lab2.forgiving_value": {"answer": 1},
    "lab3.merge": {"values": 2, "rescale": 2},
    "lab3.online_softmax_tree": {"values": 1, "rescale": 2, "traffic": 1, "safety": 1},
    "lab3.online_softmax_warp": {"values": 1, "rescale": 2, "traffic": 1, "safety": 1},
    "lab3.online_softmax_vec4": {"values": 1, "rescale": 1, "traffic": 2, "safety": 1},
    "lab3.online_softmax_grid_stride": {"values": 1, "rescale": 1, "traffic": 1, "safety": 1},
    "lab3.predict_requests": {"answer": 1},
    "lab3.breaking_value": {"answer": 1},
    "lab4.predict_sectors": {"answer": 1},
    "lab4.softmax_row_cache": {"values": 2, "rescale": 2, "traffic": 2, "safety": 1},
    "lab4.softmax_register_cache": {"values": 2, "rescale": 2, "traffic": 2, "safety": 1},
    "lab4.choose_softmax": {"answer": 2},
    "lab5.naive_bytes": {"answer": 1},
    "lab5.online_bytes": {"answer": 1},
    "lab5.online_attention": {"values": 3, "rescale": 4, "traffic": 2, "safety": 2},
    "lab5.breaking_value": {"answer": 1},
}
FIRST_LABS = ("lab1", "lab2")

FIELD_NOTES = {  # wrong kernels that people really wrote, as far as labs 1 and 2 go
    "no_maximum", "starts_at_zero", "starts_at_own_element", "maximum_not_stored", "d_not_rescaled",
    "rescaled_after_adding", "first_tile_maximum", "tile_maximum_as_weight", "lanes_d_added",
    "merge_sides_swapped", "inf_minus_inf", "inf_minus_inf_in_merge", "finite_stand_in", "tail_dropped",
    "zero_padding", "second_stage_reads_past", "no_barrier_before_reuse", "barrier_in_branch",
    "float16_sum", "writes_input", "row_of_block_0",
}  # fmt: skip


def test_ids_points_and_order():
    assert {e.id: {check.name: check.points for check in e.checks} for e in all_exercises()} == POINTS
    assert [e.id for e in all_exercises()] == list(POINTS)
    assert labs() == (
        "lab1_three_pass", "lab2_online_softmax", "lab3_merge_reduce", "lab4_one_pass", "lab5_online_attention",
    )  # fmt: skip
    for exercise in all_exercises():
        assert exercise.lab in labs() and exercise.lab.startswith(exercise.id.split(".")[0])
        assert exercise.read and exercise.title


def test_the_sections_to_read_are_there():
    lessons = {path.name[:2]: path.read_text("utf-8") for path in (ROOT / "course").glob("*.py")}
    for exercise in all_exercises():
        number = re.match(r"lesson (\d\d), ", exercise.read)[1]
        sections = re.findall(r"'([^']+)'", exercise.read)
        assert sections
        for section in sections:
            assert f"# ## {section}\n" in lessons[number], (exercise.id, section)


def test_an_unknown_id_is_refused_with_the_nearest_one():
    assert get("lab1.row_sum").name == "row_sum"
    with pytest.raises(UnknownExercise, match="Did you mean 'lab1.row_max'"):
        get("lab1.rowmax")
    with pytest.raises(KeyError, match="The exercises are lab1.row_max, "):
        get("zzz")
    with pytest.raises(KeyError, match="no check 'speed'"):
        get("lab1.row_max").check("speed")


def test_exercises_need_no_numba():
    code = "import sys, autograder.exercises as e; e.all_exercises(); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_budgets_are_the_contract():
    reads = {
        "row_max": 1,
        "row_sum": 1,
        "safe_softmax": 3,
        "online_softmax_rows": 2,
        "online_softmax_tiled": 2,
    }
    for exercise in KERNELS:
        if not exercise.id.startswith(FIRST_LABS):
            continue
        assert exercise.budget.loads == {"X": reads[exercise.name]}
        assert exercise.budget.stores == dict.fromkeys(exercise.outputs, 1)
        assert exercise.budget.coalesced == (exercise.name != "online_softmax_rows")


def test_launch_shapes_are_the_contract():
    def shape(exercise_id, rows):
        exercise = get(exercise_id)
        inputs = exercise.check("values").cases[0].make(0)
        X = np.zeros((rows, 3), np.float32)
        return exercise.launch(type(inputs)({**inputs.arrays, "X": X}))

    assert shape("lab1.row_max", 5) == shape("lab1.row_sum", 5) == ((5,), (128,))
    assert shape("lab1.safe_softmax", 5) == shape("lab2.online_softmax_tiled", 5) == ((5,), (256,))
    assert [shape("lab2.online_softmax_rows", rows) for rows in (1, 64, 65)] == [
        ((1,), (64,)),
        ((1,), (64,)),
        ((2,), (64,)),
    ]


@pytest.mark.parametrize(("exercise", "check", "case"), CASES, ids=IDS)
def test_inputs_are_well_formed_repeatable_and_fresh(exercise, check, case):
    one, again, other = case.make(0), case.make(0), case.make(987654321)
    assert (*one.arrays, *one.scalars) == exercise.parameters
    for array in one.arrays.values():
        assert array.dtype == np.float32 and array.flags.c_contiguous and array.flags.writeable
    first = next(iter(one.arrays))
    X = one.arrays[first]
    assert np.array_equal(X, again.arrays[first], equal_nan=True)
    assert X is not again.arrays[first]
    if check.name in ("values", "rescale"):
        assert X.shape == other.arrays[first].shape
    fresh = [not np.array_equal(one.arrays[name], array, equal_nan=True) for name, array in other.arrays.items()]
    assert any(fresh), "another seed must give fresh values"
    (output,) = exercise.outputs
    assert np.isnan(one.arrays[output]).all()
    assert one.arrays[output].shape == exercise.reference(one)[output].shape


@pytest.mark.parametrize("exercise", ROWS, ids=lambda exercise: exercise.id)
def test_no_kernel_can_tell_by_the_shape_in_which_check_it_is(exercise):
    """Sizes of traffic and safety are drawn: exactly as published for seed 0, of the same kind for others."""
    for name in ("traffic", "safety"):
        for case in exercise.check(name).cases:
            rows, n = (int(part) for part in re.search(r"(\d+)x(\d+)", case.name).groups())
            assert case.make(0).arrays["X"].shape == (rows, n)
            sizes = {case.make(seed).arrays["X"].shape for seed in range(1, 25)}
            assert len(sizes) >= 2, case.name
            for other_rows, other in sizes:
                assert rows <= other_rows <= rows + 5 and n / 2 <= other <= n + max(8, n // 2)
                assert other % 8 == n % 8 and (other % 32 == 0) == (n % 32 == 0)
                assert rows % 32 or other_rows == rows


def test_drawn_sizes_keep_their_kind():
    for seed in range(40):
        rng = generator(seed, "any")
        assert drawn_size(rng, 64, 1024, 256)[0] == 64
        n = drawn_size(rng, 2, 1024, 256)[1]
        assert n % 256 == 0 and 768 <= n <= 1024
        assert drawn_size(rng, 1, 512, 256)[1] in (512, 768)
        n = drawn_size(rng, 2, 1000, 256)[1]
        assert 768 < n < 1024 and n % 8 == 0 and n % 32
        assert drawn_size(rng, 1, 40, 256)[1] in (40, 48)
        assert drawn_size(rng, 2, 300, 256)[1] in (284, 292, 300, 308, 316)


@pytest.mark.parametrize("first", [0, 1])
def test_in_easy_rows_no_maximum_moves_after_the_first_tile(first):
    X = families.easy(generator(3, "easy"), 5, 1000, 256, **({"first": first} if first else {}))
    width = first or 256
    assert (X[:, :width].max(axis=1) == X.max(axis=1)).all()
    for start in range(width, 1000, 256):
        later = X[:, start : start + 256]
        assert (later < X[:, : later.shape[1]] if not first else later.max() < X[:, 0].min()).all()
    spread = np.exp(X - X.max(axis=1, keepdims=True)).sum(axis=1)
    assert spread.max() > 1.5 * spread.min(), "d must not be the same in every row"


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda exercise: exercise.id)
def test_cases_are_named_grouped_and_explained(exercise):
    for check in exercise.checks:
        names = [case.name for case in check.cases]
        assert len(names) == len(set(names)) >= 2
        for case in check.cases:
            assert case.group and case.reason.endswith(".")


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.id)
def test_a_check_stays_small(exercise):
    for check in exercise.checks:
        if exercise.by_rows:
            elements = sum(case.make(0).arrays["X"].size for case in check.cases)
            assert elements <= 45_000, (check.name, elements)


def test_seeds_may_be_any_integer():
    case = get("lab1.safe_softmax").check("values").cases[0]
    for seed in (2**63, 2**200 + 1, -5):
        assert case.make(seed).arrays["X"].shape == (3, 512)
    assert not np.array_equal(case.make(1).arrays["X"], case.make(2).arrays["X"])


def test_one_case_does_not_disturb_another():
    cases = get("lab2.online_softmax_tiled").check("rescale").cases
    forward = [case.make(3).arrays["X"] for case in cases]
    backward = [case.make(3).arrays["X"] for case in reversed(cases)][::-1]
    for a, b in zip(forward, backward, strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def test_the_loud_battery_has_every_family():
    wanted = {
        "loud +20, last tile", "loud +200, last tile", "loud +200, first tile", "rising ramp",
        "short row near -120", "full tiles near -150", "quiet, near -200", "far below, near -20000",
        "first tiles empty", "every 32nd lane empty", "one finite value", "constant row", "one NaN",
    }  # fmt: skip
    for exercise_id in ("lab1.safe_softmax", "lab2.online_softmax_rows", "lab2.online_softmax_tiled"):
        exercise = get(exercise_id)
        assert {case.name for case in exercise.check("rescale").cases} == wanted
        lengths = {case.make(0).arrays["X"].shape[1] for case in exercise.check("values").cases}
        assert {1, 5, 31, 33, 255, 257, 1000} <= lengths


@pytest.mark.parametrize("seed", range(20))
def test_what_decides_is_not_left_to_chance(seed):
    n, tile = 600, 256
    rng = generator(seed, "test")
    loud = families.loud_last(rng, 2, n, tile, by=200.0)
    assert (loud.argmax(axis=1) >= 512).all() and (loud.max(axis=1) >= 200.5).all()
    assert (families.loud_first(rng, 2, n, tile).argmax(axis=1) < 256).all()
    ordinary = families.ordinary(rng, 3, n, tile)
    assert [int(column) // tile for column in ordinary.argmax(axis=1)] == [2, 0, 2]
    assert (ordinary.max(axis=1) >= 4).all() and ordinary[0].argmax() >= 556
    assert (np.diff(families.ramp(rng, 2, n, tile), axis=1) == 1.0).all()
    empty = families.empty_first_tiles(rng, 2, n, tile)
    assert np.isneginf(empty[:, :512]).all() and np.isfinite(empty[:, 512:]).all()
    lanes = families.empty_lanes(rng, 2, n, tile)
    assert np.isneginf(lanes[:, 0::32]).all() and np.isfinite(lanes).any(axis=1).all()
    assert (np.isfinite(families.one_finite(rng, 2, n, tile)).sum(axis=1) == 1).all()
    nan = np.isnan(families.one_nan(rng, 4, n, tile))
    assert nan.sum(axis=1).tolist() == [0, 1, 0, 1] and not nan[:, : n // 2].any()
    assert (families.near(rng, 2, 40, tile, level=-120.0) < -100).all()
    mixed = families.mixed_signs(rng, 2, n, tile)
    assert (mixed.sum(axis=1, dtype=np.float32) == mixed.astype(np.float64).sum(axis=1)).all()


def test_no_softmax_case_has_an_undefined_row():
    for exercise, _check, case in CASES:
        if exercise.outputs == ("Y",):
            X = case.make(0).arrays["X"]
            assert not np.isposinf(X).any(), case.name
            assert not np.isneginf(X).all(axis=1).any(), case.name


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda exercise: exercise.id)
def test_bugs_and_variants_are_whole_modules(exercise):
    check_names = {check.name for check in exercise.checks}
    texts = {}
    assert len(exercise.variants) >= 2
    for one in (*exercise.bugs, *exercise.variants):
        functions = {
            node.name: node for node in ast.parse(one.text).body if isinstance(node, ast.FunctionDef)
        }
        arguments = [argument.arg for argument in functions[exercise.name].args.args]
        assert len(arguments) == len(exercise.parameters), one.id
        assert texts.setdefault(one.text, one.id) == one.id, "two kernels with one text"
    ids = [bug.id for bug in exercise.bugs]
    assert len(ids) == len(set(ids)) >= 3
    for bug in exercise.bugs:
        assert bug.checks and bug.checks <= check_names
        assert bug.title and not bug.title.endswith(".") and bug.explain.endswith((".", "…"))
    assert len({bug.title for bug in exercise.bugs}) == len(ids)


def test_the_bugs_that_people_really_write_are_there():
    known = {bug.id for exercise in all_exercises() for bug in exercise.bugs}
    assert FIELD_NOTES <= known, FIELD_NOTES - known
    assert sum(len(exercise.bugs) for exercise in KERNELS) >= 16


def test_an_edit_must_match_exactly_once():
    text = "a = 1\nb = 1\n"
    assert edited(text, ("a = 1", "a = 2"), ("a = 2", "a = 3")) == "a = 3\nb = 1\n"
    with pytest.raises(ValueError, match="stands 2 times"):
        edited(text, ("= 1", "= 2"))
    with pytest.raises(ValueError, match="stands 0 times"):
        edited(text, ("c = 1", "c = 2"))
    with pytest.raises(FileNotFoundError):
        kernel_text("lab1.row_max", "no such kernel")


def test_host_questions_have_right_answers_for_every_seed():
    for seed in (0, 5):
        for case in get("lab1.predict_bytes").check("answer").cases:
            rows, n = case.make(seed).scalars.values()
            assert get("lab1.predict_bytes").reference(case.make(seed)) == 16 * rows * n
        for case in get("lab2.predict_sectors").check("answer").cases:
            rows, n = case.make(seed).scalars.values()
            assert rows % 32 == 0 and n % 8 == 0
            assert get("lab2.predict_sectors").reference(case.make(seed)) == 2 * rows * n
    assert host_cases(lambda rng: ((1, 2),), 1)[0].make(0).scalars == {"rows": 1, "n": 2}


def test_the_sector_formula_is_what_a_warp_touches():
    rows, n = 64, 24
    addresses = (np.arange(rows)[:, None] * n + np.arange(n)) * 4
    touched = sum(
        len(set(addresses[warp : warp + 32, column] // 32)) for warp in (0, 32) for column in range(n)
    )
    case = get("lab2.predict_sectors").check("answer").cases[0].make(0)
    assert get("lab2.predict_sectors").reference(type(case)(scalars={"rows": rows, "n": n})) == 2 * touched
