"""Pictures and ledgers of a trace, on traces written by hand."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from autograder.figures.access import access_picture
from autograder.figures.ledger import array_sizes, ledger, ledger_notes, ledger_rows
from autograder.simulator.trace import ArrayInfo, LineTraffic, Touches, Trace, Traffic


def make_trace(accesses, shape=(4, 1024), lines=(), traffic=None, touches=True):
    """A trace of arrays X and Y; ``accesses``: tuples (step, line, store, array, elements by thread)."""
    size = int(np.prod(shape)) * 4
    arrays = (
        ArrayInfo("X", "global", shape, "float32", 256, size),
        ArrayInfo("Y", "global", shape, "float32", 256 + size, size),
    )
    columns = {name: [] for name in ("step", "line", "store", "array", "element", "thread")}
    for step, line, store, array, elements in accesses:
        k = len(elements)
        columns["step"] += [step] * k
        columns["line"] += [line] * k
        columns["store"] += [store] * k
        columns["array"] += [array] * k
        columns["element"] += list(elements)
        columns["thread"] += list(range(k))
    record = Touches(
        np.array(columns["step"], np.int64), np.array(columns["line"], np.int32),
        np.array(columns["store"], bool), np.array(columns["array"], np.int32),
        np.array(columns["element"], np.int64), np.array(columns["thread"], np.int32),
        np.zeros(len(columns["step"]), np.int32),
    )
    return Trace("kernel", (shape[0], 1, 1), (256, 1, 1), arrays, traffic or Traffic(), tuple(lines), (), 0,
                 0, 0, 0, record if touches else None)


def sweeps(loads, stores=(), n=1024, block=256):
    """One sweep over row 0 for each line number, tile by tile."""
    accesses, step = [], 0
    for line in (*loads, *stores):
        for start in range(0, n, block):
            step += 1
            accesses.append((step, line, line in stores, int(line in stores),
                             range(start, min(n, start + block))))
    return accesses


def line_traffic(line, array, op, requests, sectors, size, space="global", text="x"):
    return LineTraffic("kernel", "cell", line, text, array, space, op, requests, sectors, size)


def test_three_sweeps_are_three_lanes():
    picture = access_picture(make_trace(sweeps([10, 20, 30], [31])))
    assert [(a.line, a.op, a.steps, a.sweeps) for a in picture.lanes] == [
        (10, "load", 4, 1.0), (20, "load", 4, 1.0), (30, "load", 4, 1.0), (31, "store", 4, 1.0)]
    assert picture.sentences == (
        "The block reads its part of X 3 times over (lines 10, 20, 30).",
        "The block writes its part of Y once (line 31).")
    assert all(a.per_request == 4 and not a.scattered for a in picture.lanes)
    assert picture.lanes[0].where == "X[0, 0…1023]"


def test_one_thread_a_row_is_scattered():
    n = 64
    accesses = [(i, 7, False, 0, [row * n + i for row in range(32)]) for i in range(n)]
    lane, = access_picture(make_trace(accesses, shape=(32, n))).lanes
    assert lane.scattered and lane.per_request == 32
    assert lane.where == "X[0…31, 0…63]" and lane.span == (0, 32 * n)
    assert lane.sweeps == 1


def test_lanes_that_share_an_element_count_once():
    trace = make_trace([(1, 5, False, 0, [3] * 32)])
    lane, = access_picture(trace).lanes
    assert lane.sweeps == 1 and lane.per_request == 1 and not lane.scattered


def test_picture_of_one_array_and_of_nothing():
    trace = make_trace(sweeps([10], [11]))
    assert [a.array for a in access_picture(trace, "Y").lanes] == ["Y"]
    for empty in (make_trace([]), make_trace(sweeps([10]), touches=False)):
        assert access_picture(empty).lanes == ()
        ET.fromstring(access_picture(empty).svg)


def test_the_picture_is_well_formed_small_and_repeatable():
    trace = make_trace(
        sweeps([10, 20], n=1024), lines=[line_traffic(10, "X", "load", 8, 32, 1024, text="a < b & \"c\"")])
    one, two = access_picture(trace), access_picture(trace)
    assert one.svg == two.svg and len(one.svg) < 30_000
    root = ET.fromstring(one.svg)
    assert "a < b & \"c\"" in "".join(root.itertext())
    assert root[0].tag.endswith("title") and root[1].tag.endswith("desc") and root[1].text


def test_many_lines_are_cut_with_a_word():
    picture = access_picture(make_trace(sweeps(range(1, 20), n=256)))
    assert len(picture.lanes) == 19
    assert "and 7 more source lines, not drawn" in "".join(ET.fromstring(picture.svg).itertext())


LINES = [
    line_traffic(20, "Y", "store", 128, 512, 16384),
    line_traffic(10, "X", "load", 128, 512, 16384),
    line_traffic(12, "red", "load", 10, 10, 40, space="shared"),
    line_traffic(11, "X", "load", 128, 4096, 16384),
]


def test_ledger_rows_are_in_source_order_with_multiples_of_the_array():
    trace = make_trace([], lines=LINES)
    rows = ledger_rows(trace.lines, array_sizes(trace))
    assert [r.line for r in rows] == [10, 11, 12, 20]
    assert [r.times for r in rows] == [1.0, 1.0, None, 1.0]
    assert [r.per_request for r in rows] == [4.0, 32.0, None, 4.0]
    assert [r.scattered for r in rows] == [False, True, False, False]
    assert ledger_rows([vars(line) for line in LINES], array_sizes(trace)) == rows


def test_ledger_notes_and_totals():
    trace = make_trace([], lines=LINES, traffic=Traffic(256, 4608, 32768, 128, 512, 16384))
    shown = ledger(trace)
    assert "X: loads ask for 2× its size." in repr(shown)
    assert "Line 11: each load request of X touches 32 sectors where 4 would do" in repr(shown)
    assert "4,608" in repr(shown) and "4,608" in str(shown)
    total = [row for row in repr(shown).splitlines() if "all global loads" in row]
    assert len(total) == 1 and "18.00" in total[0]


def test_ledger_escapes_source_text_and_survives_nothing():
    rows = ledger_rows([line_traffic(1, "X", "load", 1, 1, 4, text="<script>alert(1)</script>")])
    trace = make_trace([], lines=[])
    assert "touched no memory" in repr(ledger(trace))
    from autograder.figures.ledger import ledger_html

    assert "<script>" not in ledger_html(rows)
    assert ledger_notes(()) == ()


@pytest.mark.parametrize("requests, sectors, size, scattered", [
    (1, 1, 4, False),  # one lane stores one number
    (1, 4, 128, False),  # a full warp of neighbours
    (1, 5, 128, False),  # the same, not aligned
    (1, 8, 128, True),  # every second element
    (1, 32, 128, True),  # a sector for each lane
    (1, 1, 128, False),  # all lanes read one element
    (1, 8, 256, False),  # float64 neighbours
])
def test_scattered_means_wasted_sectors(requests, sectors, size, scattered):
    lines = [line_traffic(1, "X", "load", requests, sectors, size)]
    assert ledger_rows(lines)[0].scattered is scattered
