"""Wrong kernels for lab5.online_attention: tiles and their ragged ends, barriers, and what crosses how often."""

from __future__ import annotations

from textwrap import indent

from ..model import NamedBug
from ..texts import bug, edited, kernel_text

_PLAIN = kernel_text("lab5.online_attention", "plain")
_NORMAL = kernel_text("lab5.online_attention", "normalised")

_DIVIDE = "= acc[c] / d"
_SCORE = "scores[row, j] = s * scale"
_LOADED = "        cuda.syncthreads()  # the tiles are there\n"
_SCORED = "        cuda.syncthreads()  # the scores of all keys are there\n"
_DONE = "        cuda.syncthreads()  # all are done with the tiles: the next ones may come\n"
_LOAD_Q = "            q_tile[i // WIDTH, i % WIDTH] = Q[first_query + i // WIDTH, i % WIDTH]\n"
_LOAD_ALL_Q = "    for i in range(t, QUERIES * WIDTH, 128):\n        if first_query + i // WIDTH < n_q:\n" + _LOAD_Q
_OUTPUT = "O[first_query + row, lane + LANES * c]"
_MASK = "s * scale if j < count else -math.inf"
PADDED = edited(
    _PLAIN,
    (
        "        for i in range(t, count * WIDTH, 128):\n",
        "        for i in range(t, KEYS * WIDTH, 128):\n"
        "            if i // WIDTH >= count:\n"
        "                k_tile[i // WIDTH, i % WIDTH] = 0.0\n"
        "                v_tile[i // WIDTH, i % WIDTH] = 0.0\n"
        "                continue\n",
    ),
    ("for j in range(lane, count, LANES)", "for j in range(lane, KEYS, LANES)"),
    ("s * scale", _MASK),
    ("for j in range(count):\n                m_new", "for j in range(KEYS):\n                m_new"),
    ("for j in range(count):\n                    p", "for j in range(KEYS):\n                    p"),
)
"""A right kernel too: the last tile is filled up with zeros, and a mask hides them."""

BUGS: tuple[NamedBug, ...] = (
    bug(
        "padding_scores_zero",
        "padding keys scored 0",
        "The last tile is filled up with zeros, whose scores are 0, and a score of 0 weighs e^(0 - m). A key that is "
        "not there must score -inf, or be left out of both sums.",
        "values rescale traffic safety",
        PADDED,
        (_MASK, "s * scale"),
    ),
    bug(
        "mask_of_the_tile",
        "mask by the place in the tile",
        "The mask compares the key's place in its tile with n_k, so it hides padding in the first tile only. Compare "
        "the key's own number, first key of the tile + place.",
        "values rescale",
        PADDED,
        (_MASK, _MASK.replace("count", "n_k")),
    ),
    bug(
        "mask_one_too_many",
        "mask lets one key too many through",
        "The mask is `<=` where it should be `<`, so one row of padding counts as a key where the last tile is ragged.",
        "values rescale",
        PADDED,
        (_MASK, _MASK.replace("<", "<=")),
    ),
    bug(
        "last_key_lost",
        "last key left out",
        "The mask hides the last key, n_k - 1, which counts like any other.",
        "values rescale traffic safety",
        _PLAIN,
        (
            "            for j in range(count):\n                m_new",
            "            if first_key + count == n_k:\n                count -= 1\n"
            "            for j in range(count):\n                m_new",
        ),
    ),
    bug(
        "padding_of_values_leaks",
        "0 · NaN from the padding of V",
        "The weights of keys that are not there are 0, but the rows of V that they multiply were never filled, and 0 "
        "times a NaN is NaN. Fill the padding with zeros, or loop over the keys that are there.",
        "values rescale traffic safety",
        PADDED,
        ("                v_tile[i // WIDTH, i % WIDTH] = 0.0\n                continue", "                continue"),
    ),
    bug(
        "last_tile_dropped",
        "ragged last tile dropped by floor division",
        "n_k // 32 counts full tiles only, so the keys after the last full tile are never seen. Round up, and guard "
        "the last tile.",
        "values rescale traffic safety",
        _NORMAL,
        ("tiles = (keys + BLOCK_K - 1) // BLOCK_K", "tiles = keys // BLOCK_K"),
    ),
    bug(
        "full_last_tile_lost",
        "last tile lost when it is full",
        "The number of keys in the last tile is n_k % 32, which is 0 when n_k is a multiple of 32.",
        "values rescale traffic safety",
        _PLAIN,
        (
            "        count = min(KEYS, n_k - first_key)",
            "        count = KEYS if first_key + KEYS < n_k else n_k % KEYS",
        ),
    ),
    bug(
        "keys_counted_from_queries",
        "n_k taken from Q",
        "The number of keys is K.shape[0], not Q.shape[0]: the two may differ.",
        "values rescale traffic safety",
        _PLAIN,
        ("n_k = K.shape[0]", "n_k = Q.shape[0]"),
    ),
    bug(
        "queries_of_block_0",
        "index right only for block 0",
        "Every block works on queries 0 to 15. Block b has queries 16·b to 16·b + 15.",
        "values traffic safety",
        _PLAIN,
        ("first_query = cuda.blockIdx.x * QUERIES", "first_query = 0"),
    ),
    bug(
        "writes_past_the_last_query",
        "out-of-range rows of O",
        "The last block may have fewer than 16 queries. Rows that are not there must not be written.",
        "safety",
        _PLAIN,
        (
            "    if live:\n        for c in range(8):\n            O",
            "    if True:\n        for c in range(8):\n            O",
        ),
    ),
    bug(
        "reads_past_the_last_key",
        "out-of-range rows of K and V",
        "The last tile may have fewer than 32 keys. Rows that are not there must not be loaded.",
        "safety",
        _PLAIN,
        ("range(t, count * WIDTH, 128)", "range(t, KEYS * WIDTH, 128)"),
    ),
    bug(
        "no_barrier_after_load",
        "no barrier after the tiles are loaded",
        "Threads read keys that other threads have yet to load. A barrier has to stand between.",
        "values rescale traffic safety",
        _PLAIN,
        (_LOADED, ""),
    ),
    bug(
        "no_barrier_after_scores",
        "no barrier after the scores",
        "Threads read scores that other threads of the row have yet to write. A barrier has to stand between.",
        "values rescale traffic safety",
        _PLAIN,
        (_SCORED, ""),
    ),
    bug(
        "no_barrier_before_reload",
        "no barrier before the tiles are loaded again",
        "The next keys and values are written over tiles that other threads are still reading. A barrier has to end "
        "the loop.",
        "values rescale traffic safety",
        _PLAIN,
        (_DONE, ""),
    ),
    bug(
        "barrier_in_branch",
        "barrier inside a branch",
        "cuda.syncthreads() stands under `if live`, so threads of rows without a query never reach it. Every thread "
        "has to meet every barrier.",
        "values safety",
        _PLAIN,
        (_SCORED, "    " + _SCORED),
    ),
    bug(
        "keys_from_global",
        "K read from global memory for every score",
        "The dot products read K itself, once for every query of the block. Load a tile of K into shared memory once, "
        "and let all queries read it there.",
        "traffic",
        _PLAIN,
        ("q_tile[row, i] * k_tile[j, i]", "q_tile[row, i] * K[first_key + j, i]"),
    ),
    bug(
        "queries_for_each_tile",
        "Q read again for every tile",
        "The queries of a block stay the same: load them once, before the loop over the tiles.",
        "traffic",
        _PLAIN,
        (_LOAD_ALL_Q, ""),
        (_LOADED, indent(_LOAD_ALL_Q, "    ") + _LOADED),
    ),
    bug(
        "output_in_global",
        "O kept in global memory",
        "O is read and written again in every tile. Keep the row's O in registers or shared memory and store it once.",
        "traffic",
        _PLAIN,
        ("        acc[c] = 0.0\n", f"        if live:\n            {_OUTPUT} = 0.0\n"),
        ("acc[c] = acc[c] * factor", f"{_OUTPUT} = {_OUTPUT} * factor"),
        ("acc[c] += p *", f"{_OUTPUT} += p *"),
        (_DIVIDE, f"= {_OUTPUT} / d"),
    ),
    bug(
        "tiles_by_column",
        "neighbouring threads load a key apart",
        "Neighbouring threads take neighbouring keys, so their addresses lie a row apart and each load touches a "
        "sector of its own. Let them take neighbouring columns of one key.",
        "traffic",
        _NORMAL,
        (
            "            a, b = divmod(i, D)\n            if k0",
            "            a, b = i % BLOCK_K, i // BLOCK_K\n            if k0",
        ),
    ),
    bug(
        "columns_in_chunks",
        "each thread stores neighbouring columns of O",
        "A thread's 8 columns lie side by side, so the threads of a warp store 8 floats apart, a sector each. Give "
        "thread l of a row the columns l, l + 8, l + 16, …",
        "traffic",
        _PLAIN,
        ("p * v_tile[j, lane + LANES * c]", "p * v_tile[j, 8 * lane + c]"),
        (_OUTPUT, "O[first_query + row, 8 * lane + c]"),
    ),
    bug(
        "writes_input",
        "kernel writes its input",
        "The scaled queries are written back to Q, and Q is not yours to change: the caller's data is gone, and each "
        "store crosses global memory.",
        "values traffic",
        _PLAIN,
        (
            _LOAD_Q,
            _LOAD_Q[:-1] + " * scale\n"
            "            Q[first_query + i // WIDTH, i % WIDTH] = q_tile[i // WIDTH, i % WIDTH]\n",
        ),
        (_SCORE, "scores[row, j] = s"),
    ),
)
