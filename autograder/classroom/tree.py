"""What was handed in, as a tree of folders and files: from a folder, an archive, or one notebook.

Links are never followed and devices never opened; they stand in the tree with a sentence. Archives
become folders. Nothing of a notebook is read here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipFile

from autograder.classroom import archives
from autograder.classroom.archives import ArchiveRefused, Budget
from autograder.classroom.errors import NothingToGrade
from autograder.classroom.names import readable

SKIPPED = frozenset({"__macosx", "__pycache__", ".ipynb_checkpoints", "thumbs.db", "desktop.ini"})
DEEPEST_FOLDER = 6
MOST_FILES = 5_000  # of one student
_TAKEN = (".ipynb", ".py", ".zip", ".txt", ".yml", ".yaml", ".json")


@dataclass(frozen=True)
class Node:
    """A file (``path`` on disk) or a folder (``children``). ``name`` is readable text; ``raw`` is the name
    as the system has it. ``problem`` is a sentence when it may not or cannot be opened."""

    name: str
    raw: str = field(repr=False)
    path: Path | None = None
    children: tuple[Node, ...] | None = None
    problem: str | None = None

    @property
    def is_folder(self) -> bool:
        """Whether it was a folder or an archive that could be opened."""
        return self.children is not None

    @property
    def ending(self) -> str:
        """The name's ending in lower case, ".ipynb" also for what a browser or an editor saved as
        "lab.ipynb.txt" or "lab.ipynb.json"."""
        name = self.name.lower()
        for other in (".ipynb.txt", ".ipynb.json"):
            if name.endswith(other):
                return ".ipynb"
        return os.path.splitext(name)[1]

    def files(self, depth: int = DEEPEST_FOLDER) -> Iterable[tuple[tuple[str, ...], Node]]:
        """Every file below with the names of the folders above it, those nearest the top first."""
        level: list[tuple[tuple[str, ...], Node]] = [((), self)]
        for _ in range(depth + 1):
            below = []
            for above, node in level:
                for child in node.children or ():
                    if child.is_folder:
                        below.append(((*above, child.name), child))
                    else:
                        yield above, child
            level = below


def read_tree(submitted: Path, scratch: Path) -> tuple[Node, tuple[str, ...]]:
    """The tree of ``submitted`` (a folder, a zip archive or a notebook) and sentences about what was
    left out. Archives are unpacked into ``scratch``, which must live as long as the tree is used.

    Raises NothingToGrade when there is nothing there, or nothing that can be opened.
    """
    try:
        kind = submitted.stat().st_mode
    except OSError as error:
        raise NothingToGrade(
            f"There is no folder {submitted}: give the folder that holds one folder per student, or the "
            f"archive or notebook that was handed in ({error.strerror or error})."
        ) from error
    reader = _Reader(scratch)
    if stat.S_ISDIR(kind):
        root = reader.folder(submitted, submitted.name, 0)
        inside = [child for child in root.children or ()]
        if root.problem is not None:
            raise NothingToGrade(root.problem)
        packed = [entry for entry in sorted(os.listdir(submitted)) if entry.lower().endswith(".zip")]
        if len(inside) == 1 and len(packed) == 1:
            return _bulk(submitted / packed[0], scratch)
        return root, tuple(reader.left_out)
    if submitted.name.lower().endswith(".zip"):
        return _bulk(submitted, scratch)
    node = Node(readable(submitted.name), submitted.name, submitted)
    if node.ending not in (".ipynb", ".py") or not stat.S_ISREG(kind):
        raise NothingToGrade(f"{submitted} is neither a folder, nor a zip archive, nor a notebook.")
    return Node("", "", children=(node,)), ()


def _bulk(path: Path, scratch: Path) -> tuple[Node, tuple[str, ...]]:
    """The tree of a whole class's archive: one bad member is left out, the others are taken."""
    reader = _Reader(scratch)
    root = reader.archive(path, path.name, path.name, Budget(strict=False), 1)
    if root.problem is not None:
        raise NothingToGrade(root.problem)
    return root, tuple(reader.left_out)


class _Reader:
    """Walks folders and archives; ``left_out`` are sentences about what belongs to no student."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.left_out: list[str] = []
        self._number = 0

    def folder(self, path: Path, raw: str, depth: int, count: list[int] | None = None) -> Node:
        """The node of a folder on disk."""
        name = readable(raw)
        if depth > DEEPEST_FOLDER:
            return Node(name, raw, children=())
        children = []
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            return Node(name, raw, problem=_unreadable(name, error))
        for entry in entries:
            if entry.name.startswith(".") or entry.name.lower() in SKIPPED:
                continue
            mine = [0] if depth == 0 else count
            mine[0] += 1
            if mine[0] > MOST_FILES:
                break
            children.append(self._entry(entry, depth, mine))
        return Node(name, raw, path, tuple(children))

    def _entry(self, entry: os.DirEntry[str], depth: int, count: list[int]) -> Node:
        name = readable(entry.name)
        try:
            kind = entry.stat(follow_symlinks=False).st_mode
        except OSError as error:
            return Node(name, entry.name, problem=_unreadable(name, error))
        if stat.S_ISLNK(kind):
            return Node(name, entry.name, problem=f"{name} is a link, and links are not followed.")
        path = Path(entry.path)
        if stat.S_ISDIR(kind):
            return self.folder(path, entry.name, depth + 1, count)
        if not stat.S_ISREG(kind):
            return Node(name, entry.name, problem=f"{name} is neither a file nor a folder, and was not opened.")
        if name.lower().endswith(".zip"):
            return self.archive(path, name, entry.name, Budget(), 1)
        return Node(name, entry.name, path)

    def archive(self, path: Path, name: str, raw: str, budget: Budget, depth: int) -> Node:
        """The node of an archive: a folder called as the archive, without its ending."""
        stem = name[: -len(".zip")] if name.lower().endswith(".zip") else name
        try:
            with archives.open_archive(path, name, budget) as archive:
                return Node(stem, raw, None, self._members(archive, name, budget, depth))
        except ArchiveRefused as refusal:
            return Node(name, raw, problem=str(refusal))

    def _members(self, archive: ZipFile, name: str, budget: Budget, depth: int) -> tuple[Node, ...]:
        grown: dict[str, object] = {}
        for member in archives.members(archive, name):
            parts = [readable(part) for part in member.parts]
            if any(part.startswith(".") or part.lower() in SKIPPED for part in parts if part != ".."):
                continue
            if member.refused and budget.strict:
                raise ArchiveRefused(member.refused)
            if member.refused and ".." in parts:
                self.left_out.append(member.refused)
                continue
            if len(parts) > DEEPEST_FOLDER + 1:
                continue
            node = self._member(archive, member, parts[-1], budget, depth)
            place = grown
            for part in parts[:-1]:
                inner = place.setdefault(part, {})
                if not isinstance(inner, dict):
                    break
                place = inner
            else:
                key = parts[-1]
                while key in place:  # one name twice: keep both, the file's own name says the same
                    key += "\x00"
                place[key] = node
        return _grown(grown)

    def _member(
        self, archive: ZipFile, member: archives.Member, name: str, budget: Budget, depth: int
    ) -> Node:
        raw = member.parts[-1]
        if member.refused:
            return Node(name, raw, problem=member.refused)
        node = Node(name, raw)
        if node.ending not in _TAKEN:
            return node  # its name may serve a message; its content is of no use
        self._number += 1
        place = self.scratch / f"{self._number:06d}"
        is_archive = node.ending == ".zip"
        inner = Budget() if is_archive and not budget.strict else budget
        if is_archive and depth >= archives.DEEPEST_ARCHIVE:
            return Node(name, raw, problem=f"{name} is an archive in an archive in an archive, and was not opened.")
        try:
            archives.extract(archive, member, place, inner)
        except ArchiveRefused as refusal:
            if budget.strict:
                raise
            return Node(name, raw, problem=str(refusal))
        if is_archive:
            return self.archive(place, name, raw, inner, depth + 1)
        return Node(name, raw, place)


def _grown(place: dict[str, object]) -> tuple[Node, ...]:
    nodes = []
    for name, value in sorted(place.items()):
        if isinstance(value, dict):
            nodes.append(Node(name, name, children=_grown(value)))
        else:
            nodes.append(value)
    return tuple(nodes)


def _unreadable(name: str, error: OSError) -> str:
    why = error.strerror or type(error).__name__
    return f"The hand-in could not be read ({name}: {why}). Make the folder readable and grade again."

