"""The kill matrix: every named bug fails exactly its checks, and every right variant passes them all."""

from __future__ import annotations

import pytest
from kill_matrix import asked, failing_cases, failing_groups, reports, whole

from autograder.exercises import all_exercises, get

BUGS = [(exercise.id, bug.id) for exercise in all_exercises() for bug in exercise.bugs]
VARIANTS = [(exercise.id, variant.id) for exercise in all_exercises() for variant in exercise.variants]
SOFTMAXES = ("lab1.safe_softmax", "lab2.online_softmax_rows", "lab2.online_softmax_tiled")
ROWS, TILED = SOFTMAXES[1:]


@pytest.mark.parametrize(("exercise_id", "name"), VARIANTS, ids=[".".join(one) for one in VARIANTS])
def test_a_right_variant_passes_every_check(exercise_id, name):
    report = reports(exercise_id)[name]
    assert report.error is None
    assert [check.message for check in report.checks if not check.passed] == []
    assert report.passed and report.points == report.max_points


@pytest.mark.parametrize(("exercise_id", "name"), BUGS, ids=[".".join(one) for one in BUGS])
def test_a_named_bug_fails_exactly_its_checks_and_is_named(exercise_id, name):
    (bug,) = (bug for bug in get(exercise_id).bugs if bug.id == name)
    report = reports(exercise_id)[name]
    assert report.error is None
    failed = {check.id.rsplit(".", 1)[1]: check for check in report.checks if not check.passed}
    assert set(failed) == asked(exercise_id, bug), {id: check.message for id, check in failed.items()}
    assert report.points < report.max_points
    for id, check in failed.items():
        assert check.message, id
        assert name in [one["id"] for one in check.bugs], (id, check.bugs)


def test_the_first_bug_named_is_nearly_always_the_one_that_is_there():
    first, total = 0, 0
    for exercise_id, name in BUGS:
        for check in reports(exercise_id)[name].checks:
            if not check.passed:
                total += 1
                first += check.bug is not None and check.bug["id"] == name
    assert first >= 0.95 * total, f"{first} of {total}"


# Why the battery is as large as it is: (exercise, bug, cases that it passes, cases that fail it).
REASONS = [
    # +20 alone lets "no maximum at all" live: exp(20) is an ordinary number.
    *(
        (exercise_id, "no_maximum", {"loud +20, last tile"}, {"loud +200, last tile", "quiet, near -200"})
        for exercise_id in SOFTMAXES
    ),
    # A loud value in the first tile lets "never rescale" live, one in the last tile does not.
    (TILED, "d_not_rescaled", {"loud +200, first tile"}, {"loud +20, last tile", "loud +200, last tile"}),
    # A loud value in the last tile lets "the tile's own maximum as weight" live: there it is the maximum.
    (TILED, "tile_maximum_as_weight", {"loud +20, last tile"}, {"loud +200, first tile"}),
    # Softmax does not change with what is subtracted, until exp overflows.
    (TILED, "first_tile_maximum", {"loud +20, last tile"}, {"loud +200, last tile", "rising ramp"}),
    (ROWS, "first_element_maximum", {"loud +20, last tile"}, {"loud +200, last tile"}),
    # A padding of 0 shows only where the row is ragged and all below 0.
    (TILED, "zero_padding_in_maximum", {"full tiles near -150"}, {"short row near -120", "quiet, near -200"}),
    ("lab1.row_max", "zero_padding", {"full tiles near -150"}, {"short row near -120"}),
    (TILED, "starts_at_zero", {"loud +20, last tile"}, {"full tiles near -150", "short row near -120"}),
    # Only full last tiles show a width taken as n % 256.
    (TILED, "full_last_tile_lost", {"loud +20, last tile", "one NaN"}, {"ordinary 3x512"}),
    # An unguarded tile update needs an empty tile, an unguarded merge needs only an empty thread.
    (TILED, "inf_minus_inf", {"every 32nd lane empty", "ragged 1x5"}, {"first tiles empty"}),
    (
        TILED,
        "inf_minus_inf_in_merge",
        {"ragged 2x257", "constant row"},
        {"ragged 1x5", "short row near -120"},
    ),
]


@pytest.mark.parametrize(
    ("exercise_id", "name", "lives", "dies"), REASONS, ids=[f"{exercise}.{name}" for exercise, name, _, _ in REASONS]
)
def test_why_the_battery_needs_its_families(exercise_id, name, lives, dies):
    failing = failing_cases(reports(exercise_id)[name], "values", "rescale")
    assert not lives & failing
    assert dies <= failing


# A family whose loss would let a named bug pass: (family, exercise, bug).
ALONE = [
    *(("far below, near -20000", exercise_id, "finite_stand_in") for exercise_id in SOFTMAXES),
    *(("one NaN", exercise_id, "nan_swallowed") for exercise_id in SOFTMAXES),
    ("ragged 131x3", ROWS, "row_of_block_0"),
    *(("ragged 1x12301", exercise_id, "row_kept_in_fixed_buffer") for exercise_id in (SOFTMAXES[0], TILED)),
]


@pytest.mark.parametrize(("family", "exercise_id", "name"), ALONE, ids=lambda value: str(value)[:40])
def test_one_family_alone_kills_this_bug(family, exercise_id, name):
    assert failing_cases(reports(exercise_id)[name], "values", "rescale") == {family}


def test_no_group_of_the_loud_battery_can_be_left_out():
    alone: dict[str, set[str]] = {}
    for exercise_id in SOFTMAXES:
        for bug in get(exercise_id).bugs:
            if bug.checks == {"rescale"}:
                groups = failing_groups(reports(exercise_id)[bug.id], "rescale")
                if len(groups) == 1:
                    alone.setdefault(*groups, set()).add(f"{exercise_id}.{bug.id}")
    assert set(alone) == {"loud", "quiet", "empty", "edge"}, alone


KERNELS = [exercise for exercise in all_exercises() if exercise.kind in ("kernel", "device")]


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.id)
def test_every_case_of_the_values_and_rescale_checks_kills_some_bug(exercise):
    """In the first two labs every case; later ones also have cases that only a style of their own needs
    (another block size), and there every group does."""
    cases, groups = set(), set()
    for bug in exercise.bugs:
        report = reports(exercise.id)[bug.id]
        cases |= failing_cases(report, "values", "rescale")
        groups |= failing_groups(report, "values", "rescale")
    given = [case for check in ("values", "rescale") for case in exercise.check(check).cases]
    if whole(exercise.id):
        assert groups == {case.group for case in given}
    else:
        assert groups <= {case.group for case in given} and groups
    if exercise.id.startswith(("lab1.", "lab2.")):
        assert cases == {case.name for case in given}


def test_races_show_in_safety_even_where_the_values_are_right():
    for exercise_id, name in (
        ("lab1.row_sum", "no_barrier_before_reuse"),
        (TILED, "no_barrier_before_broadcast"),
    ):
        assert [check.passed for check in reports(exercise_id)[name].checks] == [True, True, True, False]
