"""Finding submissions in a folder."""

import os
import tempfile
from pathlib import Path

import classroom_lab as small
import pytest

from autograder.classroom.collect import collect as collect_tree
from autograder.classroom.collect import readable
from autograder.classroom.errors import NothingToGrade
from autograder.classroom.tree import read_tree

LAB = small.LAB


def collect(folder, lab):
    tree, left_out = read_tree(folder, Path(tempfile.gettempdir()))
    return collect_tree(tree, lab, left_out, str(folder))


def only(folder, lab=LAB):
    (submission,) = collect(folder, lab).submissions
    return submission


def test_the_ordinary_layout(tmp_path):
    folder = small.hand_in(tmp_path, "zoe", small.answered())
    small.hand_in(tmp_path, "Ann Müller (2) +1", small.answered())
    (folder / "zoe" / LAB / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC\n")
    first, second = collect(folder, LAB).submissions
    assert (first.student, second.student) == ("Ann Müller (2) +1", "zoe")
    assert second.path.name == f"{LAB}.ipynb" and second.timestamp == "2026-03-01 10:00:00 UTC"
    assert first.problem is None and first.notes == () and first.timestamp is None


@pytest.mark.parametrize(
    "make",
    [lambda folder: None, lambda folder: folder.mkdir(), lambda folder: (folder / "ann").mkdir(parents=True)],
)
def test_nothing_to_grade_is_one_sentence(tmp_path, make):
    make(tmp_path / "class")
    with pytest.raises(NothingToGrade) as error:
        collect(tmp_path / "class", LAB)
    assert "\n" not in str(error.value) and str(tmp_path / "class") in str(error.value)


def test_a_loose_notebook_is_named(tmp_path):
    folder = small.hand_in(tmp_path, "ann", small.answered())
    small.write(folder / "loose.ipynb", small.answered())
    (sentence,) = collect(folder, LAB).ignored
    assert "loose.ipynb" in sentence


def test_missing_work(tmp_path):
    folder = small.hand_in(tmp_path, "ann", small.answered())
    (folder / "bob" / "another_lab").mkdir(parents=True)
    bob = collect(folder, LAB).submissions[1]
    assert bob.missing and bob.path is None and "Nothing was handed in" in bob.problem


def test_a_renamed_file_is_taken_and_said(tmp_path):
    small.write(tmp_path / "ann" / LAB / "lab1 (final).ipynb", small.answered())
    submission = only(tmp_path)
    assert submission.path.name == "lab1 (final).ipynb" and "lab1 (final).ipynb" in submission.notes[0]


def test_several_files_and_none_of_the_name(tmp_path):
    for name in ("a.ipynb", "b.ipynb"):
        small.write(tmp_path / "ann" / LAB / name, small.answered())
    assert "rename the one that counts" in only(tmp_path).problem
    small.write(tmp_path / "ann" / LAB / f"{LAB}.ipynb", small.answered())
    assert only(tmp_path).path.name == f"{LAB}.ipynb"


def test_no_notebook_in_the_folder(tmp_path):
    small.write(tmp_path / "ann" / LAB / "essay.docx", b"text")
    submission = only(tmp_path)
    assert not submission.missing and "holds no notebook" in submission.problem


def test_a_folder_in_the_folder_and_checkpoints(tmp_path):
    small.write(tmp_path / "ann" / LAB / "unpacked" / f"{LAB}.ipynb", small.answered())
    small.write(tmp_path / "ann" / LAB / ".ipynb_checkpoints" / f"{LAB}.ipynb", small.answered())
    small.write(tmp_path / "ann" / LAB / "__MACOSX" / f"{LAB}.ipynb", b"")
    assert only(tmp_path).path.parent.name == "unpacked"


def test_another_case_and_no_lab_folder(tmp_path):
    small.write(tmp_path / "ann" / LAB.upper() / f"{LAB}.ipynb", small.answered())
    small.write(tmp_path / "bob" / f"{LAB}.ipynb", small.answered())
    ann, bob = collect(tmp_path, LAB).submissions
    assert ann.path and ann.notes and bob.path and bob.notes


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links_are_not_followed(tmp_path):
    secret = small.write(tmp_path / "secret.ipynb", small.answered())
    folder = tmp_path / "class"
    (folder / "ann" / LAB).mkdir(parents=True)
    (folder / "ann" / LAB / f"{LAB}.ipynb").symlink_to(secret)
    (folder / "bob").mkdir()
    (folder / "bob" / LAB).symlink_to(folder / "ann" / LAB)
    os.mkfifo(small.write(folder / "cem" / LAB / "x", b"").with_name(f"{LAB}.ipynb"))
    for submission in collect(folder, LAB).submissions:
        assert submission.path is None
        assert "is a link" in submission.problem or "neither a file nor a folder" in submission.problem


def test_names_that_cannot_be_printed():
    assert readable("a\x1b[31m\n") == "a\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}"
    if os.name != "nt":
        assert readable(os.fsdecode(b"a\xff")) == "a\N{REPLACEMENT CHARACTER}"


def test_a_folder_that_cannot_be_read_is_that_students_problem(tmp_path, monkeypatch):
    folder = small.hand_in(tmp_path, "ann", small.answered())
    small.hand_in(tmp_path, "zoe", small.answered())
    scan = os.scandir

    def locked(place):
        if Path(place) == folder / "zoe":
            raise PermissionError(13, "Permission denied", str(place))
        return scan(place)

    monkeypatch.setattr(os, "scandir", locked)
    ann, zoe = collect(folder, LAB).submissions
    assert ann.problem is None and zoe.path is None and not zoe.missing
    assert "could not be read" in zoe.problem and "Permission denied" in zoe.problem
