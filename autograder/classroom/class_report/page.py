"""The class report as one HTML page: no script, nothing from elsewhere, every name escaped."""

from __future__ import annotations

from autograder.classroom.class_report import figures, sections
from autograder.classroom.class_report.alike import compare
from autograder.classroom.class_report.pieces import count, words
from autograder.classroom.class_report.style import STYLE
from autograder.classroom.class_report.times import read_times
from autograder.classroom.outcome import Outcome

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(outcome: Outcome) -> str:
    """The whole page. The same outcome gives the same text."""
    summaries = [figures.summary(outcome, lab) for lab in outcome.labs]
    parts = [
        ("summary", "Summary", sections.summary(summaries)),
        ("scores", "Scores", sections.scores(summaries)),
        ("checks", "Pass rate by check", sections.checks(outcome)),
        ("mistakes", "Known mistakes", sections.mistakes(figures.mistakes(outcome))),
        ("slow", "Slowest exercises", sections.slowest(read_times(outcome.folder), outcome)),
        ("alike", "Kernels that are nearly the same", sections.alike(outcome, compare(outcome))),
        ("help", "Who may need help", sections.help_(outcome, figures.needs(outcome))),
        ("ungraded", "Without a mark", sections.ungraded(outcome)),
    ]
    links = "".join(f'<a href="#{key}">{title}</a>' for key, title, _ in parts)
    body = "\n".join(f'<section><h2 id="{key}">{title}</h2>\n{text}</section>' for key, title, text in parts)
    labs = ", ".join(words(lab.title) for lab in outcome.labs)
    about = f"{count(len(outcome.students), 'student')}, {count(len(outcome.labs), 'lab')}: {labs}."
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Class report</title>\n<style>{STYLE}</style></head>\n<body><main>\n<h1>Class report</h1>\n"
        f'<p class="soft">{about}</p>\n<nav aria-label="Sections">{links}</nav>\n{body}\n</main></body></html>\n'
    )
