"""Lab 3's exercises as data: the contract, what each case is there for, and answers that are counted, not believed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.exercises import get, lab3, merging
from autograder.exercises.bugs import lab3_answers
from autograder.exercises.cases import generator, one_row
from autograder.exercises.gate import compare
from autograder.exercises.model import Inputs
from autograder.exercises.texts import kernel_text
from autograder.judge import judge
from autograder.simulator import launch
from autograder.source import gather_text

KERNELS = (lab3.TREE, lab3.WARP, lab3.VEC4, lab3.GRID_STRIDE)
POINTS = {
    "lab3.merge": {"values": 2, "rescale": 2},
    "lab3.online_softmax_tree": {"values": 1, "rescale": 2, "traffic": 1, "safety": 1},
    "lab3.online_softmax_warp": {"values": 1, "rescale": 2, "traffic": 1, "safety": 1},
    "lab3.online_softmax_vec4": {"values": 1, "rescale": 1, "traffic": 2, "safety": 1},
    "lab3.online_softmax_grid_stride": {"values": 1, "rescale": 1, "traffic": 1, "safety": 1},
    "lab3.predict_requests": {"answer": 1},
    "lab3.breaking_value": {"answer": 1},
}


def made(exercise, *checks, seed=0):
    """(case, inputs) of every case of the named checks."""
    return [(case, case.make(seed)) for check in checks for case in exercise.check(check).cases]


def shape(exercise, rows, n=8, block=None):
    X = np.zeros((rows, n), np.float32)
    return exercise.launch(Inputs(arrays={"X": X, "Y": X.copy()}, block=block))


def test_points_and_contract():
    assert {e.id: {check.name: check.points for check in e.checks} for e in lab3.EXERCISES} == POINTS
    assert shape(lab3.TREE, 5) == shape(lab3.VEC4, 5) == ((5,), (256,))
    assert shape(lab3.WARP, 5, block=96) == ((5,), (96,))
    assert shape(lab3.GRID_STRIDE, 1) == shape(lab3.GRID_STRIDE, 900) == ((4,), (256,))
    for exercise in KERNELS:
        budget = exercise.allowed(exercise.check("traffic").cases[0].make(0))
        assert (budget.loads, budget.stores, budget.coalesced) == ({"X": 2}, {"Y": 1}, True)
        assert budget.vector == (4 if exercise is lab3.VEC4 else 1)


# merge


def logarithm(M, D):
    """log(sum of d·e^m), which no merge may change, float64."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.logaddexp.reduce(M.astype(np.float64) + np.log(D.astype(np.float64)), axis=1)


@pytest.mark.parametrize("case", [*merging.VALUES, *merging.RESCALE], ids=lambda case: case.name)
def test_the_merged_state_stands_for_the_same_sum(case):
    inputs = case.make(5)
    M, D = inputs.arrays["M"], inputs.arrays["D"]
    reference = merging.reference(inputs)
    spoilt = np.isnan(M).any(axis=1)
    for columns, sides in (((0, 1), 2), ((2, 3), 3)):
        for k in columns:
            whole = ~np.isnan(M[:, :sides]).any(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                merged = reference["OM"][whole, k] + np.log(reference["OD"][whole, k])
            np.testing.assert_allclose(merged, logarithm(M[whole, :sides], D[whole, :sides]), rtol=1e-12, atol=1e-12)
            assert np.array_equal(reference["OM"][whole, k], M[whole, :sides].max(axis=1))
    assert np.isnan(reference["OD"][spoilt, 2:]).all()
    assert np.isnan(reference["OM"]).any() == (case.name == "a NaN")


def test_the_cases_of_merge_hold_what_they_say():
    cases = {case.name: case.make(3).arrays for case in (*merging.VALUES, *merging.RESCALE)}
    assert np.array_equal(cases["whole numbers"]["M"], np.round(cases["whole numbers"]["M"]))
    assert (np.ptp(cases["equal maxima"]["M"], axis=1) == 0).all()
    apart = np.sort(cases["200 apart"]["M"], axis=1)
    assert (apart[:, 2] - apart[:, 1] > 190).all()
    assert set(cases["200 apart"]["M"].argmax(axis=1)) == {0, 1, 2}, "each side is the larger one somewhere"
    assert (cases["far below, near -20000"]["M"] < -1e4).all()
    for name, sides in (("A empty", [0]), ("B empty", [1]), ("C empty", [2]), ("A and B empty", [0, 1]),
                        ("all empty", [0, 1, 2])):  # fmt: skip
        M, D = cases[name]["M"], cases[name]["D"]
        empty = np.isneginf(M)
        assert np.array_equal(np.flatnonzero(empty.all(axis=0)), sides) and (D[empty] == 0).all()
        assert (M[~empty] < 0).all() and (D[~empty] >= 1).all()
    M, D = cases["a NaN"]["M"], cases["a NaN"]["D"]
    assert (D[np.isnan(M)] == 1).all() and np.isnan(M[:, :2]).any(axis=0).all()
    beside = np.isneginf(M[np.isnan(M).any(axis=1)])
    assert beside.any() and not beside.all(axis=1).any()


def test_an_element_of_merge_is_told_with_its_states():
    inputs = merging.VALUES[0].make(0)
    arrays = {**inputs.arrays, "M": np.full((1, 3), 2, np.float32), "D": np.float32([[1, 2.5, 3]])}
    told = merging.where(replace(inputs, arrays=arrays), "OD", 0, 1)
    assert told == "d of merge(B, A) with A = (2, 1), B = (2, 2.5)"
    assert "C = (2, 3)" in merging.where(replace(inputs, arrays=arrays), "OM", 0, 3)


def test_a_merge_that_depends_on_the_order_is_found():
    text = kernel_text("lab3.merge", "plain").replace("    return m, d\n", "    return m, d * float32(1.001)\n")
    source = gather_text(text, "merge", kind="device", origin="test")
    assert not judge(source, "lab3.merge.values", 0).passed
    one_sided = kernel_text("lab3.merge", "larger_side_first").replace(
        "return m1, d1 + d2 * exp(m2 - m1)", "return m1, d1"
    )
    report = judge(gather_text(one_sided, "merge", kind="device", origin="test"), "lab3.merge.values", 0)
    assert [case.name for case in report.checks[0].cases if not case.passed] == ["whole numbers", "ordinary states"]


# the kernels' cases


def test_warp_blocks_are_of_many_kinds():
    seen = made(lab3.WARP, "values", "rescale", "traffic", "safety")
    blocks = {inputs.block for _, inputs in seen}
    assert {32, 64, 96, 256, 1024} <= blocks and all(block % 32 == 0 and block <= 1024 for block in blocks)
    for check in ("values", "rescale", "traffic", "safety"):
        some = made(lab3.WARP, check)
        warps = {inputs.block // 32 for _, inputs in some}
        assert 8 in warps and any(count & (count - 1) for count in warps), "eight warps, and no power of two"
    assert any(inputs.arrays["X"].shape[1] <= inputs.block - 32 for _, inputs in made(lab3.WARP, "values")), (
        "whole warps without a value"
    )
    for case, inputs in seen:
        assert case.name.endswith(f", {inputs.block} threads")


def test_a_block_for_a_case_that_is_not_there_is_refused():
    with pytest.raises(KeyError, match="no case \\['nowhere'\\]"):
        lab3.in_blocks(lab3.TREE.check("values"), {"nowhere": 32}, otherwise=96)


def test_wide_loads_meet_every_alignment_and_every_tail():
    for seed in (0, 7):
        for check, tails in (("values", {0, 1, 2, 3}), ("traffic", {0, 1}), ("safety", {0, 1})):
            lengths = [inputs.arrays["X"].shape for _, inputs in made(lab3.VEC4, check, seed=seed)]
            assert {n % 4 for _, n in lengths} == tails, check
            starts = {row * n % 4 for rows, n in lengths for row in range(rows)}
            assert {0, 1} <= starts, check
    starts = {row * n % 4 for _, i in made(lab3.VEC4, "values") for row in range(i.arrays["X"].shape[0])
              for n in [i.arrays["X"].shape[1]]}  # fmt: skip
    assert {0, 1, 2} <= starts


@pytest.mark.parametrize("seed", range(8))
def test_the_loud_value_belongs_to_a_thread_with_two_loads(seed):
    first, second = (case.make(seed).arrays["X"] for case in lab3.TWO_LOADS)
    thread = int(first.argmax()) // 4
    assert 1024 + 4 * thread + 4 <= first.shape[1] and first.max() > 200
    assert second.argmax() >= 1024 and second.shape[1] % 4 == 0


@pytest.mark.parametrize("seed", range(8))
def test_what_is_in_the_tail_is_in_the_tail(seed):
    loud, short, finite = (case.make(seed).arrays["X"] for case in lab3.IN_THE_TAIL)
    assert loud.shape[1] % 4 == 3 and loud.argmax() >= loud.shape[1] - 3
    assert short.shape[1] % 4 == 1 and (short < -100).all()
    assert finite.shape[1] % 4 == 2 and np.isneginf(finite[0, :-2]).all() and np.isfinite(finite[0, -2:]).all()


def test_grid_stride_has_more_rows_than_blocks_and_fewer():
    for check in ("values", "rescale", "traffic", "safety"):
        rows = {inputs.arrays["X"].shape[0] for _, inputs in made(lab3.GRID_STRIDE, check)}
        assert min(rows) < lab3.BLOCKS < max(rows), check
    assert {9} <= {inputs.arrays["X"].shape[0] for _, inputs in made(lab3.GRID_STRIDE, "values")}
    X = lab3.quiet_after_loud(generator(1, "test"), 6, 10, 256)
    assert (X[:4] > 240).all() and (X[4:] < -240).all()


def test_a_short_row_holds_the_nan_of_its_thread_alone():
    for exercise in KERNELS:
        (inputs,) = (i for case, i in made(exercise, "rescale") if case.name.startswith("one NaN, short row"))
        rows, n = inputs.arrays["X"].shape
        assert (np.flatnonzero(np.isnan(inputs.arrays["X"][1])) % 4 == 0).all()
        assert n < (inputs.block or 256) and np.isnan(inputs.arrays["X"]).any(axis=1).tolist() == [False, True][:rows]


# answers


def plain_vec4():
    return gather_text(kernel_text("lab3.online_softmax_vec4", "plain"), "online_softmax_vec4").load()


@pytest.mark.parametrize(("rows", "n"), [(2, 1024), (1, 3072)])
def test_predicted_requests_are_what_the_simulator_counts(rows, n):
    X = generator(0, "requests").normal(size=(rows, n)).astype(np.float32)
    Y = np.empty_like(X)
    trace = launch(plain_vec4(), rows, 256, (X, Y))
    assert trace.traffic.load_requests == lab3.PREDICT_REQUESTS.reference(Inputs(scalars={"rows": rows, "n": n}))


def test_predicted_sizes_are_whole_blocks_of_loads():
    for seed in (0, 9):
        for case in lab3.PREDICT_REQUESTS.check("answer").cases:
            assert case.make(seed).scalars["n"] % 1024 == 0
    assert lab3.PREDICT_REQUESTS.check("answer").cases[0].make(0).scalars == {"rows": 8, "n": 4096}


def test_rows_that_spare_the_wrong_kernel_are_recognised():
    n = np.arange(1024)
    assert lab3_answers.breaking(np.full(1024, 3.0)) == "all_equal"
    assert lab3_answers.breaking(np.where(n < 256, 5.0, 0.0)) == "same_maximum_in_every_thread"
    assert lab3_answers.breaking(np.where(n == 1023, 1e-6, 0.0)) == "maxima_too_near"
    assert lab3_answers.breaking(np.where(n == 1023, 20.0, 0.0)) == ""
    assert lab3_answers.breaking(np.zeros(5)) == "all_equal"


def test_adding_d_is_right_only_where_every_thread_has_the_same_maximum():
    breaks = get("lab3.breaking_value").breaks
    wrong = gather_text(breaks.wrong, "online_softmax_tree").load()

    def error(values):
        inputs = one_row(values)
        X, Y = inputs.arrays.values()
        launch(wrong, 1, 256, (X, Y), record=False)
        return compare(Y, lab3.TREE.reference(inputs)["Y"], len(values)).fraction

    column = np.arange(1024)
    assert error(np.where(column < 256, 5.0, -1.0 * (column % 7))) < 1.0
    assert error(np.where(column == 1023, 20.0, 0.0)) > 1.0
