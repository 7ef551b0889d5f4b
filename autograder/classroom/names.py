"""Names as they come from file systems and archives, made fit to be printed, stored and compared."""

from __future__ import annotations

import hashlib
import os
import unicodedata

LONGEST_BYTES = 120  # of a student's id: a folder's name has room for 255, nbgrader's column for 128 characters
_BAD = "\N{REPLACEMENT CHARACTER}"


def readable(name: str) -> str:
    """A file name as text that can be printed and stored: accents composed (NFC), undecodable bytes and
    control characters replaced by U+FFFD."""
    text = unicodedata.normalize("NFC", name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    return "".join(char if char.isprintable() or char == " " else _BAD for char in text)


def student_id(name: str) -> tuple[str, str]:
    """A student's id for the gradebook and for folders, and a sentence when it differs from ``name``
    ("" otherwise). The same name gives the same id, whoever else is in the class: what cannot be kept
    is replaced, and told apart by a few digits of a digest."""
    text = " ".join(readable(name).replace("/", "-").replace("\\", "-").split(" ")).strip()
    raw = unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "surrogateescape"))
    mark = f"~{hashlib.sha256(raw.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"
    if len(text.encode("utf-8")) > LONGEST_BYTES:
        room = LONGEST_BYTES - len(mark)
        short = text.encode("utf-8")[:room].decode("utf-8", "ignore").rstrip() + mark
        return short, f"The name {text[:40]}... is too long for a gradebook; it was shortened to {short}."
    if _BAD in text and _BAD not in name:
        return text + mark, f"The student's name has characters that cannot be shown; it is written {text + mark}."
    if text.strip(". ") == "":
        return f"unnamed{mark}", f"The name {text!r} cannot be a folder's; it is written unnamed{mark}."
    return text, ""


def alike(name: str) -> str:
    """Equal for names that some systems take for one: upper and lower case, composed and not."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold()).rstrip(". ")
