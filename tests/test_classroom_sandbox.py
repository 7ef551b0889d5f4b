"""The judging child in bubblewrap: what a child that tries can reach. Where bubblewrap does not work, the
command line is tested all the same."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import classroom_lab as small
import pytest
from classroom_lab import alembic_once, one  # noqa: F401  (fixtures)

from autograder import child
from autograder.child import environment, pool, run_judge, sandbox
from autograder.child.pool import Pool
from autograder.child.worker import Worker, WorkerFailed
from autograder.classroom import grading
from autograder.exercises import get
from autograder.source import gather_text

FENCED, WHY_NOT = sandbox.fenced()
INSIDE = pytest.mark.skipif(not FENCED, reason=WHY_NOT or "no sandbox")
CHECK = "lab1.row_max.values"


def kernel():
    text = "import math\nfrom numba import cuda, float32\n\n" + get("lab1.row_max").variants[0].text
    return gather_text(text, "row_max")


# the command line


def pairs(line):
    return list(zip(line, line[1:], strict=False))


def test_the_command_line():
    line = sandbox.command(
        ["python", "-m", "x"],
        {"PYTHONPATH": "/course", "HOME": "/root", "SECRET": "1", "OMP_NUM_THREADS": "1"},
        folders=["/course"],
    )
    fences = ("--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--clearenv")
    assert line[0] == "bwrap" and set(fences) <= set(line) and "--disable-userns" in line
    assert ("--cap-drop", "ALL") in pairs(line)
    assert line[-4:] == ["--", "python", "-m", "x"]
    assert "SECRET" not in line and "/root" not in line and ("HOME", sandbox.HOME) in pairs(line)
    assert ("PYTHONPATH", "/course") in pairs(line) and ("OMP_NUM_THREADS", "1") in pairs(line)
    bound = [source for option, source in pairs(line) if "bind" in option]
    assert "/course" in bound and not {"/", "/home", "/root", "/tmp", "/etc", "/var"} & set(bound)
    assert not any(option in ("--bind", "--bind-try", "--dev-bind", "--share-net") for option in line)
    sealed = [place for option, place in pairs(line) if option == "--remount-ro"]
    assert set(sealed) == {"/", "/tmp", "/dev", "/proc", sandbox.HOME}
    assert line.index("--tmpfs") < line.index("/course", line.index("--tmpfs")) < line.index("--remount-ro")
    assert "--disable-userns" not in sandbox.command(["x"], {}, folders=[], nesting=True)


def test_only_the_package_is_readable_and_not_what_lies_around_it():
    root, places = environment.PACKAGE_ROOT, sandbox.readable()
    assert str(root / "autograder") in places or any(str(root).startswith(place) for place in places)
    if (root / "solutions").is_dir():
        assert str(root) not in places and not any(place.endswith("solutions") for place in places)


@pytest.mark.parametrize("way", ["absent", "refuses"])
def test_where_there_is_no_sandbox_one_line_says_so_and_grading_goes_on(one, monkeypatch, tmp_path, way):
    program, which = tmp_path / "bwrap", shutil.which
    monkeypatch.setattr(sandbox.shutil, "which", lambda name, **more: found if name == "bwrap" else which(name, **more))
    found = None
    if way == "refuses":
        program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
        program.chmod(0o755)
        found = str(program)
    sandbox.fenced.cache_clear()
    words = io.StringIO()
    monkeypatch.setattr(child, "run_judge", small.judge)
    try:
        grading.grade(
            [small.LAB], one / "submitted", one / "out", 5, released=one / "labs", gather=small.gather, stream=words
        )
        said = [line for line in words.getvalue().splitlines() if "no sandbox" in line]
        assert len(said) == 1 and ("no bwrap" if way == "absent" else "No permissions") in said[0]
        with pool.sandboxing() as sentence:
            assert sentence == said[0] and not pool.shared().sandboxed
    finally:
        sandbox.fenced.cache_clear()


# inside


@pytest.fixture
def pretend(monkeypatch):
    """Runs a script as the child, in the sandbox, as a worker of the pool would be: its answers."""
    made = []

    def run(script, **more):
        start = "import json, os, sys, time\njobs = sys.stdin\ndef say(**m): print(json.dumps(m), flush=True)\n"
        text = start + textwrap.dedent(script)
        monkeypatch.setattr(environment, "command", lambda: [sys.executable, "-c", text])
        worker = Worker(sandboxed=True)
        made.append(worker)
        worker.wait_ready()
        return worker

    yield run
    for worker in made:
        worker.close()


@INSIDE
def test_a_child_that_tries_reaches_nothing(pretend, tmp_path, monkeypatch):
    secret = tmp_path / "class" / "bob" / "lab.ipynb"
    secret.parent.mkdir(parents=True)
    secret.write_text("another student's work")
    monkeypatch.setenv("GRADER_TOKEN", "secret")
    worker = pretend("""
        import socket, ctypes
        say(ready=True)
        found = {}
        places = json.loads(jobs.readline())
        def trying(name, what):
            try:
                found[name] = repr(what())
            except Exception as problem:
                found[name] = "no: " + type(problem).__name__
        def connect():
            with socket.create_connection((places["host"], places["port"]), timeout=2):
                return "connected"
        trying("net", connect)
        trying("dns", lambda: socket.getaddrinfo("example.org", 80))
        trying("interfaces", lambda: sorted(name for _, name in socket.if_nameindex()))
        for place in places["read"]:
            trying("read " + place, lambda: (os.listdir if os.path.isdir(place) else open)(place))
        for place in places["write"]:
            trying("write " + place, lambda: open(place, "w").write("x"))
        trying("tokens", lambda: [n for n in os.environ if "TOKEN" in n])
        trying("first environment", lambda: open("/proc/1/environ").read())
        trying("processes", lambda: sorted(int(p) for p in os.listdir("/proc") if p.isdigit()))
        trying("kill", lambda: os.kill(places["pid"], 0))
        status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
        found["caps"] = sorted({status[n].strip() for n in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")})
        found["new privileges"] = status["NoNewPrivs"]
        libc = ctypes.CDLL(None, use_errno=True)
        found["nested user namespace"] = libc.unshare(0x10000000)
        found["mount"] = libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)
        trying("chroot", lambda: os.chroot("/usr"))
        trying("setuid", lambda: os.setuid(0))
        say(**found)
        jobs.readline()
    """)
    import socket

    writes = ["/x", "/tmp/x", "/home/x", "/dev/shm/x", "/usr/x"]
    writes += ["/proc/sys/kernel/core_pattern", "/proc/self/oom_score_adj"]
    writes += [str(tmp_path / "x"), str(environment.PACKAGE_ROOT / "autograder" / "x.py"), str(Path(sys.prefix) / "x")]
    reads = [str(secret), str(secret.parent), str(environment.PACKAGE_ROOT / "solutions")]
    reads += ["/var", "/etc/passwd", "/sys"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        job = {"host": "127.0.0.1", "port": server.getsockname()[1], "pid": os.getpid(), "read": reads, "write": writes}
        found = worker.run(job, 60)
    assert found["net"].startswith("no: ") and found["dns"].startswith("no: "), found
    assert found["interfaces"] == "['lo']"
    for place in reads:
        assert found[f"read {place}"] == "no: FileNotFoundError", place
    for place in writes:
        assert found[f"write {place}"].startswith("no: "), place
    assert found["tokens"] == "[]" and "TOKEN" not in found["first environment"]
    assert found["processes"] == "[1, 2]" and found["kill"] == "no: ProcessLookupError"
    assert found["caps"] == ["0000000000000000"] and found["new privileges"].strip() == "1"
    assert found["mount"] == -1 and found["chroot"].startswith("no: ") and found["setuid"].startswith("no: ")
    if not FENCED[1]:  # a bubblewrap that can forbid it
        assert found["nested user namespace"] == -1


def commands():
    """The command lines of all processes, zombies left out."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = (entry / "cmdline").read_bytes()
            except OSError:
                continue
    return found


def none_left(mark, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(mark in line for line in commands().values()):
            return True
        time.sleep(0.05)
    return False


@INSIDE
def test_a_child_that_wants_to_survive_ends_with_its_worker(pretend):
    """Its own processes in sessions of their own, too: they are in its process namespace."""
    mark = f"survivor-{os.getpid()}-{time.monotonic_ns()}"
    worker = pretend(f"""
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                time.sleep(300)  # {mark}
        say(ready=True)
        time.sleep(300)
    """)
    assert any(mark.encode() in line for line in commands().values())
    worker.close()
    assert none_left(mark.encode())


@INSIDE
def test_a_killed_parent_takes_the_sandbox_with_it():
    mark = f"orphan-{os.getpid()}-{time.monotonic_ns()}"
    script = f"""
import sys, time, threading
from autograder.child import environment, sandbox
from autograder.child.worker import Worker
assert sandbox.fenced()[0]
code = "print('{{\\"ready\\":true}}', flush=True)\\nimport time\\ntime.sleep(300)  # {mark}"
environment.command = lambda: [sys.executable, "-c", code]
workers = []
def start():
    workers.append(Worker(sandboxed=True))
    workers[0].wait_ready()
thread = threading.Thread(target=start)
thread.start()
thread.join()
time.sleep(0.3)
print("alive" if workers[0].alive else "dead", flush=True)
time.sleep(300)
"""
    path = os.pathsep.join(filter(None, [str(environment.PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]))
    variables = {**os.environ, "PYTHONPATH": path}
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=variables)
    try:
        assert parent.stdout.readline() == b"alive\n"  # though the thread that asked for it has ended
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.communicate()
    assert none_left(mark.encode())


@INSIDE
def test_how_a_sandboxed_child_ended_is_known(pretend):
    for number, words in ((signal.SIGKILL, "signal SIGKILL"), (signal.SIGSEGV, "signal SIGSEGV")):
        worker = pretend(f"say(ready=True); jobs.readline(); os.kill(os.getpid(), {int(number)})")
        with pytest.raises(WorkerFailed) as failure:
            worker.run({}, 30)
        assert failure.value.reason == "died" and failure.value.detail == words
    worker = pretend(f"say(ready=True); jobs.readline(); os.kill(os.getpid(), {int(signal.SIGXCPU)})")
    with pytest.raises(WorkerFailed) as failure:
        worker.run({}, 30)
    assert failure.value.reason == "wall"


@INSIDE
def test_a_real_kernel_is_judged_the_same_inside(monkeypatch):
    inner = Pool(sandboxed=True)
    monkeypatch.setattr(child, "shared", lambda: inner)
    fenced = run_judge(kernel(), CHECK, 5)
    inner.close()
    monkeypatch.undo()
    assert fenced.passed and fenced == run_judge(kernel(), CHECK, 5)


@INSIDE
def test_grading_uses_the_sandbox_and_the_notebook_does_not(one, monkeypatch):
    seen = []
    monkeypatch.setattr(child, "run_judge", lambda *job: seen.append(pool.shared().sandboxed) or small.judge(*job))
    words = io.StringIO()
    places = (one / "submitted", one / "out", 5)
    grading.grade([small.LAB], *places, released=one / "labs", gather=small.gather, stream=words)
    assert seen == [True] * 3 and not pool.shared().sandboxed and "no sandbox" not in words.getvalue()
    assert json.dumps(words.getvalue()).count("Judging") == 1
