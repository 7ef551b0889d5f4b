"""Names of the ``cuda`` module that a rewritten kernel treats specially, by how it treats them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograder.simulator.errors import KernelError
from autograder.simulator.gpumath import is_number

BLOCK_OPERATIONS = {"syncthreads_count": "count", "syncthreads_and": "and", "syncthreads_or": "or"}
WARP_OPERATIONS = {
    "syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync",
    "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync", "activemask",
}
ATOMICS = {"add", "sub", "and_", "or_", "xor", "inc", "dec", "exch", "max", "min", "nanmax", "nanmin",
           "compare_and_swap", "cas"}
THREAD_VALUES = {"threadIdx", "blockIdx", "blockDim", "gridDim", "laneid"}
THREAD_CALLS = {"grid", "gridsize", "lanemask_lt", "threadfence_block", "nanosleep"}
FENCES = {"threadfence", "threadfence_system"}  # those that other blocks can rely on

FULL = 0xFFFFFFFF


def _number(value: Any) -> Any:
    if not is_number(value):
        raise KernelError(f"a warp operation passes one number a lane, not a {type(value).__name__}")
    return value


# what a barrier with a vote, or a warp operation, hands to the scheduler
PACKERS: dict[str, Callable[..., tuple]] = {
    "syncthreads_count": lambda predicate: ("count", _number(predicate)),
    "syncthreads_and": lambda predicate: ("and", _number(predicate)),
    "syncthreads_or": lambda predicate: ("or", _number(predicate)),
    "syncwarp": lambda mask=FULL: ("syncwarp", mask, None, None),
    "shfl_sync": lambda mask, value, src_lane: ("idx", mask, _number(value), src_lane),
    "shfl_up_sync": lambda mask, value, delta: ("up", mask, _number(value), delta),
    "shfl_down_sync": lambda mask, value, delta: ("down", mask, _number(value), delta),
    "shfl_xor_sync": lambda mask, value, lane_mask: ("xor", mask, _number(value), lane_mask),
    "all_sync": lambda mask, predicate: ("all", mask, _number(predicate), None),
    "any_sync": lambda mask, predicate: ("any", mask, _number(predicate), None),
    "eq_sync": lambda mask, predicate: ("eq", mask, _number(predicate), None),
    "ballot_sync": lambda mask, predicate: ("ballot", mask, _number(predicate), None),
    "match_any_sync": lambda mask, value: ("match_any", mask, _number(value), None),
    "match_all_sync": lambda mask, value: ("match_all", mask, _number(value), None),
    "activemask": lambda: ("active", FULL, None, None),
}
