"""Wrong device functions for lab3.merge."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_PLAIN = kernel_text("lab3.merge", "plain")
_LARGER = kernel_text("lab3.merge", "larger_side_first")
_EMPTY = kernel_text("lab3.merge", "empty_sides_first")
_FACTORS = kernel_text("lab3.merge", "two_factors")

_SUM = "d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)"
_BASE = "base = m if m != -math.inf else float32(0.0)"

BUGS: tuple[NamedBug, ...] = (
    bug(
        "d_added",
        "the two d added although each has its own m",
        "d1 counts in units of e^m1 and d2 in units of e^m2. Bring both to the larger maximum before you add them: "
        "d1·exp(m1 - m) + d2·exp(m2 - m).",
        "values rescale",
        _PLAIN,
        (_SUM, "d1 + d2"),
    ),
    bug(
        "merge_sides_swapped",
        "merge with the two sides swapped",
        "Each side's d is multiplied by the other side's factor. d1 belongs to exp(m1 - m), d2 to exp(m2 - m).",
        "values rescale",
        _PLAIN,
        (_SUM, "d1 * math.exp(m2 - base) + d2 * math.exp(m1 - base)"),
    ),
    bug(
        "only_first_side_rescaled",
        "only the first side rescaled",
        "d1 is brought to the new maximum and d2 is added as it is. That is right only where the second side is the "
        "larger one; a merge does not know which is.",
        "values rescale",
        _PLAIN,
        (_SUM, "d1 * math.exp(m1 - base) + d2"),
    ),
    bug(
        "only_second_side_rescaled",
        "only the second side rescaled",
        "d2 is brought to the new maximum and d1 is kept as it is. That is right only where the first side is the "
        "larger one; a merge does not know which is.",
        "values rescale",
        _PLAIN,
        (_SUM, "d1 + d2 * math.exp(m2 - base)"),
    ),
    bug(
        "one_factor_for_both",
        "one factor for both sides",
        "Both d are multiplied by exp(m1 - m), the factor of the first side. The second has its own, exp(m2 - m).",
        "values rescale",
        _PLAIN,
        ("math.exp(m2 - base)", "math.exp(m1 - base)"),
    ),
    bug(
        "factor_upside_down",
        "the factor upside down",
        "The factor is exp(m - m1), which is 1 or more, where it should be exp(m1 - m), which is 1 or less: moving to "
        "a larger maximum makes d smaller.",
        "values rescale",
        _PLAIN,
        ("math.exp(m1 - base)", "math.exp(base - m1)"),
        ("math.exp(m2 - base)", "math.exp(base - m2)"),
    ),
    bug(
        "smaller_side_dropped",
        "the d of the smaller side thrown away",
        "The state with the larger maximum is kept and the other forgotten. It still counts, times "
        "exp(its maximum - m).",
        "values rescale",
        _LARGER,
        ("d1 * exp(m1 - m2) + d2", "d2"),
        ("d1 + d2 * exp(m2 - m1)", "d1"),
    ),
    bug(
        "maximum_of_first_side",
        "the first side's maximum returned",
        "d is measured against the larger maximum, but m1 is returned with it. The two belong together: return m.",
        "values rescale",
        _PLAIN,
        ("return m, d", "return m1, d"),
    ),
    bug(
        "returned_in_other_order",
        "d returned before m",
        "The result is (d, m). The contract is (m, d): the maximum first.",
        "values rescale",
        _PLAIN,
        ("return m, d", "return d, m"),
    ),
    bug(
        "inf_minus_inf_in_merge",
        "-inf - -inf in the merge of two empty states",
        "Where both sides are empty, m is -inf and m1 - m is -inf - (-inf), which is NaN. Two empty states must give "
        "(-inf, 0): guard that place.",
        "rescale",
        _PLAIN,
        (_BASE, "base = m"),
    ),
    bug(
        "nan_swallowed",
        "NaN left out by the guard",
        "Beside an empty state the maximum is -inf even when the other side is a NaN, since `max` passes over it; the "
        "guard then returns 0 and the NaN is lost. Guard only the subtraction: exp(m1 - 0) is 0 for an empty side "
        "and NaN for a NaN.",
        "rescale",
        _PLAIN,
        (f"    d = {_SUM}\n", f"    d = float32(0.0)\n    if m != -math.inf:\n        d = {_SUM}\n"),
    ),
    bug(
        "empty_side_empties_both",
        "one empty side empties both",
        "The guard against -inf returns the empty state as soon as one side is empty. One empty side must leave the "
        "other as it is; only two empty ones make an empty one.",
        "rescale",
        _EMPTY,
        ("        return m2, d2\n", "        return m1, d1\n"),
        ("        return m1, d1\n    m =", "        return m2, d2\n    m ="),
    ),
    bug(
        "starts_at_zero",
        "maximum never below 0",
        "The maximum is taken of m1, m2 and 0, so two states that lie below 0 get the maximum 0. -inf is the only "
        "number that is below all others.",
        "values rescale",
        _PLAIN,
        ("m = max(m1, m2)", "m = max(max(m1, m2), float32(0.0))"),
    ),
    bug(
        "finite_stand_in",
        "a finite stand-in for -inf",
        "A large negative number stands for -inf, and a state can lie below any such number. Compare with -inf.",
        "rescale",
        _PLAIN,
        ("m = max(m1, m2)", "m = max(max(m1, m2), float32(-1e4))"),
    ),
    bug(
        "guard_adds_one",
        "an empty side counts as one value",
        "The factor of an empty side is taken as 1, and something is added for it. The identity is (-inf, 0): it adds "
        "nothing, and its maximum must not take part.",
        "rescale",
        _FACTORS,
        (
            "    if ma != -math.inf:\n",
            "    if ma == -math.inf:\n        fa = np.float32(1.0)\n        da = np.float32(1.0)\n"
            "    if ma != -math.inf:\n",
        ),
    ),
)
