"""A Report in words (terminal, notebook's text) and as HTML (notebook, feedback page)."""

from .html import html
from .words import words

__all__ = ["html", "words"]
