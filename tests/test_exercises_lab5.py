"""Lab 5: scores that are exact, cases that decide, a gate that right kernels pass and wrong ones do not."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from autograder.exercises import attention_battery as battery
from autograder.exercises import attention_families as families
from autograder.exercises import attention_reference as references
from autograder.exercises import gate, get

ATTENTION = get("lab5.online_attention")
CASES = [(check.name, case) for check in ATTENTION.checks for case in check.cases]
IDS = [f"{check}.{case.name}" for check, case in CASES]
NUMBERS = [(check, case) for check, case in CASES if check in ("values", "rescale")]
SEEDS = (0, 12345)


def case_named(name: str):
    return next(case for check, case in NUMBERS if case.name == name)


def parts(inputs):
    arrays = inputs.arrays
    return arrays["Q"], arrays["K"], arrays["V"], inputs.scalars["scale"]


def fraction(inputs, out: np.ndarray) -> float:
    """The worst gate fraction of an output, float32 [n_q, 64], as the judge takes it."""
    reference = ATTENTION.reference(inputs)["O"]
    return gate.compare(out, reference, ATTENTION.reduces(inputs), ATTENTION.magnitude(inputs)["O"]).fraction


# The exercises -------------------------------------------------------------------------------------------


def test_ids_and_points():
    exercises = ("lab5.naive_bytes", "lab5.online_bytes", "lab5.online_attention", "lab5.breaking_value")
    points = [{check.name: check.points for check in get(one).checks} for one in exercises]
    assert points == [
        {"answer": 1},
        {"answer": 1},
        {"values": 3, "rescale": 4, "traffic": 2, "safety": 2},
        {"answer": 1},
    ]
    assert {get(one).lab for one in exercises} == {"lab5_online_attention"}


def test_the_byte_formulas():
    assert references.naive_bytes(4096, 64) == 20 * 4096**2 + 16 * 4096 * 64
    assert references.naive_bytes(4096, 64) - 16 * 4096 * 64 == 320 * 2**20
    assert references.online_bytes(4096, 64, 4096) == 4 * 2**20
    assert references.naive_bytes(4096, 64) / references.online_bytes(4096, 64, 4096) == 81.0
    for n, d, tile in ((5, 8, 16), (33, 64, 16), (64, 64, 16)):
        blocks = len(range(0, n, tile))
        assert references.online_bytes(n, d, tile) == 4 * (n * d + blocks * 2 * n * d + n * d)


def test_the_sizes_asked_for_tell_every_wrong_formula():
    for exercise in (get("lab5.naive_bytes"), get("lab5.online_bytes")):
        for seed in SEEDS:
            asked = [case.make(seed).scalars for case in exercise.check("answer").cases]
            assert len({tuple(one.values()) for one in asked}) == len(asked)
            assert all(tuple(one) == exercise.parameters for one in asked)
    tiles = [case.make(0).scalars for case in get("lab5.online_bytes").check("answer").cases]
    assert any(one["n"] % one["query_tile"] for one in tiles)
    assert any(one["n"] < one["query_tile"] for one in tiles)


def test_the_contract():
    rng = np.random.default_rng(0)
    inputs = battery.launch_inputs(families.easy(rng, 33, 5), families.values(rng, 5))
    assert ATTENTION.launch(inputs) == ((3,), (128,))
    budget = ATTENTION.allowed(inputs)
    assert budget.loads == {"Q": 1, "K": 3, "V": 3} and budget.stores == {"O": 1} and budget.coalesced
    assert (*inputs.arrays, *inputs.scalars) == ATTENTION.parameters
    assert ATTENTION.reduces(inputs) == 5
    assert ATTENTION.values_of(inputs, 2).shape == (5,)


# The cases -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("check", "case"), CASES, ids=IDS)
def test_inputs_are_well_formed_repeatable_and_fresh(check, case):
    one, again, other = case.make(0), case.make(0), case.make(987654321)
    n_q, n_k = one.arrays["Q"].shape[0], one.arrays["K"].shape[0]
    assert [array.shape for array in one.arrays.values()] == [(n_q, 64), (n_k, 64), (n_k, 64), (n_q, 64)]
    for name, array in one.arrays.items():
        assert array.dtype == np.float32 and array.flags.c_contiguous and array.flags.writeable
        assert np.array_equal(array, again.arrays[name], equal_nan=True) and array is not again.arrays[name]
    assert isinstance(one.scalars["scale"], np.float32)
    assert not np.array_equal(one.arrays["K"], other.arrays["K"], equal_nan=True)
    assert np.isnan(one.arrays["O"]).all() and np.isfinite(one.arrays["V"]).all()


@pytest.mark.parametrize(("check", "case"), CASES, ids=IDS)
@pytest.mark.parametrize("seed", (*SEEDS, 7))
def test_scores_are_exact_in_float32_in_any_order(check, case, seed):
    Q, K, _, scale = parts(case.make(seed))
    exact = references.scores(Q, K, scale)
    finite = np.isfinite(exact)
    rng = np.random.default_rng(seed)
    for order in (np.arange(64), np.arange(64)[::-1], rng.permutation(64)):
        for q, k, factor in ((Q, K, scale), (Q * scale, K, np.float32(1)), (Q, K * scale, np.float32(1))):
            total = np.zeros(exact.shape, dtype=np.float32)
            with np.errstate(invalid="ignore"):
                for i in order:
                    total += q[:, i, None] * k[None, :, i]
                total *= factor
            assert (total == exact)[finite].all()
            assert (np.isnan(total) == np.isnan(exact)).all() and (np.isneginf(total) == np.isneginf(exact)).all()


@pytest.mark.parametrize(("check", "case"), CASES, ids=IDS)
def test_every_query_has_an_answer(check, case):
    for seed in SEEDS:
        S = references.scores(*[parts(case.make(seed))[i] for i in (0, 1, 3)])
        assert not np.isposinf(S).any() and not np.isneginf(S).all(axis=1).any()
        assert case.name == "one NaN" or not np.isnan(S).any()


def test_sizes_stay_where_the_boundaries_are():
    shapes = {case.name: tuple(case.make(1).arrays[name].shape[0] for name in "QK") for _, case in CASES}
    values = [shapes[case.name] for check, case in CASES if check == "values"]
    assert {n_q for n_q, _ in values} >= {1, 5, 16, 17}
    assert {n_k for _, n_k in values} >= {1, 5, 31, 32, 33, 70}
    assert all(n_q != n_k for n_q, n_k in shapes.values())
    assert sum(-(-n_q // 16) * -(-n_k // 32) for n_q, n_k in shapes.values()) <= 36, "simulating is slow"


@pytest.mark.parametrize("seed", range(20))
def test_what_decides_is_not_left_to_chance(seed):
    def scores(made):
        return references.scores(made.Q, made.K, made.scale)

    rng = np.random.default_rng(seed)
    S = scores(families.ordinary(rng, 6, 70))
    assert [int(j) // 32 for j in S.argmax(axis=1)] == [2, 0, 2, 0, 2, 0] and S[0].argmax() >= 67
    for by in (20.0, 200.0):
        S = scores(families.loud(rng, 2, 37, by=by))
        assert (S.argmax(axis=1) == 34).all() and (np.sort(S)[:, -1] - np.sort(S)[:, -2] >= by - 3).all()
    S = scores(families.loud(rng, 2, 67, by=200.0, places=("first", "middle")))
    assert [int(j) // 32 for j in S.argmax(axis=1)] == [0, 1] and (S.max(axis=1) > 195).all()
    S = scores(families.ramp(rng, 2, 37))
    assert (np.diff(np.maximum.accumulate(S, axis=1)) > 0).mean() > 0.7
    assert (S[:, 32:].max(axis=1) > S[:, :32].max(axis=1)).all()
    assert (scores(families.near(rng, 2, 20, level=-200.0)) < -190).all()
    S = scores(families.far_below(rng, 2, 20))
    assert (S <= -2e4).all() and ((S == S.max(axis=1, keepdims=True)).sum(axis=1) == 10).all()
    S = scores(families.masked(rng, 2, 37))
    assert np.isneginf(S[:, :32]).all() and np.isfinite(S[:, 32:]).all()
    S = scores(families.masked(rng, 2, 20, lane=True))
    assert 2 <= np.isneginf(S[0]).sum() <= 3 and np.isfinite(S).any(axis=1).all()
    S = scores(families.constant(rng, 2, 20))
    assert (S == S[:, :1]).all()
    S = scores(families.one_nan(rng, 3, 20))
    assert np.isnan(S).all(axis=1).tolist() == [False, True, False]
    S = scores(families.easy(rng, 4, 70))
    assert (S.argmax(axis=1) == 0).all() and (S[:, 1:8].min(axis=1) > S[:, 8:32].max(axis=1)).all()
    assert (S[:, 8:32].min(axis=1) > S[:, 32:].max(axis=1)).all()


# The gate ------------------------------------------------------------------------------------------------


def by_tiles(Q, K, V, scale, tile=32, first_form=False, base2=False, order=1):
    """Online attention in float32 NumPy, ``tile`` keys at a time, taken from the front or the back."""
    q, k, v = Q, K[::order], V[::order]
    log2e = np.float32(1 / math.log(2))
    power = (lambda x: np.exp2(x * log2e)) if base2 else np.exp
    m = np.full((len(Q), 1), -np.inf, np.float32)
    d, O = np.zeros((len(Q), 1), np.float32), np.zeros(Q.shape, np.float32)
    with np.errstate(all="ignore"):
        for start in range(0, len(K), tile):
            s = (q @ k[start : start + tile].T).astype(np.float32) * scale
            m_new = np.maximum(m, np.fmax.reduce(s, axis=1, keepdims=True, initial=-np.inf))
            p = np.where(np.isneginf(m_new) & ~np.isnan(s), np.float32(0), power(s - m_new))
            factor = np.where(np.isneginf(m_new), np.float32(1), power(m - m_new))
            d_new = d * factor + p.sum(axis=1, keepdims=True)
            if first_form:
                kept = O * (d * factor)
                O = (kept + p @ v[start : start + tile]) / np.where(d_new == 0, np.float32(1), d_new)
            else:
                O = O * factor + p @ v[start : start + tile]
            m, d = m_new, d_new
        return O if first_form else O / d


STYLES = (
    {},
    {"tile": 1},
    {"tile": 8, "order": -1},
    {"tile": 1000},
    {"first_form": True},
    {"first_form": True, "tile": 4},
    {"base2": True},
    {"base2": True, "tile": 1},
)


@pytest.mark.parametrize(("check", "case"), NUMBERS, ids=[f"{check}.{case.name}" for check, case in NUMBERS])
def test_right_arithmetic_sits_well_under_the_gate(check, case):
    for seed in range(4):
        inputs = case.make(seed)
        for style in STYLES:
            assert fraction(inputs, by_tiles(*parts(inputs), **style)) < 0.5, style


@pytest.mark.parametrize(("check", "case"), NUMBERS, ids=[f"{check}.{case.name}" for check, case in NUMBERS])
def test_what_is_wrong_everywhere_fails_everywhere(check, case):
    inputs = case.make(3)
    right = ATTENTION.reference(inputs)["O"].astype(np.float32)
    assert fraction(inputs, np.zeros_like(right)) > 1
    if case.name not in ("constant scores", "ragged 5x1"):  # where the mean of V is the answer, or a query like another
        V = inputs.arrays["V"].astype(np.float32)
        assert fraction(inputs, np.repeat(V.mean(axis=0, keepdims=True), len(right), axis=0)) > 1
        if len(right) > 1 and case.name not in ("loud +20, key n-3", "loud +200, key n-3", "far below, near -20000"):
            assert fraction(inputs, np.roll(right, 1, axis=0)) > 1
    if case.name != "one NaN":
        assert fraction(inputs, right.astype(np.float16).astype(np.float32)) > 1


# The kernels ---------------------------------------------------------------------------------------------


@cache
def program(name: str):
    from autograder.judge import launches
    from autograder.source import gather_text

    (text,) = (one.text for one in (*ATTENTION.bugs, *ATTENTION.variants) if one.id == name)
    return launches.load(gather_text(text, ATTENTION.name, origin=name), ATTENTION)


def passes(name: str, case, seed: int = 0) -> bool:
    from autograder.judge import launches, outputs

    run = launches.launch(program(name), case.make(seed), step_limit=launches.STEP_LIMIT, record=False)
    return outputs.assess(program(name), run).passed


@pytest.mark.parametrize("name", [variant.id for variant in ATTENTION.variants])
def test_a_right_variant_is_right_on_another_seed(name):
    wrong = [case.name for _, case in NUMBERS if not passes(name, case, seed=12345)]
    assert not wrong


# Why the battery is as large as it is: (bug, a case that it passes, a case that fails it).
REASONS = [
    ("o_not_rescaled", "ordinary 16x32", "loud +20, key n-3"),
    ("d_not_rescaled", "quiet, near -200", "loud +200, key n-3"),
    ("no_maximum", "loud +20, key n-3", "loud +200, key n-3"),
    ("no_maximum", "ordinary 2x64", "quiet, near -200"),
    ("starts_at_zero", "loud +20, key n-3", "full tile near -150"),
    ("finite_stand_in", "quiet, near -200", "far below, near -20000"),
    ("first_tile_maximum", "loud +20, key n-3", "loud +200, key n-3"),
    ("tile_maximum_as_weight", "loud +20, key n-3", "loud +200, first and middle tile"),
    ("one_maximum_for_the_block", "loud +200, first and middle tile", "far below, near -20000"),
    ("inf_minus_inf", "every 8th key masked", "first tile masked"),
    ("nan_hidden", "first tile masked", "one NaN"),
    ("scale_hard_coded", "ordinary 16x32", "ordinary 2x64"),
    ("padding_scores_zero", "full tile near -150", "quiet, near -200"),
    ("full_last_tile_lost", "ragged 1x33", "ordinary 16x32"),
    ("queries_of_block_0", "ordinary 16x32", "ragged 17x5"),
    ("mask_of_the_tile", "ragged 3x31", "ragged 1x33"),
]


@pytest.mark.parametrize(("name", "lives", "dies"), REASONS)
def test_why_the_battery_needs_its_cases(name, lives, dies):
    assert passes(name, case_named(lives))
    assert not passes(name, case_named(dies))


def test_a_tile_of_padding_bugs_starts_from_a_right_kernel():
    from autograder.exercises.bugs import online_attention_tiles
    from autograder.judge import launches, outputs
    from autograder.source import gather_text

    padded = launches.load(gather_text(online_attention_tiles.PADDED, ATTENTION.name, origin="padded"), ATTENTION)
    for name in ("ragged 1x33", "ragged 3x31", "quiet, near -200", "first tile masked"):
        run = launches.launch(padded, case_named(name).make(0), step_limit=launches.STEP_LIMIT, record=False)
        assert outputs.assess(padded, run).passed, name


# Break it ------------------------------------------------------------------------------------------------


def test_the_input_to_break_is_the_scores():
    scores = np.linspace(-30.3, 41.7, 45)
    inputs = battery.breaking_inputs(scores)
    Q, K, V, scale = parts(inputs)
    assert (references.scores(Q, K, scale)[0] == scores.astype(np.float32)).all()
    assert (V[:40] == battery.breaking_inputs(scores[:40]).arrays["V"]).all()


def judged(text: str):
    from autograder.judge import judge
    from autograder.source import gather_text

    source = gather_text(f"def breaking_value(i, n):\n    return {text}\n", "breaking_value", kind="host")
    (check,) = judge(source, "lab5.breaking_value").checks
    return check


LATE = ("20 if i == n - 3 else 0", "0.1 * i", "-100.0 + 2 * (i // 32)", "200 if i > 35 else -i")


@pytest.mark.parametrize("text", LATE)
def test_scores_whose_maximum_moves_late_expose_the_wrong_kernel(text):
    check = judged(text)
    assert check.passed and check.points == 1


@pytest.mark.parametrize(("text", "bug"), [
    ("5", "all_equal"), ("-i", "loud_first"), ("9 if i == 7 else 0", "moves_in_first_tile"),
    ("0.0000001 * i", "too_quiet"), ("20 if i == 45 else 0", None), ("20000 if i == n - 1 else 0", None),
])  # fmt: skip
def test_scores_that_expose_nothing_earn_nothing(text, bug):
    check = judged(text)
    assert not check.passed and check.points == 0
    assert (check.bug or {}).get("id") == bug
