"""The drawn figures: their numbers, their text, and that every one is sound SVG."""

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from autograder import figures
from autograder.figures.svg import Canvas, fit, num, text_width
from autograder.simulator.trace import Traffic

ALL = {
    "film three": lambda: figures.transfer_film(),
    "film online": lambda: figures.transfer_film(kind="online", columns=3),
    "film ragged": lambda: figures.transfer_film((3, -1.5, 4, 2, 8), 2),
    "sectors coalesced": lambda: figures.sector_map(range(32)),
    "sectors strided": lambda: figures.sector_map([4096 * i for i in range(32)], title="a < b & c"),
    "sectors one": lambda: figures.sector_map([7]),
    "tree": lambda: figures.tree_picture([3, 1, 4, 2, 8, 5, 7, 6]),
    "tree bare": lambda: figures.tree_picture([1, 2], "sum", barrier=False),
    "index": lambda: figures.index_picture(3, 4, 10),
    "index missed": lambda: figures.index_picture(1, 4, 10),
    "index long": lambda: figures.index_picture(2, 32, 64),
    "memory": lambda: figures.memory_picture(),
    "bars": lambda: figures.traffic_bars([("a <b>", (3, 1)), ("b", Traffic(1, 2, 3, 4, 5, 6))]),
    "bars none": lambda: figures.traffic_bars([("a", (0, 0))]),
}


@pytest.mark.parametrize("name", ALL)
def test_every_picture_is_sound(name):
    picture, again = ALL[name](), ALL[name]()
    assert picture.svg == again.svg
    root = ET.fromstring(picture.svg)
    assert root.attrib["role"] == "img"
    title, desc = root[0], root[1]
    assert title.tag.endswith("title") and title.text == picture.title
    assert desc.tag.endswith("desc") and desc.text == picture.desc and picture.desc
    assert root.attrib["aria-labelledby"] == f"{title.attrib['id']} {desc.attrib['id']}"
    assert "prefers-color-scheme:dark" in picture.svg
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", picture.svg), "nothing from elsewhere"
    assert len(picture.svg) < 40_000
    assert str(picture) == picture.svg and picture._repr_html_() == picture.img()


@pytest.mark.parametrize("name", ALL)
def test_no_shape_leaves_its_picture(name):
    root = ET.fromstring(ALL[name]().svg)
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
            anchor = item.get("text-anchor", "start")
            left = x - {"start": 0, "middle": long / 2, "end": long}[anchor]
            assert left >= -6 and left + long <= width + 6, words
            assert 0 < float(item.get("y")) < height


def test_film_counts_the_transfers_of_the_syllabus():
    three, online = figures.transfer_film(), figures.transfer_film(kind="online")
    assert (three.transfers, three.fetches, three.stores) == (8, 6, 2)
    assert (online.transfers, online.fetches, online.stores) == (6, 4, 2)
    assert [f.step.split(":")[0] for f in three.frames] == ["pass 1"] * 2 + ["pass 2"] * 2 + ["pass 3"] * 4
    assert dict(three.frames[1].state) == {"m": "8"}
    assert dict(online.frames[0].state) == {"m": "4", "d": "1.55"}
    assert online.frames[-1].written == 8
    assert "6 fetches" in repr(three)


def test_film_refuses_what_it_cannot_draw():
    for bad in ({"kind": "both"}, {"tile": 0}, {"row": ()}, {"row": range(17)}):
        with pytest.raises(ValueError):
            figures.transfer_film(**bad)


def test_player_holds_the_film_and_needs_nothing_else():
    film = figures.transfer_film(kind="online")
    html = str(figures.film_player(film))
    assert html == str(figures.film_player(film)) and html.count("<script>") == html.count("</script>") == 1
    assert " src=" not in html and "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "Transfer 6 of 6: store tile 1, pass 2: write" in html
    left = re.sub(r"<script>.*?</script>", "", html, flags=re.S)  # what a viewer without scripts keeps
    assert re.sub(r"<[^>]+>", "", left).endswith("6 transfers. Run this cell to step through them.")


def test_image_keeps_its_description():
    image = figures.sector_map(range(32), title='say "X" <b>').img()
    tag = ET.fromstring(image.replace("%\">", "%\"/>"))
    assert tag.attrib["alt"].startswith('say "X" <b>. 32 lanes, 4 sectors')


def test_states_follow_the_recurrence():
    row = (3, 1, 4, 2, 8, 5, 7, 6)
    for tile in (1, 3, 4, 8):
        states = figures.online_states(row, tile)
        m, d = states[-1].m, states[-1].d
        assert m == 8 and d == pytest.approx(sum(math.exp(x - 8) for x in row))
    first, second = figures.online_states(row, 4)
    assert first.factor == 0 and second.factor == pytest.approx(math.exp(-4))
    quiet = figures.online_states([-math.inf, -math.inf, 2.0], 1)
    assert [s.d for s in quiet] == [0.0, 0.0, 1.0] and quiet[1].m == -math.inf
    with pytest.raises(ValueError):
        figures.online_states(row, 0)


def test_state_table_takes_states_tuples_and_dicts():
    states = figures.online_states((1.0, 3.0), 1)
    table = figures.state_table(states, caption="d & m")
    assert "d &amp; m" in str(table) and "0.1353" in repr(table)
    rows = [(s.step, s.x, s.m, s.factor, s.d) for s in states]
    assert repr(figures.state_table(rows)) == repr(figures.state_table([vars(s) for s in states]))
    assert "−∞" in repr(figures.state_table([("start", "", -math.inf, "", 0.0)]))
    with pytest.raises(ValueError):
        figures.state_table([(1, 2)])


@pytest.mark.parametrize("elements, sectors, used", [
    (range(32), 4, 128), ([8 * i for i in range(32)], 32, 128), (range(1, 33), 5, 128), ([5] * 32, 1, 4),
    ([2 * i for i in range(32)], 8, 128),
])
def test_sector_map_counts(elements, sectors, used):
    picture = figures.sector_map(elements)
    assert (picture.sectors, picture.moved_bytes, picture.used_bytes) == (sectors, 32 * sectors, used)
    assert f"{used:,} of the {32 * sectors:,} bytes" in picture.desc


def test_sector_map_refusals():
    for bad in ([], range(33), [-1]):
        with pytest.raises(ValueError):
            figures.sector_map(bad)
    assert figures.sector_map(range(32), itemsize=8).sectors == 8


def test_tree_halves_and_ends_right():
    tree = figures.tree_picture([3, 1, 4, 2, 8, 5, 7, 6])
    assert tree.steps == 3 and tree.result == 8 and tree.svg.count("syncthreads()") == 3
    assert figures.tree_picture([1, 2, 3, 4], "sum").levels[1:] == ((4, 6), (10,))
    assert "syncthreads()" not in figures.tree_picture([1, 2, 3, 4], "sum", barrier=False).svg
    for bad in ([1, 2, 3], [1], range(32)):
        with pytest.raises(ValueError):
            figures.tree_picture(bad)
    with pytest.raises(ValueError):
        figures.tree_picture([1, 2], "mean")


def test_index_picture_counts_idle_threads_and_missed_elements():
    idle, missed = figures.index_picture(3, 4, 10), figures.index_picture(2, 4, 10)
    assert (idle.threads, idle.working, idle.idle, idle.missed) == (12, 10, 2, 0)
    assert (missed.threads, missed.idle, missed.missed) == (8, 0, 2)
    with pytest.raises(ValueError):
        figures.index_picture(9, 8, 10)


def test_bars_refuse_nonsense():
    with pytest.raises(ValueError):
        figures.traffic_bars([("a", (1, 2))], unit="miles")
    with pytest.raises(ValueError):
        figures.traffic_bars([])


def test_text_helpers():
    assert (num(1.0), num(0.005), num(-0.001), num(12.346)) == ("1", "0.01", "0", "12.35")
    assert fit("short", 200, 12) == "short"
    cut = fit("a very long line of text indeed", 60, 12)
    assert cut.endswith("…") and text_width(cut, 12) <= 60
    canvas = Canvas(10, "a<b", "c&d")
    canvas.text(0, 5, "<script>")
    assert "<script>" not in canvas.finish(10)


def test_figures_do_not_load_numba():
    code = "import sys, autograder.figures; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
