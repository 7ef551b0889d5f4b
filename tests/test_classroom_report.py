"""The class report: its figures, its comparison of kernels, and the page."""

from __future__ import annotations

import html.parser
import itertools
import re

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, one, run  # noqa: F401  (fixtures)
from classroom_outcome import LAB, MAX, STUB, SUM, row, write_outcome

from autograder import cli
from autograder.classroom import class_report, grades
from autograder.classroom.class_report import figures, pieces, times
from autograder.classroom.class_report.alike import SMALLEST, THRESHOLD, alike, compare
from autograder.classroom.class_report.canonical import definitions, likeness, shape
from autograder.classroom.outcome import read_outcome
from autograder.exercises import all_exercises, get

CLASS = [
    row("ann", 1, 1, 2, 2),
    row("bob", 1, 0.5, 0, None, status=grades.MANUAL, bugs=("row_max: maximum starts at 0", "row_sum: float16 sum")),
    row("cem", 0, 0, 2, None, status=grades.MANUAL, bugs=("row_max: maximum starts at 0",)),
    row("dora", status=grades.MISSING),
    row("eli", 0, 0, 0, 0, score=0.0),
    row("fay <script>alert(1)</script>\u202e", status=grades.UNJUDGED, notes=("The <b>file</b> is cut off.",)),
]


@pytest.fixture
def outcome(tmp_path):
    return read_outcome(write_outcome(tmp_path / "out", CLASS))


def page_of(out):
    return class_report.write_report(out).read_text("utf-8")


# -- figures -------------------------------------------------------------------------------------


def test_the_summary_counts_everybody_once(outcome):
    found = figures.summary(outcome, outcome.labs[0])
    assert (found.students, found.submitted, found.graded, found.manual) == (6, 5, 4, 2)
    assert (found.missing, found.unjudged, found.late) == (1, 1, 0)
    # 100 %, 1.5 of 4 graded points, 2 of 4 and 0 %: each in its tenth, written answers only where graded.
    assert found.bins == (1, 0, 0, 1, 0, 1, 0, 0, 0, 1)
    assert found.median == pytest.approx((1.5 / 4 + 2 / 4) / 2)


def test_pass_rates_are_of_those_who_were_judged(outcome):
    rates = {rate.cell.column: rate for rate in figures.rates(outcome, outcome.labs[0])}
    assert list(rates) == [f"{MAX}.values", f"{MAX}.rescale", f"{SUM}.values"]
    assert [(rate.judged, rate.passed, rate.partly) for rate in rates.values()] == [(4, 2, 0), (4, 1, 1), (4, 2, 0)]


def test_mistakes_by_share_of_the_class(outcome):
    first, second = figures.mistakes(outcome)
    assert (first.title, first.students, first.judged, first.where) == (
        "maximum starts at 0", ("bob", "cem"), 4, ((MAX, 2),)
    )
    assert first.explain == next(bug.explain for bug in get(MAX).bugs if bug.title == first.title)
    assert (second.title, second.where) == ("float16 sum", ((SUM, 1),))


def test_who_needs_help_and_with_what(outcome):
    found = {need.student: need for need in figures.needs(outcome)}
    assert list(found) == ["eli", "bob", "cem"]
    assert not found["eli"].begun and found["bob"].begun
    assert [cell.column for _, cell in found["bob"].topics] == [f"{SUM}.values", f"{MAX}.rescale"]
    assert (found["cem"].share, found["cem"].failed, found["cem"].judged) == (0.5, 2, 3)


@pytest.mark.parametrize(
    ("part", "whole", "said"), [(0, 9, "0 %"), (1, 900, "1 %"), (899, 900, "99 %"), (9, 9, "100 %"), (0, 0, "–")]
)
def test_all_and_none_are_said_of_all_and_none_only(part, whole, said):
    assert pieces.percent(part, whole) == said


# -- kernels that are alike ----------------------------------------------------------------------

RIGHT = get(SUM).variants[0].text


def shaped(text, name="row_sum"):
    return shape(name, definitions([text]))


def renamed(text):
    """As somebody would who hides a copy: other names, spacing, comments, a docstring, annotations, an alias."""
    text = re.sub(r"\b(row|col|total|tid|t|stride|step)\b", r"my_\1", text)
    text = re.sub(r"(def row_sum\(.*\):\n)", r'\1    """Mine."""\n', text)
    return "\n\n".join(f"{line}  # {at}" if line.strip() else line for at, line in enumerate(text.splitlines()))


def test_names_comments_and_layout_hide_nothing():
    assert renamed(RIGHT) != RIGHT
    assert shaped(renamed(RIGHT)) == shaped(RIGHT)
    alias = "from numba import cuda as gpu, float32 as f\n@gpu.jit\ndef row_sum(X, out):\n    out[0] = f(1)"
    plain = "from numba import cuda, float32\n@cuda.jit\ndef row_sum(a, b):\n    b[0] = float32(1)"
    assert shaped(alias) == shaped(plain)


def test_what_a_kernel_does_is_not_hidden():
    for old, new in (("0.0", "1.0"), ("+=", "-=")):
        assert old in RIGHT and shaped(RIGHT.replace(old, new)).digest != shaped(RIGHT).digest
    constant = "START = {}\n@cuda.jit\ndef row_sum(X, out):\n    out[0] = START"
    assert shaped(constant.format(0)).digest != shaped(constant.format(1)).digest
    helper = "@cuda.jit(device=True)\ndef help(x):\n    return x{}\n"
    helper += "@cuda.jit\ndef row_sum(X, out):\n    out[0] = help(1)"
    assert shaped(helper.format("+1")).digest != shaped(helper.format("+2")).digest


@pytest.mark.parametrize("text", ["def row_sum(:", "row_sum = 3", "", "x = " + "-" * 30_000 + "1", "\0"])
def test_what_is_no_function_has_no_shape(text):
    assert shaped(text) is None


def test_a_deep_expression_is_no_trouble():
    deep = shaped("def row_sum(X):\n    return " + "+".join(["X"] * 3000))
    assert deep is None or deep.size > 3000


def test_independent_right_forms_are_far_from_the_threshold():
    nearest = 0.0
    for exercise in all_exercises():
        if exercise.kind in ("kernel", "device"):
            shapes = [shape(exercise.name, definitions([variant.text])) for variant in exercise.variants]
            assert all(shapes)
            nearest = max([nearest, *(likeness(*pair) for pair in itertools.combinations(shapes, 2))])
    assert 0 < nearest < THRESHOLD / 2


def test_a_copy_with_a_changed_line_is_found_and_independent_work_is_not():
    first, second, third = (variant.text for variant in get("lab2.online_softmax_tiled").variants[:3])
    name = "online_softmax_tiled"
    changed = re.sub(r"\n( +)cuda\.syncthreads\(\)", r"\n\1cuda.syncthreads()\n\1pass", first, count=1)
    assert changed != first
    texts = {"ann": first, "bob": renamed(changed), "cem": second, "dora": third, "eli": second}
    shapes = {student: shaped(text, name) for student, text in texts.items()}
    groups = alike(shapes)
    assert [(students, same) for students, _, same in groups] == [(("ann", "bob"), False), (("cem", "eli"), True)]
    assert THRESHOLD <= groups[0][1] < 1 == groups[1][1]
    # Both are close to a form that the course knows, and bob's is no nearer to ann's than to that form.
    assert [students for students, _, _ in alike(shapes, [shaped(first, name)])] == [("cem", "eli")]


@pytest.mark.parametrize("known", [0, 1, 4])
def test_groups_are_those_of_comparing_all_with_all(known):
    """On all known mistakes of one exercise, each a right form with a line or two changed."""
    exercise = get("lab2.online_softmax_tiled")
    shapes = {bug.id: shape(exercise.name, definitions([bug.text])) for bug in exercise.bugs}
    right = [shape(exercise.name, definitions([variant.text])) for variant in exercise.variants[:known]]
    close = {name: max((likeness(one, form) for form in right), default=0.0) for name, one in shapes.items()}
    group = {name: {name} for name in shapes}
    for one, other in itertools.combinations(shapes, 2):
        found = likeness(shapes[one], shapes[other])
        if found >= THRESHOLD and 1 - found <= (1 - max(close[one], close[other])) / 2:
            together = group[one] | group[other]
            group.update(dict.fromkeys(together, together))
    expected = {tuple(sorted(names)) for names in group.values() if len(names) > 1}
    assert {students for students, _, _ in alike(shapes, right)} == expected
    assert expected


def test_released_and_known_and_short_kernels_are_left_out(tmp_path):
    own = RIGHT.replace("+=", "-=") + "\n# mine"
    short = "@cuda.jit\ndef row_max(X, out):\n    out[0] = X[0, 0]"
    kernels = {
        "ann": {"row_sum": RIGHT, "row_max": short},
        "bob": {"row_sum": renamed(RIGHT), "row_max": short},
        "cem": {"row_sum": own},
        "eli": {"row_sum": renamed(own)},
        "gus": {"row_max": STUB.format("row_max")},
    }
    rows = [row(name, 1, 1, 2, 2) for name in kernels]
    found = compare(read_outcome(write_outcome(tmp_path / "out", rows, kernels)))
    assert [(group.exercise, group.students, group.same) for group in found.groups] == [(SUM, ("cem", "eli"), True)]
    assert (found.compared, found.short, found.known) == (6, 2, 2)
    page = page_of(tmp_path / "out")
    assert "A place to look, not a finding." in page and f"under {SMALLEST} tokens" in page
    assert f'href="./feedback/cem/{LAB}/{LAB}.html"' in page


# -- times ---------------------------------------------------------------------------------------


def test_times_add_up_over_runs_and_a_damaged_file_is_forgotten(tmp_path):
    for _ in range(2):
        watch = times.Stopwatch(lambda source, check_id, seed: (source, seed))
        assert watch("text", f"{MAX}.values", 5) == ("text", 5)
        watch.keep(tmp_path)
    found = times.read_times(tmp_path)[f"{MAX}.values"]
    assert found.judged == 2 and 0 <= found.longest <= found.seconds
    (tmp_path / times.TIMES_FILE).write_text('{"a": [1')
    assert times.read_times(tmp_path) == {}
    both = {f"{MAX}.values": times.Times(4, 8.0, 3.0), f"{MAX}.rescale": times.Times(3, 4.0, 2.0)}
    assert times.by_exercise({**both, f"{SUM}.values": times.Times(1, 9.0, 9.0)}) == [
        (SUM, times.Times(1, 9.0, 9.0)),
        (MAX, times.Times(4, 12.0, 3.0)),
    ]


def test_without_times_the_hardest_exercises_stand_there(outcome):
    assert [found[1:] for found in figures.hardest(outcome)] == [(MAX, 3, 4), (SUM, 2, 4)]
    assert "was not measured" in page_of(outcome.folder)


# -- the page ------------------------------------------------------------------------------------

VOID = {"meta", "br", "rect", "line"}


class Reader(html.parser.HTMLParser):
    """Checks that every element is closed, and keeps what may reach out of the page."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.reaching = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for key, value in attrs:
            assert not key.startswith("on"), key
            if key in ("src", "href", "action", "data", "srcset"):
                self.reaching.append(value)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_holds_everything_it_needs(outcome):
    page = page_of(outcome.folder)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [] and not reader.tags & {"script", "link", "img", "iframe", "object", "form", "b"}
    assert all(value.startswith(("#", "./feedback/")) for value in reader.reaching)
    assert "url(" not in page and "@import" not in page and "http-equiv" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "\u202e" not in page
    assert "The &lt;b&gt;file&lt;/b&gt; is cut off." in page
    for words in ("6 students, 1 lab: Lab 1: a small one.", "maximum starts at 0", "2 of 4", get(MAX).read[:9]):
        assert words in page
    assert all(ids in page for ids in re.findall(r'href="#(\w+)"', page))


def contrast(one, other):
    """The contrast of two colours "#rrggbb" as WCAG defines it."""

    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_and_bars_can_be_seen_in_light_and_dark():
    from autograder.classroom.class_report.style import STYLE

    themes = [dict(re.findall(r"--([\w-]+): (#\w{6})", part)) for part in STYLE.split("@media (prefers", 1)]
    assert all(len(theme) == 11 for theme in themes)
    for theme in themes:
        for text, ground in itertools.product(("text", "soft", "link"), ("page", "card")):
            assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
        assert contrast(theme["text"], theme["warn"]) >= 4.5
        assert contrast(theme["bar"], theme["page"]) >= 3 and contrast(theme["bar"], theme["track"]) >= 3


def test_the_same_class_gives_the_same_page(outcome):
    assert page_of(outcome.folder) == page_of(outcome.folder)


def test_the_command_writes_it_again_and_names_what_is_missing(outcome, tmp_path, capsys):
    to = tmp_path / "else" / "page.html"
    assert cli.main(["report", str(outcome.folder), "--to", str(to)]) == 0
    assert str(to) in capsys.readouterr().out and to.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert cli.main(["report", str(tmp_path)]) == 2
    assert "There is no grades.csv" in capsys.readouterr().err


def test_a_large_class_is_cut_short_in_words(tmp_path):
    rows = [row(f"s{at:03}", 0, 0, 0, 0, score=0.0, bugs=("row_max: maximum starts at 0",)) for at in range(120)]
    rows += [row(f"u{at:03}", status=grades.UNJUDGED, notes=("cut off",)) for at in range(80)]
    page = page_of(write_outcome(tmp_path / "out", rows))
    assert "and 108 more" in page and "And 90 more students" in page and "And 20 more; see grades.csv." in page


# -- with the grader -----------------------------------------------------------------------------


def test_grading_writes_the_report_and_its_failure_costs_no_mark(one, monkeypatch):  # noqa: F811
    result = run(one)
    assert result.report == one / "out" / "class_report.html" and result.report.is_file()
    assert times.read_times(one / "out")
    monkeypatch.setattr(class_report, "write_report", lambda folder: 1 / 0)
    again = run(one)
    assert again.report is None and again.rows == result.rows
    assert again.ignored[-1] == (
        "The class report could not be written (ZeroDivisionError: division by zero). The marks are not affected."
    )
    assert small.LAB == LAB
