"""What the lanes of a warp know of each other when some of its operations take part of the lanes only.

While every warp operation takes all lanes, counting them orders the lanes' accesses. With partial masks it takes a
vector clock per lane: which of the other lanes' operations came before.
"""

from __future__ import annotations


class LaneClocks:
    """Clocks of one warp, replayed from the masks of its operations in the order in which they were answered."""

    def __init__(self, masks: list[int]) -> None:
        # known[lane][k][other]: operations of `other` known to have ended once `lane` has passed k of its own
        self.known: list[list[tuple[int, ...]]] = [[(0,) * 32] for _ in range(32)]
        for mask in masks:
            lanes = [n for n in range(32) if mask >> n & 1]
            merged = [max(column) for column in zip(*(self.known[n][-1] for n in lanes))]
            for n in lanes:
                merged[n] = len(self.known[n])
            for n in lanes:
                self.known[n].append(tuple(merged))

    def ordered(self, lane: int, passed: int, other: int, other_passed: int) -> bool:
        """Whether two accesses are ordered, either way; each lane had passed that many operations before its own."""
        return (self.known[other][other_passed][lane] > passed
                or self.known[lane][passed][other] > other_passed)
