"""The sections of the class report, each from figures to HTML."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.classroom import grades
from autograder.classroom.class_report import figures
from autograder.classroom.class_report.alike import SMALLEST, THRESHOLD, Comparison
from autograder.classroom.class_report.figures import Mistake, Need, Summary
from autograder.classroom.class_report.pieces import (
    bar,
    count,
    histogram,
    linked,
    name,
    names,
    percent,
    table,
    words,
)
from autograder.classroom.class_report.times import Times, by_exercise
from autograder.classroom.outcome import Cell, Lab, Outcome

MOST_NEEDS, MOST_GROUPS, MOST_UNGRADED, MOST_TOPICS, SLOW = 30, 50, 60, 3, 8
TOPICS = {
    "values": "right values for ordinary and ragged rows",
    "rescale": "rows where the maximum moves or is extreme",
    "traffic": "bytes and sectors moved",
    "safety": "barriers, races and array bounds",
    "answer": "the answer worked out on paper",
}


def summary(summaries: Sequence[Summary]) -> str:
    """A line for each lab."""
    head = ("Lab", "Students", "Handed in", "Graded", "Wait for a person", "Late", "Missing", "Could not be judged")
    lines = [
        (
            f"{words(one.lab.title)}<br><small>{words(one.lab.name)}, {grades.number(one.lab.max_score)} points"
            "</small>",
            *(f"{value:,}" for value in _counts(one)),
        )
        for one in summaries
    ]
    repaired = sum(one.repaired for one in summaries)
    said = (
        "Graded means that every check has a mark; some of these still wait for a person to grade a written answer."
    )
    if repaired:
        said += f" {count(repaired, 'submission')} had to be repaired first; grades.csv says how."
    return f"{table(head, lines, range(1, 8))}<p class='soft'>{said}</p>"


def _counts(one: Summary) -> tuple[int, ...]:
    return one.students, one.submitted, one.graded, one.manual, one.late, one.missing, one.unjudged


def scores(summaries: Sequence[Summary]) -> str:
    """A histogram for each lab."""
    charts = []
    for one in summaries:
        total = sum(one.bins)
        middle = "" if one.median is None else f" Half of them have {percent(one.median, 1)} or more."
        caption = f"{count(total, 'submission')} by percent of the points graded so far.{middle}"
        charts.append(histogram(words(one.lab.title), one.bins, caption))
    return (
        '<p class="soft">Columns are tenths of the points. Written answers count once they have been graded; '
        f'submissions without a mark are left out.</p><div class="charts">{"".join(charts)}</div>'
    )


def checks(outcome: Outcome) -> str:
    """A bar for each check, in the order of the labs."""
    parts = [
        '<p class="key soft"><i></i> full points &nbsp; <i class="partly"></i> some points &nbsp; '
        '<i class="none"></i> none</p>'
    ]
    for lab in outcome.labs:
        by_exercise: dict[str, list[figures.Rate]] = {}
        for rate in figures.rates(outcome, lab):
            by_exercise.setdefault(rate.cell.exercise, []).append(rate)
        bodies = "".join(_exercise_rates(exercise, rates) for exercise, rates in by_exercise.items())
        parts.append(
            f'<h3>{words(lab.title)}</h3><div class="wide"><table><thead><tr><th scope="col">Exercise</th>'
            '<th scope="col">Check</th><th scope="col">Share of the class</th>'
            f'<th scope="col" class="n">Full points</th></tr></thead>\n{bodies}</table></div>'
        )
    return "".join(parts)


def _exercise_rates(exercise: str, rates: Sequence[figures.Rate]) -> str:
    lines = []
    for at, rate in enumerate(rates):
        first = f'<th scope="rowgroup" rowspan="{len(rates)}">{_exercise(exercise)}</th>' if at == 0 else ""
        about = words(TOPICS.get(rate.cell.check, ""))
        lines.append(
            f'<tr>{first}<td>{words(rate.cell.check)}<br><small>{about}</small></td><td class="bar">'
            f'{bar(rate.passed, rate.judged, rate.partly)}</td><td class="n">{percent(rate.passed, rate.judged)}<br>'
            f"<small>{rate.passed:,} of {rate.judged:,}</small></td></tr>\n"
        )
    return f"<tbody>{''.join(lines)}</tbody>"


def mistakes(found: Sequence[Mistake]) -> str:
    """Known mistakes by share of the class."""
    if not found:
        return "<p>No known mistake was recognised.</p>"
    lines = [
        (
            f"<strong>{words(one.title)}</strong><br><small>{words(one.explain)}</small>"
            f"<details><summary>{count(len(one.students), 'student')}</summary>{names(one.students)}</details>",
            "".join(_place(exercise, many, len(one.where)) for exercise, many in one.where),
            f"{bar(len(one.students), one.judged)}{percent(len(one.students), one.judged)} "
            f"<small>({len(one.students):,} of {one.judged:,})</small>",
        )
        for one in found
    ]
    said = "A mistake is named when a kernel's output equals what that mistake gives on the same input."
    head = ("Mistake", "Where it was made, and where to read", "Share of the class")
    return f'<p class="soft">{said}</p><div class="mistakes">{table(head, lines)}</div>'


def _place(exercise: str, many: int, places: int) -> str:
    """An exercise with what to read, and with the number of students where there are several exercises."""
    read = figures.read_about(exercise)
    often = f" ({count(many, 'student')})" if places > 1 else ""
    where = f"<br><small>Read {words(read)}.</small>" if read else ""
    return f"<div>{words(figures.title_of(exercise))}{often}{where}</div>"


def slowest(times: dict[str, Times], outcome: Outcome) -> str:
    """By the time that judging took, where it was measured; else by how many students lost points."""
    known = {cell.exercise for lab in outcome.labs for cell in lab.checks}
    found = [(exercise, one) for exercise, one in by_exercise(times) if exercise in known][:SLOW]
    if not found:
        lines = [
            (_exercise(exercise), bar(lost, judged), f"{lost:,} of {judged:,}")
            for _, exercise, lost, judged in figures.hardest(outcome)[:SLOW]
        ]
        said = (
            "How long judging took was not measured in this folder (marks from another run). These are the exercises "
            "in which most students lost points."
        )
        return f'<p class="soft">{said}</p>{table(("Exercise", "Students", "Lost points"), lines, (2,), bars=1)}'
    most = max(one.seconds / one.judged for _, one in found)
    lines = [
        (
            _exercise(exercise),
            bar(one.seconds / one.judged, most),
            f"{one.seconds / one.judged:.1f} s",
            f"{one.longest:.1f} s",
            f"{one.judged:,}",
            f"{one.seconds / 60:.1f} min",
        )
        for exercise, one in found
    ]
    said = (
        "Time on this machine for all checks of one kernel, as measured while it was also busy with others; equal "
        "kernels are judged once."
    )
    head = ("Exercise", "Average", "", "Longest check", "Kernels judged", "In all")
    return f'<p class="soft">{said}</p>{table(head, lines, (2, 3, 4, 5), bars=1)}'


def alike(outcome: Outcome, found: Comparison) -> str:
    """Groups of students, with what must be kept in mind."""
    caution = (
        '<p class="caution"><strong>A place to look, not a finding.</strong> There are few ways to write a short '
        "kernel, and a class that works from the same lesson and hints writes alike. Students may also have been "
        "allowed to work together. Read both kernels, and ask, before you conclude anything.</p>"
    )
    rule = (
        f"Compared were {count(found.compared, 'kernel')}, after names, comments and layout were taken away. Left out: "
        f"{found.short:,} that are too short (under {SMALLEST} tokens) and {found.known:,} that equal a right form "
        f"which the course knows. Two kernels are listed when they are at least {THRESHOLD:.0%} alike and at least "
        "twice as near to each other as to any of those right forms."
    ).replace("%", " %")
    if not found.groups:
        return f'<p>No two kernels are that much alike.</p><p class="soft">{rule}</p>'
    lines = []
    for group in found.groups[:MOST_GROUPS]:
        lab = outcome.lab(group.lab)
        students = ", ".join(linked(outcome, student, lab) for student in group.students[:20])
        if len(group.students) > 20:
            students += f" and {len(group.students) - 20} more"
        degree = "the same but for names and layout" if group.same else f"at least {percent(group.lowest, 1)} alike"
        lines.append((_exercise(group.exercise), students, degree))
    more = len(found.groups) - len(lines)
    tail = f"<p>And {count(more, 'group')} that are less alike.</p>" if more > 0 else ""
    return f'{caution}{table(("Exercise", "Students", "How much"), lines)}{tail}<p class="soft">{rule}</p>'


def help_(outcome: Outcome, found: Sequence[Need]) -> str:
    """Students with few points or many failed checks, and what to talk about."""
    rule = (
        f"Listed are students with less than {figures.LOW:.0%} of the points of the checks, or with "
        f"{figures.MANY:.0%} of the checks or more not fully passed, over all labs that they handed in."
    ).replace("%", " %")
    if not found:
        return f'<p>Nobody is below these lines.</p><p class="soft">{rule}</p>'
    lines = [
        (
            _pages(outcome, need),
            percent(need.share, 1),
            f"{need.failed} of {need.judged}",
            _topics(need.topics) if need.begun else "Has no points in any check: has perhaps not begun.",
        )
        for need in found[:MOST_NEEDS]
    ]
    more = len(found) - len(lines)
    tail = f"<p>And {count(more, 'more student')}; sort grades.csv by score to see them.</p>" if more > 0 else ""
    head = ("Student", "Points", "Checks lost", "What to talk about first")
    return f'<p class="soft">{rule}</p>{table(head, lines, (1, 2))}{tail}'


def ungraded(outcome: Outcome) -> str:
    """Who has no mark, and why."""
    lines, missing = [], []
    for lab in outcome.labs:
        none = [line.student for line in outcome.of(lab) if line.status == grades.MISSING]
        if none:
            missing.append(f"<li>{words(lab.title)}: {names(none)}</li>")
        lines += [
            (linked(outcome, line.student, lab), words(lab.title), words(line.notes or "No reason was recorded."))
            for line in outcome.of(lab)
            if line.status == grades.UNJUDGED
        ]
    parts = []
    if lines:
        more = len(lines) - MOST_UNGRADED
        tail = f"<p>And {more} more; see grades.csv.</p>" if more > 0 else ""
        head = ("Student", "Lab", "Why it could not be judged")
        parts.append(f"<h3>Could not be judged</h3>{table(head, lines[:MOST_UNGRADED])}{tail}")
    if missing:
        parts.append(f"<h3>Nothing handed in</h3><ul>{''.join(missing)}</ul>")
    return "".join(parts) or "<p>Every student has a mark in every lab.</p>"


def _exercise(exercise: str) -> str:
    return f"{words(figures.title_of(exercise))}<br><small>{words(exercise)}</small>"


def _pages(outcome: Outcome, need: Need) -> str:
    """The name, with a link to the feedback page of each lab in which points were lost."""
    lost = {lab.name for lab, _ in need.topics}
    labs = [lab for lab in outcome.labs if lab.name in lost]
    pages = ", ".join(linked(outcome, need.student, lab, words(lab.name)) for lab in labs)
    return f"{name(need.student)}<br><small>{pages}</small>"


def _topics(topics: Sequence[tuple[Lab, Cell]]) -> str:
    """The exercises in which most points were lost, with the checks and where to read."""
    by_exercise: dict[str, list[Cell]] = {}
    for _, cell in topics:
        by_exercise.setdefault(cell.exercise, []).append(cell)
    items = []
    for exercise, cells in list(by_exercise.items())[:MOST_TOPICS]:
        kinds = "; ".join(dict.fromkeys(TOPICS.get(cell.check, cell.check) for cell in cells[:2]))
        read = figures.read_about(exercise)
        where = f" <small>Read {words(read)}.</small>" if read else ""
        items.append(f"<li>{words(figures.title_of(exercise))}: {words(kinds)}.{where}</li>")
    more = len(by_exercise) - len(items)
    tail = f"<li>and {count(more, 'more exercise')}</li>" if more > 0 else ""
    return f"<ul>{''.join(items)}{tail}</ul>"
