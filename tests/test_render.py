"""The verdict in words and as HTML."""

from html.parser import HTMLParser

import pytest

from autograder.render import html, words
from autograder.report import CaseResult, CheckResult, Report

HOSTILE = "<script>alert(1)</script> & \"quotes\""
BUG = {"id": "d_not_rescaled", "title": "d not rescaled", "message": "row 0: the maximum moved 1.9 → 20.0."}
LEDGER = tuple(
    {
        "function": "k", "filename": "", "line": line, "text": f"x = X[row, {line}]  {HOSTILE}", "array": "X", "space": "global",
        "op": "load", "requests": 64, "sectors": 256, "bytes": 8192, "where": f"line {line}", "times": 1.0,
    }
    for line in range(5, 25)
)  # fmt: skip


def check(name, passed, cases=(), **more):
    return CheckResult(f"lab2.online_softmax_tiled.{name}", passed, 2.0 if passed else 0.5, 2.0, tuple(cases), message="a message", **more)


def report(*checks, **more):
    passed = all(one.passed for one in checks)
    most = sum(one.max_points for one in checks)
    return Report("lab2.online_softmax_tiled", "x.py", passed, sum(one.points for one in checks), most, checks, "a message", **more)


FAILING = [CaseResult(f"case {n}", "g", False, 3.5, f"row {n}, column 2: expected 1, found 2.") for n in range(9)]
PASSING = [CaseResult("case ok", "h", True, 0.1, "")]
ONE = report(check("rescale", False, [*FAILING, *PASSING], bug=BUG, bugs=(BUG,)))


def test_the_verdict_comes_first_with_its_points():
    assert words(ONE).splitlines()[0] == "NOT YET  lab2.online_softmax_tiled.rescale: 0.5 of 2 points."
    good = report(check("values", True, PASSING))
    assert words(good) == "PASSED  lab2.online_softmax_tiled.values: 2 of 2 points. a message"


def test_five_failures_are_shown_then_the_known_mistake_then_what_to_read():
    text = words(ONE)
    assert text.count("✗ case") == 5 and "and 4 more of 10 cases" in text
    assert "This looks like: d not rescaled. row 0: the maximum moved" in text
    assert text.splitlines()[-1].startswith("  Read again: lesson 02")


def test_several_possible_mistakes_are_all_named():
    other = {**BUG, "id": "b", "title": "starts at 0"}
    text = words(report(check("rescale", False, FAILING, bug=BUG, bugs=(BUG, other))))
    assert "This looks like: d not rescaled; or starts at 0." in text


def test_a_whole_exercise_fits_on_a_screen():
    failing = [check(name, False, FAILING, bug=BUG, bugs=(BUG,), ledger=LEDGER) for name in ("values", "rescale", "traffic", "safety")]
    lines = words(report(*failing)).splitlines()
    assert len(lines) <= 25 and all(len(line) <= 104 for line in lines)
    for name in ("values", "rescale", "traffic"):
        assert any(line.startswith(f"  {name}: not yet") for line in lines)


def test_the_ledger_belongs_to_the_traffic_check():
    text = words(report(check("traffic", False, FAILING[:1], ledger=LEDGER)))
    assert "sectors" in text and "8,192" in text and "and 12 more lines" in text
    assert "8,192" not in words(report(check("values", False, FAILING[:1], ledger=LEDGER)))


def test_one_reason_for_all_checks_is_said_once():
    text = words(report(check("values", False), check("rescale", False)))
    assert text.count("a message") == 1


def test_cases_left_out_are_counted():
    cases = [FAILING[0], *(CaseResult(f"c{n}", "g", False, None, "not run, because …") for n in range(3))]
    text = words(report(check("values", False, cases)))
    assert "3 cases were not run after that" in text and text.count("✗ c") == 1


def test_an_error_and_printing_are_shown():
    failed = Report("lab1.row_max", "x.py", False, 0.0, 4.0, error="line 7: no.", message="line 7: no.")
    assert words(failed) == "lab1.row_max: could not be judged: line 7: no."
    text = words(report(check("values", True, PASSING), details={"printed": "a\nb\nc\nd\ne\n"}))
    assert "The kernel printed:" in text and "2 more lines" in text


class Tags(HTMLParser):
    VOID = ()

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


@pytest.mark.parametrize("one", [ONE, report(check("traffic", False, FAILING, ledger=LEDGER), check("values", True, PASSING))])
def test_html_is_well_formed_and_carries_the_verdict(one):
    tags = parsed(html(one))
    text = " ".join(tags.text)
    assert "points" in text and "case 3" in text and "table" in tags.seen
    assert not tags.seen & {"script", "style", "link", "img", "iframe"}


def test_html_escapes_what_others_wrote():
    case = CaseResult(HOSTILE, "g", False, float("inf"), HOSTILE)
    page = html(report(check("traffic", False, [case], findings=(HOSTILE,), ledger=LEDGER, bug=BUG, bugs=(BUG,)), details={"printed": HOSTILE}))
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "<script>" not in html(Report(HOSTILE, HOSTILE, False, 0.0, 0.0, error=HOSTILE))
    parsed(page)


def test_html_survives_a_sanitiser_without_its_styles():
    bleach = pytest.importorskip("bleach")
    page = html(report(check("traffic", False, FAILING, ledger=LEDGER)))
    clean = bleach.clean(page, tags={"div", "p", "strong", "span", "table", "tbody", "tr", "th", "td", "ul", "li", "details", "summary", "pre", "code"}, attributes={})
    assert "&lt;" not in clean.replace("&lt;script&gt;", "").replace("&lt;/script&gt;", "")
    assert "case 3" in clean and "8,192" in clean
