"""Mistakes that any kernel of lab 3 can hold: edits of a kernel built on the plain ``merge``.

They are written once, and each exercise applies them to its own plain kernel.
"""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug

ALL = "values rescale traffic safety"
"""What a kernel fails that is far off on every row: nothing else of it counts until that is mended."""

_SUM = "d1 * math.exp(m1 - base) + d2 * math.exp(m2 - base)"
_BASE = "base = m if m != -math.inf else float32(0.0)"
_MAX = "m = max(m1, m2)"


def in_the_merge(text: str, empty: str = "values rescale safety") -> tuple[NamedBug, ...]:
    """Mistakes in the device function ``merge``, which folds a value as the state (x, 1). ``empty`` are the
    checks in which some thread has no value, and all else is well."""
    return (
        bug(
            "d_not_rescaled",
            "d not rescaled",
            "The first side's d is kept as it is when the maximum moves. In the fold that is all that the thread has "
            "summed so far. Multiply it by exp(m1 - m).",
            ALL,
            text,
            (_SUM, "d1 + d2 * math.exp(m2 - base)"),
        ),
        bug(
            "sides_swapped_in_fold",
            "merge with the two sides swapped, in the fold too",
            "Each side's d is multiplied by the other side's factor, so the first value of a thread already gives d = "
            "0. d1 belongs to exp(m1 - m), d2 to exp(m2 - m).",
            ALL,
            text,
            (_SUM, "d1 * math.exp(m2 - base) + d2 * math.exp(m1 - base)"),
        ),
        bug(
            "inf_minus_inf_in_merge",
            "-inf - -inf in the merge of two empty states",
            "In a short row some threads see no value, so their state is (-inf, 0). Where both sides are empty, m is "
            "-inf and m1 - m is -inf - (-inf), which is NaN and never leaves d. Guard that place.",
            empty,
            text,
            (_BASE, "base = m"),
        ),
        bug(
            "no_maximum",
            "no maximum",
            "The maximum is not subtracted, so exp overflows float32 above 88.7 and inf/inf is NaN, and far below 0 "
            "all terms are 0 and 0/0 is NaN.",
            "rescale",
            text,
            (_MAX, "m = float32(0.0)"),
        ),
        bug(
            "finite_stand_in",
            "a finite stand-in for -inf",
            "A large negative number stands for -inf, and a row can lie below any such number. Use -inf.",
            "rescale",
            text,
            (_MAX, "m = max(max(m1, m2), float32(-1e4))"),
        ),
        bug(
            "nan_swallowed",
            "NaN left out by the guard",
            "`max` passes over a NaN, so where a thread's first value is a NaN, m is still -inf; the guard then "
            "returns 0 and the NaN is lost. Guard only the subtraction: exp(m1 - 0) is 0 for an empty side and NaN "
            "for a NaN.",
            "rescale",
            text,
            (f"    d = {_SUM}\n", f"    d = float32(0.0)\n    if m != -math.inf:\n        d = {_SUM}\n"),
        ),
    )


def starts_at_zero(text: str, start: str) -> NamedBug:
    """``start`` is the text that begins the fold, with the maximum's first value in it."""
    return bug(
        "starts_at_zero",
        "maximum starts at 0",
        "The running maximum starts at 0, so in an all-negative row it stays 0 and every term underflows. "
        "Start at -inf.",
        "rescale",
        text,
        (start, start.replace("float32(-math.inf)", "float32(0.0)")),
    )


def row_of_block_0(text: str) -> NamedBug:
    """For a kernel with one row a block."""
    return bug(
        "row_of_block_0",
        "index right only for block 0",
        "Every block works on row 0. The row is the block's own number, cuda.blockIdx.x.",
        ALL,
        text,
        ("row = cuda.blockIdx.x", "row = 0"),
    )


def in_the_passes(text: str, fold: str, write: str, threads: str = "THREADS") -> tuple[NamedBug, ...]:
    """Mistakes in the two passes over X. ``fold`` and ``write`` are the loops, line by line, with their
    indentation; ``threads`` is what the kernel calls the threads of a block."""
    pad = fold[: len(fold) - len(fold.lstrip())]
    more = pad + "    "
    loop = f"for col in range(t, n, {threads}):\n"
    merge = f"{more}m, d = merge(m, d, X[row, col], float32(1.0))\n"
    return (
        bug(
            "tail_dropped",
            "tail dropped by floor division",
            "n // threads counts full tiles only, so the values after the last full tile are neither in d nor written. "
            "Go up to n.",
            ALL,
            text,
            (fold, fold.replace("range(t, n,", f"range(t, n // {threads} * {threads},")),
            (write, write.replace("range(t, n,", f"range(t, n // {threads} * {threads},")),
        ),
        bug(
            "fold_skips_first",
            "first value of each thread left out",
            "The fold starts one step too late, so the first value of every thread is not in d.",
            ALL,
            text,
            (fold, fold.replace("range(t, n,", f"range(t + {threads}, n,")),
        ),
        bug(
            "three_passes",
            "reads X a third time",
            "The maximum and the sum have a pass each, so X is read three times. Fold m and d in one pass.",
            "traffic",
            text,
            (
                fold,
                f"{pad}{loop}{more}m = max(m, X[row, col])\n"
                f"{pad}base = m if m != -math.inf else float32(0.0)\n"
                f"{pad}{loop}{more}d += math.exp(X[row, col] - base)\n",
            ),
        ),
        bug(
            "own_chunk",
            "neighbouring lanes read far apart",
            "Each thread folds a chunk of neighbouring elements, so the lanes of a warp touch addresses that lie a "
            "chunk apart: a sector for each instead of one for eight.",
            "traffic",
            text,
            (
                fold,
                f"{pad}chunk = (n + {threads} - 1) // {threads}\n"
                f"{pad}for col in range(t * chunk, min((t + 1) * chunk, n)):\n{merge}",
            ),
        ),
        bug(
            "writes_input",
            "kernel writes its input",
            "x - m is kept in X, and X is not yours to change: the caller's data is gone, and each store crosses "
            "global memory.",
            "values traffic",
            text,
            (
                write,
                f"{pad}{loop}{more}X[row, col] = X[row, col] - m\n{more}Y[row, col] = math.exp(X[row, col]) / d\n",
            ),
        ),
        bug(
            "uniform_row",
            "writes 1/n",
            "Every output of a row is 1/n: the logits never enter the result.",
            ALL,
            text,
            (write, f"{pad}{loop}{more}Y[row, col] = float32(1.0) / n\n"),
        ),
    )


def in_the_tree(text: str, pad: str = "") -> tuple[NamedBug, ...]:
    """Mistakes in the plain tree of pairs; ``pad`` is its indentation beyond that of a kernel's body."""
    step = f"{pad}            ms[t], ds[t] = merge(ms[t], ds[t], ms[t + half], ds[t + half])\n"
    barrier = f"{pad}        cuda.syncthreads()\n{pad}        half //= 2\n"
    stored = f"{pad}    ds[t] = d\n{pad}    cuda.syncthreads()\n"
    return (
        bug(
            "lanes_d_added",
            "threads' d added although each thread has its own m",
            "Each thread keeps its own (m, d), and the d's are added as if they had one scale. Bring both to the "
            "larger maximum first: that is what merge does.",
            ALL,
            text,
            (step, step.replace("merge(ms[t], ds[t], ms[t + half], ds[t + half])",
                                "max(ms[t], ms[t + half]), ds[t] + ds[t + half]")),
        ),
        bug(
            "merge_sides_swapped",
            "merge with the two sides swapped",
            "In the tree each side's d goes with the other side's m. merge takes (m1, d1) of one thread and (m2, d2) "
            "of the other.",
            ALL,
            text,
            (step, step.replace("(ms[t], ds[t], ms[t + half], ds[t + half])",
                                "(ms[t], ds[t + half], ms[t + half], ds[t])")),
        ),
        bug(
            "last_level_lost",
            "last level of the tree left out",
            "The tree ends with two states, one of all even threads and one of all odd ones, and only the first is "
            "used. The last step has half = 1.",
            ALL,
            text,
            ("while half > 0:", "while half > 1:"),
        ),
        bug(
            "own_place_read",
            "each thread reads its own place of the tree",
            "Only place 0 holds the state of the whole row when the tree ends. Here each thread uses what is left at "
            "its own place.",
            ALL,
            text,
            ("m = ms[0]", "m = ms[t]"),
            ("d = ds[0]", "d = ds[t]"),
        ),
        bug(
            "no_barrier_in_tree",
            "barrier missing in the tree",
            "A thread merges with a state that its owner may not have finished in the step before. A barrier has to "
            "end every step of the tree.",
            ALL,
            text,
            (barrier, f"{pad}        half //= 2\n"),
        ),
        bug(
            "no_barrier_before_tree",
            "no barrier before the tree",
            "The first step of the tree reads states that other threads may not have written yet. A barrier has to "
            "stand between.",
            ALL,
            text,
            (stored, f"{pad}    ds[t] = d\n"),
        ),
        bug(
            "barrier_in_branch",
            "barrier inside a branch",
            "cuda.syncthreads() stands under `if t < half`, so only some of the block's threads reach it. "
            "Every thread has to meet every barrier.",
            ALL,
            text,
            (step + barrier, f"{step}{pad}            cuda.syncthreads()\n{pad}        half //= 2\n"),
        ),
    )  # fmt: skip
