"""Who handed a file in, by the naming conventions of learning platforms.

What was assumed (none of these is a published format; all are what the platforms' downloads look like):

* Canvas, "Download Submissions": ``lastnamefirst_LATE_USERID_FILEID_file.ipynb`` ("LATE" only when late;
  ``anon_CODE_FILEID_file`` when grading is anonymous). Canvas numbers uploads upwards, so of several
  files of a student the one with the highest file id is the newest. A second upload of one name becomes
  ``file-1.ipynb``.
* Moodle, "Download all submissions": ``Full Name_PARTICIPANT_assignsubmission_file_/file.ipynb`` (newer ones
  without the last ``_``), or with the file's name at the end and no folder. The participant number differs from
  task to task, so the name is the student; two students of one name are told apart by it. With anonymous marking
  all names are "Participant", and the number belongs to the name. A team's name stands for the team.
* Gradescope, "Export Submissions": folders ``submission_NUMBER`` and a ``submission_metadata.yml`` that
  says whose they are and when they came. A group's submission counts for each of its members.
* Blackboard, "Assignment File Download": ``Task_userid_attempt_2026-10-01-10-11-12_file.ipynb``; the time
  is taken as UTC. Where a user's id has a ``_`` in it, others of the class tell where it begins.
* Brightspace, "Download": folders ``USERID-NUMBER - Full Name - Sep 24, 2026 926 PM``, one for each attempt; the
  time is taken as UTC, and the name is the student, as for Moodle.
* nbgrader's exchange, "inbound": ``student+lab+2026-10-01 10:11:12.000000 UTC`` (and "+random").
* Google Classroom and Colab: ``Copy of lab.ipynb``, ``lab (1).ipynb``, ``Name - lab.ipynb``.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Label:
    """What a file's or folder's name says. ``id`` is the platform's own number or name for the student;
    ``order`` sorts one student's attempts, the last is the newest; ``time`` is text that nbgrader can
    read; ``file`` is the file's own name, "" when the label was a folder's; ``lab`` is set when the name
    says it; ``task`` is what stands before the student."""

    platform: str
    student: str
    id: str = ""
    late: bool = False
    order: tuple[str | int, ...] = ()
    time: str | None = None
    file: str = ""
    lab: str | None = None
    task: str = ""


NUMBERED = frozenset({"Moodle", "Brightspace"})  # platforms that name students in full, and tell namesakes by ``id``
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?P<what>[a-z]+)_?(?P<file>.*)", re.DOTALL)
_BLACKBOARD = re.compile(
    r"(?P<task>.+?)_(?P<id>[^_]+)_(?:attempt|poging|Versuch|intento)_"
    r"(?P<time>\d{4}(?:-\d\d){5})(?:_(?P<file>.*))?",
    re.DOTALL,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_BRIGHTSPACE = re.compile(
    r"(?P<id>\d+)-\d+ *- *(?P<name>.+?) *- *"
    r"(?P<month>[A-Z][a-z]{2})[a-z]*\.? (?P<day>\d{1,2}), (?P<year>\d{4}) (?P<hour>\d{1,2}):?(?P<minute>\d\d) ?(?P<half>[AP])M",
    re.DOTALL,
)
_EXCHANGE = re.compile(
    r"(?P<student>[^+]+)\+(?P<lab>[^+]+)\+(?P<time>\d{4}-\d\d-\d\d[ _T]\d\d[:-]\d\d[:-]\d\d[^+]*)(?:\+.*)?", re.DOTALL
)
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_(?P<upload>\d+)_(?P<file>.+)", re.DOTALL)
_ANONYMOUS = re.compile(r"anon_(?P<id>[A-Za-z0-9]+)_(?P<late>LATE_)?(?P<upload>\d+)_(?P<file>.+)", re.DOTALL)
_GRADESCOPE = re.compile(r"submission_(?P<id>\d+)")


def read_label(name: str, platform: str = "") -> Label | None:
    """The label in a name, None when it follows no known convention, or not that of ``platform``."""
    for own, reader in _READERS.items():
        if platform in ("", own) and (label := reader(name)):
            return label
    return None


def _moodle(name: str) -> Label | None:
    found = _MOODLE.fullmatch(name)
    if not found:
        return None
    name, number = found["name"], found["id"]
    if name.strip().casefold() == "participant":
        name = f"{name} {number}"
    return Label("Moodle", name, number, file=found["file"])


def _blackboard(name: str) -> Label | None:
    found = _BLACKBOARD.fullmatch(name.removesuffix(".txt") if _is_receipt(name) else name)
    if not found:
        return None
    digits, who = found["time"].split("-"), found["id"]
    time = f"{'-'.join(digits[:3])} {':'.join(digits[3:])} UTC"
    order, file = (found["time"],), found["file"] or ""
    return Label("Blackboard", who, who, order=order, time=time, file=file, task=found["task"])


def _brightspace(name: str) -> Label | None:
    found = _BRIGHTSPACE.fullmatch(name)
    if not found or found["month"].lower() not in _MONTHS:
        return None
    month = _MONTHS.index(found["month"].lower()) + 1
    hour = int(found["hour"]) % 12 + 12 * (found["half"] == "P")
    time = f"{found['year']}-{month:02}-{int(found['day']):02} {hour:02}:{found['minute']}:00 UTC"
    return Label("Brightspace", found["name"], found["id"], order=(time,), time=time)


def _exchange(name: str) -> Label | None:
    found = _EXCHANGE.fullmatch(name)
    if not found:
        return None
    day, clock = found["time"][:10], found["time"][11:].replace("-", ":")  # Windows has no colons in names
    time = f"{day} {clock}"
    return Label("nbgrader", found["student"], order=(time,), time=time, lab=found["lab"])


def _canvas(name: str) -> Label | None:
    found = _ANONYMOUS.fullmatch(name) or _CANVAS.fullmatch(name)
    if not found:
        return None
    student = f"anon_{found['id']}" if name.startswith("anon_") else f"{found['name']}_{found['id']}"
    return Label("Canvas", student, found["id"], bool(found["late"]), (int(found["upload"][:18]),), file=found["file"])


def _gradescope(name: str) -> Label | None:
    found = _GRADESCOPE.match(name)
    if not found:
        return None
    file = name[found.end() :].lstrip("_")
    return Label("Gradescope", found[0], found["id"], order=(int(found["id"][:18]),), file=file)


_READERS = {
    "Moodle": _moodle,
    "Blackboard": _blackboard,
    "Brightspace": _brightspace,
    "nbgrader": _exchange,
    "Gradescope": _gradescope,
    "Canvas": _canvas,
}


def whole_ids(labels: Iterable[Label]) -> dict[Label, Label]:
    """Blackboard's labels whose ids are the ends of longer ones ("doe" of "j_doe" and of "k_doe"), each with the
    label that it stands for: what these students' names have in common is the task, and the rest is theirs."""
    same_end: dict[str, set[Label]] = {}
    for label in labels:
        if label.platform == "Blackboard":
            same_end.setdefault(label.id, set()).add(label)
    found = {}
    for mine in same_end.values():
        tasks = {f"{label.task}_" for label in mine}
        common = len(os.path.commonprefix(sorted(tasks)).rpartition("_")[0]) + 1
        if len(tasks) > 1 and common > 1:
            for label in mine:
                who = f"{label.task}_"[common:] + label.id
                found[label] = replace(label, student=who, id=who)
    return found


def _is_receipt(name: str) -> bool:
    """Blackboard lays a text file beside each attempt, with no file name in it."""
    return bool(re.search(r"_\d{4}(?:-\d\d){5}\.txt$", name))


def read_metadata(text: str) -> dict[str, tuple[list[dict[str, str]], str]]:
    """Gradescope's submission_metadata.yml: for each submission its submitters ("name", "sid", "email")
    and when it was made. Read line by line: the file also holds every result, and may be long."""
    found: dict[str, tuple[list[dict[str, str]], str]] = {}
    people: list[dict[str, str]] | None = None
    current, inside = "", ""
    for line in text.splitlines():
        if top := re.match(r"""["']?([^\s:"'#][^:"']*)["']?:\s*$""", line):
            current, people, inside = top[1], [], ""
            found[current] = (people, "")
        elif people is None:
            continue
        elif field := re.match(r"  :(\w+):(.*)$", line):
            inside = field[1]
            if inside == "created_at":
                found[current] = (people, _scalar(field[2]))
        elif inside == "submitters" and (person := re.match(r"\s{2,}(- )?\s*:(name|sid|email):(.*)$", line)):
            if person[1] or not people:
                people.append({})
            people[-1][person[2]] = _scalar(person[3])
    return found


def _scalar(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("''", "'")
    return "" if text in ("", "~", "null") else text


# -- file names --------------------------------------------------------------------------------

_COPY = re.compile(r"^(?:copy of|kopie von|copie de|copia de|copia di|kopia)\s+", re.IGNORECASE)
_NUMBER = re.compile(r"\s*\((\d{1,4})\)$|\s+-?\s*(?:copy|kopie|copie|copia)(?:\s*\(?(\d{1,3})\)?)?$", re.IGNORECASE)
_DASH = re.compile(r"-(\d{1,3})$")
_LAB_NUMBER = re.compile(r"(?<![a-z])lab[\s_-]*(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Stem:
    """A notebook's name without its ending: ``core`` without what copying and downloading add to it,
    ``attempt`` the number that they added (0: none)."""

    core: str
    attempt: int
    copied: bool


def read_stem(stem: str, dash: bool = True) -> Stem:
    """"Copy of lab1 (2)" is attempt 2 of "lab1", and with ``dash`` "lab1-2" as well."""
    core, attempt, copied = stem.strip(), 0, False
    while found := _COPY.match(core):
        core, copied = core[found.end() :], True
    for _ in range(3):
        found = _NUMBER.search(core) or (_DASH.search(core) if dash else None)
        if not found or found.start() == 0:
            break
        attempt = max(attempt, int(next((number for number in found.groups() if number), 1)))
        core = core[: found.start()].rstrip()
    return Stem(core, attempt, copied)


def same(one: str, other: str) -> bool:
    """Whether two names are the same but for case, spaces, dashes and underscores."""
    return plainest(one) == plainest(other)


def plainest(text: str) -> str:
    """``text`` in lower case with letters and digits only."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def of_other_lab(text: str, lab: str) -> bool:
    """Whether a name says that it is another lab's: "lab2 ..." is not lab1_three_pass."""
    own = _LAB_NUMBER.search(lab)
    numbers = {int(number[:6]) for number in _LAB_NUMBER.findall(text)}
    return bool(own and numbers and int(own[1]) not in numbers)


def without_lab(core: str, lab: str) -> str:
    """Who remains when the lab's name is taken out of a loose file's name: "ann_lab1_three_pass" is ann's."""
    words = [re.escape(word) for word in re.split(r"[\s_-]+", lab) if word]
    pattern = r"[\s_-]*".join(words)
    return re.sub(pattern, " ", core, count=1, flags=re.IGNORECASE).strip(" _-.+")
