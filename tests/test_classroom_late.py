"""Late work and several attempts, end to end: by timestamp files, by due dates and extensions in the gradebook, and
by what platforms write into names."""

import datetime

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, lines, one, run  # noqa: F401  (fixtures)
from nbgrader.api import Gradebook

from autograder.classroom.class_report import figures
from autograder.classroom.exports import moodle
from autograder.classroom.exports.people import match
from autograder.classroom.exports.sheet import Request
from autograder.classroom.outcome import read_outcome

LAB = small.LAB
DUE = "2026-10-01 12:00:00 UTC"
NO_WORDS = small.answered(written=small.EMPTY)  # nothing for a person to grade


def hand_in(root, student, time, notebook=NO_WORDS):
    folder = small.hand_in(root, student, notebook) / student / LAB
    if time:
        (folder / "timestamp.txt").write_text(time)


def statuses(root):
    return {name: line["status"] for name, line in lines(root).items()}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    root = tmp_path_factory.mktemp("class")
    small.write_release(root)
    hand_in(root, "ann", "2026-10-01 11:59:59 UTC")
    hand_in(root, "bob", "2026-10-01 14:05:00 UTC")
    hand_in(root, "cem", "2026-10-01 13:30:00+02:00")  # half an hour before
    hand_in(root, "dora", None)
    hand_in(root, "eli", "2026-10-03 12:00:00 UTC", small.answered())  # and a written answer
    run(root, due=DUE)
    return root


def test_the_timestamp_decides(graded):
    assert statuses(graded) == {
        "ann": "graded",
        "bob": "late",
        "cem": "graded",
        "dora": "graded",
        "eli": "needs manual grading",
    }
    found = lines(graded)
    assert "It was handed in late, 2 h 05 min after the due date." in found["bob"]["notes"]
    assert "It was handed in late, 48 h 00 min" in found["eli"]["notes"]
    assert {line["score"] for line in found.values()} == {"3"}  # a penalty is nbgrader's to give


def test_whoever_is_late_is_counted_whatever_else_the_status_says(graded):
    outcome = read_outcome(graded / "out")
    (lab,) = outcome.labs
    assert figures.summary(outcome, lab).late == 2
    people, _ = match([line.student for line in outcome.lines], None)
    request = Request(outcome, (lab,), people)
    said = {line.student: moodle.feedback(request, lab, line) for line in outcome.lines}
    assert {name for name, text in said.items() if "handed in late" in text} == {"bob", "eli"}


def test_the_gradebook_keeps_the_due_date_and_knows_extensions(graded, tmp_path):
    url = f"sqlite:///{graded / 'out' / 'gradebook.db'}"
    with Gradebook(url) as gradebook:
        assert gradebook.find_assignment(LAB).duedate == datetime.datetime(2026, 10, 1, 12)
        gradebook.find_submission(LAB, "bob").extension = datetime.timedelta(hours=3)
        gradebook.db.commit()
    run(graded)
    assert statuses(graded)["bob"] == "graded" and "late" not in lines(graded)["bob"]["notes"]


def test_the_last_attempt_counts_and_with_it_its_time(tmp_path):
    """Blackboard's names hold the time; the receipts beside them are no attempts."""
    small.write_release(tmp_path)
    bad = small.answered(row_max=small.BAD, written=small.EMPTY)
    for name, notebook in {
        f"Lab 1_ann_attempt_2026-10-01-09-00-00_{LAB}.ipynb": bad,
        f"Lab 1_ann_attempt_2026-10-01-18-00-00_{LAB}.ipynb": NO_WORDS,
        "Lab 1_ann_attempt_2026-10-01-18-00-00.txt": b"receipt",
        f"Lab 1_bob_attempt_2026-10-01-09-00-00_{LAB}.ipynb": NO_WORDS,
    }.items():
        small.write(tmp_path / "submitted" / name, notebook)
    run(tmp_path, due=DUE)
    found = lines(tmp_path)
    assert (found["ann"]["status"], found["ann"]["score"]) == ("late", "3")
    assert "There are 2 attempts; the last one counts" in found["ann"]["notes"]
    assert "6 h 00 min after the due date" in found["ann"]["notes"]
    assert (found["bob"]["status"], found["bob"]["notes"]) == ("graded", "")


def test_gradescopes_list_says_when(tmp_path):
    small.write_release(tmp_path)
    metadata = "".join(
        f"submission_{number}:\n  :submitters:\n  - :name: {name}\n    :sid: {name}\n  :created_at: 2026-10-01 {clock} Z\n"
        for number, name, clock in ((1, "ann", "11:00:00.130612000"), (2, "bob", "12:00:01.000000000"))
    )
    for number in (1, 2):
        small.write(tmp_path / "submitted" / f"submission_{number}" / f"{LAB}.ipynb", NO_WORDS)
    small.write(tmp_path / "submitted" / "submission_metadata.yml", metadata.encode())
    run(tmp_path, due=DUE)
    assert statuses(tmp_path) == {"ann": "graded", "bob": "late"}


def test_canvas_says_it_in_the_name_and_needs_no_due_date(tmp_path):
    small.write_release(tmp_path)
    for name in (f"doejane_LATE_1_11_{LAB}.ipynb", f"roemax_2_12_{LAB}.ipynb"):
        small.write(tmp_path / "submitted" / name, NO_WORDS)
    run(tmp_path)
    assert statuses(tmp_path) == {"doejane_1": "late", "roemax_2": "graded"}
    assert "It was handed in late, says Canvas." in lines(tmp_path)["doejane_1"]["notes"]
