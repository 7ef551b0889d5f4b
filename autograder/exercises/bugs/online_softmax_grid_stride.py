"""Wrong kernels for lab3.online_softmax_grid_stride."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text
from . import merge_common as common

_PLAIN = kernel_text("lab3.online_softmax_grid_stride", "plain")
_WHILE = kernel_text("lab3.online_softmax_grid_stride", "two_buffers")
_ROUNDS = kernel_text("lab3.online_softmax_grid_stride", "shuffles")
_FIRST = kernel_text("lab3.online_softmax_grid_stride", "barrier_first")

_LOOP = "    for row in range(cuda.blockIdx.x, rows, cuda.gridDim.x):\n"
_RESET = "        m = float32(-math.inf)\n        d = float32(0.0)\n"
_FOLD = "        for col in range(t, n, THREADS):\n            m, d = merge(m, d, X[row, col], float32(1.0))\n"
_LAST = "        # The next row writes ms and ds again: everyone must have read them first.\n"
_WRITE = "        for col in range(t, n, THREADS):\n            Y[row, col] = math.exp(X[row, col] - m) / d\n"

BUGS: tuple[NamedBug, ...] = (
    *common.in_the_merge(_PLAIN, empty=common.ALL),
    *common.in_the_tree(_PLAIN, pad="    "),
    *common.in_the_passes(_PLAIN, _FOLD, _WRITE),
    common.starts_at_zero(_PLAIN, "        m = float32(-math.inf)\n"),
    bug(
        "no_barrier_before_reuse",
        "shared buffer reused for the next row without a barrier",
        "A fast thread writes its state of the next row while others have yet to read this row's state from place 0. A "
        "barrier has to stand between, at the end of the loop or at its start.",
        common.ALL,
        _PLAIN,
        (f"{_LAST}        cuda.syncthreads()\n", ""),
    ),
    bug(
        "one_row_per_block",
        "only the block's first row",
        "Each block works on row cuda.blockIdx.x alone, so the rows beyond the number of blocks are never written. "
        "Go on with row + cuda.gridDim.x (a step of cuda.blockDim.x leaves the arrays at once).",
        common.ALL,
        _PLAIN,
        (_LOOP, _LOOP.replace("rows, cuda", "min(cuda.blockIdx.x + 1, rows), cuda")),
    ),
    bug(
        "first_row_again",
        "the block's first row again and again",
        "The loop goes over the rows, but X is read at cuda.blockIdx.x, the block's first row. Read X[row, col].",
        common.ALL,
        _PLAIN,
        (_FOLD, _FOLD.replace("X[row, col]", "X[cuda.blockIdx.x, col]")),
        (_WRITE, _WRITE.replace("X[row, col]", "X[cuda.blockIdx.x, col]")),
    ),
    bug(
        "starts_at_row_0",
        "every block works on all rows",
        "The loop begins at row 0 in every block and steps by 1, so all blocks do all rows: the work and the "
        "traffic of one block, as often as there are blocks.",
        "traffic safety",
        _PLAIN,
        (_LOOP, "    for row in range(rows):\n"),
    ),
    bug(
        "step_too_long",
        "one row skipped in each round",
        "The step is one row longer than the grid, so in each round a row falls between the blocks.",
        common.ALL,
        _WHILE,
        ("row += cuda.gridDim.x", "row += cuda.gridDim.x + 1"),
    ),
    bug(
        "last_round_dropped",
        "last rows dropped by floor division",
        "rows // blocks counts full rounds only, so the rows of the last, ragged round are never written. Round "
        "up, and guard the row.",
        common.ALL,
        _ROUNDS,
        ("(rows + cuda.gridDim.x - 1) // cuda.gridDim.x", "rows // cuda.gridDim.x"),
    ),
    bug(
        "row_not_guarded",
        "rows past the last one",
        "In the last round some blocks have no row left, and here they read and write one all the same, outside of the "
        "arrays.",
        "safety",
        _ROUNDS,
        ("        if row < rows:\n            for col in range(t, X.shape[1], cuda.blockDim.x):\n                m, d",
         "        if row >= 0:\n            for col in range(t, X.shape[1], cuda.blockDim.x):\n                m, d"),
        ("        if row < rows:\n            for col in range(t, X.shape[1], cuda.blockDim.x):\n                Y",
         "        if row >= 0:\n            for col in range(t, X.shape[1], cuda.blockDim.x):\n                Y"),
    ),
    bug(
        "state_not_reset",
        "(m, d) carried into the next row",
        "m and d are set before the loop over the rows, so each row begins with the state of the row before. Every row "
        "starts at (-inf, 0).",
        common.ALL,
        _PLAIN,
        (_LOOP + _RESET, _RESET.replace("        ", "    ") + _LOOP),
    ),
    bug(
        "m_not_reset",
        "maximum carried into the next row",
        "d starts afresh in each row, but m keeps the maximum of the row before. After a loud row every term of a "
        "quiet one underflows.",
        "rescale",
        _PLAIN,
        (_LOOP + _RESET,
         "    m = float32(-math.inf)\n" + _LOOP + "        d = float32(0.0)\n"),
    ),
    bug(
        "shared_state_not_reset",
        "shared (m, d) carried into the next row",
        "Each thread folds into its place of shared memory, which is set once, before the loop over the rows. "
        "Every row has to start at (-inf, 0).",
        common.ALL,
        _FIRST,
        ("        pairs[0, t] = -math.inf\n        pairs[1, t] = 0.0\n", ""),
        ("    t = cuda.threadIdx.x\n    for",
         "    t = cuda.threadIdx.x\n    pairs[0, t] = -math.inf\n    pairs[1, t] = 0.0\n    for"),
    ),
    bug(
        "returns_in_the_loop",
        "threads return in the middle",
        "Threads without a column return before the tree, which then reads states that nobody wrote. Every thread has "
        "to stay until the last row: one without a value carries the identity.",
        common.ALL,
        _PLAIN,
        (_FOLD, f"        if t >= n:\n            return\n{_FOLD}"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The denominators are kept in float16, which has 11 bits. Keep them in float32.",
        "values rescale",
        _WHILE,
        ("ds = cuda.shared.array((2, 256), np.float32)", "ds = cuda.shared.array((2, 256), np.float16)"),
    ),
)  # fmt: skip
