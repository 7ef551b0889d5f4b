"""The traffic check on made-up traces: bytes, sectors, and the line that is to blame."""

from dataclasses import replace

import numpy as np
import pytest

from autograder.exercises.model import Budget, Exercise, Inputs
from autograder.judge import traffic
from autograder.judge.launches import Launched, Program
from autograder.judge.lines import Lines
from autograder.simulator.trace import LineTraffic, Trace, Traffic
from autograder.source import KernelSource

TEXT = "from numba import cuda\n\n@cuda.jit\ndef k(A, B):\n    A[0, 0]\n    A[0, 1]\n    A[0, 2]\n    B[0, 0] = 1.0\n"
SHAPE = (2, 1024)
SIZE = 2 * 1024 * 4


def program(budget):
    exercise = Exercise(
        id="x.k", lab="x", kind="kernel", name="k", title="", parameters=("X", "Y"), outputs=("Y",),
        launch=None, reference=None, budget=budget, checks=(),
    )  # fmt: skip
    source = KernelSource("k", "kernel", TEXT, "k.py", tuple(range(1, 9)), ("k.py",) * 8)
    return Program(None, exercise, ("A", "B"), Lines(source), None)


def entry(line, array, op, times, sectors=None):
    nbytes = int(times * SIZE)
    return LineTraffic("k", "f", line, "text", array, "global", op, nbytes // 128, nbytes // 32 if sectors is None else sectors, nbytes)


def launched(*lines):
    trace = Trace("k", (1, 1, 1), (1, 1, 1), (), Traffic(), tuple(lines), (), 0, 0, 0, 0)
    arrays = {"X": np.zeros(SHAPE, np.float32), "Y": np.zeros(SHAPE, np.float32)}
    return Launched(Inputs(arrays), arrays, trace)


TWICE = Budget(loads={"X": 2}, stores={"Y": 1})


def problems(*lines, budget=TWICE):
    return traffic.problems(program(budget), launched(*lines))


def test_within_the_budget_nothing_is_said():
    assert problems(entry(5, "A", "load", 1), entry(6, "A", "load", 1), entry(8, "B", "store", 1)) == []


def test_the_pass_too_many_is_named_by_its_line_and_the_students_array():
    lines = [entry(n, "A", "load", 1) for n in (5, 6, 7)]
    (sentence,) = problems(*lines, entry(8, "B", "store", 1))
    assert sentence == (
        "line 7 reads A a third time: 3.0 times its size in all, 2.0 allowed (24,576 bytes, 16,384 allowed)."
    )


def test_one_line_that_reads_it_all_many_times():
    (sentence,) = problems(entry(5, "A", "load", 256), entry(8, "B", "store", 1))
    assert sentence.startswith("line 5 alone reads A 256.0 times over: 256.0 times its size in all, 2.0 allowed")


def test_a_little_too_much_is_too_much():
    (sentence,) = problems(entry(5, "A", "load", 1), entry(6, "A", "load", 1.0625), entry(8, "B", "store", 1))
    assert sentence == (
        "A is read 2.06 times over in lines 5 and 6; 2 allowed (16,896 bytes, 16,384 allowed): "
        "line 6 reads some of it a third time."
    )


def test_two_lines_that_overlap_are_both_named():
    once = Budget(loads={"X": 1}, stores={"Y": 1})
    store = entry(8, "B", "store", 1)
    (sentence,) = problems(entry(5, "A", "load", 0.03125), entry(6, "A", "load", 1), store, budget=once)
    assert sentence.startswith("A is read 1.03 times over in lines 5 and 6; 1 allowed")
    assert sentence.endswith("line 5 reads some of it a second time.")
    (sentence,) = problems(entry(5, "A", "load", 0.75), entry(6, "A", "load", 0.5), store, budget=once)
    assert sentence.endswith(": some of it is read a second time.")


def test_an_array_that_may_not_be_touched_that_way():
    sentences = problems(entry(5, "A", "load", 1), entry(6, "A", "store", 1), entry(8, "B", "store", 1))
    assert sentences == ["line 6 writes A, which may only be read in this exercise."]
    sentences = problems(entry(5, "A", "load", 1), entry(8, "B", "store", 1), entry(8, "B", "load", 1))
    assert sentences == ["line 8 reads B, which may only be written in this exercise."]


def test_atomics_count_as_stores():
    sentences = problems(entry(5, "A", "load", 1), entry(8, "B", "atomic", 2))
    assert "writes B" in sentences[0] and "1.0 allowed" in sentences[0]


def test_scattered_sectors_are_told_only_when_the_bytes_are_right():
    scattered = entry(5, "A", "load", 2, sectors=2048)
    (sentence,) = problems(scattered, entry(8, "B", "store", 1))
    assert sentence.startswith("line 5 reads A in scattered pieces: 2,048 sectors in all, 512 are enough")
    assert "(4.0 times)" in sentence
    loose = Budget(loads={"X": 2}, stores={"Y": 1}, coalesced=False)
    assert problems(scattered, entry(8, "B", "store", 1), budget=loose) == []


@pytest.mark.parametrize(
    ("shape", "sectors"),
    [
        ((8, 4096), 4096),
        ((8, 1000), 1000),  # 4,000 bytes a row: whole sectors, as Nsight Compute counted
        ((3, 8), 3),
        ((2, 9), 2 + 2),  # the second row begins inside a sector and ends inside the next
        ((1, 1), 1),
        ((5,), 5),  # one value a row: a sector each
        ((0, 8), 0),
    ],
)
def test_least_sectors(shape, sectors):
    assert traffic.least_sectors(np.zeros(shape, np.float32)) == sectors


def test_least_sectors_of_misaligned_rows():
    """Row r of [2, 40] begins at byte 160·r, a whole sector; of [2, 36] at 144·r, the middle of one: its first
    warp of 128 bytes then touches five sectors."""
    assert traffic.least_sectors(np.zeros((2, 40), np.float32)) == 2 * 5
    assert traffic.least_sectors(np.zeros((2, 36), np.float32)) == (4 + 1) + (5 + 1)


@pytest.mark.parametrize(
    ("shape", "requests"),
    [
        ((2, 1024), 2 * 8),
        ((1, 1000), 8),  # 250 wide loads in 8 warps, no tail
        ((1, 1001), 8 + 1),
        ((1, 3), 1),
        ((2, 1002), (8 + 1) + 32),  # the second row begins at byte 4,008: one value a lane
        ((0, 8), 0),
    ],
)
def test_least_requests_of_16_byte_loads(shape, requests):
    assert traffic.least_requests(np.zeros(shape, np.float32), 4) == requests


def test_least_requests_of_single_values_and_sectors_with_a_tail():
    assert traffic.least_requests(np.zeros((2, 1000), np.float32), 1) == 2 * 32
    assert traffic.least_sectors(np.zeros((1, 1002), np.float32), 4) == traffic.least_sectors(np.zeros((1, 1002), np.float32)) + 1


def test_narrow_requests_are_told_with_the_line_and_what_is_enough():
    wide = Budget(loads={"X": 2}, stores={"Y": 1}, vector=4)
    narrow = [entry(5, "A", "load", 1), entry(6, "A", "load", 1), replace(entry(8, "B", "store", 1), requests=16)]
    (sentence,) = problems(*narrow, budget=wide)
    assert sentence == (
        "line 5 reads A in 64 requests of 128 in all; 32 in all are enough with 16-byte loads (load4)."
    )
    fine = [replace(line, requests=16) for line in narrow]
    assert problems(*fine, budget=wide) == []
    assert problems(*narrow) == []


def test_a_budget_may_follow_the_case():
    budget = lambda inputs: Budget(loads={"X": inputs.arrays["X"].shape[0]}, stores={"Y": 1})  # noqa: E731
    assert problems(entry(5, "A", "load", 2), entry(8, "B", "store", 1), budget=budget) == []
