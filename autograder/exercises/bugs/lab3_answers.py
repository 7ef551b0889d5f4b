"""Wrong answers to the questions of lab 3 that ask for a formula or for an input, and how the latter are recognised."""

from __future__ import annotations

import numpy as np

from ..model import NamedBug
from ..texts import bug, kernel_text

THREADS = 256  # of the block whose kernel is to be broken
FAINT = 1e-3  # lanes whose maxima lie nearer together than this

_REQUESTS = kernel_text("lab3.predict_requests", "formula")
_LOUD = kernel_text("lab3.breaking_value", "loud_last")

PREDICT_REQUESTS: tuple[NamedBug, ...] = (
    bug(
        "scalar_loads",
        "four floats to a lane left out",
        "This is what scalar loads need: one float to a lane, 32 floats to a request. With 16-byte loads a lane takes "
        "four floats.",
        "answer",
        _REQUESTS,
        ("(lanes * floats)", "lanes"),
    ),
    bug(
        "one_pass",
        "one pass forgotten",
        "X is read twice: once for (m, d) and once for the output.",
        "answer",
        _REQUESTS,
        ("return reads * rows", "return rows"),
    ),
    bug(
        "per_lane",
        "counted by lane, not by warp",
        "Each lane does one 16-byte load for four floats, but the 32 lanes of a warp make one request together.",
        "answer",
        _REQUESTS,
        ("(lanes * floats)", "floats"),
    ),
    bug(
        "sectors_not_requests",
        "sectors counted, not requests",
        "This is the number of 32-byte sectors. Those stay as they were with scalar loads; a request of 32 lanes with "
        "16 bytes each takes 16 of them.",
        "answer",
        _REQUESTS,
        ("(lanes * floats)", "8"),
    ),
    bug(
        "stores_too",
        "the stores counted too",
        "Only the load requests are asked for, those of the two reads. The stores of Y are a third such sweep.",
        "answer",
        _REQUESTS,
        ("reads = 32, 4, 2", "reads = 32, 4, 3"),
    ),
)

BREAKING: tuple[NamedBug, ...] = (
    bug(
        "all_equal",
        "all values are equal",
        "Every thread then has the same maximum, so all d have one scale and may be added. If you named a position by "
        "a number, such as 5000, it lies outside a shorter row: use n.",
        "answer",
        _LOUD,
        ("i == n - 1", "i == 5000"),
    ),
    bug(
        "same_maximum_in_every_thread",
        "every thread has the same maximum",
        "Thread t takes the columns t, t + 256, t + 512 and so on, and here the largest of them is the same for every "
        "thread. Then all d have one scale and may be added. Let one thread see what the others do not.",
        "answer",
        _LOUD,
        ("i == n - 1", "i < 256"),
    ),
    bug(
        "maxima_too_near",
        "the threads' maxima lie too near together",
        "The factors that are left out are e^(m of the thread − m of the row). With maxima so near together they are "
        "1 to within the error that is allowed. Move one further away.",
        "answer",
        _LOUD,
        ("return 20 if", "return 0.000001 if"),
    ),
)


def breaking(values: np.ndarray) -> str:
    """The named bug that the values of a wrong answer look like, "" for none."""
    narrow = values.astype(np.float32)
    if (narrow == narrow[0]).all():
        return "all_equal"
    maxima = [float(narrow[t::THREADS].max()) for t in range(min(THREADS, len(narrow)))]
    spread = max(maxima) - min(maxima)
    if spread == 0:
        return "same_maximum_in_every_thread"
    return "maxima_too_near" if spread < FAINT else ""
