"""What a notebook's cell says of itself: its nbgrader data, its text, and the check that it calls."""

from __future__ import annotations

import ast
from typing import Any


def nbgrader_data(cell: Any) -> dict[str, Any]:
    """The cell's nbgrader metadata, empty where it has none."""
    data = cell.get("metadata", {}).get("nbgrader")
    return data if isinstance(data, dict) else {}


def text_of(cell: dict[str, Any]) -> str:
    """A cell's text, kept as one string or as a list of lines."""
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def check_call(source: str) -> tuple[str, str] | None:
    """(check id, name) of a text that is one ``check("lab1.row_max.values", row_max)`` call and nothing else;
    None for any other text."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return None
    match body:
        case [ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str(check_id)), ast.Name(name)], []))]:
            return check_id, name
    return None
