"""The simulator against what Nsight Compute and compute-sanitizer said on an H200 (tests/hardware)."""

import json
from pathlib import Path

import numpy as np
import pytest
from hardware.merging_cases import LIMITS
from hardware.sanitizer_cases import CASES as KERNELS
from hardware.traffic_cases import CASES as LAUNCHES
from numba import cuda

from autograder.simulator import install, launch

DATA = Path(__file__).parent / "hardware" / "data"
COUNTED = json.loads((DATA / "traffic.json").read_text())["launches"]
JUDGED = json.loads((DATA / "verdicts.json").read_text())["kernels"]
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

UNROLLED = ("the compiler unrolled the loop by four: lanes with four rounds take the unrolled copy of the load, lanes "
            "with fewer the loop that follows it")
PREDICATED = "the compiler took the branch out: warps without an active lane still issue the instruction"
REGISTERS = "the local array lives in registers, or part of it"
MERGED = "the compiler kept a value in a register, or joined neighbouring loads into one"
CAS = "the compiler makes a float32 atomic on shared memory from a loop of loads and compare-and-swap"
DEAD = "only the last round's store is ever read back: the compiler leaves the others out"
HOISTED = "the compiler moved the load out of the branch"

# launch -> {counter: why it differs}; a counter that is not named must be equal
EXPLAINED: dict[str, dict[str, str]] = {}


def explain(reason, *counters, launches):
    for case in LAUNCHES:
        if any(case.name.startswith(prefix) for prefix in launches):
            EXPLAINED.setdefault(case.name, {}).update(dict.fromkeys(counters, reason))


explain(PREDICATED, "shared_loads", "shared_stores",
        launches=("three_pass", "one_pass", "grid_stride", "solution safe_softmax", "solution online_softmax_tiled"))
explain(UNROLLED, "global_loads", "global_stores", launches=("three_pass 8x1000", "online_tree 8x1000"))
explain(UNROLLED, "global_loads", "global_stores",
        launches=("solution safe_softmax 4x1000", "solution online_softmax_tiled 4x1000"))
explain(UNROLLED, "global_loads", launches=("row_max 8x1000", "grid_stride", "solution row_max", "solution row_sum"))
explain(REGISTERS, "local_loads", "local_stores", launches=("one_pass", "online_attention"))
explain(HOISTED, "global_loads",
        launches=("one_pass_registers 3x1000", "one_pass_neighbours 3x1000", "solution online_softmax_tiled 2x257"))
explain(MERGED, "shared_loads", launches=("online_attention", "online_tree 4x5"))
explain(MERGED, "shared_loads", launches=("solution softmax_row_cache", "solution softmax_register_cache"))
explain(UNROLLED, "global_loads", "global_stores", "shared_stores", launches=("solution softmax_row_cache 3x1000",))
explain(REGISTERS, "local_loads", "local_stores",
        launches=("solution softmax_register_cache", "solution online_attention"))
explain(PREDICATED, "global_loads", launches=("solution softmax_register_cache 3x1000",))
explain(PREDICATED, "shared_loads", launches=("solution online_attention 20x70",))
explain(DEAD, "shared_stores", launches=("twice across_shared_store",))
explain(PREDICATED, "shared_stores", launches=("twice shared_in_if",))
explain(CAS, "shared_loads", "shared_stores", launches=("atomic_shared",))

SHARED_ONLY = "compute-sanitizer's racecheck watches shared memory only; this race is in global memory"
GLOBAL_ONLY = "compute-sanitizer's initcheck watches global memory only; this read is in shared memory"
NO_SHUFFLES = "compute-sanitizer does not check which lanes a shuffle reads; CUDA leaves the value undefined"
HANGS = "the kernel hangs on the GPU, so no tool came to a verdict"
DIFFERENT: dict[tuple[str, str], str] = {
    ("blocks_write_one_place", "racecheck"): SHARED_ONLY,
    ("reads_unwritten_shared", "initcheck"): GLOBAL_ONLY,
    ("shuffle_in_half_a_warp_with_full_mask", "synccheck"): NO_SHUFFLES,
    ("shuffle_reads_a_returned_lane", "synccheck"): NO_SHUFFLES,
    **{("barriers_on_two_sides", tool): HANGS for tool in TOOLS},
}
LARGE = ("online_attention 128",)  # the same kernel as at 64, a minute longer


def counts(trace):
    def requests(space, op):
        return sum(r.requests for r in trace.lines if (r.space, r.op) == (space, op))

    def conflicts(op):
        return sum(r.conflicts for r in trace.lines if r.op == op)

    return {
        "load_sectors": trace.traffic.load_sectors,
        "store_sectors": sum(r.sectors for r in trace.lines if (r.space, r.op) == ("global", "store")),
        "global_loads": trace.traffic.load_requests, "global_stores": requests("global", "store"),
        "shared_loads": requests("shared", "load"), "shared_stores": requests("shared", "store"),
        "local_loads": requests("local", "load"), "local_stores": requests("local", "store"),
        "shared_load_conflicts": conflicts("load"), "shared_store_conflicts": conflicts("store"),
    }


@pytest.mark.parametrize("case", [c for c in LAUNCHES if c.name not in (*LARGE, *LIMITS)], ids=lambda c: c.name)
def test_traffic_equals_the_profilers(case):
    install()
    mine, theirs = counts(launch(case.kernel, case.grid, case.block, case.make(cuda.to_device))), COUNTED[case.name]
    different = {k: (v, theirs[k]) for k, v in mine.items() if v != theirs[k]}
    assert set(different) == set(EXPLAINED.get(case.name, {})), different


@pytest.mark.parametrize("case", [c for c in LAUNCHES if c.name in LIMITS], ids=lambda c: c.name)
def test_what_the_simulator_does_not_follow_moves_more_here(case):
    """These five shapes of source move less on the GPU; none of the course's kernels has one of them."""
    install()
    mine, theirs = counts(launch(case.kernel, case.grid, case.block, case.make(cuda.to_device))), COUNTED[case.name]
    total = [side["load_sectors"] + side["store_sectors"] for side in (mine, theirs)]
    assert total[0] > total[1]


def test_no_difference_in_sectors_is_excused():
    assert not any("sectors" in counter for why in EXPLAINED.values() for counter in why) and len(LAUNCHES) >= 60


@pytest.mark.parametrize("case", KERNELS, ids=lambda c: c.name)
def test_verdicts_agree_with_compute_sanitizer(case):
    install()
    arrays = [np.ones(s, np.float32) for s in case.shapes] + [cuda.device_array(s, np.float32) for s in case.fresh]
    mine = {f.tool for f in launch(case.kernel, case.grid, case.block, (*arrays, *case.scalars)).findings}
    for tool in TOOLS:
        theirs = bool(JUDGED[case.name][tool]["errors"])
        if (case.name, tool) not in DIFFERENT:
            assert (tool in mine) == theirs, (tool, mine)


def test_every_difference_is_one():
    """A difference that is explained but no longer there must be taken out of the list."""
    install()
    for (name, tool), why in DIFFERENT.items():
        if why == HANGS:
            assert JUDGED[name][tool].get("timeout")
            continue
        case = next(c for c in KERNELS if c.name == name)
        trace = launch(case.kernel, case.grid, case.block, [np.ones(s, np.float32) for s in case.shapes])
        assert (tool in {f.tool for f in trace.findings}) != bool(JUDGED[name][tool]["errors"])
