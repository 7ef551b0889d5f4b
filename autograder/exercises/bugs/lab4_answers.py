"""Wrong answers to the questions of lab 4 that ask for a formula or a choice."""

from __future__ import annotations

from ..model import NamedBug
from ..texts import bug, kernel_text

_CHOICE = kernel_text("lab4.choose_softmax", "formula")
_SECTORS = kernel_text("lab4.predict_sectors", "formula")

CHOOSE_SOFTMAX: tuple[NamedBug, ...] = (
    bug(
        "boundary_excluded",
        "the longest row that fits is sent away",
        "A row of exactly 8,192 fits: 256 threads with 32 values each. The comparison is `<=`, not `<`.",
        "answer",
        _CHOICE,
        ("n <= 256 * 32", "n < 256 * 32"),
    ),
    bug(
        "limit_of_the_row_cache",
        "the limit of the shared row cache",
        "4,096 is what the shared row cache of exercise 2 holds. The registers of a block hold 256 threads × 32 "
        "values.",
        "answer",
        _CHOICE,
        ("256 * 32", "4096"),
    ),
    bug(
        "limit_of_48_kib",
        "the limit of 48 KiB of shared memory",
        "12,288 floats are 48 KiB, the most that static shared memory holds. The question is about registers: 256 "
        "threads × 32 values.",
        "answer",
        _CHOICE,
        ("256 * 32", "12288"),
    ),
    bug(
        "one_slot_too_many",
        "a boundary one too high",
        "A row of 8,193 needs a 33rd value in one thread, and there are 32.",
        "answer",
        _CHOICE,
        ("n <= 256 * 32", "n <= 256 * 32 + 1"),
    ),
    bug(
        "sides_swapped",
        "the two answers swapped",
        "The register cache is for the rows that fit, the two-pass warp kernel for those that do not.",
        "answer",
        _CHOICE,
        ("n <= 256 * 32", "n > 256 * 32"),
    ),
    bug(
        "always_register_cache",
        "always the register cache",
        "A row that does not fit in the registers needs the kernel that reads it twice.",
        "answer",
        _CHOICE,
        ("if n <= 256 * 32 else \"warp\"", ""),
    ),
    bug(
        "always_warp",
        "always two passes",
        "The two-pass kernel is right for every length, but a row that fits needs only one read.",
        "answer",
        _CHOICE,
        ("\"register_cache\" if n <= 256 * 32 else ", ""),
    ),
)

PREDICT_SECTORS: tuple[NamedBug, ...] = (
    bug(
        "stores_forgotten",
        "half the answer: loads or stores alone",
        "This counts one of the two directions. The kernel reads X once and writes Y once, and both move sectors.",
        "answer",
        _SECTORS,
        ("2 * rows * n // 8", "rows * n // 8"),
    ),
    bug(
        "two_passes",
        "a second read counted",
        "Three transfers are two reads and one write: the online kernel of lab 3. With the row kept, X is read "
        "once.",
        "answer",
        _SECTORS,
        ("2 * rows", "3 * rows"),
    ),
    bug(
        "three_passes",
        "the four transfers of lab 1",
        "Four transfers are three reads and one write: the three passes of lab 1. With the row kept, X is read "
        "once.",
        "answer",
        _SECTORS,
        ("2 * rows", "4 * rows"),
    ),
    bug(
        "requests_not_sectors",
        "requests, not sectors",
        "A warp's request covers 32 floats, which are 128 bytes: four sectors, not one.",
        "answer",
        _SECTORS,
        ("n // 8", "n // 32"),
    ),
    bug(
        "elements_not_sectors",
        "elements, not sectors",
        "This counts floats. Neighbouring lanes read neighbours here, so eight floats share a sector of 32 bytes.",
        "answer",
        _SECTORS,
        ("n // 8", "n"),
    ),
    bug(
        "bytes_not_sectors",
        "bytes, not sectors",
        "This counts bytes. A sector is 32 of them.",
        "answer",
        _SECTORS,
        ("n // 8", "n * 4"),
    ),
)
