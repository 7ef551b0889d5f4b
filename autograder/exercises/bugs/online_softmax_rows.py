"""Wrong kernels for lab2.online_softmax_rows."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_RUNNING = kernel_text("lab2.online_softmax_rows", "running")
_MOVES = kernel_text("lab2.online_softmax_rows", "only_when_it_moves")

_UPDATE = "d = d * math.exp(m - m_new) + math.exp(x - m_new)"
_GUARDED = (
    "            if x != -math.inf:\n"
    "                m_new = max(m, x)\n"
    f"                {_UPDATE}\n"
    "                m = m_new\n"
)
_PLAIN = f"            m_new = max(m, x)\n            {_UPDATE}\n            m = m_new\n"

BUGS: tuple[NamedBug, ...] = (
    bug(
        "d_not_rescaled",
        "d not rescaled",
        "When the maximum moves, what is already in d was measured against the old one. Multiply d by "
        "exp(m - m_new) before you add. Or `m` already holds the new maximum when the factor is computed, so the "
        "factor is 1: store it last.",
        "values rescale",
        _RUNNING,
        (_UPDATE, "d = d + math.exp(x - m_new)"),
    ),
    bug(
        "rescaled_after_adding",
        "d rescaled after adding instead of before",
        "The new term is measured against the new maximum already, and here it is corrected along with the old "
        "sum. Correct first, then add.",
        "values rescale traffic safety",
        _RUNNING,
        (_UPDATE, "d = (d + math.exp(x - m_new)) * math.exp(m - m_new)"),
    ),
    bug(
        "factor_upside_down",
        "rescale factor upside down",
        "The factor is exp(m - m_new), which is at most 1. Here it is exp(m_new - m): it grows where it should "
        "shrink.",
        "values rescale traffic safety",
        _MOVES,
        ("d * math.exp(m - x)", "d * math.exp(x - m)"),
    ),
    bug(
        "d_thrown_away",
        "d thrown away when the maximum moves",
        "On a new maximum d starts again at 1 and the elements before it are forgotten. They still count, each "
        "times exp(m - m_new).",
        "values rescale",
        _MOVES,
        ("d = d * math.exp(m - x) + np.float32(1.0)", "d = np.float32(1.0)"),
    ),
    bug(
        "maximum_not_stored",
        "running maximum not stored",
        "m_new is used but never kept, so m stays at its start, every step corrects from there, and the last pass "
        "subtracts it.",
        "values rescale traffic safety",
        _RUNNING,
        ("                m = m_new\n", ""),
    ),
    bug(
        "no_maximum",
        "no maximum",
        "The maximum is not subtracted, so exp overflows float32 above 88.7 and inf/inf is NaN, and far below 0 "
        "all terms are 0 and 0/0 is NaN.",
        "rescale",
        _RUNNING,
        ("m_new = max(m, x)", "m_new = float32(0.0)"),
        ("float32(-math.inf)", "float32(0.0)"),
    ),
    bug(
        "starts_at_zero",
        "maximum starts at 0",
        "The running maximum starts at 0, so in an all-negative row it stays 0 and every term underflows. "
        "Start at -inf.",
        "rescale",
        _RUNNING,
        ("float32(-math.inf)", "float32(0.0)"),
    ),
    bug(
        "finite_stand_in",
        "a finite stand-in for -inf",
        "The running maximum starts at a large negative number, and a row can lie below any such number. "
        "Start at -inf.",
        "rescale",
        _RUNNING,
        ("float32(-math.inf)", "float32(-1e4)"),
    ),
    bug(
        "first_element_maximum",
        "first element's maximum for all",
        "The first element is subtracted from all others, so a later one more than 88 above it overflows. The "
        "maximum has to follow the row.",
        "rescale",
        _RUNNING,
        (
            _GUARDED,
            "            m_new = x if col == 0 else m\n"
            "            d = d + math.exp(x - m_new)\n"
            "            m = m_new\n",
        ),
    ),
    bug(
        "inf_minus_inf",
        "-inf - -inf unguarded",
        "While only -inf has been seen, m - m_new is -inf - (-inf), which is NaN and never leaves d. Skip the "
        "update for an element of -inf.",
        "rescale",
        _RUNNING,
        (_GUARDED, _PLAIN),
    ),
    bug(
        "nan_swallowed",
        "NaN left out of the sum",
        "A comparison such as `x > -inf` is false for a NaN too, so the NaN never reaches the denominator and the "
        "rest of the row looks healthy. Ask `x != -inf` instead.",
        "rescale",
        _RUNNING,
        ("if x != -math.inf:", "if x > -math.inf:"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "d is kept in float16, which has 11 bits: small terms vanish beside it. Keep it in float32.",
        "values rescale",
        _RUNNING,
        ("from numba import cuda", "import numpy as np\nfrom numba import cuda"),
        ("d = float32(0.0)", "d = np.float16(0.0)"),
        (_UPDATE, "d = np.float16(d * math.exp(m - m_new) + math.exp(x - m_new))"),
    ),
    bug(
        "no_row_guard",
        "threads past the last row not guarded",
        "The grid is rounded up, so the last block has threads without a row. They read and write outside the "
        "arrays. Ask `if row < X.shape[0]` first.",
        "safety",
        _RUNNING,
        ("if row < X.shape[0]:", "if row >= 0:"),
    ),
    bug(
        "row_of_block_0",
        "index right only for block 0",
        "The row is the thread's number in its block, so every block works on the first 64 rows. Use "
        "cuda.grid(1).",
        "values traffic safety",
        _RUNNING,
        ("row = cuda.grid(1)", "row = cuda.threadIdx.x"),
    ),
    bug(
        "row_of_the_block",
        "the block's number instead of the thread's",
        "The row is cuda.blockIdx.x, so all 64 threads of a block work on the same row and most rows are never "
        "touched. Each thread has a row of its own here: use cuda.grid(1).",
        "values rescale traffic safety",
        _RUNNING,
        ("row = cuda.grid(1)", "row = cuda.blockIdx.x"),
    ),
    bug(
        "three_passes",
        "reads X a third time",
        "The maximum has a pass of its own, so X is read three times. Keep (m, d) running together in one pass.",
        "traffic",
        _RUNNING,
        (
            "        d = float32(0.0)\n",
            "        d = float32(0.0)\n        for col in range(n):\n            m = max(m, X[row, col])\n",
        ),
    ),
    bug(
        "output_as_scratch",
        "keeps the terms in Y",
        "exp(x) terms are written to Y in the first pass, read back and corrected: the answer is right, but Y is "
        "loaded and stored once more than needed.",
        "traffic",
        _RUNNING,
        ("            x = X[row, col]\n", "            x = X[row, col]\n            Y[row, col] = x\n"),
        ("math.exp(X[row, col] - m) / d", "math.exp(Y[row, col] - m) / d"),
    ),
    bug(
        "writes_input",
        "kernel writes its input",
        "x - m is kept in X, and X is not yours to change: the caller's data is gone, and each store crosses "
        "global memory.",
        "values traffic",
        _RUNNING,
        (
            "            Y[row, col] = math.exp(X[row, col] - m) / d",
            "            X[row, col] = X[row, col] - m\n            Y[row, col] = math.exp(X[row, col]) / d",
        ),
    ),
    bug(
        "uniform_row",
        "writes 1/n",
        "Every output of a row is 1/n: the logits never enter the result.",
        "values rescale traffic safety",
        _RUNNING,
        ("= math.exp(X[row, col] - m) / d", "= float32(1.0) / n"),
    ),
)
