"""Bytes to text, whatever editor wrote them."""

from __future__ import annotations

import codecs
import json
import re

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
# What no text file of a notebook has, and what XML, a gradebook or a terminal cannot take.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")


def decode(data: bytes) -> tuple[str, list[str]]:
    """The text, and sentences about what was put right. Never raises."""
    for mark, encoding, name in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), [f"The file was in {name}; it was read as that."]
    if data.startswith(codecs.BOM_UTF8):
        text = data.decode("utf-8-sig", "replace").lstrip("\ufeff")
        return text, ["The file began with a byte order mark; it was skipped."]
    guess = json.detect_encoding(data[:4]) if b"\x00" in data[:4] else "utf-8"
    if guess != "utf-8":
        name = guess[:6].upper()
        return data.decode(guess, "replace"), [f"The file was in {name} without a mark; it was read as that."]
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), ["The file was not in UTF-8; it was read as Windows-1252."]


def clean_text(text: str) -> str:
    """``text`` with one kind of line end and nothing that cannot be stored (lone surrogates, NUL). Other
    control characters stay: a kernel with one is refused, here as in the student's notebook."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return text.encode("utf-8", "replace").decode("utf-8")


def storable(text: str) -> str:
    """As :func:`clean_text`, without any control character, for messages that quote what a student wrote:
    a gradebook, a page or a terminal would stumble over it."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", clean_text(text))
