"""Find one lab's submissions in what was handed in, without opening a notebook.

The layout may be nbgrader's (``student/lab/notebook.ipynb``, with an optional ``timestamp.txt``), a
platform's download (:mod:`.naming`), a folder of notebooks, or one notebook. What belongs to nobody is
named in a sentence; what cannot be used is its student's problem and nobody else's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.classroom import choosing, naming
from autograder.classroom.choosing import Candidate
from autograder.classroom.errors import NothingToGrade
from autograder.classroom.names import alike, readable, student_id
from autograder.classroom.naming import Label
from autograder.classroom.tree import Node

__all__ = ["Collected", "Submission", "collect", "readable"]

METADATA_FILE = "submission_metadata.yml"
LARGEST_METADATA = 64 * 1024 * 1024
SEVERAL = 2  # notebooks in the only folder: a class's, not a student's
_OTHER_STEPS = frozenset({"source", "release", "autograded", "feedback"})  # nbgrader's folders beside "submitted"


@dataclass(frozen=True)
class Submission:
    """One student's submission of one lab.

    ``path`` is the notebook to read and ``name`` what it was called; ``path`` is None when there is none;
    then ``problem`` is a sentence, and
    ``missing`` is True when the student handed in nothing at all. ``timestamp`` is text that says when,
    or None. ``notes`` are sentences about what was put right. ``platform`` and ``platform_id`` say
    where it came from and who that is there ("" for nbgrader's layout); ``late`` is True when the
    platform says so. ``homeless`` is True when no folder may be made for the student.
    """

    student: str
    lab: str
    path: Path | None = None
    name: str = ""
    timestamp: str | None = None
    notes: tuple[str, ...] = ()
    problem: str | None = None
    missing: bool = False
    platform: str = ""
    platform_id: str = ""
    late: bool = False
    homeless: bool = False


@dataclass(frozen=True)
class Collected:
    """``submissions`` sorted by student; ``ignored`` are sentences about files that belong to nobody."""

    submissions: tuple[Submission, ...]
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Piece:
    """A part of what one student handed in: a folder or a file, and what its name says."""

    student: str
    note: str
    node: Node
    label: Label | None = None


def collect(tree: Node, lab: str, left_out: tuple[str, ...] = (), where: str = "") -> Collected:
    """Every student's submission of ``lab`` in ``tree``; ``where`` names the place in messages.

    Raises NothingToGrade (a sentence) when there is no student, or nobody handed in this lab.
    """
    inside = _course_submissions(tree)
    if inside is None and _is_one_students(tree, lab):
        name, note = student_id(_without_zip(tree.raw))
        pieces, ignored = [_Piece(name, note, tree)], [f"{tree.name} is one student's folder, not a class's."]
    else:
        pieces, ignored = _pieces(_top(tree if inside is None else inside, lab), lab)
    if inside is not None:
        ignored.append(f"{tree.name} is a whole nbgrader course: what lies in its folder submitted was graded.")
    ignored = [*left_out, *ignored]
    by_student: dict[str, list[_Piece]] = {}
    for piece in pieces:
        by_student.setdefault(piece.student, []).append(piece)
    submissions = [_submission(student, mine, lab) for student, mine in sorted(by_student.items())]
    submissions = _apart(submissions)
    if all(submission.missing for submission in submissions):
        hint = _hint(tree, lab) or (f" {ignored[0]}" if ignored else "")
        raise NothingToGrade(
            f"No submission of {lab} in {where or tree.name}: expected STUDENT/{lab}/{lab}.ipynb in it, or "
            f"a learning platform's download.{hint}"
        )
    return Collected(tuple(submissions), tuple(dict.fromkeys(ignored)))


# -- from the tree to the students' pieces -----------------------------------------------------


def _course_submissions(tree: Node) -> Node | None:
    """The folder submitted of a whole nbgrader course, where that is what was given: its folders source,
    autograded and so on would look like students'."""
    folders = {node.name: node for node in tree.children or () if node.is_folder}
    return folders.get("submitted") if folders.keys() & _OTHER_STEPS else None


def _is_one_students(tree: Node, lab: str) -> bool:
    """Whether the folder that was given is a student's own: it holds nothing but labs, this one among them."""
    matter = _that_matter(tree.children or ())
    labs = [node for node in matter if node.is_folder and naming.same(node.name, lab)]
    return (
        any(naming.same(_stem(child), lab) for node in labs for child in node.children or () if not child.is_folder)
        and all(node.is_folder for node in matter)
        and all(node in labs or naming.of_other_lab(node.name, lab) for node in matter)
    )


def _hint(tree: Node, lab: str) -> str:
    """Which folder was perhaps meant, where one below holds a class."""
    found = [node for node in tree.children or () if node.is_folder and _holds_class(node, lab)]
    return f" {found[0].name} in it looks like a class: give that folder with --submitted." if found else ""


def _holds_class(node: Node, lab: str) -> bool:
    return _course_submissions(node) is not None or _wraps_platform(node, lab) or _wraps_class(node, lab)


def _that_matter(nodes: Iterable[Node]) -> list[Node]:
    """Folders, and files that may be somebody's work."""
    return [node for node in nodes if node.is_folder or node.problem or node.ending in (".ipynb", ".py", ".zip")]


def _top(tree: Node, lab: str) -> tuple[Node, ...]:
    """The nodes that stand for students: below folders that only wrap a whole class. A folder beside
    students' folders is a student's, whatever the names in it say: it must not speak for the others."""
    nodes = tree.children or ()
    matter = _that_matter(nodes)
    if matter and all(node.is_folder and _wraps_platform(node, lab) for node in matter):
        return tuple(inner for node in matter for inner in _top(node, lab))
    if len(matter) == 1 and matter[0].is_folder and _wraps_class(matter[0], lab):
        return _top(matter[0], lab)
    return nodes


def _wraps_platform(node: Node, lab: str) -> bool:
    """A folder or archive that is not a student's: what is in it is named by a platform."""
    if naming.read_label(node.raw) or naming.same(node.name, lab):
        return False
    return any(
        child.name == METADATA_FILE or (naming.read_label(child.raw) and (child.is_folder or child.ending != ".py"))
        for child in node.children or ()
    )


def _wraps_class(node: Node, lab: str) -> bool:
    """The only folder there is holds folders that hold the lab, or several notebooks."""
    if naming.read_label(node.raw):
        return False
    children = node.children or ()
    if any(naming.same(child.name, lab) or naming.same(_stem(child), lab) for child in children):
        return False
    notebooks = [child for child in children if not child.is_folder and child.ending == ".ipynb"]
    holders = [
        child
        for child in children
        if child.is_folder and any(naming.same(_stem(inner), lab) for inner in child.children or ())
    ]
    return bool(holders) or len(notebooks) >= SEVERAL


def _stem(node: Node) -> str:
    return node.name if node.is_folder else _without_ending(node.name)


def _without_ending(name: str) -> str:
    at = name.lower().find(".ipynb")
    return name[:at] if at > 0 else name.rpartition(".")[0] or name


def _pieces(top: Iterable[Node], lab: str) -> tuple[list[_Piece], list[str]]:
    """Who handed in what, and sentences about the rest."""
    nodes = list(top)
    ignored: list[str] = []
    pieces: list[_Piece] = []
    metadata = _metadata(nodes, ignored)
    labels = _labels(nodes)
    has_folders = any(node.is_folder and labels[id(node)] is None for node in nodes)
    namesakes: dict[str, set[str]] = {}
    for label in labels.values():
        if label is not None and label.platform in naming.NUMBERED:
            namesakes.setdefault(alike(student_id(label.student)[0]), set()).add(label.id)
    for node in nodes:
        label = labels[id(node)]
        if node.name in metadata or (label and label.platform == "Gradescope"):
            pieces += _gradescope(node, label, metadata)
        elif label is not None and label.lab is not None and not naming.same(label.lab, lab):
            continue  # another lab's, in nbgrader's exchange
        elif label is not None:
            name, note = student_id(label.student)
            if label.platform in naming.NUMBERED and len(namesakes[alike(name)]) > 1:
                name = f"{name} ({label.id})"
            pieces.append(_Piece(name, note, node, label))
        elif node.is_folder or node.problem is not None:
            own = node.raw if node.is_folder else _without_ending(node.raw)
            name, note = student_id(_without_zip(own) if node.is_folder and node.path is None else own)
            pieces.append(_Piece(name, note, node))
        elif node.ending in (".ipynb", ".py") and not naming.of_other_lab(node.name, lab):
            if has_folders:
                ignored.append(
                    f"{node.name} lies outside a student's folder and was left out: "
                    f"put it at STUDENT/{lab}/{lab}.ipynb."
                )
            else:
                pieces.append(_loose(node, lab))
    return pieces, ignored


def _labels(nodes: list[Node]) -> dict[int, Label | None]:
    """The nodes' labels by ``id``. A download is of one platform, and the end of a name is the student's
    own: where a name fits two conventions, it is read by the one that most names of the class follow."""
    labels = {id(node): naming.read_label(node.raw) for node in nodes}
    platforms = Counter(label.platform for label in labels.values() if label is not None)
    if len(platforms) > 1:
        (common, _), *_ = platforms.most_common(1)
        labels = {id(node): naming.read_label(node.raw, common) or labels[id(node)] for node in nodes}
    whole = naming.whole_ids(label for label in labels.values() if label is not None)
    return {at: whole.get(label, label) for at, label in labels.items()}


def _without_zip(raw: str) -> str:
    return raw[: -len(".zip")] if raw.lower().endswith(".zip") else raw


def _loose(node: Node, lab: str) -> _Piece:
    """A notebook beside others: its name says whose it is."""
    stem = naming.read_stem(_without_ending(node.raw), dash=False)
    owner = naming.without_lab(stem.core, lab)
    if owner:
        name, note = student_id(owner)
        return _Piece(name, note, node, Label("", owner, order=(stem.attempt,), file=node.name))
    name, _ = student_id(_without_ending(node.raw))
    note = f"The name of the file {node.name} does not say who handed it in."
    return _Piece(name, note, node, Label("", name, file=node.name))


def _metadata(nodes: list[Node], ignored: list[str]) -> dict[str, tuple[list[dict[str, str]], str]]:
    """Gradescope's list of who handed in what, by the submission's folder or file."""
    for node in nodes:
        if node.name == METADATA_FILE and node.path is not None:
            try:
                with node.path.open("rb") as file:
                    return naming.read_metadata(file.read(LARGEST_METADATA).decode("utf-8", "replace"))
            except OSError as error:
                ignored.append(f"{METADATA_FILE} cannot be read ({error.strerror}); students are called by number.")
    return {}


def _gradescope(node: Node, label: Label | None, metadata: dict) -> list[_Piece]:
    """One piece for each member of the group."""
    people, time = metadata.get(node.name, ((), ""))
    number = label.order if label is not None else ()
    known = [(person.get("sid") or person.get("email") or person.get("name"), person) for person in people]
    known = [(own, person) for own, person in known if own] or [(label.student if label else node.name, {})]
    pieces = []
    for own, person in known:
        name, note = student_id(own)
        if not people:
            note = f"{METADATA_FILE} does not say whose {node.name} is."
        file = "" if node.is_folder else node.name
        found = Label("Gradescope", own, person.get("email", ""), order=(time, *number), time=time or None, file=file)
        pieces.append(_Piece(name, note, node, found))
    return pieces


# -- one student -------------------------------------------------------------------------------


def _submission(student: str, pieces: list[_Piece], lab: str) -> Submission:
    first = next((piece.label for piece in pieces if piece.label is not None), None)
    plain = Submission(student, lab, platform=first.platform if first else "", platform_id=first.id if first else "")
    notes = tuple(dict.fromkeys(piece.note for piece in pieces if piece.note))
    folders = [piece for piece in pieces if piece.label is None]
    if len(folders) > 1:
        return replace(
            plain,
            problem=f"There are {len(folders)} folders or archives of {student}, and nothing says which is the later "
            "one: leave one.",
        )
    candidates: list[Candidate] = []
    for piece in pieces:
        candidates += choosing.candidates(piece.node, piece.label, lab)
    chosen = choosing.choose(candidates, lab)
    if chosen.missing:
        return replace(plain, problem=f"Nothing was handed in for {lab}.", missing=True)
    if chosen.problem is not None:
        return replace(plain, timestamp=chosen.timestamp, problem=chosen.problem)
    return replace(
        plain,
        path=chosen.path,
        name=chosen.name,
        timestamp=chosen.timestamp,
        notes=(*notes, *chosen.notes),
        late=chosen.late,
    )


def _apart(submissions: list[Submission]) -> list[Submission]:
    """Refuse students whose names some systems take for one: their results would overwrite each other."""
    groups: dict[str, list[str]] = {}
    for submission in submissions:
        groups.setdefault(alike(submission.student), []).append(submission.student)
    checked = []
    for submission in submissions:
        group = groups[alike(submission.student)]
        if len(group) > 1:
            sentence = (
                f"The names {', '.join(sorted(group))} differ only in upper and lower case or in signs that look "
                "alike: rename one."
            )
            submission = replace(submission, path=None, problem=sentence, homeless=True, missing=False)
        checked.append(submission)
    return checked
