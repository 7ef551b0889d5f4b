"""The short way past the sanitiser: taken for the judge's own tables, and for nothing that could do anything."""

import random
import re
from html.parser import HTMLParser

import pytest

from autograder import render
from autograder.classroom import feedback
from autograder.classroom.feedback import clean_html
from autograder.report import CaseResult, CheckResult, Report

TABLE = Report(
    "lab1.row_max",
    "",
    False,
    0.5,
    1.0,
    checks=(
        CheckResult(
            "lab1.row_max.values",
            False,
            0.5,
            1.0,
            cases=(CaseResult("ragged", "n", False, 3.5, 'Row 3 is <b onclick="x">&quot;</b> (url).'),),
            bugs=({"id": "zero", "title": "a < b & c", "message": "m"},),
            message="Row 3 is <script>.",
        ),
    ),
    details={"printed": "<img src=x onerror=alert(1)>\n"},
)
STYLED = [
    '<p style="background:url(https://example.org/seen.png)">a</p>',
    '<p style="background:u\\72l(https://example.org/seen.png)">a</p>',
    '<p style="background:&#117;rl&#40;https://example.org/seen.png)">a</p>',
    "<p style=\"list-style: image-set('https://example.org/seen.png' 1x)\">a</p>",
]
PIECES = [
    "<", ">", '"', "'", "/", " ", "=", "&", "a", "p", "svg", "img", "script", "style", "onload", "href", "src", "title",
    "color:red", "url(", "javascript:alert(1)", "data:image/png;base64,aaaa", "<p>", "</p>", '<p style="color:red">',
    '<img src="data:image/png;base64,aaaa">', "<script>", "</script>", "<!--", "-->", "\n", "\0", '<a href="//x">',
]  # fmt: skip


class Elements(HTMLParser):
    """What stands in a page: tags with their attributes, and the text between."""

    def __init__(self, page):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag != "tbody":  # which a browser puts in by itself
            self.found.append((tag, [(name, re.sub(r"\s+|;$", "", value or "")) for name, value in attrs]))

    def handle_endtag(self, tag):
        if tag != "tbody":
            self.found.append(("/", tag))

    def handle_data(self, data):
        self.text += data


def the_long_way(html, monkeypatch):
    """What the sanitiser makes of it."""
    with monkeypatch.context() as patch:
        patch.setattr(feedback, "harmless", lambda *_: False)
        return clean_html(html)


def goes_the_short_way(html, monkeypatch):
    """Whether the sanitiser is left out."""
    asked = []
    with monkeypatch.context() as patch:
        patch.setattr(feedback.bleach, "clean", lambda *_, **__: asked.append(1))
        clean_html(html)
    return not asked


def test_a_table_of_the_judge_goes_the_short_way_and_reads_the_same(monkeypatch):
    table = render.html(TABLE)
    assert goes_the_short_way(table, monkeypatch) and clean_html(table) == table
    slow = the_long_way(table, monkeypatch)
    assert Elements(table).found == Elements(slow).found and Elements(table).text == Elements(slow).text


def test_what_the_short_way_lets_pass_the_sanitiser_would(monkeypatch):
    """Random texts of dangerous pieces: where the sanitiser is left out, it would have kept every element."""
    rng, passed = random.Random(20260101), 0
    for _ in range(3000):
        html = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 7)))
        if goes_the_short_way(html, monkeypatch):
            passed += "<" in html
            assert Elements(html).found == Elements(the_long_way(html, monkeypatch)).found, html
    assert passed > 50


@pytest.mark.parametrize("html", STYLED)
def test_no_style_loads_a_picture(html):
    cleaned = clean_html(html)
    assert "example.org" not in cleaned and ">a</p>" in cleaned


@pytest.mark.parametrize("html", ["<p>a", "a</p>", "<b><p>a</b></p>", "<p>a</p></div>"])
def test_what_is_not_nested_is_put_right(html):
    """Left as it is, it would close the page around it."""
    open_ = 0
    for kind, *_ in Elements(clean_html(html)).found:
        open_ += -1 if kind == "/" else 1
        assert open_ >= 0
    assert open_ == 0
