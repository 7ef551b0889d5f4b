"""Wrong kernels for lab3.online_softmax_vec4."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text
from . import merge_common as common

_PLAIN = kernel_text("lab3.online_softmax_vec4", "plain")
_HEAD = kernel_text("lab3.online_softmax_vec4", "head_body_tail")
_FOUR = kernel_text("lab3.online_softmax_vec4", "four_at_once")

_START = "    m = float32(-math.inf)\n"
_BODY = "    body = 0\n    if row * n % 4 == 0:\n        body = n // 4 * 4\n"
_TAIL = "    for col in range(body + t, n, THREADS):\n        m, d = merge"
_WRITE_TAIL = "    for col in range(body + t, n, THREADS):\n        y[col] = math.exp(x[col] - m) / d\n"
_QUADS = "    for col in range(4 * t, body, 4 * THREADS):\n        a, b, c, e = load4(x, col)\n"
_FOLD_QUADS = f"{_QUADS}        m, d = merge(m, d, a, float32(1.0))\n"
_WRITE_QUADS = f"{_QUADS}        a = math.exp(a - m) / d\n"
_STORE = "        store4(y, col, a, b, c, e)\n"

BUGS: tuple[NamedBug, ...] = (
    *common.in_the_merge(_PLAIN, empty=common.ALL),
    *common.in_the_tree(_PLAIN),
    common.starts_at_zero(_PLAIN, _START),
    common.row_of_block_0(_PLAIN),
    bug(
        "tail_dropped",
        "tail dropped by vector loads",
        "Only whole groups of four are taken, so the last one to three values of the row are neither in d nor "
        "written. They need loads of their own.",
        common.ALL,
        _PLAIN,
        (f"{_BODY}\n", f"{_BODY}    n = n // 4 * 4\n\n"),
    ),
    bug(
        "tail_not_in_d",
        "tail written but not in d",
        "The last one to three values of the row are written, but the fold leaves them out, so d is too small.",
        "values rescale",
        _PLAIN,
        (_TAIL, _TAIL.replace("body + t, n, THREADS", "body + t, n // 4 * 4, THREADS")),
    ),
    bug(
        "tail_counted_twice",
        "last four values counted twice",
        "The loop over the tail begins four columns too early, so the last whole group is folded a second time.",
        "values rescale traffic",
        _PLAIN,
        (_TAIL, _TAIL.replace("body + t,", "max(body - 4, 0) + t,")),
    ),
    bug(
        "tail_in_every_thread",
        "tail folded by every thread",
        "Each thread folds the whole tail, so its values count 256 times in d. One thread for each value is enough.",
        common.ALL,
        _PLAIN,
        (_TAIL, _TAIL.replace("range(body + t, n, THREADS)", "range(body, n)")),
    ),
    bug(
        "wide_only_for_whole_rows",
        "no wide loads where n is not a multiple of 4",
        "One ragged value makes the whole row scalar, even where the row is aligned. The body of the row can still be "
        "taken four at a time; only the tail cannot.",
        "traffic",
        _PLAIN,
        ("    if row * n % 4 == 0:\n", "    if n % 4 == 0:\n"),
    ),
    bug(
        "vector_load_past_the_end",
        "vector load past the end of the row",
        "n / 4 is rounded up, so the last group reaches past the row: into the next row's values, or into memory that "
        "is not yours.",
        "values rescale traffic safety",
        _PLAIN,
        ("body = n // 4 * 4", "body = (n + 3) // 4 * 4"),
    ),
    bug(
        "misaligned_row",
        "16-byte load from a row that is not aligned",
        "When n is not a multiple of 4, the second row begins at an address that is not a multiple of 16 bytes, and a "
        "GPU refuses a 16-byte load from there. Take such a row one value at a time, or begin at its first aligned "
        "column.",
        "safety",
        _PLAIN,
        (_BODY, "    body = n // 4 * 4\n"),
    ),
    bug(
        "scalar_loads",
        "scalar loads and stores",
        "Every lane takes one value at a time: the same bytes in four times the requests. Use load4 and store4 on the "
        "part of the row that is aligned.",
        "traffic",
        _PLAIN,
        (_BODY, "    body = 0\n"),
    ),
    bug(
        "scalar_stores",
        "scalar stores",
        "X is read four values at a time, but Y is written one by one, in four scattered requests instead of one. Use "
        "store4.",
        "traffic",
        _PLAIN,
        (_STORE, "        y[col] = a\n        y[col + 1] = b\n        y[col + 2] = c\n        y[col + 3] = e\n"),
    ),
    bug(
        "four_neighbours_scalar",
        "four neighbours a thread, one at a time",
        "Each thread reads four neighbours with four loads, so the lanes of each load are 16 bytes apart: four times "
        "the requests, and four times the sectors too. Read them with one load4.",
        "traffic",
        _PLAIN,
        (
            _FOLD_QUADS,
            _FOLD_QUADS.replace(
                "a, b, c, e = load4(x, col)\n", "a, b, c, e = x[col], x[col + 1], x[col + 2], x[col + 3]\n"
            ),
        ),
    ),
    bug(
        "one_of_four_forgotten",
        "one of the four values forgotten",
        "Three of the four values that were loaded are folded; the last is not in d.",
        common.ALL,
        _PLAIN,
        ("        m, d = merge(m, d, e, float32(1.0))\n", ""),
    ),
    bug(
        "four_values_as_one",
        "four values folded as one",
        "Of the four values only the largest is folded. All four count: each adds its exp(x - m).",
        common.ALL,
        _FOUR,
        (
            "(math.exp(p - base) + math.exp(q - base)) + (math.exp(r - base) + math.exp(s - base))",
            "math.exp(max(max(p, q), max(r, s)) - base)",
        ),
    ),
    bug(
        "tile_maximum_as_weight",
        "the four values' own maximum as weight",
        "The four terms are measured against their own maximum, and d against it too, whatever the maximum was before. "
        "Take the larger of m and the four.",
        "rescale",
        _FOUR,
        ("top = max(max(m, max(p, q)), max(r, s))", "top = max(max(p, q), max(r, s))"),
    ),
    bug(
        "d_not_rescaled_for_four",
        "d not rescaled before the four are added",
        "The four terms are measured against the new maximum, and d still against the old one. Multiply d by "
        "exp(m - m_new) first.",
        "values rescale",
        _FOUR,
        ("            d = d * math.exp(m - base)\n            d += (", "            d += ("),
    ),
    bug(
        "index_in_groups",
        "group number used as index",
        "load4 and store4 take the index of the first value, not the number of the group: group q begins at 4·q.",
        "values rescale traffic safety",
        _HEAD,
        ("a, b, c, e = load4(x, head + 4 * quad)\n        m_ab", "a, b, c, e = load4(x, head + quad)\n        m_ab"),
    ),
    bug(
        "three_passes",
        "reads X a third time",
        "The maximum and the sum have a pass each, so X is read three times. Fold m and d in one pass.",
        "traffic",
        _PLAIN,
        (
            _FOLD_QUADS,
            f"{_QUADS}        m = max(max(m, max(a, b)), max(c, e))\n{_FOLD_QUADS}",
        ),
    ),
    bug(
        "writes_input",
        "kernel writes its input",
        "The terms are kept in X, and X is not yours to change: the caller's data is gone, and each store crosses "
        "global memory.",
        "values traffic",
        _PLAIN,
        (_STORE, f"        store4(x, col, a, b, c, e)\n{_STORE}"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The warps' denominators are kept in float16, which has 11 bits. Keep them in float32.",
        "values rescale",
        _HEAD,
        ("state = cuda.shared.array((2, 8), np.float32)", "state = cuda.shared.array((2, 8), np.float16)"),
    ),
    bug(
        "uniform_row",
        "writes 1/n",
        "Every output of a row is 1/n: the logits never enter the result.",
        common.ALL,
        _PLAIN,
        (_STORE, "        a = float32(1.0) / n\n        store4(y, col, a, a, a, a)\n"),
        (_WRITE_TAIL, _WRITE_TAIL.replace("math.exp(x[col] - m) / d", "float32(1.0) / n")),
    ),
)  # fmt: skip
