"""Wrong kernels for lab3.online_softmax_warp."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text
from . import merge_common as common

_PLAIN = kernel_text("lab3.online_softmax_warp", "plain")
_DOWN = kernel_text("lab3.online_softmax_warp", "down_then_broadcast")
_SUMS = kernel_text("lab3.online_softmax_warp", "maximum_then_sum")
_LOOP = kernel_text("lab3.online_softmax_warp", "loop_over_warps")

_RESET = "    m = float32(-math.inf)\n    d = float32(0.0)\n"
_START = f"{_RESET}    for col in range(t, n, threads):\n        m, d = merge"
_FOLD = "    for col in range(t, n, threads):\n        m, d = merge(m, d, X[row, col], float32(1.0))\n"
_WRITE = "    for col in range(t, n, threads):\n        Y[row, col] = math.exp(X[row, col] - m) / d\n"
_FIRST = "    m, d = warp_merge(m, d)\n    if lane == 0:\n"
_STORED = "        ds[warp] = d\n    cuda.syncthreads()\n"
_SECOND = (
    f"{_RESET}    if lane < threads // 32:\n        m = ms[lane]\n        d = ds[lane]\n"
    "    m, d = warp_merge(m, d)\n"
)
_STEP = "        m, d = merge(m, d, m_other, d_other)\n"

BUGS: tuple[NamedBug, ...] = (
    # Lanes without a warp are empty in every launch, so here swapped sides show alike wherever they are.
    *(one for one in common.in_the_merge(_PLAIN, empty=common.ALL) if one.id != "sides_swapped_in_fold"),
    *common.in_the_passes(_PLAIN, _FOLD, _WRITE, threads="threads"),
    common.starts_at_zero(_PLAIN, _START),
    common.row_of_block_0(_PLAIN),
    bug(
        "lanes_d_added",
        "lanes' d added although each lane has its own m",
        "Each lane keeps its own (m, d), and the shuffles add the d's as if they had one scale. Bring both to the "
        "larger maximum first: that is what merge does.",
        common.ALL,
        _PLAIN,
        (_STEP, "        m = max(m, m_other)\n        d = d + d_other\n"),
    ),
    bug(
        "warps_d_added",
        "warps' d added although each warp has its own m",
        "Within a warp the d's share one maximum, but the second level adds those of the warps as they are. Bring "
        "each to the maximum of the block first.",
        common.ALL,
        _SUMS,
        ("warp_sum(rescaled(maxima[lane], sums[lane], top))", "warp_sum(sums[lane])"),
    ),
    bug(
        "merge_sides_swapped",
        "merge with the two sides swapped",
        "Each side's d goes with the other side's m. merge takes (m1, d1) of this lane and (m2, d2) of the other.",
        common.ALL,
        _PLAIN,
        (_STEP, "        m, d = merge(m, d_other, m_other, d)\n"),
    ),
    bug(
        "maximum_not_merged",
        "d merged and m not",
        "Each step stores the merged d, measured against the larger maximum, but the lane keeps its old m. The two "
        "belong together.",
        common.ALL,
        _PLAIN,
        (_STEP, "        m_new, d = merge(m, d, m_other, d_other)\n"),
    ),
    bug(
        "maximum_shuffled_after_update",
        "d shuffled after m was updated",
        "m already holds the larger maximum when the factors are taken, so the lane's own d is multiplied by "
        "exp(m - m) = 1. Fetch both of the other lane's numbers and keep the old m until both factors are known.",
        common.ALL,
        _LOOP,
        (
            "        d = d * math.exp(m - base) + d2 * math.exp(m2 - base)\n        m = top\n",
            "        m = top\n        d = d * math.exp(m - base) + d2 * math.exp(m2 - base)\n",
        ),
    ),
    bug(
        "result_in_lane_0_only",
        "shuffle down, and every lane uses its own result",
        "After shuffles down only lane 0 has heard of all 32 lanes; the others hold a part. Broadcast lane 0's state, "
        "or shuffle with xor, after which all lanes hold the same.",
        common.ALL,
        _PLAIN,
        ("m_other = cuda.shfl_xor_sync", "m_other = cuda.shfl_down_sync"),
        ("d_other = cuda.shfl_xor_sync", "d_other = cuda.shfl_down_sync"),
    ),
    bug(
        "up_instead_of_down",
        "shuffle up, and lane 0 takes the result",
        "After shuffles up it is lane 31 that has heard of all the others; lane 0 still has its own state alone.",
        common.ALL,
        _LOOP,
        ("m2 = cuda.shfl_down_sync", "m2 = cuda.shfl_up_sync"),
        ("d2 = cuda.shfl_down_sync", "d2 = cuda.shfl_up_sync"),
    ),
    bug(
        "half_of_the_warp",
        "first step of the shuffles left out",
        "The offsets start at 8, so the halves of a warp are never merged. 32 lanes take five steps: 16, 8, 4, 2, 1.",
        common.ALL,
        _PLAIN,
        ("offset = 16", "offset = 8"),
    ),
    bug(
        "no_second_level",
        "warps never merged",
        "The shuffles merge the lanes of a warp, and each warp goes on with its own state. The warps' states have to "
        "be merged too, through shared memory.",
        common.ALL,
        _PLAIN,
        (_SECOND, ""),
    ),
    bug(
        "only_first_warp_writes",
        "only the first warp writes",
        "The last pass stands under the condition of the second level, so only the columns of warp 0 are written. "
        "Every thread has to write its columns.",
        common.ALL,
        _PLAIN,
        (_WRITE, f"    if warp == 0:\n        for col in range(t, n, threads):\n    {_WRITE.splitlines()[1]}\n"),
    ),
    bug(
        "idle_lanes_hold_zero",
        "idle lanes hold 0, not the identity",
        "There are fewer warps than lanes, and the lanes without a warp enter the second level with m = 0. In an "
        "all-negative row 0 wins. The identity is (-inf, 0).",
        "rescale",
        _PLAIN,
        (f"{_RESET}    if lane", "    m = float32(0.0)\n    d = float32(0.0)\n    if lane"),
    ),
    bug(
        "idle_lanes_keep_their_state",
        "idle lanes keep the state of their warp",
        "There are fewer warps than lanes, and the lanes without a warp enter the second level with what they still "
        "hold, so their own warp counts several times. Give them the identity (-inf, 0).",
        common.ALL,
        _PLAIN,
        (f"{_RESET}    if lane", "    if lane"),
    ),
    bug(
        "eight_warps_assumed",
        "eight warps assumed",
        "The second level takes 8 states, which is right for 256 threads only. The number of warps is "
        "cuda.blockDim.x // 32.",
        common.ALL,
        _PLAIN,
        ("if lane < threads // 32:", "if lane < 8:"),
    ),
    bug(
        "second_stage_reads_past",
        "second-stage reduce reads past the number of warps",
        "All 32 lanes read a state in the second level, but only as many were written as there are warps. Guard the "
        "read with the number of warps, and give the other lanes the identity.",
        common.ALL,
        _PLAIN,
        ("    if lane < threads // 32:\n        m = ms[lane]\n        d = ds[lane]\n",
         "    m = ms[lane]\n    d = ds[lane]\n"),
    ),
    bug(
        "stride_256_assumed",
        "256 threads assumed in the fold",
        "The fold steps by 256 whatever the block is, so a smaller block leaves columns out and a larger one folds "
        "some twice. Step by cuda.blockDim.x.",
        common.ALL,
        _PLAIN,
        (_FOLD, _FOLD.replace("threads", "256")),
    ),
    bug(
        "room_for_eight_warps",
        "room for eight warps only",
        "The shared arrays have 8 places, and a block may have up to 32 warps. Allocate 32.",
        "values rescale safety",
        _PLAIN,
        ("ms = cuda.shared.array(32, float32)", "ms = cuda.shared.array(8, float32)"),
        ("ds = cuda.shared.array(32, float32)", "ds = cuda.shared.array(8, float32)"),
    ),
    bug(
        "warps_by_power_of_two",
        "number of warps taken for a power of two",
        "The second level halves the number of warps again and again, so with three warps the last is left out. "
        "Let all 32 lanes take part, with the identity in those without a warp.",
        common.ALL,
        _LOOP,
        ("    m = ms[0]\n    for warp in range(1, cuda.blockDim.x // 32):\n        m = max(m, ms[warp])\n",
         "    warps = 1\n    while 2 * warps <= cuda.blockDim.x // 32:\n        warps *= 2\n"
         "    m = ms[0]\n    for warp in range(1, warps):\n        m = max(m, ms[warp])\n"),
        ("    for warp in range(cuda.blockDim.x // 32):\n", "    for warp in range(warps):\n"),
    ),
    bug(
        "returns_before_shuffle",
        "full-mask shuffle with dead lanes",
        "Threads without a column return early, and the shuffles then read lanes that are gone. Every lane that the "
        "mask names has to stay: a thread without a value carries the identity.",
        "values rescale safety",
        _PLAIN,
        (_START, f"    if t >= n:\n        return\n{_START}"),
    ),
    bug(
        "shuffle_in_branch",
        "full-mask shuffle inside a branch",
        "The shuffles stand under `if t < n`, so in a short row some lanes named by the mask never call them. Shuffle "
        "outside of branches: a thread without a value carries the identity.",
        "values rescale safety",
        _PLAIN,
        (_FIRST, "    if t < n:\n        m, d = warp_merge(m, d)\n    if lane == 0:\n"),
    ),
    bug(
        "second_level_in_branch",
        "full-mask shuffle by the lanes that have a warp",
        "In the second level only as many lanes shuffle as there are warps, but the mask names all 32. Let the whole "
        "warp take part, with the identity in the other lanes.",
        common.ALL,
        _PLAIN,
        ("        d = ds[lane]\n    m, d = warp_merge(m, d)\n",
         "        d = ds[lane]\n        m, d = warp_merge(m, d)\n"),
    ),
    bug(
        "half_mask",
        "mask of 16 lanes",
        "The mask 0xFFFF names the lower 16 lanes, and all 32 call the shuffle. A whole warp is 0xFFFFFFFF.",
        common.ALL,
        _PLAIN,
        ("FULL = 0xFFFFFFFF", "FULL = 0xFFFF"),
    ),
    bug(
        "no_barrier_before_second_level",
        "no barrier before the second level",
        "The second level reads the states of other warps, which may not be written yet. A warp's shuffles say nothing "
        "about other warps: cuda.syncthreads() has to stand between.",
        common.ALL,
        _PLAIN,
        (_STORED, "        ds[warp] = d\n"),
    ),
    bug(
        "no_barrier_before_broadcast",
        "no barrier before the state is read",
        "Lane 0 writes the row's state, and the other warps read it at once, perhaps before it is there. A barrier has "
        "to stand between.",
        common.ALL,
        _DOWN,
        ("            state[0, 1] = d\n    cuda.syncthreads()\n", "            state[0, 1] = d\n"),
    ),
    bug(
        "no_broadcast",
        "row's state known to the first warp only",
        "The second level runs in warp 0, and the others go on with the state of their own warp. Write the row's "
        "state to shared memory and let every thread read it.",
        common.ALL,
        _DOWN,
        ("    cuda.syncthreads()\n    m = state[0, 0]\n    d = state[0, 1]\n",
         "    cuda.syncthreads()\n    if warp == 0:\n        m = state[0, 0]\n        d = state[0, 1]\n"),
    ),
    bug(
        "float16_sum",
        "float16 sum",
        "The warps' denominators are kept in float16, which has 11 bits. Keep them in float32.",
        "values rescale",
        _SUMS,
        ("sums = cuda.shared.array(32, numba.float32)", 'sums = cuda.shared.array(32, "float16")'),
    ),
)  # fmt: skip
