"""A kernel's text in another student's hand: other local names, comments and empty lines, the same meaning.

Verdicts of equal texts are given once, so a class in which many have one text would look faster than a real
one. Names of parameters, of functions and of whatever stands outside of a function stay as they are.
"""

from __future__ import annotations

import ast
import io
import random
import tokenize

ENDINGS = ("_", "1", "2", "0", "_now", "_here", "_val", "_own", "_x", "_cur", "_v", "_k", "_tmp", "_my", "_s", "_q")
BEGINNINGS = ("my_", "the_", "cur_", "this_", "own_", "a_", "my", "new_", "local_", "t_", "x_", "in_")
OPENERS = ("todo:", "note:", "checked", "my try", "from the lesson", "works", "version", "see hint", "idea", "attempt")


def varied(text: str, rng: random.Random) -> str:
    """``text`` with other local names, some remarks and some empty lines, drawn from ``rng``."""
    return _remarked(_renamed(text, rng), rng)


def renamable(function: ast.FunctionDef) -> set[str]:
    """The names that a function binds by itself and that can be replaced token by token."""
    nodes = list(ast.walk(function))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    inner = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node is not function]
    kept = {
        argument.arg for node in (function, *inner) for argument in ast.walk(node.args) if isinstance(argument, ast.arg)
    }
    kept |= {node.name for node in inner if isinstance(node, ast.FunctionDef)}
    kept |= {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    for node in nodes:
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            kept |= set(node.names)
        if isinstance(node, ast.JoinedStr):  # one token up to Python 3.11
            kept |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return {name for name in names - kept if not name.startswith("_")}


def _renamed(text: str, rng: random.Random) -> str:
    tree = ast.parse(text)
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    taken |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    written = _names(text)
    places: dict[tuple[int, int], tuple[str, str]] = {}
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            new = {}
            for name in sorted(renamable(function)):
                new[name] = _other_name(name, taken, rng)
                taken.add(new[name])
            body = range(function.body[0].lineno, (function.end_lineno or 0) + 1)
            places |= {where: (old, new[old]) for where, old in written if old in new and where[0] in body}
    lines = text.splitlines(keepends=True)
    for (row, column), (old, new) in sorted(places.items(), reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return "".join(lines)


def _other_name(name: str, taken: set[str], rng: random.Random) -> str:
    for _ in range(100):
        new = name + rng.choice(ENDINGS) if rng.random() < 0.6 else rng.choice(BEGINNINGS) + name
        if new not in taken:
            return new
    return name


def _names(text: str) -> list[tuple[tuple[int, int], str]]:
    """Places and texts of all names that are no attributes."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    pairs = zip([None, *tokens], tokens, strict=False)
    return [
        (token.start, token.string)
        for before, token in pairs
        if token.type == tokenize.NAME and (before is None or before.string != ".")
    ]


def _remarked(text: str, rng: random.Random) -> str:
    """Remarks behind statements and empty lines between them, one remark with a number at least."""
    lines = text.splitlines()
    inside = [
        node for function in ast.parse(text).body if isinstance(function, ast.FunctionDef) for node in function.body
    ]
    for number, node in enumerate(sorted(inside, key=lambda node: -node.lineno)):
        at, indent = node.lineno - 1, " " * node.col_offset
        if number == 0 or rng.random() < 0.25:
            lines.insert(at, f"{indent}# {rng.choice(OPENERS)} {rng.randrange(10**6)}")
        if rng.random() < 0.15:
            lines.insert(at, "")
    return "\n".join(lines) + "\n"
