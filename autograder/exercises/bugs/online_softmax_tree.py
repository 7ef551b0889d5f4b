"""Wrong kernels for lab3.online_softmax_tree."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text
from . import merge_common as common

_PLAIN = kernel_text("lab3.online_softmax_tree", "plain")
_TAIL = kernel_text("lab3.online_softmax_tree", "warp_tail")
_POWERS = kernel_text("lab3.online_softmax_tree", "threads_by_power")
_BUFFER = kernel_text("lab3.online_softmax_tree", "one_buffer")

_START = "    m = float32(-math.inf)\n"
_FOLD = "    for col in range(t, n, THREADS):\n        m, d = merge(m, d, X[row, col], float32(1.0))\n"
_WRITE = "    for col in range(t, n, THREADS):\n        Y[row, col] = math.exp(X[row, col] - m) / d\n"

BUGS: tuple[NamedBug, ...] = (
    bug(
        "starts_at_own_element",
        "maximum starts at the thread's own element",
        "Each thread starts at X[row, t] without asking whether the row has an element t, so a short row is read past "
        "its end, and every first tile is read twice.",
        "values rescale traffic safety",
        _PLAIN,
        (_START, "    m = X[row, t]\n"),
    ),
    *common.in_the_merge(_PLAIN),
    *common.in_the_tree(_PLAIN),
    *common.in_the_passes(_PLAIN, _FOLD, _WRITE),
    common.starts_at_zero(_PLAIN, _START),
    common.row_of_block_0(_PLAIN),
    bug(
        "rescaled_after_adding",
        "d rescaled after adding instead of before",
        "The new value's term is measured against the new maximum already, and here it is corrected along with the "
        "old sum. Correct first, then add.",
        "values rescale",
        _POWERS,
        (
            "            d *= math.exp(m - m_new) if m != -math.inf else float32(1.0)\n"
            "            d += math.exp(x - m_new)\n",
            "            d += math.exp(x - m_new)\n"
            "            d *= math.exp(m - m_new) if m != -math.inf else float32(1.0)\n",
        ),
    ),
    bug(
        "zero_padding",
        "padding read as 0 in a max",
        "The ragged tail is padded with 0. In the maximum 0 beats every value of an all-negative row, and in the "
        "sum each pad adds exp(0 - m). Pad with -inf, which adds exp(-inf) = 0.",
        common.ALL,
        _POWERS,
        ("if col < n else float32(-math.inf)", "if col < n else float32(0.0)"),
    ),
    bug(
        "maximum_not_stored",
        "merged maximum not stored in the tree",
        "A step of the tree stores the new d, measured against the larger maximum, but leaves the old maximum beside "
        "it. The two belong together.",
        common.ALL,
        _POWERS,
        ("            maxima[t] = max(m1, m2)\n", ""),
    ),
    bug(
        "maximum_overwritten_first",
        "maximum overwritten before the factor is taken",
        "The larger maximum is stored first and the factor computed from it afterwards, so the thread's own d is "
        "multiplied by exp(m - m) = 1. Keep the old maximum until both factors are known.",
        common.ALL,
        _POWERS,
        (
            "            m1 = maxima[t]\n",
            "            maxima[t] = max(maxima[t], maxima[t + half])\n            m1 = maxima[t]\n",
        ),
    ),
    bug(
        "tree_over_n_values",
        "tree that halves a number that is no power of two",
        "The tree starts at half of the threads that have a value, and an odd number of states leaves one out at "
        "each step. Start from all 256 states: threads without a value hold the identity.",
        "values rescale safety",
        _PLAIN,
        ("half = THREADS // 2", "half = min(n, THREADS) // 2"),
    ),
    bug(
        "one_thread_too_many",
        "one thread too many in each step of the tree",
        "`t <= half` lets thread `half` merge as well, while thread 0 reads its state, and in the first step it "
        "reads past the end of the array.",
        "safety",
        _PLAIN,
        ("if t < half:", "if t <= half:"),
    ),
    bug(
        "warp_tail_without_sync",
        "last 32 states merged without a barrier",
        "The last five steps are left to one warp without any barrier. The lanes of a warp need not run in step: "
        "cuda.syncwarp() has to end each of these steps.",
        common.ALL,
        _TAIL,
        ("            cuda.syncwarp()\n", ""),
    ),
    bug(
        "no_barrier_after_tree",
        "no barrier before the state is read",
        "The other warps read the row's state while the first is still merging it. A barrier has to stand between.",
        common.ALL,
        _TAIL,
        ("            cuda.syncwarp()\n    cuda.syncthreads()\n", "            cuda.syncwarp()\n"),
    ),
    bug(
        "no_barrier_before_reuse",
        "shared buffer reused for max then sum without a barrier",
        "The d's are written into the buffer while other threads have yet to read the maximum from it. A barrier has "
        "to stand between that read and the next write.",
        common.ALL,
        _BUFFER,
        ("    top = red[0]\n    cuda.syncthreads()\n", "    top = red[0]\n"),
    ),
    bug(
        "log_sum_in_one_number",
        "m and log d added into one number",
        "m + log(d) is one float32 number, and where m is large its rounding alone is larger than the error that is "
        "allowed. Keep m and d apart.",
        "rescale",
        _POWERS,
        ("    factor = float32(1.0) / sums[0]\n", "    log_sum = m + math.log(sums[0])\n"),
        ("math.exp(X[row, col] - m) * factor", "math.exp(X[row, col] - log_sum)"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The denominators are kept in float16, which has 11 bits. Keep them in float32.",
        "values rescale",
        _BUFFER,
        ("red = cuda.shared.array(256, np.float32)", "red = cuda.shared.array(256, np.float16)"),
    ),
)
