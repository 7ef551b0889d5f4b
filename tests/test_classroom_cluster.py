"""Judging on a dask cluster: the same results, lost workers, lost schedulers, and what is said when it cannot be."""

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import classroom_lab as small
import cluster_task
import pytest
from classroom_lab import alembic_once, one  # noqa: F401  (fixtures)

from autograder.classroom import cluster, grading
from autograder.classroom.cluster import Cluster, ClusterError, connected
from autograder.classroom.jobs import Job
from autograder.classroom.verdict_store import engine_digest
from autograder.exercises import get

ROOT = Path(grading.__file__).resolve().parents[2]
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")


@dataclass(frozen=True)
class Text:
    digest: str

    def as_json(self):
        return {"text": self.digest}


JOBS = [Job((number,), Text(f"kernel {number}"), "lab1.row_max.values", 5) for number in range(24)]


@pytest.fixture(scope="module")
def two():
    """A cluster of two processes; its scheduler lives in this one."""
    engine_digest.cache_clear()  # whoever edits the course while its tests run
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
    ) as local:
        yield local


def test_the_same_as_on_this_machine(two, tmp_path):
    """Real kernels in a small class, where two students have the same; the workers' processes judge nothing."""
    small.write_release(tmp_path)
    largest, total = get("lab1.row_max"), get("lab1.row_sum")
    import_line = "import math\nimport numpy as np\nfrom numba import cuda, float32\n\n"
    right = import_line + largest.variants[0].text, import_line + total.variants[0].text
    wrong = import_line + largest.bugs[0].text, right[1]
    for student, (row_max, row_sum) in {"ann": right, "bob": wrong, "cem": right}.items():
        small.hand_in(tmp_path, student, small.answered(row_max=row_max, row_sum=row_sum))

    def grade(out, **where):
        words = io.StringIO()
        places = (tmp_path / "submitted", tmp_path / out, 5)
        return grading.grade([small.LAB], *places, released=tmp_path / "labs", stream=words, **where), words.getvalue()

    there, words = grade("there", dask=two.scheduler_address)
    here, _ = grade("here", jobs=1)
    assert "Judging 5/5 checks" in words  # what two or three have, once
    assert there.rows == here.rows
    pages = [sorted((tmp_path / out / "autograded").rglob("*.ipynb")) for out in ("there", "here")]
    assert len(pages[0]) == 3 and [page.read_bytes() for page in pages[0]] == [page.read_bytes() for page in pages[1]]
    assert there.grades.read_bytes() == here.grades.read_bytes()
    assert {row.student: row.score for row in there.rows}["ann"] == 3.0
    assert {row.student: row.score for row in there.rows}["bob"] < 3.0
    with connected(two.scheduler_address) as found:
        assert not any(found.client.run(_has_judged).values())


def _has_judged():
    return "numba" in sys.modules or "autograder.judge.battery" in sys.modules


def test_a_lost_worker_costs_nothing(two):
    seconds = []
    with connected(two.scheduler_address, lambda _, spent: seconds.append(spent)) as found:
        found._task = cluster_task.slow
        results = {}
        for job, report in found(JOBS):
            results[job.key] = report
            if len(results) == 3:
                os.kill(seconds[0], signal.SIGKILL)
    assert len(results) == len(JOBS)
    assert all(results[job.key].source == job.source.digest for job in JOBS)
    assert {report.details["seed"] for report in results.values()} == {5}


def test_a_fault_in_a_worker_is_that_check_s(two):
    with connected(two.scheduler_address) as found:
        found._task = cluster_task.failing
        ((job, error),) = found(JOBS[:1])
    assert isinstance(error, RuntimeError) and "out of order" in str(error) and found._number == cluster.TRIES


def test_a_worker_with_another_judge_is_refused(two):
    with connected(two.scheduler_address) as found:
        found._engine = "another"
        with pytest.raises(ClusterError, match="another version"):
            list(found(JOBS[:1]))


def test_no_worker_is_said(monkeypatch):
    class Client:
        status = "running"

        def nthreads(self):
            return {}

        def submit(self, *_, key, **__):
            return Future(key)

    @dataclass
    class Future:
        key: str

        def add_done_callback(self, _):
            pass

    monkeypatch.setattr(cluster, "NO_WORKER_S", 0.1)
    monkeypatch.setattr(cluster, "POLL_S", 0.05)
    with pytest.raises(ClusterError, match="no worker"):
        list(Cluster(Client(), "tcp://here")(JOBS))


SCHEDULER = """
import sys, time
sys.path[:0] = {paths!r}
from distributed import LocalCluster
with LocalCluster(
    n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=None
) as local:
    print(local.scheduler_address, flush=True)
    time.sleep(120)
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_a_lost_scheduler_is_one_sentence_and_nothing_is_judged_twice(one, monkeypatch, capsys):
    """Through the command: exit status 2, and the next run goes on from the store."""
    import test_classroom_faults as faults

    monkeypatch.setattr("autograder.source.gather_notebook", lambda *a, **k: Text(small.gather(*a, **k).digest))
    monkeypatch.setattr("autograder.child.run_judge", small.judge)
    monkeypatch.setattr(Text, "lines", (), raising=False)
    monkeypatch.setattr(Text, "labels", (), raising=False)
    monkeypatch.setattr(cluster, "AHEAD", 1)
    monkeypatch.setattr(Cluster.__init__, "__defaults__", (None, cluster_task.slow))
    script = SCHEDULER.format(paths=[str(ROOT), str(ROOT / "tests")])
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    address = process.stdout.readline().decode().strip()
    outcome = Cluster._outcome

    def killing(self, future, job):
        report = outcome(self, future, job)
        process.kill()
        process.wait()
        return report

    with monkeypatch.context() as patch:
        patch.setattr(Cluster, "_outcome", killing)
        started = time.monotonic()
        assert faults.command(one, "--dask", address) == 2
        assert time.monotonic() - started < 60
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "does not answer any more" in said and "run the same command again" in said
    assert not (one / "out" / "grades.csv").exists()
    process.stdout.close()
    asked = []
    monkeypatch.setattr("autograder.child.run_judge", lambda *job: asked.append(job) or small.judge(*job))
    assert faults.command(one) == 0
    assert 0 < len(asked) < 3


def test_nobody_answers(one, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    for address in ("tcp://127.0.0.1:9", "no address", "nonsense://x"):
        with pytest.raises(ClusterError, match="No dask scheduler answers"), connected(address):
            pass


def test_without_dask_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install .*\[cluster\]"), connected("tcp://127.0.0.1:8786"):
        pass
