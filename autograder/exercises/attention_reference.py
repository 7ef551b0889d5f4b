"""Float64 attention, and what it costs in bytes. Written for plainness; shares no code with a kernel."""

from __future__ import annotations

import numpy as np


def scores(Q: np.ndarray, K: np.ndarray, scale: float) -> np.ndarray:
    """Score of every key for every query, float64 [n_q, n_k]: the dot product times ``scale``."""
    with np.errstate(invalid="ignore"):
        return np.einsum("qi,ki->qk", Q.astype(np.float64), K.astype(np.float64)) * float(scale)


def weights(Q: np.ndarray, K: np.ndarray, scale: float) -> np.ndarray:
    """Softmax of each query's scores, float64 [n_q, n_k].

    A score of -inf weighs exactly 0, a NaN makes its whole query NaN. A query all of whose scores are
    -inf gives NaN, as the mathematics does (0/0); no check asks for it.
    """
    S = scores(Q, K, scale)
    with np.errstate(invalid="ignore"):
        terms = np.exp(S - S.max(axis=1, keepdims=True))
        return terms / terms.sum(axis=1, keepdims=True)


def attention(Q: np.ndarray, K: np.ndarray, V: np.ndarray, scale: float) -> np.ndarray:
    """The mean of the rows of V under each query's weights, float64 [n_q, width]."""
    return weights(Q, K, scale) @ V.astype(np.float64)


def magnitude(Q: np.ndarray, K: np.ndarray, V: np.ndarray, scale: float) -> np.ndarray:
    """What an output's rounding error is relative to, float64 [n_q, width]: the same mean of |V|.

    Terms of both signs may cancel in an output, and the error of those terms does not.
    """
    return attention(Q, K, np.abs(V), scale)


def naive_bytes(n: int, d: int) -> int:
    """Bytes that attention in three kernels loads and stores, float32, each array as rarely as it can.

    Q, K, V and O cross once (4·n·d numbers). The n x n matrix crosses five times: written by Q·Kᵀ, read
    twice and written once by online softmax, read once by the product with V.
    """
    return 4 * (5 * n * n + 4 * n * d)


def online_bytes(n: int, d: int, query_tile: int) -> int:
    """Bytes that online attention loads and stores: Q and O once, K and V once for each query tile."""
    blocks = -(-n // query_tile)
    return 4 * (2 * n * d + 2 * n * d * blocks)
