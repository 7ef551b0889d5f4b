"""Wrong kernels for lab2.online_softmax_tiled."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_TILES = kernel_text("lab2.online_softmax_tiled", "tile_by_tile")
_HELPERS = kernel_text("lab2.online_softmax_tiled", "helpers")
_SHARED = kernel_text("lab2.online_softmax_tiled", "state_in_shared")
_THREADS = kernel_text("lab2.online_softmax_tiled", "state_per_thread")

_CORRECT = "            d = d * math.exp(m - m_new)\n"
_SUM_STEP = "                red[t] += red[t + half]\n            cuda.syncthreads()"

BUGS: tuple[NamedBug, ...] = (
    bug(
        "row_kept_in_fixed_buffer",
        "the row is kept in a buffer of fixed length",
        "A row longer than the buffer does not fit into it, and what lies beyond its end is lost. This exercise takes "
        "rows of any length: read X a second time for the output.",
        "values",
        _TILES,
        (
            "    red = cuda.shared.array(TILE, float32)\n",
            "    red = cuda.shared.array(TILE, float32)\n    kept = cuda.shared.array(8192, float32)\n",
        ),
        ("            x = X[row, col]\n", "            x = X[row, col]\n            kept[col] = x\n"),
        ("math.exp(X[row, col] - m) / d", "math.exp(kept[col] - m) / d"),
    ),
    bug(
        "d_not_rescaled",
        "d not rescaled",
        "When a tile moves the maximum, what is already in d was measured against the old one. Multiply d by "
        "exp(m - m_new) before you add the tile. Or `m` already holds the new maximum when the factor is computed, "
        "so the factor is 1: store it last.",
        "values rescale",
        _TILES,
        (_CORRECT, ""),
    ),
    bug(
        "rescaled_after_adding",
        "d rescaled after adding instead of before",
        "The tile's sum is measured against the new maximum already, and here it is corrected along with the old "
        "sum. Correct first, then add.",
        "values rescale traffic safety",
        _TILES,
        (_CORRECT, ""),
        (
            "        d = d + red[0]\n",
            "        d = d + red[0]\n        if m_new > -math.inf:\n            d = d * math.exp(m - m_new)\n",
        ),
    ),
    bug(
        "tile_maximum_as_weight",
        "tile's own maximum as weight",
        "The terms of a tile are measured against the tile's own maximum, but d against the maximum of all tiles "
        "so far. Use max(m, m_tile) for both.",
        "values rescale traffic safety",
        _TILES,
        ("            term = math.exp(x - m_new)", "            term = math.exp(x - m_tile)"),
    ),
    bug(
        "first_tile_maximum",
        "first tile's maximum for all",
        "The maximum of the first tile is kept for all, so a later value more than 88 above it overflows. The "
        "maximum has to follow the tiles.",
        "rescale",
        _TILES,
        ("m_new = max(m, m_tile)", "m_new = m if m > -math.inf else m_tile"),
    ),
    bug(
        "maximum_not_stored",
        "running maximum not stored",
        "m_new is used but never kept, so m stays at its start and every tile corrects from there.",
        "values rescale traffic safety",
        _TILES,
        ("        m = m_new\n", ""),
    ),
    bug(
        "d_thrown_away",
        "d thrown away when the maximum moves",
        "On a new maximum d starts again at 0 and the tiles before it are forgotten. They still count, times "
        "exp(m - m_new).",
        "values rescale",
        _TILES,
        (_CORRECT, "            if m_new > m:\n                d = float32(0.0)\n"),
    ),
    bug(
        "no_maximum",
        "no maximum",
        "The maximum is not subtracted, so exp overflows float32 above 88.7 and inf/inf is NaN, and far below 0 "
        "all terms are 0 and 0/0 is NaN.",
        "rescale",
        _TILES,
        ("m = float32(-math.inf)", "m = float32(0.0)"),
        ("m_new = max(m, m_tile)", "m_new = m"),
    ),
    bug(
        "starts_at_zero",
        "maximum starts at 0",
        "The running maximum starts at 0, so in an all-negative row it stays 0 and every term underflows. "
        "Start at -inf.",
        "rescale",
        _TILES,
        ("m = float32(-math.inf)", "m = float32(0.0)"),
    ),
    bug(
        "zero_padding",
        "padding read as 0 in a max",
        "The ragged tail is padded with 0. In the maximum 0 beats every value of an all-negative row, and in the "
        "sum each pad adds exp(0 - m). Pad with -inf, which adds exp(-inf) = 0.",
        "values rescale traffic safety",
        _TILES,
        ("x = float32(-math.inf)", "x = float32(0.0)"),
    ),
    bug(
        "zero_padding_in_maximum",
        "padding read as 0 in the max alone",
        "The tail is left out of the sum, but in the maximum it counts as 0, and 0 beats every value of an "
        "all-negative row. Pad with -inf.",
        "rescale",
        _TILES,
        ("        red[t] = x\n", "        red[t] = x if col < n else float32(0.0)\n"),
    ),
    bug(
        "finite_stand_in",
        "a finite stand-in for -inf",
        "A large negative number stands for -inf, and a row can lie below any such number. Start at -inf, and pad "
        "with -inf.",
        "rescale",
        _HELPERS,
        ('NEG_INF = float("-inf")', "NEG_INF = -1e4"),
    ),
    bug(
        "inf_minus_inf",
        "-inf - -inf unguarded",
        "In a tile of -inf, m - m_new is -inf - (-inf), which is NaN and never leaves d. Guard the update where "
        "m_new is -inf.",
        "rescale",
        _TILES,
        (
            "        if m_new > -math.inf:\n"
            "            term = math.exp(x - m_new)\n"
            "            d = d * math.exp(m - m_new)\n",
            "        term = math.exp(x - m_new)\n        d = d * math.exp(m - m_new)\n",
        ),
    ),
    bug(
        "nan_swallowed",
        "NaN left out of the sum",
        "A comparison such as `x > -inf` is false for a NaN too, so the NaN never reaches the denominator and the "
        "rest of the row looks healthy.",
        "rescale",
        _THREADS,
        ("elif x > -math.inf or math.isnan(x):", "elif x > -math.inf:"),
    ),
    bug(
        "tail_dropped",
        "tail dropped by floor division",
        "n // 256 counts full tiles only, so the values after the last full tile are not in d. Round up, and "
        "guard the last tile.",
        "values rescale traffic safety",
        _HELPERS,
        ("tiles = (n + TILE - 1) // TILE", "tiles = n // TILE"),
    ),
    bug(
        "full_last_tile_lost",
        "last tile lost when it is full",
        "The width of the last tile is n % 256, which is 0 when n is a multiple of 256, so a full last tile "
        "counts as empty.",
        "values rescale",
        _SHARED,
        (
            "            width = min(256, n - first)\n",
            "            width = 256\n            if first + 256 >= n:\n                width = n % 256\n",
        ),
    ),
    bug(
        "lanes_d_added",
        "lanes' d added although each lane has its own m",
        "Each thread keeps its own (m, d), and the d's are added as if they had one scale. Bring both to the "
        "larger maximum first.",
        "values rescale traffic safety",
        _THREADS,
        (
            "ds[t] = ds[t] * math.exp(m1 - top) + ds[t + half] * math.exp(m2 - top)",
            "ds[t] = ds[t] + ds[t + half]",
        ),
    ),
    bug(
        "merge_sides_swapped",
        "merge with the two sides swapped",
        "Each side's d is multiplied by the other side's factor. d1 belongs to exp(m1 - m), d2 to exp(m2 - m).",
        "values rescale traffic safety",
        _THREADS,
        (
            "ds[t] * math.exp(m1 - top) + ds[t + half] * math.exp(m2 - top)",
            "ds[t] * math.exp(m2 - top) + ds[t + half] * math.exp(m1 - top)",
        ),
    ),
    bug(
        "inf_minus_inf_in_merge",
        "-inf - -inf where a thread saw no value",
        "In a short row some threads see no value, so their maximum is -inf. Where the old and the new maximum "
        "are both -inf, the factor is exp(-inf - (-inf)), which is NaN and never leaves d. Skip the update there.",
        "values rescale safety",
        _THREADS,
        ("            if top > -math.inf:\n                ds[t]", "            ds[t]"),
        ("                ms[t] = top\n", "            ms[t] = top\n"),
    ),
    bug(
        "reads_past_the_tail",
        "out-of-range read in the ragged tail",
        "The lanes of the last tile are not guarded, so they read past the end of the row: the next row's "
        "values, or memory that is not yours.",
        "values rescale traffic safety",
        _TILES,
        ("        if col < n:\n            x = X[row, col]\n", "        x = X[row, col]\n"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The terms are added in float16, which has 11 bits. Keep them in float32.",
        "values rescale",
        _HELPERS,
        (
            "sums = cuda.shared.array(shape=TILE, dtype=np.float32)",
            "sums = cuda.shared.array(shape=TILE, dtype=np.float16)",
        ),
    ),
    bug(
        "no_barrier_before_reuse",
        "shared buffer reused without a barrier",
        "The terms are written into the buffer while other threads have yet to read the tile's maximum from it. A "
        "barrier has to stand between that read and the next write.",
        "values rescale traffic safety",
        _TILES,
        ("        m_tile = red[0]\n        cuda.syncthreads()\n", "        m_tile = red[0]\n"),
    ),
    bug(
        "no_barrier_after_tile",
        "no barrier between two tiles",
        "The next tile is written into the buffer while other threads have yet to read this tile's sum from it. A "
        "barrier has to end the loop.",
        "values rescale traffic safety",
        _TILES,
        ("        m = m_new\n        cuda.syncthreads()\n", "        m = m_new\n"),
    ),
    bug(
        "no_barrier_before_broadcast",
        "no barrier before the state is read",
        "Thread 0 writes the state and the others read it at once, perhaps before it is there. A barrier has to "
        "stand between.",
        "safety",
        _SHARED,
        ("            state[0] = m\n        cuda.syncthreads()\n", "            state[0] = m\n"),
    ),
    bug(
        "barrier_in_branch",
        "barrier inside a branch",
        "cuda.syncthreads() stands under `if t < half`, so only some of the block's threads reach it. "
        "Every thread has to meet every barrier.",
        "values rescale traffic safety",
        _TILES,
        (_SUM_STEP, "                red[t] += red[t + half]\n                cuda.syncthreads()"),
    ),
    bug(
        "row_of_block_0",
        "index right only for block 0",
        "Every block works on row 0. The row is the block's own number, cuda.blockIdx.x.",
        "values rescale traffic safety",
        _TILES,
        ("row = cuda.blockIdx.x", "row = 0"),
    ),
    bug(
        "three_passes",
        "reads X a third time",
        "The terms are computed from a second read of the tile, so X is read three times. Keep x in a variable "
        "between the maximum and the sum.",
        "traffic",
        _TILES,
        (
            "            term = math.exp(x - m_new)",
            "            if col < n:\n                term = math.exp(X[row, col] - m_new)",
        ),
    ),
    bug(
        "own_chunk",
        "neighbouring lanes read far apart",
        "Each thread works on a chunk of neighbouring elements, so the lanes of a warp touch addresses that lie a "
        "chunk apart: a sector for each instead of one for eight.",
        "traffic",
        _TILES,
        (
            "    for start in range(0, n, TILE):\n        col = start + t\n        if col < n:\n            Y",
            "    chunk = (n + TILE - 1) // TILE\n"
            "    for col in range(t * chunk, (t + 1) * chunk):\n"
            "        if col < n:\n"
            "            Y",
        ),
    ),
    bug(
        "writes_input",
        "kernel writes its input",
        "x - m is kept in X, and X is not yours to change: the caller's data is gone, and each store crosses "
        "global memory.",
        "values traffic",
        _TILES,
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
        _TILES,
        ("= math.exp(X[row, col] - m) / d", "= float32(1.0) / n"),
    ),
)
