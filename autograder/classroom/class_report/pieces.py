"""Small pieces of the page: names made harmless, bars, a histogram, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import quote

from autograder.classroom import grades
from autograder.classroom.outcome import Lab, Outcome

NAMES = 12  # names in a row before "and 30 more"


def words(text: str) -> str:
    """Text as HTML; characters that would steer a page or a terminal are replaced."""
    return escape(grades.plain(text))


def name(student: str) -> str:
    """A student's name, which stays apart from the text around it whatever its direction."""
    return f"<bdi>{words(student)}</bdi>"


def linked(outcome: Outcome, student: str, lab: Lab, text: str = "") -> str:
    """The name (or the HTML ``text``), as a link to the student's feedback page where there is one."""
    page = outcome.page(student, lab.name)
    if page is None:
        return text or name(student)
    where = quote(page.relative_to(outcome.folder).as_posix(), safe="/", errors="surrogateescape")
    return f'<a href="./{where}">{text or name(student)}</a>'


def names(students: Sequence[str]) -> str:
    """The first names, and how many more."""
    shown = ", ".join(name(student) for student in students[:NAMES])
    return shown if len(students) <= NAMES else f"{shown} and {len(students) - NAMES} more"


def count(number: int, noun: str, nouns: str = "") -> str:
    """ "1 student", "12 students"."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def percent(part: float, whole: float) -> str:
    """ "83 %"; 100 % and 0 % are said of all and of none only."""
    if not whole:
        return "–"
    value = round(100 * part / whole)
    return f"{min(max(value, 1), 99) if 0 < part < whole else value} %"


def bar(full: float, whole: float, partly: float = 0.0) -> str:
    """A bar that is ``full`` of ``whole`` long, and goes on lighter for ``partly``. The number stands beside it."""
    lengths = [(full, ""), (partly, ' class="partly"')]
    parts = [f'<i{kind} style="width:{100 * part / whole:.4g}%"></i>' for part, kind in lengths if whole and part]
    return f'<div class="track" aria-hidden="true">{"".join(parts)}</div>'


def table(head: Sequence[str], lines: Iterable[Sequence[str]], numbers: Iterable[int] = (), bars: int = -1) -> str:
    """A table of finished HTML cells. ``numbers`` are the columns that hold numbers, ``bars`` the one of bars."""
    kinds = {at: ' class="n"' for at in numbers} | {bars: ' class="bar"'}
    top = "".join(f'<th scope="col"{kinds.get(at, "")}>{text}</th>' for at, text in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{kinds.get(at, '')}>{text}</td>" for at, text in enumerate(line)) + "</tr>\n"
        for line in lines
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def histogram(title: str, bins: Sequence[int], caption: str) -> str:
    """Columns, one for each tenth of the points, with their counts; a picture with a description in words."""
    width, height, base, room = 340, 150, 122, 96
    step, most = (width - 20) / len(bins), max(max(bins), 1)
    drawn = [f'<line class="axis" x1="10" y1="{base}" x2="{width - 10}" y2="{base}"/>']
    for at, value in enumerate(bins):
        left, tall = 10 + at * step, room * value / most
        if value:
            middle, top = left + step / 2, base - tall
            drawn.append(
                f'<rect class="column" x="{left + 2:.1f}" y="{top:.1f}" width="{step - 4:.1f}" height="{tall:.1f}"/>'
                f'<text class="count" x="{middle:.1f}" y="{top - 4:.1f}" text-anchor="middle">{value}</text>'
            )
    for at in range(0, len(bins) + 1, 2):
        drawn.append(
            f'<text x="{10 + at * step:.1f}" y="{base + 16}" text-anchor="middle">{100 * at // len(bins)}</text>'
        )
    said = "; ".join(
        f"{100 * at // len(bins)} to {100 * (at + 1) // len(bins)} %: {value}" for at, value in enumerate(bins) if value
    )
    label = escape(said or "no marks")
    return (
        f'<figure><h3 style="margin-top:0">{title}</h3>'
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{"".join(drawn)}</svg>'
        f"<figcaption>{caption}</figcaption></figure>"
    )
