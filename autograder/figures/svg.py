"""A small SVG writer: escaped text, one theme for light and dark pages, no state between pictures.

Every picture is a self-contained SVG with its own background, so that it reads the same inline in a
notebook, as an image on a web page, in print and in a dark theme. The style rules are scoped to the
class ``agfig`` and say the same in every picture: two pictures on one page cannot disturb each other.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from xml.sax.saxutils import escape

SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
_QUOTE = {'"': "&quot;"}
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

# name: (light, dark). Load and store differ in hue and in lightness, for readers who see no hue.
_PALETTE = {
    "bg": ("#ffffff", "#1b1f24"),
    "panel": ("#f3f5f7", "#252b32"),
    "fg": ("#1c2530", "#e8ecf0"),
    "mut": ("#566270", "#a3afbb"),
    "rule": ("#c3ccd5", "#48525d"),
    "ld": ("#1f6fb5", "#6fb3ee"),
    "ldt": ("#d3e5f6", "#1f3e5a"),
    "st": ("#b8500f", "#f0a35e"),
    "stt": ("#f8dfcb", "#563517"),
    "ok": ("#2b7a4b", "#7ccf9a"),
    "okt": ("#d6eddf", "#1f4530"),
    "bad": ("#b3261e", "#ff9489"),
    "badt": ("#fbe0dd", "#55231f"),
}


def _style(used: set[str]) -> str:
    """The style rules of the classes in ``used``: "f-NAME" fills, "s-NAME" strokes, "m" monospaced."""
    rules = {"light": "", "dark": ""}
    for name, (light, dark) in _PALETTE.items():
        for prefix, verb in (("f", "fill"), ("s", "stroke")):
            if f"{prefix}-{name}" in used:
                rules["light"] += f".agfig .{prefix}-{name}{{{verb}:{light}}}"
                rules["dark"] += f".agfig .{prefix}-{name}{{{verb}:{dark}}}"
    mono = f".agfig .m{{font-family:{MONO}}}" if "m" in used else ""
    return (
        f"<style>{mono}{rules['light']}@media (prefers-color-scheme:dark){{{rules['dark']}}}</style>"
    )


@dataclass(frozen=True, repr=False)
class Picture:
    """One finished picture.

    ``str(picture)`` is the SVG text, ``repr(picture)`` its description in words. As the last value of
    a notebook cell it shows itself. ``save(path)`` writes an ``.svg`` file.
    """

    svg: str
    title: str
    desc: str

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"{self.title}. {self.desc}" if self.desc else self.title

    def _repr_html_(self) -> str:
        return self.img()

    def img(self) -> str:
        """An HTML ``<img>`` with the picture inside it. JupyterLab shows it even in a notebook that is
        not trusted yet, where it takes ``<svg>`` out of HTML, and gives it the theme of the page."""
        data = base64.b64encode(self.svg.encode()).decode()
        return (
            f'<img alt="{escape(repr(self), _QUOTE)}" src="data:image/svg+xml;base64,{data}"'
            ' style="max-width:100%">'
        )

    def save(self, path: str) -> None:
        """Write the picture to ``path`` as a UTF-8 ``.svg`` file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def num(value: float) -> str:
    """A coordinate with at most two decimals and no trailing zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def text_width(text: str, size: float, mono: bool = False) -> float:
    """A width in pixels that ``text`` will not pass in any of the fonts we name."""
    if mono:
        return 0.62 * size * len(text)
    narrow = sum(text.count(c) for c in "il.,:;'|! ()[]")
    return size * (0.62 * (len(text) - narrow) + 0.36 * narrow)


def fit(text: str, width: float, size: float, mono: bool = False) -> str:
    """``text`` cut with an ellipsis so that it stays within ``width`` pixels."""
    if text_width(text, size, mono) <= width:
        return text
    kept = text
    while kept and text_width(kept + "…", size, mono) > width:
        kept = kept[:-1]
    return kept.rstrip() + "…"


class Canvas:
    """Collects the shapes of one picture, in pixels, y downwards. Colours are palette names."""

    def __init__(self, width: float, title: str, desc: str) -> None:
        self.width = width
        self.title = title
        self.desc = desc
        self._parts: list[str] = []
        self._used: set[str] = set()

    def raw(self, markup: str) -> None:
        """Add finished markup (already escaped)."""
        self._parts.append(markup)

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: str | None = None,
        stroke: str | None = None,
        *,
        radius: float = 0,
        line: float = 1,
        opacity: float = 1,
        tip: str = "",
    ) -> None:
        """A box; ``tip`` is shown when the pointer rests on it."""
        extra = f' rx="{num(radius)}"' if radius else ""
        body = f"<title>{escape(tip)}</title>" if tip else ""
        close = f">{body}</rect>" if body else "/>"
        self._parts.append(
            f'<rect x="{num(x)}" y="{num(y)}" width="{num(w)}" height="{num(h)}"'
            f"{extra}{self._paint(fill, stroke, line, opacity)}{close}"
        )

    def text(
        self,
        x: float,
        y: float,
        content: str,
        color: str = "fg",
        *,
        size: float = 12,
        anchor: str = "start",
        mono: bool = False,
        bold: bool = False,
    ) -> None:
        """One line of text; ``y`` is its base line, ``anchor`` "start", "middle" or "end"."""
        extra = "" if anchor == "start" else f' text-anchor="{anchor}"'
        extra += ' font-weight="600"' if bold else ""
        paint = self._paint(color, None, 1, 1, "m" if mono else "")
        self._parts.append(
            f'<text x="{num(x)}" y="{num(y)}" font-size="{num(size)}"{extra}{paint}>'
            f"{escape(content)}</text>"
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        stroke: str = "rule",
        *,
        width: float = 1,
        dash: str = "",
        opacity: float = 1,
    ) -> None:
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(
            f'<line x1="{num(x1)}" y1="{num(y1)}" x2="{num(x2)}" y2="{num(y2)}"{extra}'
            f"{self._paint(None, stroke, width, opacity)}/>"
        )

    def path(self, d: str, fill: str | None = None, stroke: str | None = None, *, line: float = 1,
             opacity: float = 1) -> None:
        """A path from its ``d`` text."""
        self._parts.append(f'<path d="{d}"{self._paint(fill, stroke, line, opacity)}/>')

    def arrow(self, x1: float, y1: float, x2: float, y2: float, color: str = "fg", *,
              width: float = 1.5, head: float = 5) -> None:
        """A line with a solid head at its second end."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bx, by = x2 - ux * head * 1.5, y2 - uy * head * 1.5
        self.line(x1, y1, bx, by, color, width=width)
        self.path(
            f"M{num(x2)} {num(y2)}L{num(bx - uy * head * 0.8)} {num(by + ux * head * 0.8)}"
            f"L{num(bx + uy * head * 0.8)} {num(by - ux * head * 0.8)}Z",
            color,
        )

    def finish(self, height: float) -> str:
        """The whole SVG text. Its ids follow from the content, so they repeat from run to run."""
        body = "".join(self._parts)
        ground = f'<rect width="{num(self.width)}" height="{num(height)}" rx="6"' + self._paint(
            "bg", None, 1, 1
        )
        digest = hashlib.sha256(f"{self.title}|{self.desc}|{body}".encode()).hexdigest()[:10]
        key = f"agfig-{digest}"
        w, h = num(self.width), num(height)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="agfig" width="{w}" height="{h}"'
            f' viewBox="0 0 {w} {h}" role="img" aria-labelledby="{key}-t {key}-d"'
            f' font-family="{SANS}" style="max-width:100%;height:auto">'
            f'<title id="{key}-t">{escape(self.title)}</title>'
            f'<desc id="{key}-d">{escape(self.desc)}</desc>{_style(self._used)}'
            f"{ground}/>{body}</svg>"
        )

    def _paint(self, fill: str | None, stroke: str | None, line: float, opacity: float,
               more: str = "") -> str:
        names = [f"f-{fill}"] if fill else []
        names += [f"s-{stroke}"] if stroke else []
        names += [more] if more else []
        self._used.update(names)
        out = "" if fill else ' fill="none"'
        out += f' stroke-width="{num(line)}"' if stroke and line != 1 else ""
        out += f' opacity="{num(opacity)}"' if opacity != 1 else ""
        return out + (f' class="{" ".join(names)}"' if names else "")
