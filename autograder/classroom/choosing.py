"""Which of a student's files is the lab's notebook, and which of several attempts counts."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from autograder.classroom import naming
from autograder.classroom.naming import Label
from autograder.classroom.tree import Node

EXACT, NEAR, OTHER = 0, 1, 2  # how well a file's name fits the lab's
_ARCHIVES = (".rar", ".7z", ".gz", ".tar", ".tgz", ".bz2", ".xz")
_MOST_NAMES = 4


@dataclass(frozen=True)
class Candidate:
    """One file that may be the notebook. ``order`` sorts attempts by what the platform says, ``attempt``
    by the number in the file's name; ``depth`` counts the folders above it."""

    node: Node
    name: str
    fit: int
    order: tuple[str | int, ...] = ()
    attempt: int = 0
    depth: int = 0
    timestamp: str | None = None
    late: bool = False
    labelled: bool = False
    loose: bool = False
    note: str = ""


@dataclass(frozen=True)
class Choice:
    """The file that counts, or why there is none."""

    path: Path | None = None
    name: str = ""
    timestamp: str | None = None
    late: bool = False
    notes: tuple[str, ...] = ()
    problem: str | None = None
    missing: bool = False


def candidates(node: Node, label: Label | None, lab: str) -> list[Candidate]:
    """Every file below ``node``, or the file itself, that belongs to the lab or to no other one."""
    if label is not None and label.platform:
        return _labelled(node, label, lab)
    if not node.is_folder:
        order = label.order if label else ()
        return [_candidate(node, (), lab, order=order, loose=bool(label))]
    place, note = _lab_folder(node, lab)
    if place is None:
        return _strays(node, lab)
    if not place.is_folder:
        return [Candidate(place, place.name, EXACT)]
    timestamp = _timestamp(node, place)
    if place is node:
        note = f"The notebook lay in the student's own folder; it was taken as {lab}/{lab}.ipynb."
        inside = [child for child in node.children or () if not child.is_folder and _fit(child.name, lab)[0] != OTHER]
        return [_candidate(child, (), lab, timestamp, note=note) for child in inside]
    return [_candidate(child, above, lab, timestamp, note=note) for above, child in place.files()] or [
        Candidate(Node("", ""), place.name, OTHER, timestamp=timestamp)
    ]


def _labelled(node: Node, label: Label, lab: str) -> list[Candidate]:
    """Files that a platform has named. Moodle's "onlinetext" pages and Blackboard's receipts are no files."""
    if not node.is_folder:
        if node.problem is None and (not label.file or naming.of_other_lab(label.file, lab)):
            return []
        return [_candidate(node, (), lab, label=label, name=label.file)]
    found = [
        _candidate(child, above, lab, label=label)
        for above, child in node.files()
        if not naming.of_other_lab("/".join((*above, child.name)), lab)
    ]
    return found or ([Candidate(Node("", ""), node.name, OTHER)] if not label.file and not node.children else [])


def _strays(node: Node, lab: str) -> list[Candidate]:
    """A student's folder without a folder of the lab: notebooks that no other lab claims."""
    found = []
    for above, child in node.files():
        stem = child.name.rpartition(".")[0]
        claimed = child.problem is None and bool(above) and naming.same(above[-1], stem)
        wanted = child.ending == ".ipynb" or child.problem is not None
        if wanted and not claimed and not naming.of_other_lab("/".join((*above, child.name)), lab):
            found.append(_candidate(child, above, lab))
    return found


def _candidate(
    node: Node,
    above: tuple[str, ...],
    lab: str,
    timestamp: str | None = None,
    *,
    label: Label | None = None,
    order: tuple[str | int, ...] = (),
    name: str = "",
    note: str = "",
    loose: bool = False,
) -> Candidate:
    called = name or node.name
    fit, attempt = _fit(called, lab)
    return Candidate(
        node,
        called,
        fit,
        order=label.order if label is not None else order,
        attempt=attempt,
        depth=len(above),
        timestamp=(label.time if label is not None else None) or timestamp,
        late=label is not None and label.late,
        labelled=label is not None or loose,
        loose=loose,
        note=note,
    )


def _fit(name: str, lab: str) -> tuple[int, int]:
    """How well a file's name fits, and the attempt that it names."""
    lower = name.lower()
    at = lower.find(".ipynb")
    stem = name[:at] if at > 0 else name.rpartition(".")[0]
    if stem == lab and at > 0 and lower[at:] == ".ipynb":
        return EXACT, 0
    if naming.same(stem, lab):
        return NEAR, 0
    read = naming.read_stem(stem)
    return (NEAR if naming.same(read.core, lab) else OTHER), read.attempt


def choose(found: list[Candidate], lab: str) -> Choice:
    """The candidate that counts."""
    timestamp = next((item.timestamp for item in found if item.timestamp), None)
    refused = [item for item in found if item.node.problem is not None]
    usable = [item for item in found if item.node.problem is None and item.node.path is not None]
    books = [item for item in usable if item.node.ending == ".ipynb"]
    if not books:
        scripts = [item for item in usable if item.node.ending == ".py"]
        books = [item for item in scripts if item.fit != OTHER or item.labelled or len(usable) == 1]
    if not books:
        if refused:
            return Choice(timestamp=timestamp, problem=refused[0].node.problem)
        if not found:
            return Choice(missing=True)
        return Choice(timestamp=timestamp, problem=_no_notebook(found))
    best = min(item.fit for item in books)
    fitting = [item for item in books if item.fit <= (NEAR if best != OTHER else OTHER)]
    ordered = any(item.order for item in fitting)
    if not ordered and best == OTHER and len(fitting) > 1:
        names = ", ".join(item.name for item in fitting[:_MOST_NAMES])
        return Choice(
            timestamp=timestamp,
            problem=f"There are {len(fitting)} notebooks and none is called {lab}.ipynb ({names}): "
            "rename the one that counts.",
        )
    if ordered:
        chosen = max(fitting, key=lambda item: (item.order, item.attempt, -item.fit, item.name))
    elif best == EXACT:
        chosen = min(fitting, key=lambda item: (item.fit, item.depth, item.name))
    else:
        chosen = max(fitting, key=lambda item: (item.attempt, -item.depth, item.name))
    return _chosen(chosen, fitting, refused, lab)


def _chosen(chosen: Candidate, fitting: list[Candidate], refused: list[Candidate], lab: str) -> Choice:
    path = chosen.node.path
    if path is None or path.is_symlink() or not stat.S_ISREG(path.lstat().st_mode):
        return Choice(problem=f"{chosen.name} is a link or a device, not a file, and was not opened.")
    notes = [chosen.note] if chosen.note else []
    exact = [item for item in fitting if item.fit == EXACT]
    if chosen.order and len(fitting) > 1:
        notes.append(f"There are {len(fitting)} attempts; the last one counts ({chosen.name}).")
    elif chosen.fit == EXACT and len(exact) > 1:
        notes.append(f"There are {len(exact)} files called {lab}.ipynb; the one nearest the top was taken.")
    elif len(fitting) > 1 and chosen.fit == EXACT:
        others = ", ".join(item.name for item in fitting if item is not chosen)
        notes.append(f"There is also {others}; {lab}.ipynb was taken.")
    elif len(fitting) > 1:
        notes.append(f"There are {len(fitting)} attempts; the one with the highest number counts ({chosen.name}).")
    # A loose file is called as its student, and a platform numbers attempts: that is no news.
    if chosen.fit != EXACT and not chosen.loose and not (chosen.labelled and chosen.fit == NEAR):
        notes.append(f"The file is called {chosen.name}; it was taken as {lab}.ipynb.")
    if refused:
        notes.append(refused[0].node.problem or "")
    return Choice(path, chosen.name, chosen.timestamp, chosen.late, tuple(notes))


def _no_notebook(found: list[Candidate]) -> str:
    names = [item.name for item in found if item.name and item.node.raw]
    packed = next((name for name in names if name.lower().endswith(_ARCHIVES)), None)
    if packed:
        return f"{packed} is an archive of a kind that is not opened: the notebook itself, or a zip, was expected."
    more = " and more" if len(names) > _MOST_NAMES else ""
    shown = f" It holds {', '.join(names[:_MOST_NAMES])}{more}." if names else ""
    return f"The hand-in holds no notebook: a file that ends in .ipynb was expected.{shown}"


def _lab_folder(node: Node, lab: str) -> tuple[Node | None, str]:
    """The student's folder of this lab and a note; the student's own folder when the notebook lies right
    in it; None when there is neither."""
    if node.problem is not None:
        return node, ""
    children = node.children or ()
    for child in children:
        if child.name == lab and (child.is_folder or child.problem is not None):
            return child, ""
    for child in children:
        if child.is_folder and naming.same(child.name, lab):
            said = "archive" if child.path is None and child.raw.lower().endswith(".zip") else "folder"
            called = child.raw if said == "archive" else child.name
            return child, "" if child.name == lab else f"The {said} is called {called}; it was taken as {lab}."
    if any(not child.is_folder and _fit(child.name, lab)[0] != OTHER for child in children if child.ending == ".ipynb"):
        return node, ""
    return None, ""


def _timestamp(student: Node, folder: Node) -> str | None:
    """What nbgrader's collecting has written down. In an archive of the student's own it would be the student's
    word, as in a folder that a platform has named."""
    if any(node.path is None and node.raw.lower().endswith(".zip") for node in (student, folder)):
        return None
    for child in folder.children or ():
        if child.name == "timestamp.txt" and child.path is not None:
            try:
                with child.path.open("rb") as file:
                    return file.read(200).decode("utf-8", "replace").strip() or None
            except OSError:
                return None
    return None
