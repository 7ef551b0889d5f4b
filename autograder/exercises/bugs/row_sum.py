"""Wrong kernels for lab1.row_sum."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_STRIDED = kernel_text("lab1.row_sum", "strided")
_PADDED = kernel_text("lab1.row_sum", "padded_tiles")
_STAGES = kernel_text("lab1.row_sum", "two_stages")
_TILES = kernel_text("lab1.row_sum", "one_buffer_per_tile")

BUGS: tuple[NamedBug, ...] = (
    bug(
        "minus_inf_padding",
        "padding of -inf in a sum",
        "Places past the end of the row count as -inf, or the sum itself starts there. That is the identity of a "
        "maximum; the identity of a sum is 0.",
        "values rescale traffic safety",
        _PADDED,
        ("start + lane < n else 0.0", "start + lane < n else -np.inf"),
    ),
    bug(
        "starts_at_minus_inf",
        "sum starts at -inf",
        "The running sum starts at -inf, the identity of a maximum, and stays there. A sum starts at 0.",
        "values rescale traffic safety",
        _STRIDED,
        ("total = float32(0.0)", "total = float32(-np.inf)"),
        ("from numba import cuda", "import numpy as np\nfrom numba import cuda"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The partial sums are kept in float16, which has 11 bits and ends at 65504. Keep them in float32.",
        "values rescale",
        _STRIDED,
        ("from numba import cuda", "import numpy as np\nfrom numba import cuda"),
        ("cuda.shared.array(THREADS, float32)", "cuda.shared.array(THREADS, np.float16)"),
    ),
    bug(
        "tail_dropped",
        "tail dropped by floor division",
        "n // 128 counts full tiles only, so the values after the last full tile are never added. "
        "Round up, and guard the last tile.",
        "values rescale traffic safety",
        _STRIDED,
        (
            "for col in range(t, n, THREADS):\n",
            "for tile in range(n // THREADS):\n        col = tile * THREADS + t\n",
        ),
    ),
    bug(
        "row_of_block_0",
        "index right only for block 0",
        "Every block reads row 0. The row is the block's own number, cuda.blockIdx.x.",
        "values rescale",
        _STRIDED,
        ("X[row, col]", "X[0, col]"),
    ),
    bug(
        "tree_starts_too_low",
        "tree starts one level too low",
        "The first step of the tree joins quarters of the block, so the upper half of the partial sums is never "
        "added. For 128 places the first step is 64, half of them.",
        "values rescale traffic safety",
        _STRIDED,
        ("half = THREADS // 2", "half = THREADS // 4"),
    ),
    bug(
        "last_step_of_tree_missing",
        "tree stops one step early",
        "The tree ends while two partial sums are left, so half of the row is missing. It has to go on "
        "while half > 0.",
        "values rescale traffic safety",
        _STRIDED,
        ("while half > 0:", "while half > 1:"),
    ),
    bug(
        "second_stage_reads_past",
        "second stage reads past the number of warps",
        "A block of 128 threads has 4 warps and writes 4 partial sums, but the second stage reads 32: the other "
        "28 were never written. Read as many as there are warps, or fill the rest with 0.",
        "values rescale traffic safety",
        _STAGES,
        ("cuda.shared.array(WARPS,", "cuda.shared.array(32,"),
        ("in range(WARPS)", "in range(32)"),
    ),
    bug(
        "early_return",
        "threads leave before the barrier",
        "Threads past the end of a short row return at once, so they never fill their place in shared memory and "
        "never come to the barriers. Keep every thread, and give those the identity.",
        "values rescale safety",
        _STRIDED,
        ("    total = float32(", "    if t >= n:\n        return\n    total = float32("),
    ),
    bug(
        "no_barrier_in_warp_tail",
        "last steps of the tree without barriers",
        "The last 32 threads of the tree run on without barriers, as if a warp always moved in step. It need not: "
        "put cuda.syncwarp() or a barrier between the steps.",
        "values rescale traffic safety",
        _STRIDED,
        (
            "        cuda.syncthreads()\n        half //= 2",
            "        if half > 32:\n            cuda.syncthreads()\n        half //= 2",
        ),
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
        "no_barrier_before_reuse",
        "shared buffer reused without a barrier",
        "The next tile is written into the buffer while other threads have yet to read this tile's total from "
        "it. A barrier has to stand between that read and the next write.",
        "safety",
        _TILES,
        ("        total += tile[0]\n        cuda.syncthreads()", "        total += tile[0]"),
    ),
    bug(
        "adds_into_global",
        "threads add into global memory",
        "Every thread adds its share to out[row] itself: the additions overwrite each other, start from "
        "whatever stood there, and each one crosses global memory. Reduce in shared memory and write once.",
        "values rescale traffic safety",
        _STRIDED,
        ("    if t == 0:\n        out[row] = red[0]", "    out[row] += total"),
    ),
    bug(
        "writes_input",
        "kernel writes its input",
        "X is used as scratch space, and X is not yours to change: the caller's data is gone, and each store "
        "crosses global memory.",
        "values traffic",
        _STRIDED,
        ("        total += X[row, col]\n", "        total += X[row, col]\n        X[row, col] = total\n"),
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
        "mean_instead_of_sum",
        "divides by n",
        "The result is the mean of the row, not its sum.",
        "values rescale traffic safety",
        _STRIDED,
        ("out[row] = red[0]", "out[row] = red[0] / n"),
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
