"""What a student wrote is shown and does nothing, in the formgrader's page and on the feedback page."""

import html
import json
import re
from html.parser import HTMLParser

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, one, run  # noqa: F401  (fixtures)

from autograder.classroom import feedback, verdicts
from autograder.classroom.decoding import storable
from autograder.classroom.defusing import REMOVED, defuse
from autograder.classroom.feedback import clean_html
from autograder.classroom.release import CheckCell
from autograder.report import CheckResult, Report
from autograder.source import SourceRefused

STYLED = [
    '<p style="background:url(https://example.org/seen.png)">a</p>',
    '<p style="background:u\\72l(https://example.org/seen.png)">a</p>',
    '<p style="background:&#117;rl&#40;https://example.org/seen.png)">a</p>',
    "<p style=\"list-style: image-set('https://example.org/seen.png' 1x)\">a</p>",
]
DANGEROUS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<IMG SRC=https://example.org/seen.png>",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href=javascript:alert(1)>x</a>",
    "<style>body{display:none}</style>",
    "<b onclick=alert(1)>x</b>",
    "<!-- --><base href=//example.org>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](  \n javascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](javascript&#58;alert(1))",
    "[x](&#x6A;avascript:alert(1))",
    "[x](java&Tab;script&colon;alert(1))",
    "[x](javascript\\:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](data&colon;text/html,hello)",
    "[x](file:///etc/passwd)",
    "[x][r]\n\n[r]: javascript:alert(1)",
    "> [x][r]\n>\n> [r]: <javascript:alert(1)>",
    "<javascript:alert(1)>",
    "![seen](https://example.org/seen.png)",
    "![seen][r]\n\n[r]: https://example.org/seen.png",
    "![x](//example.org/seen.png)",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)",
    r"$\href{javascript:alert(1)}{x}$",
    r"$$\style{position:fixed;top:0}{x}$$",
    r"$\require{html}\cssId{a}{x}\class{b}{y}$",
]


def shown(text):
    """The HTML that nbgrader's pages make of a text cell."""
    from nbconvert.filters import markdown2html

    return markdown2html(text)


class Powers(HTMLParser):
    """What a page would run, load or jump to."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "style", "iframe", "svg", "object", "embed", "base", "link", "form", "input"):
            self.found.append(tag)
        for name, value in attrs:
            plain = "".join(char for char in (value or "").lower() if char.isprintable() and char != " ")
            if name.startswith("on") or name in ("src", "srcset", "srcdoc") and not plain.startswith("data:image/png"):
                self.found.append(f"{tag} {name}")
            if name == "href" and re.match(r"(?!https?:|mailto:)[a-z][a-z0-9+.-]*:", plain):
                self.found.append(f"href {value}")


def powers(page):
    """Those, and MathJax's commands, which it reads from the page's text."""
    parser = Powers()
    parser.feed(page)
    text = html.unescape(page)
    words = [word for word in (r"\href", r"\style", r"\class", r"\cssId", r"\require") if word in text]
    return parser.found + words


@pytest.mark.parametrize("text", DANGEROUS)
def test_nothing_runs_or_loads(text):
    once = defuse(text)
    assert powers(shown(once)) == [], once
    assert defuse(once) == once
    assert powers(clean_html(shown(text)).replace("\\", "")) == []


def test_the_measure_itself_notices():
    """The attacks are attacks: without the defence most of them have a power in the page."""
    assert sum(bool(powers(shown(text))) for text in DANGEROUS) >= 20


@pytest.mark.parametrize(
    "text",
    [
        "i < n and d <= 2, because `a < b`, x<1 and x<=y",
        "**bold**, <b>bold</b>, H<sub>2</sub>O<br>",
        "[numba](https://numba.pydata.org) and <p>a paragraph</p>",
        r"$m' = \max(m, x)$, so $d \leftarrow d e^{m - m'}$",
        "![plot](data:image/png;base64,iVBORw0KGgo=)",
        "[above](#rescale) and mail to [me](mailto:a@example.org)",
        "The data are 3, 4, 5!",
        "array[i]: the value",
    ],
)
def test_honest_answers_stay_as_they_are(text):
    assert defuse(text) == text


def test_a_link_elsewhere_says_that_it_was_removed():
    assert defuse("see [this](ftp://example.org/x)") == f"see [this]({REMOVED})"


CELL = CheckCell("row_max_values", "lab1.row_max.values", "row_max", "kernel", 1.0)
ODD = "a\ud800b\x00c\x1b[31md\x07\ufffe\r\ne"


def test_messages_can_be_stored():
    check = CheckResult(CELL.check_id, False, 0.0, 1.0, message=ODD)
    report = Report("lab1.row_max", "", False, 0.0, 1.0, checks=(check,), message=ODD, details={"printed": ODD})
    made = [
        verdicts.from_report(CELL, report),
        verdicts.refused(CELL, SourceRefused(ODD)),
        verdicts.could_not(CELL, ODD),
    ]
    for verdict in made:
        for text in (verdict.text, verdict.html or "", verdict.reason):
            text.encode("utf-8")
            assert not set(text) & {"\x00", "\x07", "\x1b", "\ufffe"}
    assert made[0].points == 0.0
    assert storable("ä\n\t√ x") == "ä\n\t√ x"


def test_odd_characters_end_no_run(one):
    def judge(source, check_id, seed):
        check = CheckResult(check_id, False, 0.0, 1.0, message=ODD)
        return Report(check_id.rpartition(".")[0], "", False, 0.0, 1.0, checks=(check,), message=ODD)

    small.hand_in(one, "ann", small.answered(written="x\ud800 \x0b\x1b [a](javascript:alert(1))"))
    (row,) = run(one, judge=judge).rows
    assert row.status == "needs manual grading" and row.score == 0
    notebook = json.loads((one / "out" / "autograded" / "ann" / small.LAB / f"{small.LAB}.ipynb").read_text())
    written = next(cell for cell in notebook["cells"] if cell["id"] == "lab1_written")
    assert "javascript" not in "".join(written["source"]) and REMOVED in "".join(written["source"])
    (one / "out" / "grades.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("styled", STYLED)
def test_no_style_loads_a_picture(styled):
    cleaned = clean_html(styled)
    assert "example.org" not in cleaned and ">a</p>" in cleaned


def test_only_short_styles_are_kept():
    """A student's long ones would fill the memory of a class."""
    kept = feedback._CSS._kept.cache_info().currsize
    long = "color: red; " * (feedback.LONGEST_KEPT // 10)
    assert "color: red" in clean_html(f'<p style="{long}">a</p>')
    assert feedback._CSS._kept.cache_info().currsize == kept
    assert "color: #123456" in clean_html('<p style="color: #123456; position: fixed">a</p>')
    assert feedback._CSS._kept.cache_info().currsize == kept + 1
