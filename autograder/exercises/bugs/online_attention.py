"""Wrong kernels for lab5.online_attention: the state (m, d, O), the scale, what is multiplied with what."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, edited, kernel_text

_PLAIN = kernel_text("lab5.online_attention", "plain")
_NORMAL = kernel_text("lab5.online_attention", "normalised")

_RESCALE_D = "                d = d * factor\n"
_RESCALE_O = "                for c in range(8):\n                    acc[c] = acc[c] * factor\n"
_DIVIDE = "= acc[c] / d"
_SCORE = "scores[row, j] = s * scale"
_MAXIMUM = "                m_new = max(m_new, scores[row, j])\n"
_STEP = "                m = m_new\n"

O_NOT_RESCALED = edited(_PLAIN, (_RESCALE_O, ""))
"""d is rescaled, O is not: the kernel that `breaking_value` must expose."""

BUGS: tuple[NamedBug, ...] = (
    bug(
        "o_not_rescaled",
        "O not rescaled",
        "d is brought to the new maximum, but what is already in O was measured against the old one. The same "
        "factor exp(m - m_new) belongs to d and to every column of O.",
        "values rescale",
        O_NOT_RESCALED,
    ),
    bug(
        "d_not_rescaled",
        "d not rescaled",
        "O is brought to the new maximum, but what is already in d was measured against the old one. The same "
        "factor exp(m - m_new) belongs to d and to every column of O.",
        "values rescale",
        _PLAIN,
        (_RESCALE_D, ""),
    ),
    bug(
        "nothing_rescaled",
        "neither d nor O rescaled",
        "The factor is 1 in every tile: either it is missing, or `m` already holds the new maximum when exp(m - m_new) "
        "is computed. Keep the old m until the factor is there.",
        "values rescale",
        _PLAIN,
        (_STEP, ""),
        (
            "                factor = math.exp(m - m_new)\n",
            "                m = m_new\n                factor = math.exp(m - m_new)\n",
        ),
    ),
    bug(
        "maximum_not_stored",
        "running maximum not stored",
        "m_new is used but never kept, so m stays at -inf, every factor is 0 and only the last tile counts.",
        "values rescale traffic safety",
        _PLAIN,
        (_STEP, ""),
    ),
    bug(
        "rescaled_after_adding",
        "rescaled after adding instead of before",
        "The tile's terms are measured against the new maximum already, and here they are corrected along with what "
        "was there before. Correct first, then add.",
        "values rescale traffic safety",
        _PLAIN,
        (_RESCALE_D + _RESCALE_O, ""),
        (_STEP, _RESCALE_D + _RESCALE_O + _STEP),
    ),
    bug(
        "factor_upside_down",
        "factor upside down",
        "The factor is exp(m_new - m), which is at least 1. What was there before must shrink: exp(m - m_new).",
        "values rescale",
        _PLAIN,
        ("factor = math.exp(m - m_new)", "factor = math.exp(m_new - m) if m > -math.inf else float32(0.0)"),
    ),
    bug(
        "factor_without_scale",
        "scale missing in the factor",
        "The scale is applied where the weights are computed, exp((s - m_new) * scale), but not in the factor. Scale "
        "the scores at once, and m is scaled too.",
        "values rescale",
        _PLAIN,
        (_SCORE, "scores[row, j] = s"),
        ("math.exp(scores[row, j] - m_new)", "math.exp((scores[row, j] - m_new) * scale)"),
    ),
    bug(
        "no_maximum",
        "no maximum",
        "The maximum is not subtracted, so exp overflows float32 above 88.7 and inf/inf is NaN, and far below 0 "
        "all weights are 0 and 0/0 is NaN.",
        "rescale",
        _PLAIN,
        ("m = float32(-math.inf)", "m = float32(0.0)"),
        ("m_new = max(m_new, scores[row, j])", "m_new = m"),
    ),
    bug(
        "starts_at_zero",
        "maximum starts at 0",
        "The running maximum starts at 0, so where all scores are far below 0 it stays there and every weight "
        "underflows. Start at -inf.",
        "rescale",
        _PLAIN,
        ("m = float32(-math.inf)", "m = float32(0.0)"),
    ),
    bug(
        "finite_stand_in",
        "a finite stand-in for -inf",
        "A large negative number stands for -inf, and all scores of a query can lie below any such number. Start at "
        "-inf, and mask with -inf.",
        "rescale",
        _PLAIN,
        ("m = float32(-math.inf)", "m = float32(-1e4)"),
    ),
    bug(
        "first_tile_maximum",
        "first tile's maximum for all",
        "The maximum of the first tile is kept for all, so a later score more than 88 above it overflows. The "
        "maximum has to follow the tiles.",
        "rescale",
        _PLAIN,
        (_MAXIMUM, "                if m == -math.inf:\n                    m_new = max(m_new, scores[row, j])\n"),
    ),
    bug(
        "tile_maximum_as_weight",
        "tile's own maximum as weight",
        "The weights of a tile are measured against the tile's own maximum, but d and O against the maximum of all "
        "tiles so far. Start the tile's maximum from m.",
        "values rescale traffic safety",
        _PLAIN,
        ("            m_new = m\n", "            m_tile = float32(-math.inf)\n"),
        (_MAXIMUM, "                m_tile = max(m_tile, scores[row, j])\n            m_new = max(m, m_tile)\n"),
        ("math.exp(scores[row, j] - m_new)", "math.exp(scores[row, j] - m_tile)"),
    ),
    bug(
        "one_maximum_for_the_block",
        "one maximum for all queries of the block",
        "Every query has a state (m, d, O) of its own. Measured against the loudest query's maximum, all weights of a "
        "quiet one underflow to 0.",
        "rescale",
        _PLAIN,
        (
            _MAXIMUM,
            "                for query in range(min(QUERIES, n_q - first_query)):\n"
            "                    m_new = max(m_new, scores[query, j])\n",
        ),
    ),
    bug(
        "lanes_own_maximum",
        "weights measured against each thread's own maximum",
        "Each thread looks at its own keys only for the maximum, so the weights of a row, and the factors of its "
        "columns, have different scales. Let the threads of a row agree on one maximum first.",
        "values rescale traffic safety",
        _NORMAL,
        (
            "            for key in range(valid):\n                m_new = max(",
            "            for key in range(part, valid, 8):\n                m_new = max(",
        ),
    ),
    bug(
        "lanes_own_d",
        "d of each thread's own keys",
        "Each thread adds up the weights of its own keys only and divides its columns by that. d is the sum over all "
        "keys, and the same for all columns of a query.",
        "values rescale traffic safety",
        _PLAIN,
        ("                    d += p\n", "                    if j % LANES == lane:\n                        d += p\n"),
    ),
    bug(
        "o_normalised_per_tile",
        "O normalised per tile",
        "O is divided by d after every tile, and the next tile adds to it as if it were not. Divide once, after the "
        "last tile (or multiply by the old d first).",
        "values rescale traffic safety",
        _PLAIN,
        (_DIVIDE, "= acc[c]"),
        (_STEP, _STEP + "                for c in range(8):\n                    acc[c] = acc[c] / d\n"),
    ),
    bug(
        "divide_forgotten",
        "division by d forgotten",
        "O holds the weighted sum of V, not the mean: divide by d once, after the last tile.",
        "values rescale traffic safety",
        _PLAIN,
        (_DIVIDE, "= acc[c]"),
    ),
    bug(
        "d_of_last_tile",
        "d of the last tile only",
        "d starts again at 0 in every tile, so O is divided by the weights of the last tile alone.",
        "values rescale traffic safety",
        _PLAIN,
        (_RESCALE_D, "                d = float32(0.0)\n"),
    ),
    bug(
        "scale_forgotten",
        "scale forgotten",
        "The dot products are not multiplied by `scale`.",
        "values rescale traffic safety",
        _PLAIN,
        (_SCORE, "scores[row, j] = s"),
    ),
    bug(
        "scale_twice",
        "scale applied twice",
        "The scores are multiplied by `scale` twice, for example once in Q and once after the dot product.",
        "values rescale traffic safety",
        _PLAIN,
        (_SCORE, "scores[row, j] = s * scale * scale"),
    ),
    bug(
        "scale_hard_coded",
        "scale fixed at 1/8",
        "1/8 is 1/sqrt(64), the usual scale, but the kernel is given another one in most cases: use the parameter.",
        "values rescale",
        _PLAIN,
        (_SCORE, "scores[row, j] = s * 0.125"),
    ),
    bug(
        "divided_by_scale",
        "divided by the scale",
        "`scale` is what the dot products are multiplied by (1/8, not 8).",
        "values rescale traffic safety",
        _PLAIN,
        (_SCORE, "scores[row, j] = s / scale"),
    ),
    bug(
        "keys_and_values_swapped",
        "K and V swapped",
        "The scores are products with K, and O is a mean of V. Here they have changed places.",
        "values rescale traffic safety",
        _PLAIN,
        (
            "                    s += q_tile[row, i] * k_tile[j, i]",
            "                    s += q_tile[row, i] * v_tile[j, i]",
        ),
        ("p * v_tile[j, lane + LANES * c]", "p * k_tile[j, lane + LANES * c]"),
    ),
    bug(
        "mean_of_values",
        "mean of V",
        "Every key weighs the same: the scores never enter the result.",
        "values rescale traffic safety",
        _PLAIN,
        ("p = math.exp(scores[row, j] - m_new)", "p = float32(1.0)"),
        ("factor = math.exp(m - m_new)", "factor = float32(1.0)"),
    ),
    bug(
        "nan_hidden",
        "0 in place of a NaN",
        "Where d is not above 0, the kernel writes 0. A query that holds a NaN has no denominator, and its output must "
        "say so.",
        "rescale",
        _PLAIN,
        (_DIVIDE, "= acc[c] / d if d > 0.0 else float32(0.0)"),
    ),
    bug(
        "inf_minus_inf",
        "-inf - -inf unguarded",
        "In a tile whose scores are all -inf, m - m_new is -inf - (-inf), which is NaN and never leaves d and O. Skip "
        "the update where m_new is -inf.",
        "rescale",
        _PLAIN,
        ("            if m_new > -math.inf:", "            if True:"),
    ),
    bug(
        "float16_output",
        "O accumulated in float16",
        "The weighted sum is kept in float16, which has 11 bits. Keep it in float32.",
        "values rescale",
        _PLAIN,
        ("acc = cuda.local.array(8, float32)", "acc = cuda.local.array(8, np.float16)"),
        ("from numba import cuda, float32", "import numpy as np\nfrom numba import cuda, float32"),
    ),
)
