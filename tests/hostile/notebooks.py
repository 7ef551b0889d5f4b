"""Notebooks that say of themselves what they are worth, or that are not what a notebook should be. Where nothing else is
said the answer to row_max is wrong, so that a forgery that works would show."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hostile.model import CANARY, FULL, UNJUDGED, WRITTEN, Attack, code_cell, copied, find

Notebook = dict[str, Any]
EVIL = "<script>alert('hostile')</script><img src=x onerror=alert('hostile')>"
SCRIPTS = f"{EVIL}\n\n[x](javascript:alert('hostile')) <a href=javascript:alert(1)>y</a>\n\n$\\href{{javascript:alert(1)}}{{x}}$"
DEEP: Any = {}
for _ in range(64):
    DEEP = {"deeper": [DEEP]}


def forged(name: str, tries: str, forge: Callable[[Notebook], bytes | None], says: str = "") -> Attack:
    """A notebook in which row_max is wrong, and forged to look right."""
    return Attack(name, tries, exercise="row_max", forge=forge, says=says)


def harmless(name: str, tries: str, forge: Callable[[Notebook], bytes | None]) -> Attack:
    """A notebook whose answers are right, whatever else is in it."""
    return Attack(name, tries, forge=forge, earns=FULL)


def unreadable(name: str, tries: str, forge: Callable[[Notebook], bytes | None], says: str) -> Attack:
    """A file that is put aside for a person, with the reason."""
    return Attack(name, tries, forge=forge, earns=UNJUDGED, others=UNJUDGED, says=says)


def _check(made: Notebook) -> dict[str, Any]:
    return find(made, "row_max_values")[1]


def _solution(made: Notebook, grade_id: str = "row_max") -> dict[str, Any]:
    return find(made, grade_id)[1]


def edited_check(made: Notebook) -> None:
    for name in ("values", "rescale", "traffic", "safety"):
        cell = find(made, f"row_max_{name}")[1]
        cell["source"] = "print('PASSED')\n100.0"
        cell["metadata"]["nbgrader"].update(points=100, locked=False, checksum="0" * 32)


def claimed_outputs(made: Notebook) -> None:
    claim = {
        "output_type": "execute_result",
        "data": {"text/plain": "100.0", "text/html": EVIL},
        "metadata": {},
        "execution_count": 1,
    }
    said = {"output_type": "stream", "name": "stdout", "text": "PASSED  lab1.row_max.values: 100 of 1 points."}
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [said, claim]


def second_check(made: Notebook) -> None:
    at, _ = find(made, "row_max_values")
    made["cells"].insert(at + 1, copied(made, "row_max_values", points=100, grade_id="row_max_more"))
    made["cells"].append(copied(made, "row_max_values", points=100) | {"source": "100.0"})


def forged_twins(made: Notebook) -> None:
    """A graded and a written cell under the check's own grade_id."""
    at, _ = find(made, "row_max_values")
    made["cells"].insert(at, copied(made, "row_max_values", solution=True, points=100) | {"source": "1.0"})
    twin = {**copied(made, "lab1_written", grade_id="row_max_values", points=100), "id": "twin-2"}
    made["cells"].insert(at, twin)


def without_checks(made: Notebook) -> None:
    made["cells"] = [cell for cell in made["cells"] if not cell["metadata"].get("nbgrader", {}).get("grade")]


def odd_grade_ids(made: Notebook) -> None:
    for number, odd in enumerate(
        (7, ["row_max"], {"grade_id": "row_max"}, None, True, "", "../row_max", "row_max\x00")
    ):
        twin = copied(made, "row_max", grade_id=odd, schema_version=[], points=float("nan"), cell_type=7)
        made["cells"].append({**twin, "id": f"twin-{number}", "source": "100.0"})


def odd_cells(made: Notebook) -> None:
    made["cells"] += [
        {"cell_type": ["code"], "metadata": {}, "source": "1"},
        {"cell_type": {"code": 1}, "metadata": [], "source": {}},
        {"cell_type": "code", "id": 7, "metadata": None, "source": [1, None]},
        {"cell_type": "code", "id": f"../../{EVIL}", "metadata": {"nbgrader": EVIL}, "source": "x = 1"},
        None,
        [],
        "cell",
        float("inf"),
    ]


def raw_solution(made: Notebook) -> None:
    """All solutions in raw cells, which some converters show as they are."""
    for grade_id in ("row_max", "row_sum", "safe_softmax"):
        cell = _solution(made, grade_id)
        cell["cell_type"] = "raw"
        cell["source"] += f"\n# {EVIL}\n"


def commands(made: Notebook) -> None:
    """A kernel, a language and widgets that are commands and scripts."""
    shell = f"bash -c 'touch {CANARY}/kernelspec'"
    made["metadata"] = {
        "kernelspec": {"name": shell, "argv": ["bash", "-c", shell], "display_name": EVIL, "language": "bash"},
        "language_info": {
            "name": EVIL,
            "file_extension": "../../.sh",
            "nbconvert_exporter": "os.system",
            "pygments_lexer": EVIL,
        },
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {EVIL: {"state": EVIL}}}},
        "__proto__": {"points": 100},
        "title": EVIL,
        "nbgrader": {"points": 100},
    }
    made["nbformat_minor"] = 10**6


def javascript(made: Notebook) -> None:
    sources = [
        f"%%javascript\nalert('hostile'); // {EVIL}",
        f"%%html\n{EVIL}",
        f"%%bash\ntouch {CANARY}/bash",
        f"%%writefile {CANARY}/written\nx",
    ]
    made["cells"] += [code_cell(source, id=f"magic-{number}") for number, source in enumerate(sources)]
    for kind in ("markdown", "raw"):
        made["cells"].append({"cell_type": kind, "id": f"evil-{kind}", "metadata": {}, "source": EVIL})


def odd_json(made: Notebook) -> bytes:
    """Numbers that are none, a name twice, and nested metadata."""
    made["metadata"]["deep"] = DEEP
    text = json.dumps(made)
    first = json.dumps({"cells": [code_cell("100.0")]})[1:-1]
    return (f'{{{first}, "odd": [NaN, Infinity, -Infinity, 1e999, {"9" * 4000}], ' + text[1:]).encode()


def attachments(made: Notebook) -> None:
    for cell in made["cells"]:
        if cell["cell_type"] == "markdown":
            cell["attachments"] = {"x.png": {"text/html": EVIL, "image/svg+xml": EVIL}}
            break
    cell["attachments"]["big.png"] = {"image/png": "A" * 8_000_000}


def old_format(made: Notebook) -> None:
    """The third format, in which cells lie in worksheets."""
    cells = [
        {"cell_type": cell["cell_type"], "metadata": cell["metadata"], "source": cell["source"], "level": 10**6}
        | (
            {"input": cell["source"], "outputs": [], "language": EVIL, "collapsed": EVIL}
            if cell["cell_type"] == "code"
            else {}
        )
        for cell in made["cells"]
    ]
    made.clear()
    made.update(nbformat=3, nbformat_minor=0, metadata={"name": EVIL}, worksheets=[{"metadata": {}, "cells": cells}])


def cells_without_end(made: Notebook) -> None:
    made["cells"] += [code_cell("", id=f"c{number}") for number in range(100_000)]


def answer(name: str, tries: str, text: str) -> Attack:
    """A written answer, for which a person gives the points."""
    return Attack(name, tries, exercise=WRITTEN, cell=lambda _: text)


ATTACKS = (
    forged("edited checks", "100 points from a check of its own", edited_check, "had been changed"),
    forged("claimed outputs", "100 points that an output says", claimed_outputs),
    forged("second check", "the same points again", second_check),
    forged("forged twins", "points from a cell with the check's id", forged_twins),
    forged("without checks", "silence, which nbgrader takes for full points", without_checks),
    forged("odd grade ids", "ids of other types", odd_grade_ids),
    harmless("odd cells", "an exception that ends the run", odd_cells),
    harmless("raw solutions", "a page that runs what it shows", raw_solution),
    harmless("commands in metadata", "a shell for a kernel", commands),
    harmless("JavaScript", "the reader's browser", javascript),
    harmless("odd JSON", "another notebook than the one that is seen", odd_json),
    harmless("attachments", "a page that fills the disk", attachments),
    harmless("old format", "a converter that runs something", old_format),
    answer("script as answer", "the instructor's browser", SCRIPTS),
    answer("spaces as answer", "minutes of a search for links", "](" + " " * 90_000 + ")"),
    answer("gap as answer", "minutes of a Markdown reader", "a" + " " * 90_000 + "b"),
    answer("brackets as answer", "minutes of a Markdown reader", "[" * 90_000),
    answer("lists as answer", "minutes of an HTML reader", "<ul>" * 22_000),
    unreadable("100,000 cells", "all time", cells_without_end, "more than 1,000 are not read"),
    unreadable(
        "nested JSON", "a parser that gives up", lambda made: b'{"cells": ' + b"[" * 200_000, "nested too deeply"
    ),
    unreadable(
        "another lab's cells",
        "a mark for nothing",
        lambda made: json.dumps({"cells": [code_cell("100.0")]}).encode(),
        "None of the cells",
    ),
)
