"""HTML that is harmless at a glance: a verdict's own tables, which need no parser to be trusted.

A sanitiser parses, filters and writes every table again, which takes longer than all else that a feedback page
costs. The judge writes only a narrow kind of HTML; a text of that kind can make nothing but the elements that
stand in it, however a browser reads it. Any other text goes to the sanitiser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

_PIECE = re.compile(r'[^<]+|<(?P<end>/?)(?P<tag>[a-z][a-z0-9]*)(?P<attributes>(?: [a-z][a-z-]*="[^"<>]*")*)>')
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')
_PICTURE = re.compile(r"data:image/[a-z+]+;base64,[A-Za-z0-9+/=]*")
_CALLS = re.compile(r"url|[&\\\\]", re.IGNORECASE)  # what can load something, or stand for it in disguise
_EMPTY = frozenset({"br", "col", "hr", "img"})
_WORDS = frozenset({"title", "aria-label", "alt", "class", "role"})  # a value that is text and nothing else


def harmless(
    html: str, tags: Collection[str], allowed: Callable[[str, str, str], bool], style: Callable[[str], bool]
) -> bool:
    """Whether ``html`` is made of text and properly nested ``tags`` only, with attributes that are ``allowed``
    (tag, name, value), whose ``style`` is, and that link to nothing."""
    at, open_ = 0, []
    while at < len(html):
        piece = _PIECE.match(html, at)
        if piece is None:
            return False
        at, tag = piece.end(), piece["tag"]
        if tag is None:
            continue
        if tag not in tags:
            return False
        if piece["end"]:
            if piece["attributes"] or not open_ or open_.pop() != tag:
                return False
            continue
        if tag not in _EMPTY:
            open_.append(tag)
        for name, value in _ATTRIBUTE.findall(piece["attributes"]):
            if not (allowed(tag, name, value) and _value(name, value, style)):
                return False
    return not open_


def _value(name: str, value: str, style: Callable[[str], bool]) -> bool:
    if name in _WORDS:
        return True
    if name == "src":
        return _PICTURE.fullmatch(value) is not None
    plain = name != "href" and not _CALLS.search(value)
    return plain and (name != "style" or style(value))
