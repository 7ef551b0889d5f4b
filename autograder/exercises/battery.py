"""The cases of the `values` and `rescale` checks, as tables.

Sizes sit around the boundaries that matter (the warp, the thread count, the tile) and stay small: a
whole check simulates a few hundred thousand accesses at most. No smaller set of families separates the
known wrong kernels; the tests show which family each of them needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from . import families
from .cases import Family, rows_case
from .model import Case

RAGGED = (1, 5, 31, 33, 255, 257, 1000)
"""Row lengths around a warp and a tile of 256, and one that ends in the middle of a tile."""

TWO_ROWS = (33, 257)
"""Of these there are two rows, so that the second starts at an address of its own."""

LONG = (1, 12_301)
"""A row that no buffer of a block can hold: 48 KiB of shared memory are 12,288 floats."""


@dataclass(frozen=True)
class Line:
    """One line of a battery: ``size`` is "long" (several tiles and a ragged one), "wide" (one or two
    and a ragged one), "full" (no ragged one) or "short" (fewer values than threads); it has at least
    ``rows`` rows."""

    name: str
    group: str
    size: str
    family: Family
    reason: str
    settings: dict[str, float] = field(default_factory=dict)
    rows: int = 1
    counted: bool = False


_SHARED = (
    Line("loud +200, first tile", "loud", "long", families.loud_first,
         "The maximum comes first, and later tiles must not replace it.", {"by": 200.0}),
    Line("rising ramp", "loud", "long", families.ramp,
         "The maximum moves at every element and in every tile.", counted=True),
    Line("short row near -120", "quiet", "short", families.near,
         "Fewer values than threads, all far below 0: what idle lanes put in must not win.", {"level": -120.0}),
    Line("full tiles near -150", "quiet", "full", families.near,
         "All values are far below 0 and the tiles are full: no padding is to blame.", {"level": -150.0}),
    Line("quiet, near -200", "quiet", "wide", families.near,
         "exp(-200) is 0 in float32: without the maximum, 0 is divided by 0.", {"level": -200.0}),
    Line("far below, near -20000", "quiet", "wide", families.near,
         "A large negative number is no stand-in for minus infinity: these lie below it.", {"level": -2.0e4}),
    Line("first tiles empty", "empty", "long", families.empty_first_tiles,
         "The first tiles are all -inf, and -inf - (-inf) is NaN; the row still has an answer."),
    Line("every 32nd lane empty", "empty", "long", families.empty_lanes,
         "One lane of every warp sees only -inf, and must add nothing."),
    Line("one finite value", "empty", "wide", families.one_finite,
         "All but one value are -inf."),
    Line("constant row", "edge", "wide", families.constant,
         "All values are equal."),
)  # fmt: skip

SOFTMAX = (
    Line("loud +20, last tile", "loud", "long", families.loud_last,
         "The maximum moves late, by a factor of e^20 in d: a sum that is not corrected shows.", {"by": 20.0}),
    Line("loud +200, last tile", "loud", "long", families.loud_last,
         "exp overflows float32 above 88.7, so only the true maximum keeps the terms finite.", {"by": 200.0}),
    *_SHARED,
    Line("one NaN", "edge", "wide", families.one_nan,
         "A NaN must reach the output of its row, and of no other row.", rows=2),
)  # fmt: skip

MAXIMUM = (
    Line("loud +200, last tile", "loud", "long", families.loud_last,
         "The maximum is in the ragged last tile.", {"by": 200.0}),
    *_SHARED,
    Line("nothing but -inf", "empty", "wide", families.all_empty,
         "The maximum of a row of -inf is -inf."),
)  # fmt: skip

SUM = (
    Line("loud +200, last tile", "loud", "long", families.positive_loud,
         "One value of the ragged last tile outweighs many others.", {"by": 200.0}),
    Line("loud +200, first tile", "loud", "long", families.positive_loud,
         "One value of the first tile outweighs many others.", {"by": 200.0, "last": False}),
    Line("rising ramp", "loud", "long", families.ramp,
         "Each tile adds more than the one before.", counted=True),
    Line("short row near -120", "quiet", "short", families.near,
         "Fewer values than threads: what idle lanes put in must be 0.", {"level": -120.0}),
    Line("far below, near -20000", "quiet", "wide", families.near,
         "Sums of millions: too large for float16, easy for float32.", {"level": -2.0e4}),
    Line("large, near 1e30", "quiet", "wide", families.positive,
         "Far outside the range of float16, well inside that of float32.", {"scale": 1e30}),
    Line("mixed signs", "edge", "long", families.mixed_signs,
         "Multiples of 1/4 of both signs, whose float32 sums are exact in any order."),
    Line("constant row", "edge", "wide", families.constant,
         "n equal values: the sum is n times one of them, exactly."),
    Line("one -inf", "edge", "wide", families.positive_one,
         "A -inf makes the sum of its row -inf, and of no other row.", {"value": float("-inf")}),
    Line("one NaN", "edge", "wide", families.positive_one,
         "A NaN must reach the sum of its row, and of no other row."),
)  # fmt: skip


def loud_battery(
    lines: tuple[Line, ...], tile: int, *, rows: int, tiles: int, output: str
) -> tuple[Case, ...]:
    """The cases of a table, for an exercise whose blocks take ``tile`` columns at once.

    A full row has ``tiles`` tiles, a wide one 44 values more, a long one twice as many tiles and 88
    values more, a short one 40 values.
    """
    size = {"full": tiles * tile, "wide": tiles * tile + 44, "long": 2 * tiles * tile + 88, "short": 40}
    return tuple(
        rows_case(
            line.name,
            line.group,
            line.reason,
            line.family,
            max(rows, line.rows),
            size[line.size],
            tile=tile,
            output=output,
            settings=line.settings,
            counted=line.counted,
        )
        for line in lines
    )


def plain_battery(
    family: Family, tile: int, *, output: str, extra: tuple[tuple[int, int], ...] = ()
) -> tuple[Case, ...]:
    """Ordinary rows in full tiles and in ragged lengths; ``extra`` are further ragged (rows, n).

    Every tile boundary of the exercise is among the lengths, one value short and one value over.
    """
    lengths = sorted({*RAGGED, tile - 1, tile + 1})
    sizes = (*((2 if n in TWO_ROWS else 1, n) for n in lengths), *extra)
    return (
        rows_case(
            "ordinary 3x512",
            "ordinary",
            "Full tiles and nothing unusual: the kernel must be right at all.",
            family,
            3,
            512,
            tile=tile,
            output=output,
            counted=True,
        ),
        *(
            rows_case(
                f"ragged {rows}x{n}",
                "ragged",
                f"A row of {n} does not fill its tiles or warps: the tail must count, and only the tail.",
                family,
                rows,
                n,
                tile=tile,
                output=output,
            )
            for rows, n in sizes
        ),
    )
