"""Wrong kernels for lab4.softmax_row_cache."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_TWO = kernel_text("lab4.softmax_row_cache", "two_reductions")
_TREE = kernel_text("lab4.softmax_row_cache", "online_tree")
_FILL = kernel_text("lab4.softmax_row_cache", "fill_then_work")
_WARPS = kernel_text("lab4.softmax_row_cache", "merge_in_warps")

_TERMS = "        term = math.exp(cache[j] - m)\n        cache[j] = term\n        d += term\n"
_TREE_D = "                ds[t] = ds[t] * math.exp(m1 - top) + ds[t + half] * math.exp(m2 - top)\n"
_SUM_STEP = "            red[t] += red[t + step]\n        cuda.syncthreads()"

BUGS: tuple[NamedBug, ...] = (
    # the cache
    bug(
        "reads_x_again",
        "cache filled but X read again",
        "The row is kept, and yet X is read a second time, for the terms or for the output. Take the value from "
        "the cache; and fill the cache in the loop that finds the maximum.",
        "traffic",
        _TWO,
        ("        term = math.exp(cache[j] - m)\n", "        term = math.exp(X[row, j] - m)\n"),
    ),
    bug(
        "y_as_cache",
        "Y used as the cache",
        "The terms are kept in Y and divided in place. Y lies in global memory: that is one more write and a "
        "read, not a cache. Keep them in shared memory.",
        "traffic",
        _TWO,
        ("        cache[j] = term\n", "        Y[row, j] = term\n"),
        ("Y[row, j] = cache[j] / d", "Y[row, j] = Y[row, j] / d"),
    ),
    bug(
        "writes_input",
        "kernel writes its input",
        "X itself is used as the cache: the terms are stored back into it. X is not yours to change, and it lies "
        "in global memory.",
        "values traffic",
        _TWO,
        (_TERMS, "        term = math.exp(X[row, j] - m)\n        X[row, j] = term\n        d += term\n"),
        ("Y[row, j] = cache[j] / d", "Y[row, j] = X[row, j] / d"),
    ),
    bug(
        "cache_too_short",
        "cache too short",
        "The cache holds fewer floats than the longest row has, so a long row runs past its end. n ≤ 4,096 needs "
        "4,096 floats.",
        "values safety",
        _TREE,
        ("LONGEST = 4096", "LONGEST = 2048"),
    ),
    bug(
        "one_place_a_thread",
        "one place a thread in the cache",
        "The cache is written at `t`, not at the column, so each tile overwrites the one before and only the last "
        "one is left. Write at the column.",
        "values rescale traffic safety",
        _TREE,
        ("        kept[col] = x\n", "        kept[t] = x\n"),
        ("math.exp(kept[col] - ms[0])", "math.exp(kept[t] - ms[0])"),
    ),
    bug(
        "index_off_the_stride",
        "cache index off the thread's stride",
        "A value is stored at one place of the cache and looked up at another: column j is at j, or everywhere at "
        "the same other place.",
        "values rescale traffic safety",
        _TREE,
        ("math.exp(kept[col] - ms[0])", "math.exp(kept[t * ((n + THREADS - 1) // THREADS) + col // THREADS] - ms[0])"),
    ),
    bug(
        "no_barrier_after_fill",
        "no barrier after filling the cache",
        "A thread fills every 256th place of the cache but looks at neighbouring places, which other threads "
        "fill, perhaps later. A barrier has to stand between the last store and the first such read.",
        "rescale safety",
        _FILL,
        ("        col += 256\n    cuda.syncthreads()\n\n", "        col += 256\n\n"),
    ),
    bug(
        "zero_padding",
        "cache padded with 0",
        "Past the end of the row the cache holds 0. In the maximum 0 beats every value of an all-negative row, "
        "and in the sum each pad adds exp(0 - m). Pad with -inf.",
        "values rescale traffic safety",
        _FILL,
        ("            cache[col] = -inf\n", "            cache[col] = 0\n"),
    ),
    bug(
        "unwritten_cache_read",
        "unwritten part of the cache read",
        "The maximum and the sum go over whole tiles, but past the end of the row nothing was stored: what lies "
        "there is left over from another block. Store -inf there, or stop at n.",
        "values rescale traffic safety",
        _FILL,
        ("        else:\n            cache[col] = -inf\n", ""),
    ),
    bug(
        "float16_cache",
        "cache in float16",
        "The cache keeps 11 bits of each value. Keep the row in float32.",
        "values rescale",
        _FILL,
        ("shape=4096, dtype=np.float32", "shape=4096, dtype=np.float16"),
    ),
    bug(
        "kept_term_not_rescaled",
        "kept terms not rescaled",
        "The cache keeps exp(x - m) for the maximum of that moment. When m moves later, d is corrected but the "
        "kept terms are not. Keep x, or multiply by exp(m_then - m) at the end.",
        "values rescale traffic safety",
        _TREE,
        ("        kept[col] = x\n", ""),
        ("        m = m_new\n", "        m = m_new\n        kept[col] = math.exp(x - base)\n"),
        ("math.exp(kept[col] - ms[0]) / ds[0]", "kept[col] / ds[0]"),
    ),
    bug(
        "exp_taken_twice",
        "exp taken twice",
        "The cache already holds the terms exp(x - m), and the output takes exp of them once more. Only divide.",
        "values rescale traffic safety",
        _TWO,
        ("= cache[j] / d", "= math.exp(cache[j] - m) / d"),
    ),
    bug(
        "own_chunk",
        "neighbouring lanes read far apart",
        "Each thread reads a chunk of neighbouring elements of X, so the lanes of a warp touch addresses that lie "
        "a chunk apart: a sector for each instead of one for eight.",
        "traffic",
        _TWO,
        (
            "    for j in range(t, n, 256):\n        x = X[row, j]\n",
            "    chunk = (n + 255) // 256\n"
            "    for j in range(t * chunk, min(n, (t + 1) * chunk)):\n        x = X[row, j]\n",
        ),
        (
            "    m = block_max(m, maxima)\n",
            "    m = block_max(m, maxima)\n    cuda.syncthreads()\n",
        ),
    ),
    # the state
    bug(
        "no_maximum",
        "no maximum",
        "The maximum is not subtracted, so exp overflows float32 above 88.7 and inf/inf is NaN, and far below 0 "
        "all terms are 0 and 0/0 is NaN.",
        "rescale",
        _TWO,
        ("math.exp(cache[j] - m)", "math.exp(cache[j])"),
    ),
    bug(
        "starts_at_zero",
        "maximum starts at 0",
        "The running maximum starts at 0, so in an all-negative row it stays 0 and every term underflows. Start "
        "at -inf.",
        "rescale",
        _TWO,
        ("m = numba.float32(-math.inf)", "m = numba.float32(0.0)"),
    ),
    bug(
        "finite_stand_in",
        "a finite stand-in for -inf",
        "A large negative number stands for -inf, and a row can lie below any such number. Start at -inf.",
        "rescale",
        _FILL,
        ("    best = np.float32(-inf)\n", "    best = np.float32(-1e4)\n"),
        ("            cache[col] = -inf\n", "            cache[col] = -1e4\n"),
    ),
    bug(
        "own_maximum",
        "each thread subtracts its own maximum",
        "The terms are measured against the thread's own maximum, but d is one sum for the whole row. Reduce the "
        "maximum over the block first.",
        "values rescale traffic safety",
        _TWO,
        ("    m = block_max(m, maxima)\n", ""),
    ),
    bug(
        "d_not_rescaled",
        "d not rescaled",
        "When a value moves the maximum, what is already in d was measured against the old one. Multiply d by "
        "exp(m - m_new) before you add the term.",
        "values rescale",
        _TREE,
        ("d = d * math.exp(m - base) + math.exp(x - base)", "d = d + math.exp(x - base)"),
    ),
    bug(
        "rescaled_after_adding",
        "d rescaled after adding instead of before",
        "The new term is measured against the new maximum already, and here it is corrected along with the old "
        "sum. Correct first, then add.",
        "values rescale traffic safety",
        _TREE,
        ("d = d * math.exp(m - base) + math.exp(x - base)", "d = (d + math.exp(x - base)) * math.exp(m - base)"),
    ),
    bug(
        "maximum_not_stored",
        "running maximum not stored",
        "m_new is used but never kept, so m stays at its start and every value corrects from there.",
        "values rescale traffic safety",
        _TREE,
        ("        m = m_new\n", ""),
    ),
    bug(
        "lanes_d_added",
        "lanes' d added although each lane has its own m",
        "Each thread keeps its own (m, d), and the d's are added as if they had one scale. Bring both to the "
        "larger maximum first.",
        "values rescale traffic safety",
        _TREE,
        (_TREE_D, "                ds[t] = ds[t] + ds[t + half]\n"),
    ),
    bug(
        "merge_sides_swapped",
        "merge with the two sides swapped",
        "Each side's d is multiplied by the other side's factor. d1 belongs to exp(m1 - m), d2 to exp(m2 - m).",
        "values rescale traffic safety",
        _TREE,
        (_TREE_D, "                ds[t] = ds[t] * math.exp(m2 - top) + ds[t + half] * math.exp(m1 - top)\n"),
    ),
    bug(
        "inf_minus_inf",
        "-inf - -inf unguarded",
        "While a thread has seen only -inf, m - m_new is -inf - (-inf), which is NaN and never leaves d. Guard "
        "the update where m_new is -inf.",
        "rescale",
        _TREE,
        ("base = m_new if m_new > -math.inf else float32(0.0)", "base = m_new"),
    ),
    bug(
        "inf_minus_inf_in_merge",
        "-inf - -inf where a thread saw no value",
        "In a short row some threads see no value, so their maximum is -inf. Merging two such states computes "
        "exp(-inf - (-inf)), which is NaN and never leaves d. Skip the merge there.",
        "values rescale traffic safety",
        _WARPS,
        ("    base = m if m > NEG_INF else np.float32(0.0)\n", "    base = m\n"),
    ),
    bug(
        "nan_swallowed",
        "NaN left out of the sum",
        "A comparison such as `x > -inf` is false for a NaN too, so the NaN never reaches the denominator and the "
        "rest of the row looks healthy.",
        "rescale",
        _WARPS,
        ("        elif x != NEG_INF:\n", "        elif x > NEG_INF:\n"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The terms are added in float16, which has 11 bits. Keep them in float32.",
        "values rescale",
        _FILL,
        ("shape=256, dtype=np.float32", "shape=256, dtype=np.float16"),
    ),
    bug(
        "uniform_row",
        "writes 1/n",
        "Every output of a row is 1/n: the logits never enter the result.",
        "values rescale traffic safety",
        _TWO,
        ("= cache[j] / d", "= numba.float32(1.0) / n"),
    ),
    # the block
    bug(
        "tail_dropped",
        "tail dropped by floor division",
        "n // 256 counts full tiles only, so the values after the last full tile are neither kept nor written. "
        "Round up, and guard the last tile.",
        "values rescale traffic safety",
        _FILL,
        ("chunk = (n + 255) // 256", "chunk = n // 256"),
    ),
    bug(
        "reads_past_the_tail",
        "out-of-range read in the ragged tail",
        "The lanes of the last tile are not guarded, so they read past the end of the row: the next row's values, "
        "or memory that is not yours.",
        "values rescale traffic safety",
        _FILL,
        ("        if col < n:\n            cache[col] = X[row, col]\n        else:\n            cache[col] = -inf\n",
         "        cache[col] = X[row, col]\n"),
    ),
    bug(
        "second_stage_reads_past",
        "second stage reads past the number of warps",
        "Eight warps leave a state each, but 32 lanes read one: lanes 8 to 31 read what nobody wrote. They must "
        "hold (-inf, 0).",
        "values rescale traffic safety",
        _WARPS,
        (
            "    if lane < 8:\n        m = warp_m[lane]\n        d = warp_d[lane]\n",
            "    m = warp_m[lane]\n    d = warp_d[lane]\n",
        ),
    ),
    bug(
        "warps_not_joined",
        "the warps are never joined",
        "The shuffles join the 32 lanes of a warp, and each warp goes on with a state of its own. The eight "
        "states have to meet in shared memory.",
        "values rescale traffic safety",
        _WARPS,
        ("    if lane < 8:\n        m = warp_m[lane]\n        d = warp_d[lane]\n",
         "    if lane == 0:\n        m = warp_m[t // 32]\n        d = warp_d[t // 32]\n"),
    ),
    bug(
        "no_barrier_before_reuse",
        "shared buffer reused without a barrier",
        "The sums are written into the buffer while other threads have yet to read the maximum from it. A barrier "
        "has to stand between that read and the next write.",
        "values rescale traffic safety",
        _FILL,
        ("    m = red[0]\n    cuda.syncthreads()\n", "    m = red[0]\n"),
    ),
    bug(
        "no_barrier_before_second_stage",
        "no barrier before the second stage",
        "Each warp stores its result and the others read it at once, perhaps before it is there. A barrier has to "
        "stand between.",
        "values rescale traffic safety",
        _TWO,
        ("        red[t // 32] = value\n    cuda.syncthreads()\n    for w in range(8):\n        value = max",
         "        red[t // 32] = value\n    for w in range(8):\n        value = max"),
    ),
    bug(
        "barrier_in_branch",
        "barrier inside a branch",
        "cuda.syncthreads() stands under `if t < step`, so only some of the block's threads reach it. Every "
        "thread has to meet every barrier.",
        "values rescale traffic safety",
        _FILL,
        (_SUM_STEP, "            red[t] += red[t + step]\n            cuda.syncthreads()"),
    ),
    bug(
        "row_of_block_0",
        "index right only for block 0",
        "Every block works on row 0. The row is the block's own number, cuda.blockIdx.x.",
        "values rescale traffic safety",
        _TREE,
        ("row = cuda.blockIdx.x", "row = 0"),
    ),
)
