"""The numeric gate: right float32 answers pass with room to spare, wrong ones fail, NaN is no wildcard."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograder.exercises import all_exercises, get, references
from autograder.exercises.gate import TINY, compare, fractions, relative_tolerance

SOFTMAXES = ("lab1.safe_softmax", "lab2.online_softmax_rows", "lab2.online_softmax_tiled")
SEEDS = (0, 1, 20240607)


def battery(exercise_id: str, *checks: str):
    """Every case of the named checks, on two seeds: (name, X, reference)."""
    exercise = get(exercise_id)
    for seed in SEEDS[:2]:
        for check in checks or ("values", "rescale"):
            for case in exercise.check(check).cases:
                inputs = case.make(seed)
                (reference,) = exercise.reference(inputs).values()
                yield case.name, inputs.arrays["X"], reference


def float32_softmax(X: np.ndarray, order: str) -> np.ndarray:
    """Safe softmax in float32, its sum taken in the named order; float32 [rows, n]."""
    with np.errstate(all="ignore"):
        terms = np.exp(X - X.max(axis=1, keepdims=True)).astype(np.float32)
        return (terms / float32_sum(terms, order)[:, None]).astype(np.float32)


def float32_sum(terms: np.ndarray, order: str) -> np.ndarray:
    """The sum of each row in float32: left to right, right to left, one share for each of 256 (or 32)
    threads and then a tree, or largest first. float32 [rows]."""
    if order == "backward":
        terms = terms[:, ::-1]
    elif order == "descending":
        terms = -np.sort(-terms, axis=1)
    if order in ("tree of 256", "tree of 32"):
        width = int(order.split()[-1])
        padded = np.zeros((terms.shape[0], -(-terms.shape[1] // width) * width), dtype=np.float32)
        padded[:, : terms.shape[1]] = terms
        shares = sequential(padded.reshape(terms.shape[0], -1, width).transpose(0, 2, 1))
        while shares.shape[1] > 1:
            half = shares.shape[1] // 2
            shares = shares[:, :half] + shares[:, half:]
        return shares[:, 0]
    return sequential(terms)


def sequential(values: np.ndarray) -> np.ndarray:
    """The sum over the last axis, one float32 addition after the other."""
    return np.add.accumulate(values, axis=-1, dtype=np.float32)[..., -1]


ORDERS = ("forward", "backward", "descending", "tree of 256", "tree of 32")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("exercise_id", SOFTMAXES)
def test_any_float32_order_sits_well_under_the_gate(exercise_id, order):
    for name, X, reference in battery(exercise_id):
        result = compare(float32_softmax(X, order), reference, X.shape[1])
        assert result.passed and result.fraction < 0.5, (name, order, result)


@pytest.mark.parametrize("order", ORDERS)
def test_any_float32_order_of_a_row_sum_sits_well_under_the_gate(order):
    for name, X, reference in battery("lab1.row_sum"):
        with np.errstate(invalid="ignore"):
            result = compare(float32_sum(X, order), reference, X.shape[1])
        assert result.passed and result.fraction < 0.5, (name, order, result)


@pytest.mark.parametrize("exercise_id", SOFTMAXES)
def test_all_zeros_fail_every_case(exercise_id):
    for name, X, reference in battery(exercise_id):
        assert not compare(np.zeros(X.shape, np.float32), reference, X.shape[1]).passed, name


@pytest.mark.parametrize("exercise_id", SOFTMAXES)
def test_an_output_left_as_it_was_fails_every_case(exercise_id):
    for name, X, reference in battery(exercise_id):
        assert not compare(np.full(X.shape, np.nan, np.float32), reference, X.shape[1]).passed, name


@pytest.mark.parametrize("exercise_id", SOFTMAXES)
def test_the_uniform_row_fails_unless_the_row_is_uniform(exercise_id):
    for name, X, reference in battery(exercise_id):
        uniform = np.full(X.shape, 1.0 / X.shape[1], np.float32)
        right = X.shape[1] == 1 or name == "constant row"
        assert compare(uniform, reference, X.shape[1]).passed == right, name


@pytest.mark.parametrize("exercise_id", SOFTMAXES)
def test_a_float16_sum_fails_on_ordinary_rows(exercise_id):
    for name, X, reference in battery(exercise_id, "values"):
        if name.startswith("ordinary") or name == "ragged 1x1000":
            terms = np.exp(X - X.max(axis=1, keepdims=True)).astype(np.float32)
            d = np.add.accumulate(terms.astype(np.float16), axis=1, dtype=np.float16)[:, -1:]
            out = terms / d.astype(np.float32)
            assert compare(out, reference, X.shape[1]).fraction > 3.0, name


def test_a_float16_sum_fails_for_row_sum():
    failed = set()
    for name, X, reference in battery("lab1.row_sum"):
        with np.errstate(all="ignore"):
            half = np.add.accumulate(X.astype(np.float16), axis=1, dtype=np.float16)[:, -1].astype(np.float32)
        if not compare(half, reference, X.shape[1]).passed:
            failed.add(name)
    assert {"ordinary 3x512", "ragged 1x1000", "far below, near -20000", "large, near 1e30"} <= failed


def test_limits_grow_with_the_square_root_of_n():
    assert relative_tolerance(1) == 1e-5
    assert relative_tolerance(400) == 1e-5
    assert relative_tolerance(10_000) == pytest.approx(4 * 2.0**-23 * 100)
    limit = relative_tolerance(1000)
    assert compare(np.array([[1.0]]), np.array([[1.0 + limit * 0.99]]), 1000).passed
    assert not compare(np.array([[1.0]]), np.array([[1.0 + limit * 1.01]]), 1000).passed


def test_nan_must_be_exactly_where_the_reference_has_it():
    ref = np.array([[1.0, math.nan, 2.0]])
    good = compare(np.array([[1.0, math.nan, 2.0]], np.float32), ref, 3)
    assert good.passed and good.fraction == 0.0 and good.failing == 0 and good.first_row == -1
    missing = compare(np.array([[1.0, 5.0, 2.0]], np.float32), ref, 3)
    assert (missing.fraction, missing.row, missing.col, missing.passed) == (math.inf, 0, 1, False)
    extra = compare(np.array([[math.nan, math.nan, 2.0]], np.float32), ref, 3)
    assert (extra.fraction, extra.col, extra.failing) == (math.inf, 0, 1)
    assert math.isnan(extra.found) and extra.expected == 1.0


def test_infinities_must_be_the_references_own():
    ref = np.array([-math.inf, math.inf, 1.0])
    assert compare(np.array([-math.inf, math.inf, 1.0], np.float32), ref, 3).passed
    for wrong in (
        [math.inf, math.inf, 1.0],
        [-math.inf, math.nan, 1.0],
        [-3e38, math.inf, 1.0],
        [-math.inf, math.inf, math.inf],
    ):
        assert compare(np.array(wrong, np.float32), ref, 3).fraction == math.inf


def test_subnormal_outputs_may_be_flushed_to_zero():
    ref = np.array([[TINY / 2, 1.0]])
    assert compare(np.array([[0.0, 1.0]], np.float32), ref, 2).passed
    assert not compare(np.array([[0.0, 1.0]], np.float32), np.array([[4 * TINY, 1.0]]), 2).passed


def test_the_worst_element_and_the_first_one_are_named():
    ref = np.ones((3, 4))
    out = np.ones((3, 4), np.float32)
    out[1, 2], out[2, 3] = 1.1, 3.0
    result = compare(out, ref, 4)
    assert (result.row, result.col, result.found, result.expected) == (2, 3, 3.0, 1.0)
    assert (result.first_row, result.first_col, result.failing, result.size) == (1, 2, 2, 12)
    assert result.fraction == pytest.approx(2.0 / (1e-5 + TINY))
    column = compare(np.array([1.0, 2.0], np.float32), np.array([1.0, 1.0]), 4)
    assert (column.row, column.col) == (1, 0)


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="shape"):
        compare(np.zeros((2, 3)), np.zeros((3, 2)), 3)
    with pytest.raises(ValueError, match="shape"):
        fractions(np.zeros(3), np.zeros((3, 1)), 3)
    assert compare(np.zeros((0, 3), np.float32), np.zeros((0, 3)), 3).passed


def test_references_on_rows_worked_by_hand():
    row = np.array([[3.0, 1.0, 4.0, 2.0]], np.float32)
    weights = [math.exp(v - 4.0) for v in (3, 1, 4, 2)]
    assert references.softmax(row)[0] == pytest.approx([w / sum(weights) for w in weights])
    assert references.row_max(row) == [4.0]
    assert references.row_sum(row) == [10.0]
    empty = np.array([[-math.inf, 0.0, 0.0]], np.float32)
    assert references.softmax(empty).tolist() == [[0.0, 0.5, 0.5]]
    assert np.isnan(references.softmax(np.array([[1.0, math.nan]], np.float32))).all()
    assert np.isnan(references.softmax(np.full((1, 3), -math.inf, np.float32))).all()
    assert references.row_max(np.full((1, 3), -math.inf, np.float32)).tolist() == [-math.inf]
    assert references.three_pass_bytes(8, 4096) == 16 * 8 * 4096
    assert references.rows_kernel_load_sectors(64, 1024) == 2 * 64 * 1024


def test_references_are_float64():
    for exercise in all_exercises():
        if exercise.kind != "kernel":
            continue
        inputs = exercise.check("values").cases[0].make(0)
        for name, array in exercise.reference(inputs).items():
            assert array.dtype == np.float64 and array.shape == inputs.arrays[name].shape


def test_a_magnitude_replaces_the_reference_in_the_limit():
    out, ref = np.array([1e-6, 1.0], np.float32), np.array([0.0, 1.0])
    assert compare(out, ref, 100).fraction > 1
    assert fractions(out, ref, 100, magnitude=np.array([1.0, 1.0]))[0] == pytest.approx(1e-6 / 1e-5, rel=1e-3)
    assert compare(out, ref, 100, magnitude=np.ones(2)).passed
    assert compare(np.array([np.nan]), np.array([0.0]), 4, magnitude=np.ones(1)).fraction == math.inf


def test_a_tolerance_may_be_given():
    out, ref = np.array([1.05], np.float32), np.array([1.0])
    assert not compare(out, ref, 4).passed and compare(out, ref, 4, rtol=0.1).passed


@pytest.mark.parametrize("noise", [0.0, 1e-12, -1e-12])
def test_of_elements_that_are_as_wrong_the_first_is_named_whatever_the_last_bit(noise):
    ref = np.array([[0.5, 0.25, 0.125, 0.125]])
    ref[0, 2] *= 1 + noise  # as another machine's exp may give it
    result = compare(np.zeros((1, 4), dtype=np.float32), ref, 4)
    assert (result.row, result.col, result.passed) == (0, 0, False)
    assert result.fraction == fractions(np.zeros((1, 4), dtype=np.float32), ref, 4).max()
