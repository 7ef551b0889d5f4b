"""What wrong outputs have in common: distortions of right ones, each told as what it is, and nothing more."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from naming import pattern_in

from autograder.exercises import get
from autograder.judge import judge, outputs
from autograder.judge.launches import Launched, Program
from autograder.judge.lines import Lines
from autograder.judge.pattern import pattern
from autograder.judge.subsets import parts
from autograder.source import gather_script, gather_text

TILED, WIDE, ATTENTION = "lab2.online_softmax_tiled", "lab3.online_softmax_vec4", "lab5.online_attention"


def case(exercise_id, name=None, check="values"):
    """An exercise and the inputs of one of its cases: the first, unless named."""
    exercise = get(exercise_id)
    cases = exercise.check(check).cases
    return exercise, next(one for one in cases if name in (None, one.name)).make(0)


def told(exercise, inputs, found):
    """The sentence about an output ``found``, and whether it tells the reason."""
    source = gather_text(exercise.variants[0].text, exercise.name)
    program = Program(None, exercise, exercise.parameters, Lines(source, ""), None)
    (name,) = exercise.outputs
    arrays = {**inputs.arrays, name: np.asarray(found, dtype=np.float32)}
    launched = Launched(inputs, arrays, trace=object())
    outcome = outputs.assess(program, Launched(inputs, arrays, trace=None))
    seen = pattern(program, launched, outcome)
    if seen is not None:  # benchmarks/naming.py knows each sentence by its beginning
        assert pattern_in([f"{outcome.message} {seen.sentence}"]) == seen.sentence
    return (seen.sentence, seen.telling) if seen is not None else ("", False)


def softmax(inputs, weights=1.0):
    """Softmax of each row with a sum in which each column counts ``weights`` times."""
    X = inputs.arrays["X"].astype(np.float64)
    terms = np.exp(X - X.max(axis=1, keepdims=True))
    return terms / (terms * weights).sum(axis=1, keepdims=True)


COLUMN = np.arange(512)
COUNTED = {
    "columns 0 to 255 only": COLUMN < 256,
    "all columns but the last": COLUMN < 511,
    "all columns but the first": COLUMN > 0,
    "what threads 0 to 127 read only": COLUMN % 256 < 128,
    "what every 2nd thread read only": COLUMN % 2 == 0,
    "all but what warp 3 read": COLUMN % 256 // 32 != 3,
}


@pytest.mark.parametrize("words", COUNTED)
def test_a_sum_over_a_part_is_told_with_the_part(words):
    exercise, inputs = case(TILED)
    sentence, telling = told(exercise, inputs, softmax(inputs, COUNTED[words]))
    assert "the terms are in proportion" in sentence and f"counts {words}" in sentence and telling


def test_one_of_four_twice_and_another_never():
    exercise, inputs = case(WIDE)
    sentence, _ = told(exercise, inputs, softmax(inputs, np.array([1, 1, 2, 0])[COLUMN % 4]))
    assert "number 2 (from 0) of each group of four twice and number 3 never" in sentence


def test_terms_where_the_maximum_moves():
    exercise, inputs = case("lab2.online_softmax_rows")
    X = inputs.arrays["X"]
    before = np.concatenate([np.full((len(X), 1), -np.inf), np.maximum.accumulate(X, axis=1)[:, :-1]], axis=1)
    sentence, _ = told(exercise, inputs, softmax(inputs, ~((X > before) & (before > -np.inf))))
    assert "all columns but those at which the running maximum moves" in sentence


def test_values_that_are_not_there():
    exercise, inputs = case(TILED)
    X = inputs.arrays["X"].astype(np.float64)
    zeros = np.exp(X) / (np.exp(X).sum(axis=1, keepdims=True) + 40)
    assert "in which 40 more values of 0 stand" in told(exercise, inputs, zeros)[0]
    top = X.max(axis=1, keepdims=True)
    same = np.exp(X - top) / (np.exp(X - top).sum(axis=1, keepdims=True) + 1)
    assert "in which 1 more value of m stands" in told(exercise, inputs, same)[0]


def test_factors():
    exercise, inputs = case(TILED)
    right = softmax(inputs)
    sentence, telling = told(exercise, inputs, right / 8)
    assert sentence.startswith("Every element of every wrong row is 1/8 of what it should be") and telling
    assert "divided by is 8 times the right d" in sentence
    uneven, telling = told(exercise, inputs, right * np.array([[1.37], [0.61], [1.19]]))
    assert uneven.startswith("In each wrong row all elements are off by one factor: in row 0 each is 1.37 times")
    assert "counts" not in uneven and not telling
    one = right.copy()
    one[1] *= 1.37
    assert told(exercise, inputs, one)[0].startswith("Every element of row 1 is 1.37 times")
    top = inputs.arrays["X"].max(axis=1, keepdims=True).astype(np.float64)
    assert "the maximum is subtracted in one of the two" in told(exercise, inputs, right * np.exp(top))[0]


def test_a_whole_multiple_of_d_is_not_called_more_terms():
    """With one loud key d is 1, and seven more of it are no other than eight times d."""
    exercise, inputs = case(ATTENTION, "loud +20, key n-3", "rescale")
    sentence, _ = told(exercise, inputs, exercise.reference(inputs)["O"] / 8)
    assert "8 times the right d" in sentence and "more value" not in sentence


def test_one_number_is_no_proportion():
    exercise, inputs = case("lab4.softmax_row_cache", "ragged 1x1")
    assert told(exercise, inputs, softmax(inputs) * 4.995) == ("", False)


GROUPS = {
    "threads 1 apart, or nearer, do not end with the same state (m, d)": COLUMN % 2,
    "threads 4 apart, or nearer, do not end with the same state (m, d)": COLUMN % 8,
    "groups of 128 threads do not end with the same state (m, d)": COLUMN % 256 // 128,
    "groups of 32 threads do not end with the same state (m, d)": COLUMN % 256 // 32,
    "what the block found is not shared": COLUMN % 256 * 37 % 101,
    "an earlier tile was not corrected": COLUMN // 256,
}


@pytest.mark.parametrize("words", GROUPS)
def test_a_factor_of_its_own_for_each_group(words):
    exercise, inputs = case(TILED)
    sentence, _ = told(exercise, inputs, softmax(inputs) * (1 + 0.25 * GROUPS[words]))
    assert words in sentence and "in row 0 between" in sentence


def test_values_in_wrong_places():
    exercise, inputs = case(TILED)
    right = softmax(inputs)
    assert "stand 1 column too far right" in told(exercise, inputs, np.roll(right, 1, axis=1))[0]
    assert "stand 32 columns too far left" in told(exercise, inputs, np.roll(right, -32, axis=1))[0]
    assert "holds what belongs in the row before it" in told(exercise, inputs, np.roll(right, 1, axis=0))[0]
    swapped = right.reshape(3, -1, 4)[:, :, [0, 2, 1, 3]].reshape(3, 512)
    assert "what stands there are numbers 0, 2, 1, 3 where" in told(exercise, inputs, swapped)[0]


def test_some_places_only():
    exercise, inputs = case(TILED)
    noise = 1 + np.random.default_rng(5).uniform(0.1, 0.9, (3, 512))
    fours = np.where(COLUMN % 4 == 3, noise, 1)
    assert (
        "Wrong are numbers 3 (from 0) of each group of four columns"
        in told(exercise, inputs, softmax(inputs) * fours)[0]
    )
    end = np.where(COLUMN >= 500, noise, 1)
    assert (
        "Wrong are columns 500 to 511; the rest of the row is right" in told(exercise, inputs, softmax(inputs) * end)[0]
    )


def test_places_where_nothing_could_be_wrong_are_not_called_right():
    """On a rising ramp most outputs vanish, whatever they are divided by."""
    exercise, inputs = case(TILED, "rising ramp", "rescale")
    right = softmax(inputs)
    vanishing = right < 1e-36
    assert 400 < vanishing.sum() < right.size - 50
    noise = np.random.default_rng(6).uniform(1.5, 2, right.shape)
    assert "Wrong are" not in told(exercise, inputs, right * noise)[0]
    last = right.shape[1] - 9
    noise[:, :last] = 1
    assert f"Wrong are columns {last} to" in told(exercise, inputs, right * noise)[0]


@pytest.mark.parametrize("exercise_id", ["lab1.row_sum", "lab1.row_max"])
def test_a_reduction_of_a_part(exercise_id):
    exercise, inputs = case(exercise_id)
    X = inputs.arrays["X"]
    reduce = np.max if exercise_id.endswith("max") else np.sum
    odd = reduce(X[:, np.arange(X.shape[1]) % 128 % 2 == 0], axis=1)
    assert "what every 2nd thread read only" in told(exercise, inputs, odd)[0]
    assert told(exercise, inputs, odd * 1.01)[0] == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [("writes_own_maximum", "is the result of what thread 0 read only"), ("tree_runs_upwards", "")],
)
def test_a_part_that_has_the_same_maximum_is_no_evidence_alone(name, words):
    """Threads 0, 1, 2, 4, ... 64 are no part that has a name, but in single cases some parts have their maximum."""
    path = Path(__file__).resolve().parents[1] / "benchmarks" / "unseen" / f"lab1_row_max__{name}.py"
    exercise = get("lab1.row_max")
    source = gather_script(path, exercise.name, kind=exercise.source_kind)
    for seed in (0, 20_261):
        (check,) = judge(source, "lab1.row_max.rescale", seed).checks
        said = [case.message for case in check.cases if "What it holds" in case.message]
        assert not check.passed and len(said) == bool(words) and all(words in message for message in said)


def test_a_reduction_of_something_else():
    exercise, inputs = case("lab1.row_max", "quiet, near -200", "rescale")
    X = inputs.arrays["X"]
    assert "for the absolute values of the row." in told(exercise, inputs, np.abs(X).max(axis=1))[0]
    assert "is the smallest value of the row in place of the largest." in told(exercise, inputs, X.min(axis=1))[0]


def test_attention_over_some_of_the_keys():
    exercise, inputs = case(ATTENTION, "ordinary 2x64")
    few = exercise.kept(inputs, np.arange(64) < 32)
    sentence, _ = told(exercise, inputs, exercise.reference(few)["O"])
    assert sentence == "What it holds is the result of keys 0 to 31 only."
    right = exercise.reference(inputs)["O"]
    assert told(exercise, inputs, right / 8)[0].startswith("Every element of every wrong query is 1/8 of")


def test_nothing_is_said_where_nothing_holds():
    rng = np.random.default_rng(3)
    for exercise_id in (TILED, WIDE, "lab1.row_sum", "lab1.row_max", ATTENTION):
        exercise, inputs = case(exercise_id)
        right = exercise.reference(inputs)[exercise.outputs[0]]
        for _ in range(3):
            assert told(exercise, inputs, right * (1 + rng.uniform(0.1, 0.9, right.shape))) == ("", False)
        assert told(exercise, inputs, np.full(right.shape, np.nan)) == ("", False)
        assert told(exercise, inputs, np.zeros(right.shape)) == ("", False)
        assert told(exercise, inputs, right) == ("", False)


def test_chance_is_not_taken_for_a_reason():
    """Factors at random: no part of the row is made responsible for one."""
    exercise, inputs = case(TILED)
    rng = np.random.default_rng(11)
    said = [told(exercise, inputs, softmax(inputs) * rng.uniform(0.2, 5, (3, 1)))[0] for _ in range(60)]
    assert all("off by one factor" in sentence and "That is" not in sentence for sentence in said)


def test_guesses_are_different_and_within_the_row():
    values = np.random.default_rng(1).normal(size=700)
    for threads, vector in ((1, False), (128, False), (256, True)):
        seen = [part for part in parts(values, threads, "column", vector)]
        assert len({part.words for part in seen}) == len(seen)
        for part in seen:
            assert part.weights.shape == values.shape and 0 < part.columns.sum()
            assert not (part.weights == 1).all()


def test_an_exercise_that_is_no_kernel_is_left_alone():
    exercise, inputs = case(TILED)
    other = replace(exercise, kind="device")
    source = gather_text(exercise.variants[0].text, exercise.name)
    program = Program(None, other, exercise.parameters, Lines(source, ""), None)
    launched = Launched(inputs, {**inputs.arrays, "Y": np.zeros((3, 512), np.float32)}, trace=object())
    assert pattern(program, launched, outputs.Outcome(False, 1.0, "", wrong={"Y": np.ones((3, 512), bool)})) is None
