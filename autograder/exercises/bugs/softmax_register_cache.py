"""Wrong kernels for lab4.softmax_register_cache."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

# These take as many steps as the row is long, so that the judge can afford to try them all.
_USED = kernel_text("lab4.softmax_register_cache", "used_slots")
_MERGE = kernel_text("lab4.softmax_register_cache", "online_merge")
_WARPS = kernel_text("lab4.softmax_register_cache", "warp_reductions")
_FOUR = kernel_text("lab4.softmax_register_cache", "sixteen_bytes")

_LOAD = "        if t + 256 * k < n:\n            x = X[row, t + 256 * k]\n"
_TERM = "        slots[k] = math.exp(slots[k] - m)\n        d += slots[k]\n"
_WRITE = "        if t + 256 * k < n:\n            Y[row, t + 256 * k] = slots[k] / red[0]\n"
_SUM_STEP = "            red[t] += red[t + half]\n        cuda.syncthreads()"

BUGS: tuple[NamedBug, ...] = (
    # the cache
    bug(
        "reads_x_again",
        "cache filled but X read again",
        "The values are kept, and yet X is read a second time, for the terms or for the output. Take the value "
        "from its slot; and fill the slots in the loop that finds the maximum.",
        "traffic",
        _USED,
        ("= slots[k] / red[0]", "= math.exp(X[row, t + 256 * k] - m) / red[0]"),
    ),
    bug(
        "y_as_cache",
        "Y used as the cache",
        "The terms are kept in Y and divided in place. Y lies in global memory: that is one more write and a "
        "read, not a cache. Keep them in the slots.",
        "traffic",
        _USED,
        (_TERM, _TERM + "        if t + 256 * k < n:\n            Y[row, t + 256 * k] = slots[k]\n"),
        ("= slots[k] / red[0]", "= Y[row, t + 256 * k] / red[0]"),
    ),
    bug(
        "writes_input",
        "kernel writes its input",
        "X itself is used as the cache: the terms are stored back into it. X is not yours to change, and it lies "
        "in global memory.",
        "values traffic",
        _USED,
        (_TERM, _TERM + "        if t + 256 * k < n:\n            X[row, t + 256 * k] = slots[k]\n"),
        ("= slots[k] / red[0]", "= X[row, t + 256 * k] / red[0]"),
    ),
    bug(
        "too_few_slots",
        "fewer slots than the longest row needs",
        "The local array is shorter than the loop over it, so a long row runs past its end. 8,192 values over 256 "
        "threads are 32 slots each.",
        "values safety",
        _USED,
        ("cuda.local.array(32, float32)", "cuda.local.array(16, float32)"),
    ),
    bug(
        "half_the_slots",
        "only half the slots in use",
        "The loops stop after 16 slots, so a row longer than 4,096 loses its second half: it is neither in d nor "
        "written. Go over all 32.",
        "values safety",
        _USED,
        ("used = (n + 255) // 256", "used = min(16, (n + 255) // 256)"),
    ),
    bug(
        "indexed_by_column",
        "slot taken by the column",
        "A thread's k-th value belongs in slot k. Here the slot is the column, and a thread has 32 slots, not a "
        "row of them.",
        "values rescale traffic safety",
        _MERGE,
        ("        values[k] = x\n", "        values[j] = x\n"),
        ("math.exp(values[k] - m)", "math.exp(values[j] - m)"),
    ),
    bug(
        "one_slot",
        "one slot for all values",
        "The slot number does not move, so each value overwrites the one before and only the last one is left. "
        "Count the slots along with the columns.",
        "values rescale traffic safety",
        _MERGE,
        ("        m, d = merge(m, d, x, np.float32(1.0))\n        k += 1\n",
         "        m, d = merge(m, d, x, np.float32(1.0))\n"),
        ("* scale\n        k += 1\n", "* scale\n"),
    ),
    bug(
        "slots_shared",
        "one shared array for the slots of all threads",
        "cuda.shared.array gives the whole block one array, so all threads store into the same 32 slots. Each "
        "thread needs its own: cuda.local.array.",
        "values rescale traffic safety",
        _USED,
        ("cuda.local.array(32, float32)", "cuda.shared.array(32, float32)"),
    ),
    bug(
        "zero_padding",
        "empty slots hold 0",
        "Past the end of the row the slots hold 0. In the maximum 0 beats every value of an all-negative row, and "
        "in the sum each of them adds exp(0 - m). Fill them with -inf.",
        "values rescale traffic safety",
        _USED,
        ("        x = float32(-math.inf)\n", "        x = float32(0.0)\n"),
    ),
    bug(
        "zero_padding_in_maximum",
        "empty slots count as 0 in the max alone",
        "Empty slots are left out of the sum, but in the maximum they count as 0, and 0 beats every value of an "
        "all-negative row. Let them be -inf.",
        "rescale",
        _USED,
        ("        m = max(m, x)\n", "        m = max(m, x if t + 256 * k < n else float32(0.0))\n"),
    ),
    bug(
        "unwritten_slots_read",
        "slots read that were never filled",
        "The loop goes over all 32 slots, but past the end of the row nothing was stored in them: they hold "
        "whatever the register held before. Fill them with -inf, or ask whether the column exists.",
        "values rescale traffic safety",
        _USED,
        (
            "        x = float32(-math.inf)\n" + _LOAD + "        slots[k] = x\n        m = max(m, x)\n",
            "        if t + 256 * k < n:\n            slots[k] = X[row, t + 256 * k]\n"
            "            m = max(m, slots[k])\n",
        ),
    ),
    bug(
        "float16_cache",
        "slots in float16",
        "The slots keep 11 bits of each value. Keep the row in float32.",
        "values rescale",
        _MERGE,
        ("cuda.local.array(shape=32, dtype=np.float32)", "cuda.local.array(shape=32, dtype=np.float16)"),
    ),
    bug(
        "kept_term_not_rescaled",
        "kept terms not rescaled",
        "The slots keep exp(x - m) for the maximum of that moment. When m moves later, d is corrected but the "
        "kept terms are not. Keep x, or multiply by exp(m_then - m) at the end.",
        "values rescale traffic safety",
        _MERGE,
        ("        values[k] = x\n        m, d = merge(m, d, x, np.float32(1.0))\n",
         "        m, d = merge(m, d, x, np.float32(1.0))\n"
         "        values[k] = math.exp(x - m) if x > NEG_INF else 0.0\n"),
        ("math.exp(values[k] - m) * scale", "values[k] * scale"),
    ),
    bug(
        "exp_taken_twice",
        "exp taken twice",
        "The slots already hold the terms exp(x - m), and the output takes exp of them once more. Only divide.",
        "values rescale traffic safety",
        _USED,
        ("= slots[k] / red[0]", "= math.exp(slots[k] - m) / red[0]"),
    ),
    bug(
        "four_neighbours",
        "four neighbours a thread, loaded one by one",
        "Each thread keeps four neighbouring values and loads them one at a time, so in each request the lanes "
        "are 16 bytes apart: four times the sectors. Let neighbouring lanes read neighbours, or load all four at "
        "once with load4.",
        "traffic",
        _FOUR,
        (
            "                a, b, c, e = load4(x, j)\n",
            "                a, b, c, e = x[j], x[j + 1], x[j + 2], x[j + 3]\n",
        ),
        (
            "                store4(y, j, kept[4 * k] * scale, kept[4 * k + 1] * scale,\n"
            "                       kept[4 * k + 2] * scale, kept[4 * k + 3] * scale)\n",
            "                for i in range(4):\n                    y[j + i] = kept[4 * k + i] * scale\n",
        ),
    ),
    bug(
        "own_chunk",
        "neighbouring columns in one thread",
        "Each thread takes a chunk of neighbouring columns, so the lanes of a warp are a chunk apart: more "
        "sectors for the same bytes, up to one for each value. Neighbouring lanes have to read neighbours.",
        "traffic",
        _USED,
        (_LOAD, _LOAD.replace("t + 256 * k", "t * used + k")),
        (_WRITE, _WRITE.replace("t + 256 * k", "t * used + k")),
    ),
    bug(
        "written_in_another_layout",
        "written in another layout than read",
        "Slot k holds column t + 256·k, but the output writes it to a column of another layout. Read and write in "
        "one layout.",
        "values rescale traffic safety",
        _USED,
        (_WRITE, _WRITE.replace("t + 256 * k", "t * used + k")),
    ),
    # the state
    bug(
        "no_maximum",
        "no maximum",
        "The maximum is not subtracted, so exp overflows float32 above 88.7 and inf/inf is NaN, and far below 0 "
        "all terms are 0 and 0/0 is NaN.",
        "rescale",
        _USED,
        ("math.exp(slots[k] - m)", "math.exp(slots[k])"),
    ),
    bug(
        "starts_at_zero",
        "maximum starts at 0",
        "The running maximum starts at 0, so in an all-negative row it stays 0 and every term underflows. Start "
        "at -inf.",
        "rescale",
        _USED,
        ("    m = float32(-math.inf)\n    for", "    m = float32(0.0)\n    for"),
    ),
    bug(
        "finite_stand_in",
        "a finite stand-in for -inf",
        "A large negative number stands for -inf, and a row can lie below any such number. Start at -inf, and "
        "fill with -inf.",
        "rescale",
        _USED,
        ("    m = float32(-math.inf)\n    for", "    m = float32(-1e4)\n    for"),
        ("        x = float32(-math.inf)\n", "        x = float32(-1e4)\n"),
    ),
    bug(
        "own_maximum",
        "each thread subtracts its own maximum",
        "The terms are measured against the thread's own maximum, but d is one sum for the whole row. Reduce the "
        "maximum over the block first.",
        "values rescale traffic safety",
        _USED,
        ("    m = red[0]\n    cuda.syncthreads()\n", "    cuda.syncthreads()\n"),
    ),
    bug(
        "d_not_rescaled",
        "d not rescaled",
        "When a value moves the maximum, what is already in d was measured against the old one. Multiply d by "
        "exp(m - m_new) before you add the term.",
        "values rescale",
        _MERGE,
        (
            "        m, d = merge(m, d, x, np.float32(1.0))\n",
            "        m = max(m, x)\n        d += math.exp(x - (m if m > NEG_INF else np.float32(0.0)))\n",
        ),
    ),
    bug(
        "lanes_d_added",
        "lanes' d added although each lane has its own m",
        "Each thread keeps its own (m, d), and the d's are added as if they had one scale. Bring both to the "
        "larger maximum first.",
        "values rescale traffic safety",
        _MERGE,
        ("            m, d = merge(ms[t], ds[t], ms[t + half], ds[t + half])\n",
         "            m, d = max(ms[t], ms[t + half]), ds[t] + ds[t + half]\n"),
    ),
    bug(
        "merge_sides_swapped",
        "merge with the two sides swapped",
        "Each side's d is multiplied by the other side's factor. d1 belongs to exp(m1 - m), d2 to exp(m2 - m).",
        "values rescale traffic safety",
        _MERGE,
        ("d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)", "d1 * math.exp(m2 - base) + d2 * math.exp(m1 - base)"),
    ),
    bug(
        "inf_minus_inf_in_merge",
        "-inf - -inf where nothing finite was seen",
        "Where both maxima are -inf, as in a thread without a value, the factor is exp(-inf - (-inf)), which is "
        "NaN and never leaves d. Subtract 0 there.",
        "values rescale safety",
        _MERGE,
        ("    base = m if m > NEG_INF else np.float32(0.0)\n", "    base = m\n"),
    ),
    bug(
        "nan_swallowed",
        "NaN left out of the sum",
        "A comparison such as `x > -inf` is false for a NaN too, so the NaN never reaches the denominator and the "
        "rest of the row looks healthy.",
        "rescale",
        _USED,
        ("        d += slots[k]\n", "        if slots[k] >= float32(0.0):\n            d += slots[k]\n"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The terms are added in float16, which has 11 bits. Keep them in float32.",
        "values rescale",
        _MERGE,
        ("ds = cuda.shared.array(shape=256, dtype=np.float32)", "ds = cuda.shared.array(shape=256, dtype=np.float16)"),
    ),
    bug(
        "uniform_row",
        "writes 1/n",
        "Every output of a row is 1/n: the logits never enter the result.",
        "values rescale traffic safety",
        _USED,
        ("= slots[k] / red[0]", "= float32(1.0) / n"),
    ),
    # the block
    bug(
        "tail_dropped",
        "tail dropped by floor division",
        "n // 256 counts full tiles only, so the values after the last full tile are neither kept nor written. "
        "Ask for each slot whether its column is below n.",
        "values rescale traffic safety",
        _USED,
        ("used = (n + 255) // 256", "used = n // 256"),
    ),
    bug(
        "reads_past_the_tail",
        "out-of-range read in the ragged tail",
        "The slots of the last tile are not guarded, so they read past the end of the row: the next row's values, "
        "or memory that is not yours.",
        "values rescale traffic safety",
        _USED,
        (_LOAD, "        x = X[row, t + 256 * k]\n"),
    ),
    bug(
        "second_stage_reads_past",
        "second stage reads past the number of warps",
        "Eight warps leave a result each, but 32 are read: places 8 to 31 hold what nobody wrote.",
        "values rescale traffic safety",
        _WARPS,
        ("    sums = cuda.shared.array(shape=8", "    sums = cuda.shared.array(shape=32"),
        ("    d = np.float32(0.0)\n    if lane < 8:\n        d = sums[lane]\n", "    d = sums[lane]\n"),
    ),
    bug(
        "warps_not_joined",
        "the warps are never joined",
        "The shuffles join the 32 lanes of a warp, and each warp goes on with a sum of its own. The eight sums "
        "have to meet in shared memory.",
        "values rescale traffic safety",
        _WARPS,
        ("    if lane < 8:\n        d = sums[lane]\n", "    if lane == 0:\n        d = sums[warp]\n"),
    ),
    bug(
        "no_barrier_before_reuse",
        "shared buffer reused without a barrier",
        "The sums are written into the buffer while other threads have yet to read the maximum from it. A barrier "
        "has to stand between that read and the next write.",
        "values rescale traffic safety",
        _USED,
        ("    m = red[0]\n    cuda.syncthreads()\n", "    m = red[0]\n"),
    ),
    bug(
        "no_barrier_before_second_stage",
        "no barrier before the second stage",
        "Each warp stores its result and the others read it at once, perhaps before it is there. A barrier has to "
        "stand between.",
        "values rescale traffic safety",
        _WARPS,
        ("        maxima[warp] = m\n    cuda.syncthreads()\n", "        maxima[warp] = m\n"),
    ),
    bug(
        "barrier_in_branch",
        "barrier inside a branch",
        "cuda.syncthreads() stands under `if t < half`, so only some of the block's threads reach it. Every "
        "thread has to meet every barrier.",
        "values rescale traffic safety",
        _USED,
        (_SUM_STEP, "            red[t] += red[t + half]\n            cuda.syncthreads()"),
    ),
    bug(
        "row_of_block_0",
        "index right only for block 0",
        "Every block works on row 0. The row is the block's own number, cuda.blockIdx.x.",
        "values rescale traffic safety",
        _USED,
        ("row = cuda.blockIdx.x", "row = 0"),
    ),
)
