"""The cases of lab 5's kernel, as tables: queries x keys, sizes around both tiles, loud keys in every place.

Simulating a score costs hundreds of accesses, so the sizes are as small as the mistakes allow: most
cases have two queries, and as many keys as make the tiles that matter. Several ways to be wrong at once
share a case: each query of it has its own loud key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from . import attention_families as families
from .cases import generator
from .model import Case, Inputs

Family = Callable[..., families.Logits]


@dataclass(frozen=True)
class Line:
    """One case: ``n_q`` queries and ``n_k`` keys from ``family``; every seed but 0 adds up to ``more`` of
    each, so that no kernel can go by the shape."""

    name: str
    group: str
    n_q: int
    n_k: int
    family: Family
    reason: str
    settings: dict[str, object] = field(default_factory=dict)
    more: tuple[int, int] = (0, 0)
    counted: bool = False


VALUES = (
    Line("ordinary 2x64", "ordinary", 2, 64, families.ordinary,
         "Two full key tiles: the second must correct what the first left, and the scale is not 1/8.", counted=True),
    Line("ordinary 16x32", "ordinary", 16, 32, families.ordinary,
         "One full query tile and one full key tile: the kernel must be right at all.", {"scale": 0.125}),
    Line("ragged 17x5", "ragged", 17, 5, families.ordinary,
         "One query more than a block has, and fewer keys than a tile."),
    Line("ragged 5x1", "ragged", 5, 1, families.ordinary,
         "One key: every output is its value."),
    Line("ragged 3x31", "ragged", 3, 31, families.ordinary,
         "One key less than a tile."),
    Line("ragged 1x33", "ragged", 1, 33, families.ordinary,
         "One query, and one key more than a tile."),
    Line("ragged 4x70", "ragged", 4, 70, families.ordinary,
         "Three key tiles, the last of six keys."),
)  # fmt: skip

RESCALE = (
    Line("loud +20, key n-3", "loud", 2, 37, families.loud,
         "The maximum moves in the last tile, by a factor of e^20 in d and O: what is not corrected shows.",
         {"by": 20.0}),
    Line("loud +200, key n-3", "loud", 2, 37, families.loud,
         "exp overflows float32 above 88.7, so only the true maximum keeps the terms finite.", {"by": 200.0}),
    Line("loud +200, first and middle tile", "loud", 2, 67, families.loud,
         "Query 0 has its loud key in the first tile, query 1 in the second: later tiles must not replace it.",
         {"by": 200.0, "places": ("first", "middle")}),
    Line("rising ramp", "loud", 2, 37, families.ramp,
         "The maximum moves at nearly every key and in every tile.", counted=True),
    Line("quiet, near -200", "quiet", 2, 20, families.near,
         "exp(-200) is 0 in float32, and padding that scores 0 beats every key.", {"level": -200.0}),
    Line("full tile near -150", "quiet", 2, 32, families.near,
         "All scores are far below 0 and the tile is full: no padding is to blame.", {"level": -150.0}),
    Line("far below, near -20000", "quiet", 2, 20, families.far_below,
         "A large negative number is no stand-in for minus infinity: these scores lie below it."),
    Line("first tile masked", "empty", 2, 37, families.masked,
         "The scores of the first tile are all -inf, and -inf - (-inf) is NaN; the query still has an answer."),
    Line("every 8th key masked", "empty", 2, 20, families.masked,
         "One key in eight scores -inf, and must weigh nothing.", {"lane": True}),
    Line("constant scores", "edge", 2, 20, families.constant,
         "All keys are equal: the output is the mean of V."),
    Line("one NaN", "edge", 3, 37, families.one_nan,
         "A NaN in a query must reach the output of that query, and of no other."),
)  # fmt: skip

TRAFFIC = (
    Line("about 2x64", "aligned", 2, 64, families.easy,
         "Two key tiles: Q and O cross once and each key once, however many queries share it.", more=(2, 0)),
    Line("about 17x5", "ragged", 17, 5, families.easy,
         "Two blocks: K and V cross once for each, and a ragged tail costs only its own rows.", more=(2, 3)),
)  # fmt: skip

SAFETY = (
    Line("about 2x64", "safety", 2, 64, families.easy,
         "The tile buffers are filled twice, in several thread orders.", more=(2, 0)),
    Line("about 17x5", "safety", 17, 5, families.easy,
         "The second block has few queries, and the only tile is ragged, in several thread orders.", more=(2, 3)),
)  # fmt: skip


def cases(lines: tuple[Line, ...]) -> tuple[Case, ...]:
    """The cases of a table, in its order."""
    return tuple(Case(line.name, line.group, line.reason, partial(_inputs, line), line.counted) for line in lines)


def _inputs(line: Line, seed: int) -> Inputs:
    rng = generator(seed, line.name)
    n_q, n_k = line.n_q, line.n_k
    if seed % 2**64 and any(line.more):
        n_q, n_k = (n + int(rng.integers(0, most + 1)) for n, most in zip((n_q, n_k), line.more, strict=True))
    return launch_inputs(line.family(rng, n_q, n_k, **line.settings), families.values(rng, n_k))


def launch_inputs(made: families.Logits, V: np.ndarray) -> Inputs:
    """Q, K, V and O (filled with NaN, float32 [n_q, 64]), and the scale as a float32."""
    O = np.full((made.Q.shape[0], V.shape[1]), np.nan, dtype=np.float32)
    return Inputs(arrays={"Q": made.Q, "K": made.K, "V": V, "O": O}, scalars={"scale": np.float32(made.scale)})


def breaking_inputs(scores: np.ndarray) -> Inputs:
    """One query whose score for key i is ``scores[i]`` (float64 [n], rounded to float32): Q has a 1 in
    dimension 0, K the score, and the scale is 1. V is the same for every n's first keys."""
    n = len(scores)
    Q, K = np.zeros((1, families.WIDTH), np.float32), np.zeros((n, families.WIDTH), np.float32)
    Q[0, 0] = 1.0
    K[:, 0] = scores
    V = families.values(generator(0, "breaking_value"), n)
    return launch_inputs(families.Logits(Q, K, 1.0), V)
