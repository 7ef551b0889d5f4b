"""Wrong kernels for lab1.row_max."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_STRIDED = kernel_text("lab1.row_max", "strided")
_PADDED = kernel_text("lab1.row_max", "padded_tiles")

BUGS: tuple[NamedBug, ...] = (
    bug(
        "zero_padding",
        "padding read as 0 in a max",
        "Places past the end of the row count as 0, and 0 beats every value of an all-negative row. "
        "The identity of a maximum is -inf.",
        "rescale",
        _PADDED,
        ("            x = PAD\n", "            x = 0.0\n"),
    ),
    bug(
        "starts_at_zero",
        "maximum starts at 0",
        "The running maximum starts at 0, so an all-negative row gives 0. Start at -inf.",
        "rescale",
        _STRIDED,
        ("float32(-math.inf)", "float32(0.0)"),
    ),
    bug(
        "finite_stand_in",
        "a finite stand-in for -inf",
        "The running maximum starts at a large negative number, and a row can lie below any such "
        "number. Start at -inf.",
        "rescale",
        _STRIDED,
        ("float32(-math.inf)", "float32(-1e4)"),
    ),
    bug(
        "starts_at_minus_1e9",
        "a finite stand-in for -inf: -1e9",
        "The running maximum starts at a number such as -1e9, so a row of -inf gives that number. Start at -inf.",
        "rescale",
        _STRIDED,
        ("float32(-math.inf)", "float32(-1e9)"),
    ),
    bug(
        "reads_past_the_tail",
        "out-of-range read in the ragged tail",
        "The last tile is rounded up and its lanes are not guarded, so they read past the end of the row: "
        "the next row's values, or memory that is not yours.",
        "safety",
        _STRIDED,
        (
            "for col in range(t, n, THREADS):\n        best",
            "for tile in range((n + THREADS - 1) // THREADS):\n        col = tile * THREADS + t\n        best",
        ),
    ),
    bug(
        "starts_at_own_element",
        "maximum starts at the thread's own element",
        "Each thread starts at X[row, t] without asking whether the row has an element t, so a short "
        "row is read past its end, and every first tile is read twice.",
        "traffic safety",
        _STRIDED,
        ("best = float32(-math.inf)", "best = X[row, t]"),
    ),
    bug(
        "tail_dropped",
        "tail dropped by floor division",
        "n // 128 counts full tiles only, so the values after the last full tile are never seen. "
        "Round up, and guard the last tile.",
        "values rescale safety",
        _STRIDED,
        (
            "for col in range(t, n, THREADS):\n        best",
            "for tile in range(n // THREADS):\n        col = tile * THREADS + t\n        best",
        ),
    ),
    bug(
        "row_of_block_0",
        "index right only for block 0",
        "Every block reads row 0. The row is the block's own number, cuda.blockIdx.x.",
        "values rescale traffic safety",
        _STRIDED,
        ("X[row, col]", "X[0, col]"),
    ),
    bug(
        "row_is_0",
        "index right only for row 0",
        "row is 0 in every block, so all of them reduce row 0 into out[0] and the rest of out stays as it was. "
        "The row is the block's own number, cuda.blockIdx.x.",
        "values rescale traffic safety",
        _STRIDED,
        ("row = cuda.blockIdx.x", "row = 0"),
    ),
    bug(
        "output_of_block_0",
        "every block writes element 0",
        "Every block writes out[0], so the blocks overwrite each other and the rest of out stays as it was.",
        "values rescale traffic safety",
        _STRIDED,
        ("out[row] =", "out[0] ="),
    ),
    bug(
        "every_thread_stores",
        "every thread stores the result",
        "All 128 threads write out[row], where one store is enough. Put it under `if t == 0`.",
        "traffic",
        _STRIDED,
        ("    if t == 0:\n        out[row]", "    out[row]"),
    ),
    bug(
        "tree_starts_too_low",
        "tree starts one level too low",
        "The first step of the tree joins quarters of the block, so the upper half of the shared places is never "
        "read. For 128 places the first step is 64, half of them.",
        "values rescale traffic safety",
        _STRIDED,
        ("half = THREADS // 2", "half = THREADS // 4"),
    ),
    bug(
        "no_barrier_before_tree",
        "no barrier before the tree",
        "The tree reads red[t + 64] before the thread that writes it may have come there. A barrier has to "
        "stand between the writes and the first read.",
        "values rescale traffic safety",
        _STRIDED,
        ("red[t] = best\n    cuda.syncthreads()", "red[t] = best"),
    ),
    bug(
        "no_barrier_in_tree",
        "no barrier between the steps of the tree",
        "Each step of the tree reads what another thread wrote in the step before, so every step needs its "
        "own barrier.",
        "values rescale traffic safety",
        _STRIDED,
        ("        cuda.syncthreads()\n        half //= 2", "        half //= 2"),
    ),
    bug(
        "early_return",
        "threads leave before the barrier",
        "Threads past the end of a short row return at once, so they never fill their place in shared memory and "
        "never come to the barriers. Keep every thread, and give those the identity.",
        "safety",
        _STRIDED,
        ("    best = float32(", "    if t >= n:\n        return\n    best = float32("),
    ),
    bug(
        "barrier_in_branch",
        "barrier inside a branch",
        "cuda.syncthreads() stands under `if t < half`, so only some of the block's threads reach it. "
        "Every thread has to meet every barrier.",
        "safety",
        _STRIDED,
        (
            "        cuda.syncthreads()\n        half //= 2",
            "            cuda.syncthreads()\n        half //= 2",
        ),
    ),
    bug(
        "reads_twice",
        "reads X once more than needed",
        "X crosses global memory twice, and a maximum needs each element once. One pass is enough; keep what "
        "you need twice in a variable.",
        "traffic",
        _STRIDED,
        (
            "    red[t] = best\n",
            "    for col in range(t, n, THREADS):\n        best = max(best, X[row, col])\n    red[t] = best\n",
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
            "for col in range(t, n, THREADS):\n",
            "chunk = (n + THREADS - 1) // THREADS\n    for col in range(t * chunk, min(n, (t + 1) * chunk)):\n",
        ),
    ),
    bug(
        "all_zeros",
        "writes zeros",
        "Every output is 0: the result was never stored, or it was multiplied away.",
        "values rescale traffic safety",
        _STRIDED,
        ("out[row] = red[0]", "out[row] = 0.0"),
    ),
)
