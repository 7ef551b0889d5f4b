"""Wrong answers to the questions that ask for a formula."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_BYTES = kernel_text("lab1.predict_bytes", "formula")
_SECTORS = kernel_text("lab2.predict_sectors", "formula")

PREDICT_BYTES: tuple[NamedBug, ...] = (
    bug(
        "elements_not_bytes",
        "a quarter of the answer: a factor 4 is missing",
        "This is a quarter of the answer: a factor 4 is missing, either the 4 bytes of a float32 or the 4 "
        "transfers (3 reads and 1 write).",
        "answer",
        _BYTES,
        ("1, 4", "1, 1"),
    ),
    bug(
        "one_transfer_missing",
        "one transfer missing",
        "This counts three transfers of the row. Three passes make four: three reads of X, and the write of Y.",
        "answer",
        _BYTES,
        ("3, 1, 4", "3, 0, 4"),
    ),
    bug(
        "one_read",
        "one read counted, not three",
        "The maximum, the denominator and the output each have a pass of their own, and each reads X.",
        "answer",
        _BYTES,
        ("3, 1, 4", "1, 1, 4"),
    ),
)

PREDICT_SECTORS: tuple[NamedBug, ...] = (
    bug(
        "as_if_coalesced",
        "counted as if neighbouring lanes read neighbours",
        "Eight floats share a sector only when one request reads them together. Here the lanes of a warp "
        "read a row apart, a sector each.",
        "answer",
        _SECTORS,
        ("2 * rows * n", "2 * rows * n // 8"),
    ),
    bug(
        "one_pass",
        "one pass forgotten",
        "The kernel reads X twice: once for (m, d) and once for the output.",
        "answer",
        _SECTORS,
        ("2 * rows * n", "rows * n"),
    ),
    bug(
        "three_passes",
        "the passes of lab 1",
        "Online softmax reads X twice, not three times.",
        "answer",
        _SECTORS,
        ("2 * rows * n", "3 * rows * n"),
    ),
    bug(
        "bytes_not_sectors",
        "bytes counted, not sectors",
        "This is how many bytes the threads ask for. A sector is a 32-byte piece of memory that a request "
        "touches.",
        "answer",
        _SECTORS,
        ("2 * rows * n", "8 * rows * n"),
    ),
)
