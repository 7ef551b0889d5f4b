"""A .py file as cells: percent scripts (jupytext, VS Code, Spyder), nbconvert's and Colab's exports."""

from __future__ import annotations

import re

_PERCENT = re.compile(r"^#\s*%%(.*)$")
_NUMBERED = re.compile(r"^#\s*In\s*\[[\d ]*\]:\s*$")
_HEADER = re.compile(r"\A\s*#\s*---\n(?:#.*\n)*?#\s*---\n")


def cells(text: str) -> list[tuple[str, str]]:
    """(cell type, source) of each cell; a file without marks is one code cell."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = _HEADER.sub("", text).split("\n")
    found: list[tuple[str, list[str]]] = [("code", [])]
    for line in lines:
        if mark := _PERCENT.match(line):
            words = mark[1].lower()
            found.append(("markdown" if "[markdown]" in words or "[md]" in words else "code", []))
        elif _NUMBERED.match(line):
            found.append(("code", []))
        else:
            found[-1][1].append(line)
    made = []
    for kind, body in found:
        source = "\n".join(body).strip("\n")
        if not source.strip():
            continue
        if kind == "markdown":
            source = _uncommented(source)
        made.append((kind, source))
    return made


def _uncommented(source: str) -> str:
    quoted = re.fullmatch(r"\s*(\"{3}|'{3})(.*)\1\s*", source, re.DOTALL)
    if quoted:
        return quoted[2].strip("\n")
    return "\n".join(re.sub(r"^# ?", "", line) for line in source.split("\n"))
