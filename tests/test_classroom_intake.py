"""What really arrives: platforms' downloads, archives, loose files, odd names, and files meant to harm."""

import io
import json
import os
import re
import stat
import unicodedata
import zipfile
from pathlib import Path

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, lines, run  # noqa: F401  (fixtures)

from autograder.classroom import archives, naming, tree
from autograder.classroom.collect import collect as collect_tree
from autograder.classroom.errors import NothingToGrade
from autograder.classroom.names import alike, student_id
from autograder.classroom.reading import read_notebook
from autograder.classroom.tree import read_tree

LAB = small.LAB
WINDOWS = os.name == "nt"


def notebook(mark=""):
    return json.dumps(small.answered(written=f"Because {mark}.")).encode()


def collected(where, scratch, lab=LAB):
    scratch.mkdir(exist_ok=True)
    root, left_out = read_tree(where, scratch)
    return collect_tree(root, lab, left_out, str(where))


def mark_of(submission):
    """Which of several files was taken, by the word in its written answer."""
    cells = read_notebook(submission.path, submission.name).cells
    (text,) = [cell.source for cell in cells if cell.grade_id == "lab1_written"]
    return text.removeprefix("Because ").removesuffix(".")


def packed(files, **more):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content, **more)
    return data.getvalue()


# name -> mark; expected student -> mark
DOWNLOADS = {
    "canvas": (
        {
            f"doejane_12345_67890_{LAB}.ipynb": "old",
            f"doejane_LATE_12345_67999_{LAB}-1.ipynb": "new",
            f"roemax_22222_67001_{LAB}.ipynb": "max",
            "muellerann_33333_67002_final.ipynb": "ann",
            "muellerann_33333_67003_notes.pdf": None,
            f"anon_a1B2c_67004_{LAB}.ipynb": "anon",
        },
        {"doejane_12345": "new", "roemax_22222": "max", "muellerann_33333": "ann", "anon_a1B2c": "anon"},
    ),
    "moodle folders": (
        {
            f"Jane Doe_1234567_assignsubmission_file_/{LAB}.ipynb": "jane",
            f"Max O'Neil-Ré_1234568_assignsubmission_file/{LAB}.ipynb": "max",
            "Max O'Neil-Ré_1234568_assignsubmission_onlinetext/onlinetext.html": None,
            f"Participant 77_1234569_assignsubmission_file_/answers/{LAB} (2).ipynb": "blind",
        },
        {"Jane Doe": "jane", "Max O'Neil-Ré": "max", "Participant 77": "blind"},
    ),
    "moodle files": (
        {
            f"Jane Doe_1234567_assignsubmission_file_{LAB}.ipynb": "jane",
            f"Sam Lee_1_assignsubmission_file_{LAB}.ipynb": "one",
            f"Sam Lee_2_assignsubmission_file_{LAB}.ipynb": "two",
        },
        {"Jane Doe": "jane", "Sam Lee (1)": "one", "Sam Lee (2)": "two"},
    ),
    "blackboard": (
        {
            f"Lab 1_jdoe_attempt_2026-10-01-10-11-12_{LAB}.ipynb": "old",
            "Lab 1_jdoe_attempt_2026-10-01-10-11-12.txt": None,
            f"Lab 1_jdoe_attempt_2026-10-02-09-00-00_{LAB}.ipynb": "new",
            "Lab 1_jdoe_attempt_2026-10-02-09-00-00.txt": None,
            f"Lab 1_mroe_attempt_2026-10-01-10-11-12_{LAB}.ipynb": "max",
        },
        {"jdoe": "new", "mroe": "max"},
    ),
    "moodle anonymous": (
        {
            f"Participant_77_assignsubmission_file/{LAB}.ipynb": "one",
            f"Participant_78_assignsubmission_file/{LAB}.ipynb": "two",
            f"Team Red_12_assignsubmission_file/{LAB}.ipynb": "team",
        },
        {"Participant 77": "one", "Participant 78": "two", "Team Red": "team"},
    ),
    "blackboard underscores": (
        {
            f"Lab_1_j_doe_attempt_2026-10-01-10-11-12_{LAB}.ipynb": "j",
            f"Lab_1_k_doe_attempt_2026-10-01-10-11-12_{LAB}.ipynb": "k",
            f"Lab_1_doe_attempt_2026-10-01-10-11-12_{LAB}.ipynb": "d",
            f"Lab_1_mroe_attempt_2026-10-01-10-11-12_{LAB}.ipynb": "max",
        },
        {"j_doe": "j", "k_doe": "k", "doe": "d", "mroe": "max"},
    ),
    "brightspace": (
        {
            f"11-900 - Mary-Ann O'Neil - Sep 24, 2026 926 PM/{LAB}.ipynb": "old",
            f"11-900 - Mary-Ann O'Neil - Oct 1, 2026 1204 AM/{LAB} (1).ipynb": "new",
            f"12-900 - Sam Lee - Sep 24, 2026 1131 AM/{LAB}.ipynb": "one",
            f"13-900 - Sam Lee - Sep 24, 2026 1131 PM/answers/{LAB}.ipynb": "two",
            "index.html": None,
        },
        {"Mary-Ann O'Neil": "new", "Sam Lee (12)": "one", "Sam Lee (13)": "two"},
    ),
    "gradescope": (
        {
            "assignment_7_export/submission_metadata.yml": None,
            f"assignment_7_export/submission_101/{LAB}.ipynb": "group",
            f"assignment_7_export/submission_102/{LAB}.ipynb": "cem",
            f"assignment_7_export/submission_103/{LAB}.ipynb": "cem again",
            f"assignment_7_export/submission_104/{LAB}.ipynb": "nobody",
        },
        {"a1": "group", "bob@example.org": "group", "Cem, Ö": "cem again", "submission_104": "nobody"},
    ),
    "exchange": (
        {
            f"ann+{LAB}+2026-10-01 10:11:12.123456 UTC/{LAB}.ipynb": "old",
            f"ann+{LAB}+2026-10-03 10:11:12.123456 UTC+c2VjcmV0/{LAB}.ipynb": "new",
            f"ann+lab2_other+2026-10-09 10:11:12.123456 UTC/{LAB}.ipynb": "other lab",
            f"bob+{LAB}+2026-10-01 10:11:12.123456 UTC/{LAB}.ipynb": "bob",
        },
        {"ann": "new", "bob": "bob"},
    ),
    "flat": (
        {
            "ann.ipynb": "ann",
            "bob (1).ipynb": "bob 1",
            "bob.ipynb": "bob",
            f"cem_{LAB}.ipynb": "cem",
            f"Copy of Dora - {LAB}.ipynb": "dora",
            f"{LAB} (3).ipynb": "nobody",
            "s-12.ipynb": "s 12",
            "s-13.ipynb": "s 13",
            "eve_lab2_online_softmax.ipynb": "other lab",
        },
        {"ann": "ann", "bob": "bob 1", "cem": "cem", "Dora": "dora", f"{LAB} (3)": "nobody"}
        | {"s-12": "s 12", "s-13": "s 13"},
    ),
    "nbgrader": (
        {
            f"ann/{LAB}/{LAB}.ipynb": "ann",
            f"ann/{LAB}/{LAB} (1).ipynb": "browser",
            f"bob/{LAB}/Copy of {LAB} (1).ipynb": "one",
            f"bob/{LAB}/Copy of {LAB} (2).ipynb": "two",
            f"cem/{LAB}.ipynb.txt": "cem",
            f"dora/answers/{LAB}.IPYNB": "dora",
            "eli/lab2_online_softmax/lab2_online_softmax.ipynb": "other lab",
            f"fay/{LAB}/.ipynb_checkpoints/{LAB}-checkpoint.ipynb": "checkpoint",
            f"fay/{LAB}/{LAB}.ipynb": "fay",
        },
        {"ann": "ann", "bob": "two", "cem": "cem", "dora": "dora", "eli": None, "fay": "fay"},
    ),
}
METADATA = """---
submission_101:
  :submitters:
  - :name: Ann
    :sid: 'a1'
    :email: ann@example.org
  - :name: Bob
    :sid:
    :email: bob@example.org
  :created_at: 2026-09-18 00:20:49.130612000 Z
  :score: 3.0
  :results:
    :tests:
    - :name: not a student
      :sid: '999'
submission_102:
  :submitters:
  - :name: "Cem, Ö"
  :created_at: 2026-09-18 01:00:00.000000000 Z
submission_103:
  :submitters:
  - :name: "Cem, Ö"
  :created_at: 2026-09-17 23:00:00.000000000 Z
"""


def contents(files):
    return {
        name: METADATA.encode() if name.endswith(".yml") else b"x" if mark is None else notebook(mark)
        for name, mark in files.items()
    }


@pytest.mark.parametrize("packing", ["folder", "archive", "archive in a folder"])
@pytest.mark.parametrize("kind", sorted(DOWNLOADS))
def test_downloads(tmp_path, kind, packing):
    files, expected = DOWNLOADS[kind]
    if kind == "gradescope":
        expected = {**expected, "Cem, Ö": "cem"}  # the later time, not the higher number
    where = tmp_path / "class"
    if packing == "folder":
        if WINDOWS and kind == "exchange":
            pytest.skip("no colons in file names")
        for name, data in contents(files).items():
            small.write(where / name, data)
    elif packing == "archive":
        where = small.write(tmp_path / "class.zip", packed(contents(files)))
    else:
        small.write(where / "submissions.zip", packed(contents(files)))
    found = collected(where, tmp_path / "scratch")
    got = {item.student: mark_of(item) if item.path else None for item in found.submissions}
    assert got == expected
    for item in found.submissions:
        if item.student in ("doejane_12345", "jdoe", "Cem, Ö", "bob") and kind != "nbgrader" and kind != "exchange":
            assert any("attempts; the last one counts" in note for note in item.notes)
    said = {item.student: item for item in found.submissions}
    if kind == "canvas":
        assert said["doejane_12345"].late and not said["roemax_22222"].late
        assert (said["doejane_12345"].platform, said["doejane_12345"].platform_id) == ("Canvas", "12345")
        assert any("final.ipynb" in note for note in said["muellerann_33333"].notes)
    if kind == "blackboard":
        assert said["jdoe"].timestamp == "2026-10-02 09:00:00 UTC"
    if kind == "brightspace":
        assert said["Mary-Ann O'Neil"].timestamp == "2026-10-01 00:04:00 UTC"
        assert said["Sam Lee (13)"].timestamp == "2026-09-24 23:31:00 UTC"
    if kind == "flat":
        assert any("does not say who" in note for note in said[f"{LAB} (3)"].notes)
    if kind == "nbgrader":
        assert said["eli"].missing and any("highest number" in note for note in said["bob"].notes)
        assert any("also" in note for note in said["ann"].notes)


def test_one_notebook_and_one_folder_of_it(tmp_path):
    path = small.write(tmp_path / "a" / "ann.ipynb", notebook("ann"))
    for where in (path, path.parent):
        (only,) = collected(where, tmp_path / "scratch").submissions
        assert (only.student, mark_of(only)) == ("ann", "ann")
    with pytest.raises(NothingToGrade, match="neither a folder"):
        collected(small.write(tmp_path / "roster.xlsx", b"x"), tmp_path / "scratch")
    with pytest.raises(NothingToGrade, match="cannot be opened as a zip"):
        collected(small.write(tmp_path / "broken.zip", b"PK nothing"), tmp_path / "scratch")


def test_a_students_own_archive(tmp_path):
    where = tmp_path / "class"
    small.write(where / "ann" / LAB / "work.zip", packed({f"deep/{LAB}.ipynb": notebook("ann")}))
    small.write(where / "bob.zip", packed({f"{LAB}.ipynb": notebook("bob")}))
    small.write(where / "cem" / f"{LAB}.zip", packed({"mine.ipynb": notebook("cem")}))
    inner = packed({f"{LAB}.ipynb": notebook("dora")})
    small.write(where / "dora" / LAB / "a.zip", packed({"b.zip": inner}))
    small.write(where / "eve" / LAB / "work.rar", b"Rar!")
    found = {item.student: item for item in collected(where, tmp_path / "scratch").submissions}
    assert {name: mark_of(found[name]) for name in ("ann", "bob", "cem", "dora")} == {
        name: name for name in ("ann", "bob", "cem", "dora")
    }
    assert "work.rar" in found["eve"].problem


def link_member(name="link.ipynb", target="/etc/passwd"):
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(info, target)
    return data.getvalue()


def locked_archive():
    """A member that says it is encrypted."""
    data = bytearray(packed({f"{LAB}.ipynb": notebook()}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    return bytes(data)


def damaged_archive():
    data = bytearray(packed({f"{LAB}.ipynb": notebook()}))
    data[len(data) // 3] ^= 0xFF
    return bytes(data)


def nested(levels):
    data = packed({f"{LAB}.ipynb": notebook()})
    for _ in range(levels):
        data = packed({"more.zip": data})
    return data


HOSTILE = {
    "zip slip": (packed({f"../../../{LAB}.ipynb": notebook()}), "leads outside"),
    "zip slip by backslash": (packed({"..\\..\\evil.ipynb": notebook()}), "leads outside"),
    "absolute": (packed({"/tmp/evil.ipynb": notebook()}), "leads outside"),
    "drive": (packed({"C:/evil.ipynb": notebook()}), "leads outside"),
    "link": (link_member(), "a link"),
    "bomb": (packed({f"{LAB}.ipynb": b" " * 30_000_000}), "-fold"),
    "many files": (packed({f"{number}.txt": b"" for number in range(archives.MOST_MEMBERS + 1)}), "more than 20,000"),
    "password": (locked_archive(), "password"),
    "damaged": (damaged_archive(), "cannot be unpacked"),
    "archives in archives": (nested(4), "archive in an archive"),
    "no archive": (b"PK\x03\x04 cut off", "cannot be opened"),
}


@pytest.mark.parametrize("attack", sorted(HOSTILE))
def test_hostile_archives_are_one_students_problem(tmp_path, attack):
    data, words = HOSTILE[attack]
    where, scratch = tmp_path / "class", tmp_path / "scratch"
    small.write(where / "ann" / LAB / f"{LAB}.ipynb", notebook("ann"))
    small.write(where / "eve" / LAB / "work.zip", data)
    small.write(where / "mallory.zip", data)
    before = sorted(path for path in tmp_path.rglob("*") if scratch not in path.parents)
    ann, eve, mallory = collected(where, scratch).submissions
    assert mark_of(ann) == "ann"
    for item in (eve, mallory):
        assert item.path is None and not item.missing and words in item.problem, item
        assert item.problem.endswith(".") and "\n" not in item.problem
    after = sorted(path for path in tmp_path.rglob("*") if scratch not in path.parents and path != scratch)
    assert after == before
    assert all(path.is_file() and not path.is_symlink() and path.name.isdecimal() for path in scratch.iterdir())
    assert sum(path.stat().st_size for path in scratch.iterdir()) < 1_000_000


def test_a_lie_about_the_size_is_noticed(tmp_path, monkeypatch):
    data = bytearray(packed({f"{LAB}.ipynb": b" " * 3_000_000}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(signature) + offset
        data[at : at + 4] = (1000).to_bytes(4, "little")
    small.write(tmp_path / "class" / "eve" / LAB / "work.zip", bytes(data))
    (eve,) = collected(tmp_path / "class", tmp_path / "scratch").submissions
    assert eve.path is None and eve.problem
    assert sum(path.stat().st_size for path in (tmp_path / "scratch").iterdir()) <= 2 * archives._CHUNK


def test_budget_of_all_archives_of_a_student(tmp_path, monkeypatch):
    monkeypatch.setattr(archives.Budget.__init__, "__defaults__", (10_000, True))
    small.write(tmp_path / "class" / "eve.zip", packed({f"{n}.ipynb": os.urandom(4000) for n in range(4)}))
    small.write(tmp_path / "class" / "zoe" / LAB / f"{LAB}.ipynb", notebook("zoe"))
    eve, zoe = collected(tmp_path / "class", tmp_path / "scratch").submissions
    assert "unpacked" in eve.problem and mark_of(zoe) == "zoe"


def test_a_bad_member_of_the_class_archive_is_left_out(tmp_path):
    files = contents(DOWNLOADS["canvas"][0]) | {"../evil_1_2_x.ipynb": notebook("evil")}
    files[f"evebad_44444_67005_{LAB}.zip"] = HOSTILE["bomb"][0]
    where = small.write(tmp_path / "class.zip", packed(files))
    found = collected(where, tmp_path / "scratch")
    said = {item.student: item for item in found.submissions}
    assert len(said) == 5 and "-fold" in said["evebad_44444"].problem
    assert any("leads outside" in sentence for sentence in found.ignored)


@pytest.mark.skipif(WINDOWS, reason="links need rights on Windows")
def test_links_and_devices(tmp_path):
    where, secret = tmp_path / "class", tmp_path / "secret"
    small.write(secret / LAB / f"{LAB}.ipynb", notebook("secret"))
    small.write(where / "ann" / LAB / f"{LAB}.ipynb", notebook("ann"))
    (where / "bob").symlink_to(secret)
    (where / "cem").mkdir()
    (where / "cem" / LAB).symlink_to(where / "ann" / LAB)
    (where / "dora" / LAB).mkdir(parents=True)
    (where / "dora" / LAB / "more").symlink_to(secret)
    (where / "dora" / LAB / f"{LAB}.ipynb").symlink_to("/dev/zero")
    (where / "eve" / LAB).mkdir(parents=True)
    os.mkfifo(where / "eve" / LAB / f"{LAB}.ipynb")
    ann, *others = collected(where, tmp_path / "scratch").submissions
    assert mark_of(ann) == "ann"
    for item in others:
        assert item.path is None and ("link" in item.problem or "neither" in item.problem), item


def test_names_of_students():
    assert student_id("Ann Müller [x] +1") == ("Ann Müller [x] +1", "")
    assert student_id("=cmd|' calc'!A0")[0] == "=cmd|' calc'!A0"
    assert student_id(unicodedata.normalize("NFD", "Müller"))[0] == "Müller"
    long, note = student_id("ä" * 200)
    assert len(long.encode()) <= 120 and long in note and student_id("ä" * 201)[0] != long
    assert student_id("a/../b")[0] == "a-..-b" and student_id("..")[0].startswith("unnamed~")
    one, two = student_id(os.fsdecode(b"a\xff"))[0], student_id(os.fsdecode(b"a\xfe"))[0]
    if not WINDOWS:
        assert one != two and one.startswith("a\N{REPLACEMENT CHARACTER}~")
    assert alike("Ann") == alike("ANN ") and alike("ﬁn") == alike("fin") and alike("a") != alike("ä")


@pytest.mark.skipif(WINDOWS, reason="Windows has no such names")
def test_names_that_once_ended_a_run(tmp_path):
    """Each of these students is graded, whatever the name."""
    small.write_release(tmp_path)
    names = ["😀" * 60, os.fsdecode(b"b\xff"), "[x] *?", "=1+1", "ann\nbob", " "]
    for name in names:
        small.hand_in(tmp_path, name, small.answered())
    for name in ("Zoe", "zoe"):
        small.hand_in(tmp_path, name, small.answered())
    result = run(tmp_path)
    rows = {row.student: row for row in result.rows}
    assert len(rows) == len(names) + 2
    refused = {name for name, row in rows.items() if row.status == "could not be judged"}
    assert refused == {"Zoe", "zoe"}
    assert all(row.score == 3 for name, row in rows.items() if name not in refused)
    assert "upper and lower case" in rows["Zoe"].notes[0]
    assert "'=1+1" in lines(tmp_path)


def test_decomposed_accents_are_one_student(tmp_path):
    files = {
        f"{unicodedata.normalize(form, 'Zoë')}_{number}_assignsubmission_file_/{LAB}.ipynb": notebook(form)
        for number, form in ((1, "NFC"), (2, "NFD"))
    }
    where = small.write(tmp_path / "class.zip", packed(files))
    assert [item.student for item in collected(where, tmp_path / "scratch").submissions] == ["Zoë (1)", "Zoë (2)"]


def test_two_folders_of_one_student(tmp_path):
    small.write(tmp_path / "class" / "ann.zip", packed({f"{LAB}.ipynb": notebook("packed")}))
    small.write(tmp_path / "class" / "ann" / f"{LAB}.ipynb", notebook("loose"))
    (ann,) = collected(tmp_path / "class", tmp_path / "scratch").submissions
    assert "nothing says which is the later" in ann.problem


def test_a_download_from_end_to_end(tmp_path):
    small.write_release(tmp_path)
    files = contents(DOWNLOADS["canvas"][0])
    files["eve_55555_67006_x.ipynb"] = b"{"
    (tmp_path / "submitted").mkdir()
    small.write(tmp_path / "submitted" / "submissions.zip", packed(files))
    run(tmp_path)
    found = lines(tmp_path)
    assert found["doejane_12345"]["status"] == "needs manual grading"
    assert "handed in late, says Canvas" in found["doejane_12345"]["notes"]
    assert "the last one counts" in found["doejane_12345"]["notes"]
    assert "cut off" in found["eve_55555"]["notes"]
    assert {line["score"] for name, line in found.items() if name != "eve_55555"} == {"3"}


def test_a_script_instead_of_a_notebook(tmp_path):
    small.write_release(tmp_path)
    percent = "\ufeff# %% [markdown]\n# My work\n\n# %%\n" + small.GOOD + "\n\n# %%\n"
    percent += small.GOOD.replace("row_max", "row_sum")
    small.write(tmp_path / "submitted" / "ann" / LAB / f"{LAB}.py", percent.replace("\n", "\r\n").encode())
    whole = small.GOOD + "\n\n\n" + small.GOOD.replace("row_max", "row_sum")
    small.write(tmp_path / "submitted" / "bob" / LAB / f"{LAB}.py", whole.encode())
    run(tmp_path)
    for name in ("ann", "bob"):
        line = lines(tmp_path)[name]
        assert (line["status"], line["score"], line["lab1_written"]) == ("repaired", "3", "0")
        assert "It is a .py file" in line["notes"]


def test_several_labs_in_one_flat_folder(tmp_path):
    """With several labs a name that says nothing is tried for each; the content decides."""
    from autograder.classroom import grading
    from autograder.classroom.prepare import Prepared

    class Stub:
        lab, path = LAB, tmp_path

    submission = collected(small.write(tmp_path / "c" / "ann.ipynb", notebook()).parent, tmp_path / "s").submissions[0]
    mine = Prepared(submission, Stub, None)
    other = Prepared(submission, Stub, None, problem="none of its cells", foreign=True)
    assert grading._of_other_labs([mine, other], 2)[1].submission.missing
    assert grading._of_other_labs([other], 2) == [other]
    assert grading._of_other_labs([mine, other], 1) == [mine, other]


def test_the_readmes_table_of_names_is_true():
    readme = (Path(naming.__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", readme, re.MULTILINE)
    seen = set()
    for platform, names, students in rows:
        called = re.findall("`([^`]+)`", students)
        for name in re.findall("`([^`]+)`", names):
            label = naming.read_label(name.rstrip("/"))
            if label is not None and platform in ("Canvas", "Moodle", "Blackboard", "Brightspace"):
                assert label.platform == platform and label.student in (called or ["Jane Doe"])
                seen.add(platform)
    assert seen == {"Canvas", "Moodle", "Blackboard", "Brightspace"}
    (gradescope,) = [name for _, names, _ in rows for name in re.findall("`(submission_[0-9]+)/`", names)]
    assert naming.read_label(gradescope).platform == "Gradescope"


def test_labels_leave_ordinary_names_alone():
    for name in ("ann", "Ann Müller (2) +1", "s1234-12", "lab1_three_pass", "a_b_c", "ann_lab1_three_pass", "1_2"):
        assert naming.read_label(name) is None, name
    assert naming.of_other_lab("lab2_x", LAB) and not naming.of_other_lab("lab1 (2)", LAB)
    assert not naming.of_other_lab("collab2", LAB)


def test_a_folder_with_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tree, "MOST_FILES", 10)
    for number in range(30):
        small.write(tmp_path / "class" / "ann" / "rubbish" / f"{number}.txt", b"")
    small.write(tmp_path / "class" / "zoe" / LAB / f"{LAB}.ipynb", notebook("zoe"))
    ann, zoe = collected(tmp_path / "class", tmp_path / "scratch").submissions
    assert ann.missing and mark_of(zoe) == "zoe"


SPOOFS = {
    "exchange folder": f"ann+{LAB}+2030-01-01 10:11:12.123456 UTC/{LAB}.ipynb",
    "canvas file": f"ann_1_2_{LAB}.ipynb",
    "moodle folder": f"ann_1_assignsubmission_file_/{LAB}.ipynb",
    "blackboard file": f"Lab_ann_attempt_2030-01-01-00-00-00_{LAB}.ipynb",
    "gradescope folder": f"submission_1/{LAB}.ipynb",
}


@pytest.mark.parametrize("packing", ["folder", "archive"])
@pytest.mark.parametrize("spoof", sorted(SPOOFS))
def test_nobody_hands_in_for_somebody_else(tmp_path, spoof, packing):
    """Names inside a student's folder or archive look like a platform's; they count for nobody else."""
    where, name = tmp_path / "class", SPOOFS[spoof]
    metadata = METADATA.replace("101", "1").replace("a1", "ann").encode()
    files = {name: notebook("mallory"), "submission_metadata.yml": metadata}
    small.write(where / "ann" / LAB / f"{LAB}.ipynb", notebook("ann"))
    if packing == "folder":
        for inner, data in files.items():
            small.write(where / "mallory" / inner, data)
    else:
        small.write(where / "mallory.zip", packed(files))
    found = {item.student: item for item in collected(where, tmp_path / "scratch").submissions}
    assert set(found) == {"ann", "mallory"} and mark_of(found["ann"]) == "ann"
    assert found["ann"].notes == ()


def test_a_file_name_of_ones_own_does_not_change_the_owner():
    spoofed = "Lab 1_mallory_attempt_2026-10-01-10-11-12_x_ann_attempt_2030-01-01-00-00-00_l.ipynb"
    assert naming.read_label(spoofed).student == "mallory"
    for name in (
        f"mallory_1_2_ann+{LAB}+2030-01-01 10:11:12 UTC",
        "mallory_1_2_ann_3_assignsubmission_file_l.ipynb",
        "Mallory M_1_assignsubmission_file_ann_2_3_l.ipynb",
        "Mallory M_1_assignsubmission_file_x_ann_attempt_2030-01-01-00-00-00_l.ipynb",
    ):
        assert naming.read_label(name).student.lower().startswith("mallory"), name


def test_a_name_that_fits_two_platforms_is_read_as_the_class_is(tmp_path):
    where = tmp_path / "class"
    for name in (f"doejane_1_11_{LAB}.ipynb", f"roemax_2_12_{LAB}.ipynb", f"anna_3_13_{LAB}.ipynb"):
        small.write(where / name, notebook())
    small.write(where / "mallory_4_14_x_jdoe_attempt_2030-01-01-00-00-00_l.ipynb", notebook())
    small.write(where / "mallory_4_15_y_1_assignsubmission_file_l.ipynb", notebook("last"))
    found = {item.student: item for item in collected(where, tmp_path / "scratch").submissions}
    assert sorted(found) == ["anna_3", "doejane_1", "mallory_4", "roemax_2"]
    assert mark_of(found["mallory_4"]) == "last"
