"""The figures of lesson and lab 5: their numbers, and that every one is sound SVG within its borders."""

import math
import os
import xml.etree.ElementTree as ET

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numba
import numpy as np
import pytest
from numba import cuda

from autograder import figures
from autograder.figures.fetches import fetch_order
from autograder.figures.query_film import attention_frames
from autograder.figures.svg import text_width
from autograder.simulator import launch

TILE, WIDE = 4, 8


@cuda.jit
def from_the_back(Q, K, O):
    """Each block walks the tiles of K from the last to the first, the odd rows of Q alone being read."""
    tile = cuda.shared.array((TILE, WIDE), numba.float32)
    t = cuda.threadIdx.x
    total = numba.float32(0.0)
    for back in range(K.shape[0] // TILE):
        start = K.shape[0] - TILE * (back + 1)
        for i in range(t, TILE * WIDE, cuda.blockDim.x):
            tile[i // WIDE, i % WIDE] = K[start + i // WIDE, i % WIDE]
        cuda.syncthreads()
        total += tile[0, t % WIDE]
        cuda.syncthreads()
    O[t, 0] = total + Q[4 + t % 4, 0]


def traced(pitch=WIDE):
    Q, O = np.ones((16, WIDE), np.float32), np.zeros((64, 1), np.float32)
    K = np.ones((12, pitch), np.float32)[:, :WIDE]
    return launch(from_the_back, 1, 64, (Q, K, O), touches=True)


ALL = {
    "film": lambda: figures.attention_film(),
    "film wide": lambda: figures.attention_film((-3, 1.5, 200, 2, 8), (0.25, -20, 300, 40, 5), 4, columns=2),
    "map": lambda: figures.fetch_map([traced(), traced()], "K", TILE, title="K & its <tiles>"),
    "growth": lambda: figures.growth_bars([("n = 256", 6e6, 1e6), ("n", 3, 7.5e12)], names=("a <b>", "c")),
    "growth one": lambda: figures.growth_bars([("x", 1, 1)], names=("naive", "online")),
}


@pytest.mark.parametrize("name", ALL)
def test_every_picture_is_sound_and_nothing_leaves_it(name):
    picture = ALL[name]()
    assert picture.svg == ALL[name]().svg
    root = ET.fromstring(picture.svg)
    assert root[0].text == picture.title and root[1].text == picture.desc and picture.desc
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
            assert 0 < float(item.get("y")) < height


def test_the_film_ends_with_the_weighted_mean_of_the_values():
    scores, values = (3, 1, 4, 2, 8, 5, 7, 6), (10, 20, 30, 40, 50, 60, 70, 80)
    weights = np.exp(np.array(scores, float) - 8)
    expected = weights @ values / weights.sum()
    for tile in (1, 2, 3, 4, 8, 9):
        frames = attention_frames(scores, values, tile)
        assert frames[-1].step == f"O/d = {expected:.3g}, once"
        assert [f.action for f in frames] == ["fetch"] * (len(frames) - 1) + ["store"]
        assert len(frames) == 2 + math.ceil(8 / tile)
        assert frames[-1].seen == frames[-2].seen == 8


def test_the_film_shows_each_factor_and_the_first_one_is_zero():
    frames = attention_frames(tile=2)
    assert [f.factor for f in frames] == pytest.approx(
        [None, 0.0, math.exp(-1), math.exp(-4), 1.0, None], nan_ok=True)
    assert dict(frames[1].state) == {"m": "3", "d": "1.14", "O": "12.7"}
    assert dict(frames[0].state) == {"m": "−∞", "d": "0", "O": "0"}
    assert "d and O times 0.368" in figures.attention_film().desc


def test_the_film_plays():
    page = str(figures.film_player(figures.attention_film()))
    assert "Transfer 6 of 6: store O/d = " in page and "tile 0, q, once" not in page
    assert figures.attention_film().transfers == 6


def test_the_film_refuses_what_it_cannot_draw():
    for bad in (((1, 2), (3,)), ((), ()), ((1,) * 9, (1,) * 9), ((1,), (1,), 0)):
        with pytest.raises(ValueError):
            figures.attention_film(*bad)


@pytest.mark.parametrize("pitch", (WIDE, WIDE + 3))
def test_fetches_come_in_the_order_of_the_trace(pitch):
    trace = traced(pitch)
    assert fetch_order(trace, "K", TILE) == (3, 2, 1)
    assert fetch_order(trace, "K", 5) == (3, 1, 2), "rows 8 to 11 come in one request: the nearer tile first"
    assert fetch_order(trace, "Q", TILE) == (0, 1, 0, 0)
    assert fetch_order(trace, "O", 16) == (0, 0, 0, 0)


def test_the_map_counts_how_often_an_array_crosses():
    picture = figures.fetch_map([traced()] * 3, "K", TILE)
    assert picture.order == ((3, 2, 1),) * 3
    assert "9 fetches of 3 tiles: K crosses 3 times" in picture.desc


def test_the_map_refuses_what_it_cannot_draw():
    unrecorded = launch(from_the_back, 1, 64, (np.ones((16, 8), np.float32), np.ones((12, 8), np.float32),
                                               np.ones((64, 1), np.float32)))
    with pytest.raises(ValueError, match="without recording"):
        figures.fetch_map([unrecorded], "K", TILE)
    with pytest.raises(ValueError, match="no array 'V'"):
        figures.fetch_map([traced()], "V", TILE)
    with pytest.raises(ValueError, match="at least one block"):
        figures.fetch_map([], "K", TILE)
    with pytest.raises(ValueError, match="16 blocks"):
        figures.fetch_map([traced()] * 17, "K", TILE)


def test_growth_bars_are_logarithmic():
    picture = figures.growth_bars([("small", 10, 1), ("large", 10_000, 100)], names=("naive", "online"))
    root = ET.fromstring(picture.svg)
    bars = [float(r.get("width")) for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("height") == "15"]
    assert bars[2] - bars[3] == pytest.approx(2 * (bars[0] - bars[1]), abs=0.05)
    assert bars[2] - bars[0] == pytest.approx(3 * (bars[0] - bars[1]), abs=0.05)
    assert "small: 10 and 1, 10.0 times." in picture.desc and "100.0×" in picture.svg


def test_growth_bars_refuse_what_has_no_logarithm():
    for bad in ([], [("a", 0, 1)], [("a", 1, math.inf)], [("a", -1, 1)]):
        with pytest.raises(ValueError):
            figures.growth_bars(bad, names=("a", "b"))
