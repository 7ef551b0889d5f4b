"""Wrong kernels for lab1.safe_softmax."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_STRIDED = kernel_text("lab1.safe_softmax", "strided")
_PADDED = kernel_text("lab1.safe_softmax", "padded_tiles")

_LOOP_SUM = "for col in range(t, n, THREADS):\n        total"
_LOOP_MAX = "for col in range(t, n, THREADS):\n        best"
_TILES = "for tile in range(n // THREADS):\n        col = tile * THREADS + t\n        "
_SUM_STEP = "            red[t] += red[t + half]\n        cuda.syncthreads()"

BUGS: tuple[NamedBug, ...] = (
    bug(
        "row_kept_in_fixed_buffer",
        "the row is kept in a buffer of fixed length",
        "A row longer than the buffer does not fit into it, and what lies beyond its end is lost. This exercise takes "
        "rows of any length: read X again in each pass.",
        "values",
        _STRIDED,
        (
            "    red = cuda.shared.array(THREADS, float32)\n",
            "    red = cuda.shared.array(THREADS, float32)\n    kept = cuda.shared.array(8192, float32)\n",
        ),
        (
            "        best = max(best, X[row, col])\n",
            "        kept[col] = X[row, col]\n        best = max(best, kept[col])\n",
        ),
        ("total += math.exp(X[row, col] - m)", "total += math.exp(kept[col] - m)"),
        ("Y[row, col] = math.exp(X[row, col] - m) / d", "Y[row, col] = math.exp(kept[col] - m) / d"),
    ),
    bug(
        "no_maximum",
        "no maximum",
        "The maximum is not subtracted, so exp overflows float32 above 88.7 and inf/inf is NaN, and far below 0 "
        "all terms are 0 and 0/0 is NaN. Use exp(x - m) in both passes.",
        "rescale",
        _STRIDED,
        ("m = red[0]", "m = float32(0.0)"),
    ),
    bug(
        "maximum_not_in_sum",
        "maximum subtracted only when writing",
        "The denominator adds exp(x) and the last pass divides exp(x - m) by it: the two have to subtract the "
        "same maximum.",
        "values rescale traffic safety",
        _STRIDED,
        ("total += math.exp(X[row, col] - m)", "total += math.exp(X[row, col])"),
    ),
    bug(
        "starts_at_zero",
        "maximum starts at 0",
        "The running maximum starts at 0, so in an all-negative row it stays 0 and every term underflows. "
        "Start at -inf.",
        "rescale",
        _STRIDED,
        ("float32(-math.inf)", "float32(0.0)"),
    ),
    bug(
        "zero_padding",
        "padding read as 0 in a max",
        "Places past the end of the row count as 0 in the maximum, and 0 beats every value of an all-negative "
        "row. The identity of a maximum is -inf.",
        "rescale",
        _PADDED,
        ("        x = -inf\n", "        x = 0.0\n"),
    ),
    bug(
        "padding_in_sum",
        "padding counted in the denominator",
        "Places past the end of the row add exp(0 - m) to the denominator. They have to add 0.",
        "values rescale traffic safety",
        _PADDED,
        (
            "        if col < n:\n            d += exp(X[row, col] - maxima[0])",
            "        x = 0.0\n        if col < n:\n            x = X[row, col]\n        d += exp(x - maxima[0])",
        ),
    ),
    bug(
        "finite_stand_in",
        "a finite stand-in for -inf",
        "The running maximum starts at a large negative number, and a row can lie below any such number. "
        "Start at -inf.",
        "rescale",
        _STRIDED,
        ("float32(-math.inf)", "float32(-1e4)"),
    ),
    bug(
        "first_tile_maximum",
        "first tile's maximum for all",
        "Only the first tile is looked at for the maximum. A later value more than 88 above it overflows.",
        "rescale",
        _STRIDED,
        (_LOOP_MAX, "for col in range(t, min(n, THREADS), THREADS):\n        best"),
    ),
    bug(
        "own_maximum",
        "lanes' d added although each lane has its own m",
        "Each thread subtracts its own maximum, not the block's, and then the sums are added as if they had one "
        "scale. Reduce the maximum over the block first.",
        "values rescale traffic safety",
        _STRIDED,
        ("total += math.exp(X[row, col] - m)", "total += math.exp(X[row, col] - best)"),
    ),
    bug(
        "own_maximum_everywhere",
        "each thread subtracts its own maximum",
        "Both passes subtract the maximum of the thread's own elements, so every thread has another scale. Read "
        "the maximum of the row from shared memory after the tree.",
        "values rescale traffic safety",
        _STRIDED,
        ("m = red[0]", "m = best"),
    ),
    bug(
        "own_maximum_in_output",
        "output measured against the thread's own maximum",
        "The denominator uses the maximum of the row, but the last pass subtracts the maximum of the thread's own "
        "elements. Both have to subtract the same maximum, the row's.",
        "values rescale traffic safety",
        _STRIDED,
        ("= math.exp(X[row, col] - m) / d", "= math.exp(X[row, col] - best) / d"),
    ),
    bug(
        "not_divided",
        "not divided by d",
        "The output is exp(x - m), which is 1 at the largest value of the row, and the row does not add up to 1. "
        "Divide by the sum.",
        "values rescale traffic safety",
        _STRIDED,
        ("= math.exp(X[row, col] - m) / d", "= math.exp(X[row, col] - m)"),
    ),
    bug(
        "own_sum",
        "sum not reduced over the block",
        "Each thread divides by the sum of its own elements. The denominator is the sum over the whole row.",
        "values rescale traffic safety",
        _STRIDED,
        ("d = red[0]", "d = total"),
    ),
    bug(
        "nan_swallowed",
        "NaN left out of the sum",
        "A comparison such as `x > -inf` is false for a NaN too, so the NaN never reaches the denominator and the "
        "rest of the row looks healthy. Ask `x != -inf` instead.",
        "rescale",
        _STRIDED,
        (
            "        total += math.exp(X[row, col] - m)",
            "        x = X[row, col]\n        if x > -math.inf:\n            total += math.exp(x - m)",
        ),
    ),
    bug(
        "tail_dropped",
        "tail dropped by floor division",
        "n // 256 counts full tiles only, so the values after the last full tile are never added and their "
        "outputs never written. Round up, and guard the last tile.",
        "values rescale traffic safety",
        _STRIDED,
        (_LOOP_MAX, _TILES + "best"),
        (_LOOP_SUM, _TILES + "total"),
        ("for col in range(t, n, THREADS):\n        Y", _TILES + "Y"),
    ),
    bug(
        "tail_missing_from_sum",
        "tail missing from the denominator",
        "The pass that adds rounds the number of tiles down, so the values after the last full tile are not in "
        "the denominator.",
        "values rescale traffic safety",
        _STRIDED,
        (_LOOP_SUM, _TILES + "total"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The partial sums are kept in float16, which has 11 bits. Keep them in float32.",
        "values rescale",
        _PADDED,
        (
            "sums = cuda.shared.array(shape=TILE, dtype=np.float32)",
            "sums = cuda.shared.array(shape=TILE, dtype=np.float16)",
        ),
    ),
    bug(
        "uniform_row",
        "writes 1/n",
        "Every output of a row is 1/n: the logits never enter the result.",
        "values rescale traffic safety",
        _STRIDED,
        ("= math.exp(X[row, col] - m) / d", "= float32(1.0) / n"),
    ),
    bug(
        "all_zeros",
        "writes zeros",
        "Every output is 0: the result was never stored, or it was multiplied away.",
        "values rescale traffic safety",
        _STRIDED,
        ("= math.exp(X[row, col] - m) / d", "= 0.0"),
    ),
    bug(
        "row_of_block_0",
        "index right only for block 0",
        "Every block works on row 0. The row is the block's own number, cuda.blockIdx.x.",
        "values rescale traffic safety",
        _STRIDED,
        ("row = cuda.blockIdx.x", "row = 0"),
    ),
    bug(
        "writes_input",
        "kernel writes its input",
        "exp(x - m) is kept in X, and X is not yours to change: the caller's data is gone, and each store "
        "crosses global memory.",
        "values traffic",
        _STRIDED,
        (
            "        total += math.exp(X[row, col] - m)",
            "        X[row, col] = math.exp(X[row, col] - m)\n        total += X[row, col]",
        ),
        ("= math.exp(X[row, col] - m) / d", "= X[row, col] / d"),
    ),
    bug(
        "output_as_scratch",
        "keeps the terms in Y",
        "exp(x - m) is written to Y, read back and divided: the answer is right, but Y crosses global memory "
        "three times. Compute the term again from X instead.",
        "traffic",
        _STRIDED,
        (
            "        total += math.exp(X[row, col] - m)",
            "        term = math.exp(X[row, col] - m)\n        Y[row, col] = term\n        total += term",
        ),
        ("= math.exp(X[row, col] - m) / d", "= Y[row, col] / d"),
    ),
    bug(
        "fourth_read",
        "reads X a fourth time",
        "A pass of its own looks for NaN, so X crosses global memory once more than three passes need. A NaN "
        "reaches the output without help, through the denominator.",
        "traffic",
        _STRIDED,
        (
            "    d = red[0]\n",
            "    d = red[0]\n"
            "    for col in range(t, n, THREADS):\n"
            "        if math.isnan(X[row, col]):\n"
            "            d = X[row, col]\n",
        ),
    ),
    bug(
        "own_chunk",
        "neighbouring lanes read far apart",
        "Each thread reads a chunk of neighbouring elements, so the lanes of a warp read addresses that lie a "
        "chunk apart: a sector for each instead of one for eight.",
        "traffic",
        _STRIDED,
        (
            _LOOP_SUM,
            "chunk = (n + THREADS - 1) // THREADS\n"
            "    for col in range(t * chunk, min(n, (t + 1) * chunk)):\n"
            "        total",
        ),
    ),
    bug(
        "no_barrier_before_reuse",
        "shared buffer reused without a barrier",
        "The sum is written into the buffer while other threads have yet to read the maximum from it. A barrier "
        "has to stand between that read and the next write.",
        "values rescale traffic safety",
        _STRIDED,
        ("    m = red[0]\n    cuda.syncthreads()", "    m = red[0]"),
    ),
    bug(
        "no_barrier_in_tree",
        "no barrier between the steps of the tree",
        "Each step of the tree reads what another thread wrote in the step before, so every step needs its own "
        "barrier.",
        "values rescale traffic safety",
        _STRIDED,
        (_SUM_STEP, "            red[t] += red[t + half]"),
    ),
    bug(
        "reads_past_the_tail",
        "out-of-range read in the ragged tail",
        "The lanes of the last tile are not guarded, so they read past the end of the row: the next row's "
        "values, or memory that is not yours.",
        "safety",
        _PADDED,
        ("        if col < n:\n            x = X[row, col]\n", "        x = X[row, col]\n"),
    ),
    bug(
        "early_return",
        "threads leave before the barrier",
        "Threads past the end of a short row return at once, so they never fill their place in shared memory and "
        "never come to the barriers. Keep every thread, and give those the identity.",
        "values rescale safety",
        _STRIDED,
        ("    best = float32(", "    if t >= n:\n        return\n    best = float32("),
    ),
    bug(
        "barrier_in_branch",
        "barrier inside a branch",
        "cuda.syncthreads() stands under `if t < half`, so only some of the block's threads reach it. "
        "Every thread has to meet every barrier.",
        "values rescale traffic safety",
        _STRIDED,
        (_SUM_STEP, "            red[t] += red[t + half]\n            cuda.syncthreads()"),
    ),
)
