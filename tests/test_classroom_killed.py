"""Disasters: kill -9 at chosen moments, a full disk, a held gradebook, a database that goes away, and what
is left over. After a re-run everything is as if nothing had happened."""

import contextlib
import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, grade_by_hand, lines, one, run  # noqa: F401  (fixtures)
from nbgrader.api import Gradebook

from autograder.classroom import claimed, files, store, writing
from autograder.classroom.errors import ClassroomError, GradebookError
from autograder.classroom.gradebook import Course
from autograder.classroom.surroundings import shown, with_driver

POSIX = pytest.mark.skipif(os.name == "nt", reason="kill -9 and fork")


def marks(db_url):
    """Everything of the gradebook that a person sees, without its random ids."""
    found = {}
    with Gradebook(db_url) as gradebook:
        for submission in gradebook.assignment_submissions(small.LAB):
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    found[submission.student.id, grade.name] = (
                        grade.auto_score,
                        grade.manual_score,
                        grade.needs_manual_grade,
                        grade.score,
                    )
                for comment in notebook.comments:
                    found[submission.student.id, "comment", comment.name] = comment.comment
    return found


def of(root, out="out"):
    return marks(f"sqlite:///{root / out / 'gradebook.db'}"), (root / out / "grades.csv").read_bytes()


def in_a_process_that_dies(work):
    """Run ``work`` in a copy of this process and tell by which signal it ended, or how it did without one."""
    with tempfile.TemporaryFile("w+") as said:
        pid = os.fork()
        if pid == 0:
            try:
                os.dup2(said.fileno(), 2)
                work()
                os.write(2, b"it ended by itself")
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(0)
        ended = os.WTERMSIG(os.waitpid(pid, 0)[1])
        said.seek(0)
        return ended or said.read()


def dies_at(where, turn, before=True):
    """Patch ``where`` (module, name) so that its call number ``turn`` kills the process."""
    module, name = where
    real, calls = getattr(module, name), []

    def call(*arguments, **options):
        calls.append(1)
        if len(calls) == turn and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **options)
        if len(calls) == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(module, name, call)


@pytest.fixture(scope="module")
def second_attempts(tmp_path_factory):
    """Two students with earlier results, one answer graded by hand, who then hand in again (that answer as it
    was); and what an undisturbed run makes of it."""
    root = tmp_path_factory.mktemp("class")
    small.write_release(root)
    for student in ("ann", "bob"):
        small.hand_in(root, student, small.answered(row_max=small.BAD))
    run(root)
    grade_by_hand(root, "lab1_written", 1.5)
    small.hand_in(root, "ann", small.answered(row_max=small.BAD, row_sum=small.STUB_SUM))
    small.hand_in(root, "bob", small.answered(written="Because of the padding."))
    calm = tmp_path_factory.mktemp("calm")
    shutil.copytree(root, calm, dirs_exist_ok=True)
    run(calm)
    undisturbed = of(calm)
    assert undisturbed[0]["ann", "lab1_written"] == (None, 1.5, False, 1.5)
    return root, undisturbed


@POSIX
@pytest.mark.parametrize(
    ("where", "turn", "before"),
    [
        ((Course, "feedback"), 2, True),  # the writer, in the middle of the class
        ((store.SqliteFile, "check_in"), 1, False),  # the gradebook is new, the folders are old
        ((files, "remove_folder"), 1, True),  # a student's old folder stands aside, the new one is in place
        ((os, "rename"), 6, True),  # ann's autograded folder stands aside, and nothing is in its place
        ((writing.grades, "write_grades"), 1, True),  # all but grades.csv
    ],
)
def test_after_a_kill_a_re_run_is_as_if_nothing_had_happened(second_attempts, tmp_path, where, turn, before):
    root, undisturbed = second_attempts
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)

    def work():
        dies_at(where, turn, before)
        run(tmp_path)

    assert in_a_process_that_dies(work) == signal.SIGKILL
    run(tmp_path)
    assert of(tmp_path) == undisturbed
    left = [path for path in (tmp_path / "out").rglob("*") if path.name.startswith((".grading-", ".old-"))]
    assert not left
    assert (tmp_path / "out" / "autograded" / "ann" / small.LAB / f"{small.LAB}.ipynb").is_file()


@POSIX
def test_what_killed_runs_left_is_cleared_and_what_is_in_use_is_not(tmp_path):
    dead = tmp_path / "dead"

    def work():
        with claimed.claimed_folder("work-", tmp_path) as folder:
            (folder / "big").write_text("x")
            dead.write_text(str(folder))
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_a_process_that_dies(work) == signal.SIGKILL
    assert Path(dead.read_text()).is_dir()
    newborn = tmp_path / "work-newborn"
    newborn.mkdir()
    old = tmp_path / "work-old"
    old.mkdir()
    os.utime(old, (1, 1))
    target = tmp_path / "precious"
    target.mkdir()
    (tmp_path / "work-link").symlink_to(target)
    with claimed.claimed_folder("work-", tmp_path) as living:
        assert not Path(dead.read_text()).exists() and not old.exists()
        with claimed.claimed_folder("work-", tmp_path):
            assert living.is_dir() and newborn.is_dir() and target.is_dir()
    assert not living.exists()


@POSIX
def test_leftovers_of_a_run_in_out_and_in_the_temporary_folder(one, monkeypatch, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))

    def work():
        dies_at((writing, "_rows"), 1)
        run(one)

    assert in_a_process_that_dies(work) == signal.SIGKILL
    assert list((one / "out").glob(".grading-*"))

    def reading():
        import autograder.classroom.grading as grading

        dies_at((grading, "collect"), 1)
        run(one)

    assert in_a_process_that_dies(reading) == signal.SIGKILL
    assert list(scratch.glob("autograder-intake-*"))
    run(one)
    assert not list((one / "out").glob(".grading-*")) and not list(scratch.glob("autograder-intake-*"))


def parts(root):
    return sorted(path.name for path in root.rglob("*") if path.name.endswith(files.PART))


@POSIX
@pytest.mark.parametrize("name", ["seed.txt", "grades.csv"])
def test_half_of_a_file_is_gone_after_the_next_run(one, name):
    """A kill in the middle of a write leaves a hidden file beside its place."""

    def work():
        real = files._put
        files._put = lambda part, path, mode: (path.name == name and os.kill(os.getpid(), 9)) or real(part, path, mode)
        run(one, ready=lambda: files.write_atomically(one / "out" / "seed.txt", b"5\n"))

    assert in_a_process_that_dies(work) == signal.SIGKILL
    (left,) = parts(one / "out")
    assert left.startswith(f".{name}.")
    run(one, ready=lambda: files.write_atomically(one / "out" / "seed.txt", b"5\n"))
    assert parts(one / "out") == []


@POSIX
def test_half_of_a_file_that_is_being_written_stays(tmp_path):
    """Another run's, or a stranger's with a name like it."""
    place = tmp_path / "grades.csv"
    file, living = files._new_part(place)
    strangers = [".grades.csv.swp", ".grades.csv.abcdefgh", ".other.csv.abcdefgh.part", ".grades.csv.x.abcdefgh.part"]
    for name in strangers:
        (tmp_path / name).write_text("mine")
    with file:
        files.write_atomically(place, b"new")
        assert sorted(os.listdir(tmp_path)) == sorted([*strangers, "grades.csv", living.name])
    files.write_atomically(place, b"newer")
    assert sorted(os.listdir(tmp_path)) == sorted([*strangers, "grades.csv"])


def test_a_part_that_is_cleared_away_while_it_is_made_is_made_again(tmp_path, monkeypatch):
    """Between the making of a part and its lock another run may take it for a dead one's."""
    place, made = tmp_path / "grades.csv", []
    lock = files.lock

    def late(file):
        made.append(sorted(tmp_path.glob(f".*{files.PART}")))
        if len(made) == 1:
            made[0][0].unlink()
        lock(file)

    monkeypatch.setattr(files, "WINDOWS", False)
    monkeypatch.setattr(files, "lock", late)
    files.write_atomically(place, b"all")
    assert len(made) == 2 and place.read_bytes() == b"all" and os.listdir(tmp_path) == ["grades.csv"]


def test_half_of_a_file_is_nobodys_submission(one):
    half = f".{small.LAB}.ipynb.abcdefgh{files.PART}"
    small.write(one / "submitted" / half, small.answered(row_max=small.BAD))
    small.write(one / "submitted" / "ann" / small.LAB / half, small.answered(row_max=small.BAD))
    small.write(one / "submitted" / "bob" / small.LAB / half, small.answered())
    run(one)
    assert {name: line["status"] for name, line in lines(one).items()} == {
        "ann": "needs manual grading",
        "bob": "could not be judged",
    }
    assert lines(one)["ann"]["score"] == "3" and "holds no notebook" in lines(one)["bob"]["notes"]


# a gradebook that somebody holds


HOLDER = """
import sqlite3, sys, time
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
other.execute("ROLLBACK")
"""


@contextlib.contextmanager
def held(path, seconds):
    """Another process in the middle of a transaction."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), str(seconds)], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"held\n"
        yield
    finally:
        process.kill()
        process.communicate()


def test_a_gradebook_held_for_a_moment_is_waited_for(one):
    run(one)
    small.hand_in(one, "ann", small.answered(row_max=small.BAD))
    with held(one / "out" / "gradebook.db", 3):
        run(one)
    assert lines(one)["ann"]["score"] == "1"


def test_a_gradebook_held_for_long_is_one_sentence_and_nothing_is_half_written(one, monkeypatch):
    run(one)
    before = of(one)
    small.hand_in(one, "ann", small.answered(row_max=small.BAD))
    monkeypatch.setattr(store, "LOCK_WAIT", 0.5)
    started = time.monotonic()
    with held(one / "out" / "gradebook.db", 600):
        with pytest.raises(GradebookError, match=r"could not be written .*locked.*as it was.*run the same command"):
            run(one)
        assert time.monotonic() - started < 60
    assert of(one) == before and not list((one / "out").glob(".grading-*"))
    run(one)
    assert lines(one)["ann"]["score"] == "1"


def test_two_runs_do_not_put_results_in_place_at_once(tmp_path):
    place = tmp_path / ".lock"
    with claimed.alone(place, 1, "never said"), pytest.raises(ClassroomError, match="Another run"):
        with claimed.alone(place, 0.2, "Another run is at it."):
            pass
    order = []

    def second():
        with claimed.alone(place, 20, "late"):
            order.append("second")

    with claimed.alone(place, 1, "never said"):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


# a full disk


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["autograder.classroom.files.os.replace", "autograder.classroom.files.os.rename"])
def test_a_full_disk_where_results_are_put_in_place(one, monkeypatch, capsys, where):
    import test_classroom_faults as faults

    monkeypatch.setattr("autograder.child.run_judge", small.judge)
    monkeypatch.setattr("autograder.source.gather_notebook", small.gather)
    assert faults.command(one, "--seed", "5") == 0
    calm = of(one)
    with monkeypatch.context() as patch:
        patch.setattr(where, full)
        assert faults.command(one, "--seed", "5") == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "No space left" in said and "Run the same command again" in said
    assert faults.command(one, "--seed", "5") == 0
    assert of(one) == calm


def test_a_full_disk_is_nobody_s_could_not_be_judged(one, monkeypatch):
    """nbgrader swallows the failure of each submission: the disk is looked at, and the run stops."""
    from nbgrader.preprocessors import SaveAutoGrades

    monkeypatch.setattr(SaveAutoGrades, "preprocess", full)
    run(one)  # there is room: the fault is this submission's
    assert lines(one)["ann"]["status"] == "could not be judged"
    monkeypatch.setattr("autograder.classroom.gradebook.ROOM", 1 << 62)
    with pytest.raises(OSError, match="No space left"):
        run(one)


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 600 KiB; its folder."""
    place = tmp_path / "out"
    place.mkdir()
    if not hasattr(os, "getuid") or os.getuid() != 0:
        pytest.skip("only root can mount a small file system")
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_really_full(one, tiny_disk):
    """Stops with an error, leaves the old results, and goes on when there is room again."""
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(bytes(400 << 10))
    with pytest.raises((OSError, ClassroomError)) as failure:
        run(one)
    assert any(words in str(failure.value) for words in ("No space left", "disk is full", "disk I/O"))
    assert not (tiny_disk / "grades.csv").exists() and not list(tiny_disk.glob(".grading-*"))
    subprocess.run(["mount", "-o", "remount,size=64m", str(tiny_disk)], check=True)
    run(one)
    assert of(one) == (run(one, out="calm"), of(one, "calm"))[1]


def test_a_gradebook_whose_disk_fills_up(one, monkeypatch):
    """SQLite's own full: the copy cannot grow."""
    run(one)
    before = of(one)
    small.hand_in(one, "ann", small.answered(row_max=small.BAD))
    backup = store._back_up

    def limited(source, target):
        if Path(source.execute("PRAGMA database_list").fetchone()[2]).parent.name.startswith(".grading-"):
            raise sqlite3.OperationalError("database or disk is full")
        backup(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_back_up", limited)
        with pytest.raises(GradebookError, match="disk is full.*it is as it was"):
            run(one)
    assert of(one) == before
    run(one)
    assert lines(one)["ann"]["score"] == "1"


# PostgreSQL


@pytest.fixture
def postgres(tmp_path):
    """A private cluster in a temporary folder, reached by a socket; its URL."""
    pytest.importorskip("psycopg", reason="psycopg, PostgreSQL's driver, is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    where = str(found[-1].parent) if found else os.path.dirname(shutil.which("initdb") or "")
    if not where:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path: sockets have 107 characters at most
    other = {}
    if os.getuid() == 0:  # PostgreSQL refuses root
        try:
            shutil.chown(folder, "postgres", "postgres")
        except LookupError:
            pytest.skip("PostgreSQL refuses root, and there is no user postgres")
        other = {"user": "postgres", "group": "postgres", "extra_groups": []}

    def call(program, *arguments):
        line = [os.path.join(where, program), "-D", str(folder / "data"), *arguments]
        env = {"PATH": f"{where}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        subprocess.run(line, cwd=folder, env=env, check=True, capture_output=True, timeout=120, **other)

    try:
        call("initdb", "-A", "trust", "-N", "-U", "course")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        yield f"postgresql://course@/postgres?host={folder}", lambda: call("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            call("pg_ctl", "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@POSIX
def test_postgresql_gives_the_same_and_its_loss_is_one_sentence(tmp_path, postgres, monkeypatch):
    url, stop = postgres
    small.write_release(tmp_path)
    small.hand_in(tmp_path, "ann", small.answered())
    small.hand_in(tmp_path, "bob", small.answered(row_max=small.BAD))
    there, here = run(tmp_path, db_url=url, out="there"), run(tmp_path, out="here")
    assert there.rows == here.rows and there.grades.read_bytes() == here.grades.read_bytes()
    assert not (tmp_path / "there" / "gradebook.db").exists()
    assert marks(str(with_driver(url))) == of(tmp_path, "here")[0]

    def work():
        dies_at((Course, "feedback"), 2)
        run(tmp_path, db_url=url, out="there")

    small.hand_in(tmp_path, "ann", small.answered(row_max=small.BAD))
    assert in_a_process_that_dies(work) == signal.SIGKILL
    run(tmp_path, db_url=url, out="there")
    run(tmp_path, out="here")
    assert marks(str(with_driver(url))) == of(tmp_path, "here")[0]

    rows = writing._row

    def row(course, item, *more):
        if item.submission.student == "bob":
            stop()
        return rows(course, item, *more)

    monkeypatch.setattr(writing, "_row", row)
    before = (tmp_path / "there" / "grades.csv").read_bytes()
    with pytest.raises(GradebookError, match="The gradebook cannot be used"):
        run(tmp_path, db_url=url, out="there")
    assert (tmp_path / "there" / "grades.csv").read_bytes() == before


def test_a_missing_driver_and_a_password(one, monkeypatch):
    monkeypatch.setattr("autograder.classroom.surroundings.find_spec", lambda name: None)
    for name in ("psycopg", "psycopg2"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(GradebookError, match=r"pip install .*\[postgresql\]") as failure:
        run(one, db_url="postgresql://ann:hunter2@db/marks")
    assert "hunter2" not in str(failure.value) and "hunter2" not in shown("postgresql://ann:hunter2@db/marks")
    for name in ("psycopg", "psycopg2"):
        monkeypatch.setattr("autograder.classroom.surroundings.find_spec", lambda one, name=name: one == name or None)
        assert with_driver("postgresql://db/marks").drivername == f"postgresql+{name}"
    assert with_driver("sqlite:///x.db").drivername == "sqlite"
