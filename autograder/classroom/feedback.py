"""nbgrader's feedback pages, made safe to open: whatever a student wrote is shown, nothing runs."""

from __future__ import annotations

import functools
import re
from html import unescape
from pathlib import Path
from typing import Any

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from nbconvert import HTMLExporter
from nbconvert.filters import Highlight2HTML
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.converters import GenerateFeedback
from nbgrader.preprocessors import GetGrades, NbGraderPreprocessor
from nbgrader.utils import chdir
from traitlets import Bool, Type

TAGS = frozenset(
    "a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure"
    " h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strong sub summary sup table"
    " tbody td tfoot th thead tr u ul var title desc".split()
)
DRAWING_TAGS = frozenset("svg g rect line circle path polyline polygon text tspan".split())
_SHARED = ["class", "style", "title", "role", "aria-label"]
_DRAWING = [
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "d",
    "points",
    "width",
    "height",
    "viewbox",
    "viewBox",
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-opacity",
    "opacity",
    "transform",
    "text-anchor",
    "dominant-baseline",
    "font-size",
    "font-family",
    "font-weight",
    "preserveaspectratio",
    "dx",
    "dy",
]
ATTRIBUTES = {
    "*": _SHARED,
    "a": ["href"],
    "img": ["src", "alt", "width", "height"],
    "td": ["colspan", "rowspan", "align"],
    "th": ["colspan", "rowspan", "align", "scope"],
    "ol": ["start", "type"],
    "details": ["open"],
    **dict.fromkeys(DRAWING_TAGS, _DRAWING),
}
PROTOCOLS = frozenset({"http", "https", "mailto", "data"})
STYLES = frozenset(
    "color background background-color border border-bottom border-top border-left border-right"
    " border-collapse border-radius display fill font-family font-size font-style font-variant-numeric"
    " font-weight height line-height list-style margin margin-bottom margin-left margin-right margin-top"
    " max-width min-width opacity overflow overflow-x padding padding-bottom padding-left padding-right"
    " padding-top stroke stroke-width text-align text-decoration text-anchor vertical-align white-space"
    " width".split()
)

LONGEST_KEPT = 300  # characters of a style


class _Styles(CSSSanitizer):
    """The judge writes a handful of styles in thousands of places: each is looked at once. A long one is a student's,
    and is not kept."""

    def sanitize_css(self, style: str) -> str:
        return self._kept(style) if len(style) <= LONGEST_KEPT else super().sanitize_css(style)

    @functools.lru_cache(maxsize=1000)  # noqa: B019  (one sanitiser lives as long as this module)
    def _kept(self, style: str) -> str:
        return super().sanitize_css(style)


_CSS = _Styles(allowed_css_properties=STYLES, allowed_svg_properties=STYLES)


def clean_html(html: str, kinds: str = "png|jpeg|gif") -> str:
    """``html`` with the harmless tags kept and everything else shown as text. ``kinds`` of pictures may stand
    in it; one from elsewhere would report who reads the page, as would a style that loads one."""

    def allowed(tag: str, name: str, value: str) -> bool:
        if name == "href" and tag == "a":
            return not value.strip().lower().startswith("data:")
        if name == "src":
            return re.match(rf"data:image/({kinds});base64,", value) is not None
        if name == "style":
            return not re.search(r"[(\\]", unescape(value))  # url(...) and its kin, also in disguise
        return name in ATTRIBUTES["*"] or name in ATTRIBUTES.get(tag, ())

    return bleach.clean(
        html, tags=TAGS | DRAWING_TAGS, attributes=allowed, protocols=PROTOCOLS, css_sanitizer=_CSS
    )


class SafeHtml(NbGraderPreprocessor):
    """Makes its exporter clean all HTML that comes from Markdown, and cleans HTML outputs.

    Can be put into ``GenerateFeedback.preprocessors`` of any nbgrader configuration, by the name
    "autograder.classroom.feedback.SafeHtml".
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._known: dict[str, str] = {}  # the lab's own text is the same in every page

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        exporter, known = self.parent, self._known

        @pass_context
        def markdown2html(context: Any, source: str) -> str:
            if source not in known:
                known[source] = clean_html(exporter.markdown2html(context, source))
            return known[source]

        exporter.register_filter("markdown2html", markdown2html)
        return super().preprocess(nb, resources)

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        cell.pop("attachments", None)
        if cell.cell_type == "raw":
            cell.cell_type, cell.source = "markdown", f"```\n{cell.source.replace('```', '` ` `')}\n```"
        if cell.cell_type == "code":
            cell.outputs = [_clean_output(output) for output in _said_once(cell.outputs)]
        return cell, resources


def _said_once(outputs: Any) -> list[Any]:
    """A verdict is printed and shown as a table with the same words: a page needs the table alone."""
    tables = any("text/html" in output.get("data", {}) for output in outputs)
    return [output for output in outputs if not (tables and output.output_type == "stream")]


def _clean_output(output: Any) -> Any:
    data = output.get("data")
    if data is not None:
        html = data.get("text/html")
        output.data = type(data)({"text/plain": data.get("text/plain", "")})
        if html is not None:
            # Drawn by the judge; a browser runs and loads nothing in a drawing that is an image.
            output.data["text/html"] = clean_html("".join(html), kinds=r"png|jpeg|gif|svg\+xml")
    return output


# nbgrader's page hides the triangles of folded hints, sets tables without gaps, and is as wide as a desk.
STYLE = """
div.prompt { display: none; }
summary { display: list-item; cursor: pointer; color: #337ab7; }
.rendered_html table { margin: .4em 0 .8em; }
.rendered_html td, .rendered_html th { padding: .15em 1em .15em 0; text-align: left; vertical-align: top; }
.rendered_html img { max-width: 100%; }
.panel-heading { overflow-wrap: anywhere; }
div.nbgrader_cell .panel-heading { height: auto; min-height: 37px; overflow: hidden; }
div.output_area, div.text_cell_render { overflow-x: auto; }
.container { width: auto; max-width: 1140px; }
@media (max-width: 767px) {
  .container, #notebook-container, .panel-body { padding-left: 5px; padding-right: 5px; }
  div.input_area pre { white-space: pre; overflow-x: auto; }
}
"""
_HEAD = f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style>\n</head>'
_TEST_CELL = re.compile(r'<a href="#([\w-]+)">Test cell</a>')


class FeedbackExporter(HTMLExporter):
    """nbconvert's HTML without its last step, which parses the finished page once more to look for
    pictures without a description, and takes longer than all other steps together. Code that many
    students have (the lab's own) is coloured once. The list at the top names each check. The notebook is
    checked once, after nbgrader's last step."""

    optimistic_validation = Bool(True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.exclude_anchor_links = True
        self.highlight = functools.lru_cache(maxsize=2000)(Highlight2HTML(pygments_lexer="ipython3"))

    def from_notebook_node(self, nb: Any, resources: Any = None, **options: Any) -> tuple[str, Any]:
        self.register_filter("highlight_code", lambda source, **_: self.highlight(source))
        page, made = super(HTMLExporter, self).from_notebook_node(nb, self._init_resources(resources), **options)
        head, end, body = page.partition("</head>")
        page = head.rstrip() + end.replace("</head>", _HEAD) + _TEST_CELL.sub(r'<a href="#\1">\1</a>', body)
        return page, made


class SafeFeedback(GenerateFeedback):
    """GenerateFeedback with safe pages, for students' folders given by path, one at a time.

    The exporter is made once and kept: compiling nbconvert's templates costs more than a page.
    """

    exporter_class = Type(FeedbackExporter, klass=HTMLExporter)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.preprocessors = [GetGrades, SafeHtml, CSSHTMLHeaderPreprocessor]
        self.folder: Path | None = None
        self._ready = False

    def convert(self, folder: Path) -> None:
        """Write the page of one student's autograded ``folder``."""
        self.folder = folder
        if not self._ready:
            self._ready = True
            self.start()
            return
        self.init_notebooks()
        with chdir(self.coursedir.root):
            self.convert_notebooks()

    def init_notebooks(self) -> None:
        self.assignments = {str(self.folder): [str(path) for path in sorted(self.folder.glob("*.ipynb"))]}
