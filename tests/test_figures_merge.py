"""Pictures of merging: the tree of states, the lanes' exchange, and requests of several numbers a lane."""

import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from autograder import figures
from autograder.figures.svg import text_width

DOWN = [[lane + step if lane + step < 32 else lane for lane in range(32)] for step in (16, 8, 4, 2, 1)]
BUTTERFLY = [[lane ^ step for lane in range(32)] for step in (16, 8, 4, 2, 1)]
WIDE = [(-math.inf, 0), (-20000, 300), (20.5, 3.123456), (200, 1), (1, 2), (-math.inf, 0), (3, 4), (5, 1e6)]

ALL = {
    "tree two": lambda: figures.state_tree([(1, 2), (3, 4)]),
    "tree odd": lambda: figures.state_tree([(1, 2), (3, 4), (5, 6)], names=["a < b", "c", "d"]),
    "tree wide": lambda: figures.state_tree(WIDE, names=[f"block {n}" for n in range(8)], title="a & b"),
    "lanes down": lambda: figures.exchange_picture(DOWN, labels=[f"down {n}" for n in (16, 8, 4, 2, 1)]),
    "lanes butterfly": lambda: figures.exchange_picture(BUTTERFLY, title="xor"),
    "lanes few": lambda: figures.exchange_picture([[1, 0]]),
    "sectors of four": lambda: figures.sector_map(range(0, 128, 4), per_lane=4),
    "sectors of two": lambda: figures.sector_map([0, 2, 64], per_lane=2),
}


@pytest.mark.parametrize("name", ALL)
def test_every_picture_is_sound(name):
    picture = ALL[name]()
    assert picture.svg == ALL[name]().svg
    root = ET.fromstring(picture.svg)
    assert root[0].text == picture.title and root[1].text == picture.desc and picture.desc
    assert "prefers-color-scheme:dark" in picture.svg
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", picture.svg)
    assert len(picture.svg) < 40_000
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for item in root.iter():
        kind = item.tag.rpartition("}")[2]
        if kind == "rect":
            x, y = float(item.get("x", 0)), float(item.get("y", 0))
            assert x >= 0 and x + float(item.get("width")) <= width + 0.01
            assert y >= 0 and y + float(item.get("height")) <= height + 0.01
        if kind == "text":
            x, size, words = float(item.get("x")), float(item.get("font-size")), item.text or ""
            long = text_width(words, size, item.get("class", "").endswith(" m"))
            left = x - {"start": 0, "middle": long / 2, "end": long}[item.get("text-anchor", "start")]
            assert left >= -6 and left + long <= width + 6, words


def test_states_merge_to_the_denominator_of_the_whole_row():
    row = np.array([3, 1, 4, 2, 8, 5, 7, 6], np.float64)
    parts = [row[i : i + 2] for i in (0, 2, 4, 6)]
    tree = figures.state_tree([(p.max(), np.exp(p - p.max()).sum()) for p in parts])
    assert [len(level) for level in tree.levels] == [4, 2, 1]
    assert tree.result[0] == 8 and tree.result[1] == pytest.approx(np.exp(row - 8).sum(), rel=1e-14)
    assert "m = 8, d = 1.581" in repr(tree)
    assert tree.svg.count("× 0.368") == 2 and tree.svg.count("× 0.0183") == 1


def test_merge_of_states_obeys_its_laws():
    merge, empty = figures.merge_states, (-math.inf, 0.0)
    a, b, c = (3.0, 2.0), (40.0, 1.5), (-7.0, 9.0)
    assert merge(a, empty) == a == merge(empty, a)
    assert merge(empty, empty) == empty
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == pytest.approx(merge(a, merge(b, c)), rel=1e-14)


def test_an_odd_state_goes_down_as_it_is():
    tree = figures.state_tree([(1, 2), (3, 4), (5, 6)])
    assert [len(level) for level in tree.levels] == [3, 2, 1] and tree.levels[1][1] == (5, 6)


@pytest.mark.parametrize("bad", [[], [(1, 2)], [(1, 2)] * 9, [(1, 2, 3), (1, 2, 3)]])
def test_state_tree_refuses_what_it_cannot_draw(bad):
    with pytest.raises(ValueError):
        figures.state_tree(bad)


def test_shuffles_down_leave_everything_in_lane_0_only():
    picture = figures.exchange_picture(DOWN)
    assert picture.full == (0,) and picture.doubled == tuple(range(1, 32))
    assert [level[0] for level in picture.reach] == [1, 2, 4, 8, 16, 32]
    assert picture.reach[1][31] == 1, "lane 31 read itself"
    assert "lane 0 alone" in picture.desc


def test_the_butterfly_leaves_everything_in_every_lane():
    picture = figures.exchange_picture(BUTTERFLY)
    assert picture.full == tuple(range(32)) and picture.doubled == ()
    assert all(set(level) == {2**k} for k, level in enumerate(picture.reach))


@pytest.mark.parametrize("steps", [[], [[0]], [[0, 1], [0]], [[0, 2]], [[-1, 0]], [[0] * 33]])
def test_exchange_refuses_what_is_no_exchange(steps):
    with pytest.raises(ValueError):
        figures.exchange_picture(steps)


_RECORD = """
import numpy as np
from numba import cuda
from autograder.figures import exchange_picture
from autograder.simulator import launch

@cuda.jit
def note(down, xor):
    lane = cuda.threadIdx.x
    for step in range(5):
        down[step, lane] = cuda.shfl_down_sync(0xFFFFFFFF, lane, 16 >> step)
        xor[step, lane] = cuda.shfl_xor_sync(0xFFFFFFFF, lane, 16 >> step)

down, xor = np.zeros((2, 5, 32), np.int32)
launch(note, 1, 32, [down, xor])
print(exchange_picture(down).full, len(exchange_picture(xor).full), down.tolist(), xor.tolist())
"""


def test_a_recorded_run_gives_the_pictures_of_the_lesson(tmp_path):
    script = tmp_path / "record.py"  # a file, since the simulator reads a kernel's source
    script.write_text(_RECORD, encoding="utf-8")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False,
                         env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"})
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == f"(0,) 32 {DOWN} {BUTTERFLY}"


def test_four_numbers_a_lane_are_sixteen_sectors():
    picture = figures.sector_map(range(0, 128, 4), per_lane=4)
    assert (picture.lanes, picture.sectors, picture.moved_bytes, picture.used_bytes) == (32, 16, 512, 512)
    assert "X[120…127]" in picture.svg and ">124<" in picture.svg
    for bad in ({"elements": [1], "per_lane": 4}, {"elements": [0], "per_lane": 3},
                {"elements": [0], "per_lane": 4, "itemsize": 8}):
        with pytest.raises(ValueError):
            figures.sector_map(**bad)
