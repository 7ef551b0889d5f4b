"""The bundled class, and the real judge from end to end on a few of its members."""

import dataclasses
import json
import os

import pytest

from autograder.classroom import demo, grades
from autograder.classroom.demo import compare, files
from autograder.classroom.demo.roster import ALL, roster
from autograder.classroom.gradebook import Course
from autograder.classroom.grading import grade
from autograder.classroom.reading import parse_notebook
from autograder.classroom.release import find_release, load_release
from autograder.classroom.surroundings import nbgrader_environment
from autograder.exercises import all_exercises

LAB1, LAB2 = demo.LABS[:2]


@pytest.fixture(scope="module")
def releases():
    return {lab: load_release(lab, find_release(lab, None)) for lab in demo.LABS}


def some(*names, damage=True):
    chosen = tuple(student for student in roster() if student.id in names)
    assert len(chosen) == len(names)
    return chosen if damage else tuple(dataclasses.replace(student, damage={}) for student in chosen)


def test_the_class_has_everybody_it_should():
    class_ = roster()
    assert len(class_) >= 12 and len({student.id for student in class_}) == len(class_)
    bugs = {
        (exercise.id, answer.bug)
        for student in class_
        for exercise in all_exercises()
        if (answer := student.answer(exercise.id)).bug
    }
    assert len(bugs) >= 20
    assert {exercise_id for exercise_id, _ in bugs} == {exercise.id for exercise in all_exercises()}
    for exercise in all_exercises():
        right = {
            student.answer(exercise.id).text
            for student in class_
            if student.answer(exercise.id).lost == frozenset()
        }
        assert len(right) >= 2, f"{exercise.id} is answered in one style only"
    assert sum(student.untouched for student in class_) == 1
    damages = {damage for student in class_ for damage in student.damage.values()}
    assert damages == set(files.DAMAGES) - {"none"}
    assert {student.labs for student in class_} == {demo.LABS, demo.LABS[:2], demo.LABS[:1]}
    texts = "\n".join(answer.text or "" for student in class_ for answer in student.answers.values())
    assert "import os" in texts and "while col < X.shape[1]:\n        total" in texts


def test_files_are_the_same_every_time_and_hold_the_answers(releases, tmp_path):
    for name in ("one", "two"):
        files.write_class(roster(), list(releases.values()), tmp_path / name)
    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.ipynb")}
        for name in ("one", "two")
    )
    assert one == two and len(one) == sum(len(student.labs) for student in roster())
    for student in roster():
        if student.damage or student.untouched:
            continue
        name, data = files.submission(student, releases[LAB1])
        sources = [cell.source for cell in parse_notebook(data).cells]
        for check in releases[LAB1].checks:
            assert student.answer(check.check_id.rpartition(".")[0]).text in sources, (
                student.id,
                check.check_id,
            )


def test_a_few_members_from_end_to_end(releases, tmp_path, capsys):
    """The comparison of `autograder demo`, on members that show each kind of result."""
    names = ("bruno", "ines", "quinn", "rosa", "samir", "ulla")
    members = some(*names)
    files.write_class(members, [releases[LAB2]], tmp_path / "class")
    members_lab1 = some("emeka", "tove")
    files.write_class(members_lab1, [releases[LAB1]], tmp_path / "class1")
    with open(os.devnull, "w") as silent:
        result = grade([LAB2], tmp_path / "class", tmp_path / "out", demo.SEED, jobs=2, stream=silent)
        other = grade([LAB1], tmp_path / "class1", tmp_path / "out1", demo.SEED, jobs=2, stream=silent)
    assert demo.all_differences(members, [releases[LAB2]], result) == []
    assert demo.all_differences(members_lab1, [releases[LAB1]], other) == []
    rows = {row.student: row for row in result.rows}
    full = sum(check.points for check in releases[LAB2].checks)
    assert rows["bruno"].score == full and rows["bruno"].bugs == ()
    assert rows["ulla"].score == 0 and rows["ulla"].status == grades.GRADED
    assert rows["samir"].score is None and "cut off" in rows["samir"].notes[0]
    assert any("np.max" in note for note in rows["rosa"].notes)
    assert any("first tile" in bug for bug in rows["ines"].bugs)
    page = (result.feedback / "rosa" / LAB2 / f"{LAB2}.html").read_text(encoding="utf-8")
    assert "np.max" in page and "<script>alert" not in page


def test_the_comparison_notices(releases):
    """Every kind of difference is said, so that the demo cannot pass by looking away."""
    release = releases[LAB1]
    ada, gita, samir, ulla = some("ada", "gita", "samir", "ulla")
    full = {check.check_id: check.points for check in release.checks}
    ok = grades.Row("ada", LAB1, grades.MANUAL, sum(full.values()), release.max_score, full)
    no_pages = release.path  # a path that holds no feedback pages

    def said(student, row):
        return " ".join(compare.differences(student, release, row, no_pages))

    assert said(ada, ok) == f"ada, {LAB1}: feedback page: missing."
    assert "status" in said(ada, dataclasses.replace(ok, status=grades.GRADED))
    assert "row_max.values" in said(ada, dataclasses.replace(ok, points={**full, "lab1.row_max.values": 0.5}))
    assert "expected none" in said(ada, dataclasses.replace(ok, bugs=("row_max: d not rescaled",)))
    assert "lose points" in said(gita, ok) and "named bugs" in said(gita, ok)
    assert "expected 0" in said(ulla, dataclasses.replace(ok, status=grades.GRADED))
    assert "score: expected none" in said(samir, dataclasses.replace(ok, status=grades.UNJUDGED))
    assert ulla.answer("lab1.row_max").lost == ALL


def test_a_folder_in_use_is_left_alone(tmp_path):
    from autograder.classroom.errors import ClassroomError

    (tmp_path / "thesis.tex").write_text("my only copy")
    with pytest.raises(ClassroomError, match="another folder"):
        demo.run(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]


# Each costs a kernel and all checks twice. The solved and the released notebooks of all labs meet stock nbgrader in
# test_notebooks_run.py; with STOCK_NBGRADER=complete right, wrong and untouched work of all labs does here.
STOCK = [(LAB1, "emeka"), (LAB2, "ines")]
if os.environ.get("STOCK_NBGRADER") == "complete":
    STOCK += [(lab, name) for lab in demo.LABS for name in ("ada", "gita", "olu", "ulla")]


@pytest.mark.parametrize(("lab", "name"), STOCK)
def test_stock_nbgrader_gives_the_same_marks(releases, tmp_path, lab, name):
    """nbgrader's own autograde, which runs the notebook, against ours, which does not."""
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory

    release, (student,) = releases[lab], some(name)
    files.write_class((student,), [release], tmp_path / "submitted")
    with open(os.devnull, "w") as silent:
        result = grade([lab], tmp_path / "submitted", tmp_path / "ours", 0, jobs=2, stream=silent)
    (ours,) = result.rows

    stock = Course(tmp_path, f"sqlite:///{tmp_path / 'gradebook.db'}")
    stock.register(release)
    directory = CourseDirectory(root=str(tmp_path), db_url=stock.db_url, assignment_id=lab)
    converter = Autograde(coursedir=directory)
    converter.config.Execute.timeout = 300
    with nbgrader_environment():
        converter.start()
    theirs = stock.marks(student.id, lab)
    notebook = json.loads(
        (tmp_path / "autograded" / student.id / lab / f"{lab}.ipynb").read_text(encoding="utf-8")
    )
    for check in release.checks:
        cell = next(
            cell
            for cell in notebook["cells"]
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == check.grade_id
        )
        assert theirs.points[check.grade_id] == ours.points[check.check_id], (check.check_id, cell["outputs"])
    written = set() if student.written is None else set(release.written)
    assert theirs.score == ours.score and theirs.waiting == written
