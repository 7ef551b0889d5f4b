"""The judging child: limits, crashes, printing, interrupts, and that it never outlives its parent."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autograder.child import codec, environment, run_judge
from autograder.child.__main__ import PRINTED_LIMIT, Bounded
from autograder.child.pool import Pool
from autograder.child.worker import Worker, WorkerFailed
from autograder.exercises import get
from autograder.judge import judge
from autograder.source import gather_text

ROOT = str(Path(__file__).resolve().parents[1])
ROWS = "lab2.online_softmax_rows"
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals or limits")


def source(exercise=ROWS, text=None, **edits):
    text = text or get(exercise).variants[0].text
    return gather_text(text, get(exercise).name, kind=get(exercise).kind, origin="student.py")


def endless():
    return source(text="from numba import cuda\n\n@cuda.jit\ndef online_softmax_rows(X, Y):\n    s = 0\n    while True:\n        s += 1\n    Y[0, 0] = s\n")


def pretend(monkeypatch, script):
    """Children that run ``script`` in place of the judge; ``say`` writes a message, ``jobs`` are the lines."""
    start = "import json, os, sys, time\njobs = sys.stdin\ndef say(**m): print(json.dumps(m), flush=True)\n"
    monkeypatch.setattr(environment, "command", lambda: [sys.executable, "-c", start + textwrap.dedent(script)])
    pool = Pool()
    monkeypatch.setattr("autograder.child.shared", lambda: pool)
    return pool


def gone(pid, seconds=10):
    """Whether a process ends within some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rsplit(")", 1)[-1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_the_child_says_what_the_judge_says():
    right = source()
    assert run_judge(right, ROWS, 3).as_json() == judge(right, ROWS, 3).as_json()
    wrong = source(text=get(ROWS).bugs[0].text)
    assert run_judge(wrong, f"{ROWS}.rescale").as_json() == judge(wrong, f"{ROWS}.rescale").as_json()


def test_a_host_function_is_judged_too():
    report = run_judge(source("lab1.predict_bytes"), "lab1.predict_bytes")
    assert report.passed and report.checks[0].traffic is None


def test_an_unknown_check_is_an_error_not_an_exception():
    report = run_judge(source(), "lab7.nothing")
    assert report.error and not report.passed and report.points == 0.0


def test_an_endless_loop_ends_at_the_step_limit_with_its_line():
    report = run_judge(endless(), f"{ROWS}.values", step_limit=200_000)
    assert report.error is None and not report.passed and report.points == 0.0
    assert "line 6" in report.message and "while True" in report.message


def test_the_wall_limit_ends_what_the_step_limit_does_not():
    begin = time.monotonic()
    report = run_judge(endless(), f"{ROWS}.values", step_limit=10**12, wall_s=1.0)
    assert time.monotonic() - begin < 60
    assert report.error is None and not report.passed and "did not finish in 1 s" in report.message
    assert [check.id for check in report.checks] == [f"{ROWS}.values"]
    assert run_judge(source(), f"{ROWS}.traffic").passed  # the next one gets a fresh child


def test_printing_in_a_kernel_is_caught_and_bounded():
    text = get(ROWS).variants[0].text
    head = "def online_softmax_rows(X, Y):\n"
    assert text.count(head) == 1
    loud = text.replace(head, head + "    print('row', cuda.blockIdx.x, cuda.threadIdx.x, 'of a kernel that prints')\n")
    report = run_judge(source(text=loud), ROWS)
    assert report.passed, report.message
    printed = report.details["printed"]
    assert printed.startswith("row ") and len(printed) < PRINTED_LIMIT + 100


def test_bounded_text_counts_what_it_drops():
    stream = Bounded(10)
    print("0123456789abcdef", file=stream)
    assert stream.text() == "0123456789\n[7 more characters printed]"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("say(ready=True); jobs.readline(); os._exit(3)", "exit status 3"),
        ("say(ready=True); jobs.readline(); sys.exit('Fatal: stack overflow')", "Fatal: stack overflow"),
        ("say(ready=True); jobs.readline(); print('garbage', flush=True)", "ended in the middle"),
        ("say(ready=True); jobs.readline(); say(failed='memory'); time.sleep(60)", "1,024 MiB of memory"),
        ("say(ready=True); jobs.readline(); say(failed='KeyError: 3'); time.sleep(60)", "The judge itself failed (KeyError: 3)"),
        ("say(failed='ModuleNotFoundError: numba')", "could not be started (ModuleNotFoundError: numba)"),
        ("sys.exit('no such module')", "could not be started (no such module)"),
    ],
)  # fmt: skip
def test_a_child_that_breaks_gives_a_sentence(monkeypatch, script, words):
    pool = pretend(monkeypatch, script)
    report = run_judge(source(), f"{ROWS}.values")
    assert report.error and words in report.error and not report.passed and report.max_points == 2.0
    pool.close()


@POSIX
def test_a_crash_is_told_by_its_signal(monkeypatch):
    pool = pretend(monkeypatch, "say(ready=True); jobs.readline(); os.kill(os.getpid(), 11)")
    assert "SIGSEGV" in run_judge(source(), ROWS).error
    pool.close()


def test_a_child_that_dies_after_other_jobs_gets_a_second_try(monkeypatch, tmp_path):
    script = f"""
        first = not os.path.exists({str(tmp_path / 'seen')!r})
        open({str(tmp_path / 'seen')!r}, "w").close()
        say(ready=True)
        for n, job in enumerate(jobs):
            if first and n:
                os._exit(9)
            say(failed="answer")
    """
    pool = pretend(monkeypatch, script)
    assert "answer" in run_judge(source(), ROWS).error
    assert "answer" in run_judge(source(), ROWS).error
    pool.close()


def test_an_interrupt_ends_the_child_and_is_passed_on(monkeypatch):
    pool = pretend(monkeypatch, "say(ready=True); jobs.readline(); time.sleep(60)")
    started = []

    def interrupted(self, wall_s):
        started.append(self.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(Worker, "_receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_judge(source(), ROWS)
    assert os.name != "posix" or gone(started[0])
    assert not pool._idle


@POSIX
def test_a_real_interrupt_in_the_middle_of_a_check_leaves_nothing_behind(tmp_path):
    script = tmp_path / "session.py"
    script.write_text(textwrap.dedent("""
        import _thread, threading, sys
        from autograder.child import run_judge
        from autograder.child.worker import Worker
        from autograder.source import gather_text
        text = "from numba import cuda\\n\\n@cuda.jit\\ndef online_softmax_rows(X, Y):\\n    while True:\\n        X[0, 0] = 1.0\\n"
        pids = []
        run = Worker.run
        def seen(self, job, wall_s):
            self.wait_ready()
            pids.append(self.pid)
            threading.Timer(0.5, _thread.interrupt_main).start()
            return run(self, job, wall_s)
        Worker.run = seen
        try:
            run_judge(gather_text(text, "online_softmax_rows"), "lab2.online_softmax_rows.values", step_limit=10**12)
        except KeyboardInterrupt:
            print("interrupted", pids[0])
    """))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": ROOT})
    word, pid = done.stdout.split()
    assert word == "interrupted" and gone(int(pid)), done.stderr


@POSIX
def test_the_child_ends_with_its_parent(tmp_path):
    """Even in the middle of a job, and even when the parent is killed."""
    script = tmp_path / "parent.py"
    script.write_text(textwrap.dedent("""
        import os, signal, threading
        from autograder.child.worker import Worker
        from autograder.source import gather_text
        text = "from numba import cuda\\n\\n@cuda.jit\\ndef online_softmax_rows(X, Y):\\n    while True:\\n        X[0, 0] = 1.0\\n"
        worker = Worker()
        worker.wait_ready()
        print(worker.pid, flush=True)
        job = {"source": gather_text(text, "online_softmax_rows").as_json(), "check_id": "lab2.online_softmax_rows.values",
               "seed": 0, "wall_s": 60, "step_limit": 10**12, "memory_mb": 1024}
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
        worker.run(job, 60)
    """))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": ROOT})
    assert done.returncode == -9 and gone(int(done.stdout)), done.stderr


@POSIX
def test_a_fork_of_the_parent_leaves_the_child_alone():
    assert run_judge(source(), f"{ROWS}.traffic").passed
    pid = os.fork()
    if pid == 0:
        try:
            ok = run_judge(source(), f"{ROWS}.traffic").passed
        except BaseException:
            ok = False
        os._exit(0 if ok else 1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert run_judge(source(), f"{ROWS}.traffic").passed


def test_threads_judge_at_the_same_time_and_share_the_children(monkeypatch):
    pool = pretend(monkeypatch, """
        say(ready=True)
        for line in jobs:
            time.sleep(0.2)
            say(failed=str(json.loads(line)["seed"]) + " by " + str(os.getpid()))
    """)
    with ThreadPoolExecutor(4) as threads:
        errors = list(threads.map(lambda seed: run_judge(source(), ROWS, seed).error, range(12)))
    assert [int(error.split("failed (")[1].split()[0]) for error in errors] == list(range(12))
    assert 1 < len({error.split(" by ")[1].split(")")[0] for error in errors}) <= 4
    pool.close()


def test_a_class_does_not_wear_out_its_children(monkeypatch):
    monkeypatch.setattr("autograder.child.pool.JOBS_PER_WORKER", 2)
    pool = pretend(monkeypatch, "say(ready=True)\nfor line in jobs: say(failed=str(os.getpid()))")
    errors = [run_judge(source(), ROWS).error for _ in range(4)]
    assert errors[0] == errors[1] != errors[2] == errors[3]
    pool.close()


def test_the_childs_environment_is_short_and_known(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONSTARTUP", "evil.py")
    monkeypatch.setenv("NUMBA_DEBUG", "1")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    (tmp_path / "numpy.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    variables = environment.variables()
    assert variables["NUMBA_ENABLE_CUDASIM"] == "1"
    assert not {"PYTHONSTARTUP", "NUMBA_DEBUG", "SECRET_TOKEN"} & set(variables)
    folders = variables["PYTHONPATH"].split(os.pathsep)
    assert str(tmp_path) not in folders and os.path.realpath(tmp_path) not in folders
    worker = Worker()
    worker.wait_ready()
    worker.close()


def test_a_folder_that_the_parent_was_given_is_searched(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    assert os.path.realpath(tmp_path) in environment.import_folders()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory limit is Linux's")
def test_memory_is_limited_from_where_the_process_stands():
    script = "from autograder.child import limits\nlimits.per_job(5, 64)\nb = bytearray(32 << 20)\ntry:\n    bytearray(200 << 20)\nexcept MemoryError:\n    print('refused')\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ROOT})
    assert done.stdout.strip() == "refused", done.stderr


def test_messages_survive_the_pipe():
    wrong = source(text=get(ROWS).bugs[0].text)
    report = judge(wrong, ROWS)
    sent = codec.decode(codec.encode(codec.report_to_dict(report)))
    assert codec.report_from_dict(sent) == report
    with pytest.raises(ValueError):
        codec.decode(b"[1]\n")


def test_a_job_for_a_closed_worker_fails_cleanly(monkeypatch):
    pretend(monkeypatch, "say(ready=True); time.sleep(60)")
    worker = Worker()
    worker.wait_ready()
    worker.close()
    worker.close()
    with pytest.raises(WorkerFailed):
        worker.run({}, 1)
    assert threading.active_count() < 50
