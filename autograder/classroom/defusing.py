"""Take the power out of what a student wrote into a text cell, and leave it readable.

nbgrader's formgrader puts text cells into a page as Markdown with HTML, in the browser of whoever
grades. Nothing there may run, send a request, or look like a part of the page.
"""

from __future__ import annotations

import html
import re

from autograder.classroom.decoding import storable

_TAG = re.compile(r"<(?=[a-zA-Z/!?])(?!/?(?:b|br|code|em|i|li|ol|p|pre|strong|sub|sup|ul)\s*/?>)")
_PICTURE = re.compile(r"!(?=\[)(?!\[[^\[\]]*\]\(\s*data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]+\))")
_TARGET = re.compile(r"(\](?:\(|:)\s*)(?:<\s*)?([^\s)>]+)")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):")
_SPELT = re.compile(
    r"((?:j\s*a\s*v\s*a|v\s*b|l\s*i\s*v\s*e)\s*s\s*c\s*r\s*i\s*p\s*t|data\s*):(?!image/(?:png|jpeg|gif);base64,)", re.I
)
# MathJax commands that make links, styles or load more of it.
_MATH = re.compile(
    r"\\(?=(?:href|url|style|class|cssId|data|require|unicode|includegraphics|bbox|texttip|toggle|action|html\w*"
    r"|mathtip|mmlToken|enclose)\b)"
)
_HARMLESS = frozenset({"http", "https", "mailto"})
REMOVED = "#link-removed"
_SIGN = re.compile(r"[\[\]<>!*_`\\#$|~&=+-]")
_PIXELS = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=]*")
MOST_SIGNS = 500  # that mean something to Markdown; people write a hundred
LONGEST_LINE = 200  # characters
MOST_SPACES = 100  # in a row
_SPACES = re.compile(rf"(?<=\S)[^\S\n]{{{MOST_SPACES + 1},}}")  # not at the beginning of a line, which is code


def defuse(text: str) -> str:
    """``text`` with a space after each ``<`` that could begin a tag, except plain harmless tags ("< script>"
    is text to every browser, and "i < n" stays what it was); with pictures as links, but for small ones
    that stand in the text itself; with links to web pages and mail only; and without MathJax's links and
    styles. A text with more than MOST_SIGNS signs of Markdown is made one block of code: a page of nothing but
    brackets takes minutes to set. Doing it twice changes nothing more."""
    text = _TAG.sub("< ", _SPACES.sub(" " * MOST_SPACES, storable(text)))
    text = _PICTURE.sub("! ", text)
    text = _TARGET.sub(_target, text)
    text = _SPELT.sub(r"\1 :", text)
    text = _MATH.sub(r"\\ ", text)
    return text if len(_SIGN.findall(_PIXELS.sub("", text))) <= MOST_SIGNS else _as_code(text)


def _as_code(text: str) -> str:
    """``text`` as a block of code: each line four spaces in, and none longer than nbconvert's search for links in a
    line takes in its stride."""
    return "\n".join(part for line in text.split("\n") for part in _indented(line))


def _indented(line: str) -> list[str]:
    line = line.removeprefix("    ")
    return [f"    {line[at : at + LONGEST_LINE]}" for at in range(0, len(line), LONGEST_LINE)] or [""]


def _target(found: re.Match[str]) -> str:
    """A link's target, unless it begins with another scheme than those of pages and mail."""
    plain = found[2]
    for _ in range(3):  # entities of entities
        plain = html.unescape(plain)
    plain = re.sub(r"\\(?=[^A-Za-z0-9])", "", plain)
    plain = "".join(char for char in plain if char.isprintable() and not char.isspace()).lower()
    scheme = _SCHEME.match(plain)
    if scheme is None or scheme[1] in _HARMLESS or re.match(r"data:image/(?:png|jpeg|gif);base64,", plain):
        return found[0]
    return found[1] + REMOVED
