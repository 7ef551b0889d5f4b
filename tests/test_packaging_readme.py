"""The README's commands exist and take the options it shows; what it links and lists is there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def lines(language):
    """The commands in the README's blocks of one language, comments taken off."""
    return [line.partition("  #")[0].strip() for block in blocks(language) for line in block.splitlines()]


def autograder_lines():
    inline = re.findall(r"`(autograder [a-z][^`]*)`", README)
    return sorted({line for line in (*lines("bash"), *inline) if line.startswith("autograder ")})


@pytest.mark.parametrize("line", autograder_lines())
def test_every_autograder_command_is_understood(line):
    from autograder.cli import _parser

    words = shlex.split(line)[1:]
    if any(word.isupper() or "::KERNEL" in word for word in words):  # a line of the table: names for the reader
        words = {"check": ["lab1.row_max", "f.py"], "xray": ["f.py::k", "--grid", "1", "--block", "1"],
                 "grade": ["lab1_three_pass", "--submitted", "s", "--out", "o"], "report": ["o"],
                 "export": ["canvas", "--grades", "o", "--to", "f.csv"]}[words[0]]  # fmt: skip
        words = [line.split()[1], *words]
    assert callable(_parser(words).parse_args(words).func)


def run(line):
    arguments = shlex.split(line)[1:]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "autograder", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, encoding="utf-8")


def test_the_check_command_fails_an_untouched_lab_with_a_reason():
    (line,) = [line for line in autograder_lines() if line.startswith("autograder check lab1")]
    done = run(line)
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert "row_max" in done.stdout + done.stderr
    solved = run(line.replace("labs/", "solutions/"))
    assert solved.returncode == 0, solved.stdout + solved.stderr


def test_the_xray_command_prints_a_ledger():
    (line,) = [line for line in autograder_lines() if line.startswith("autograder xray solutions")]
    done = run(line)
    assert done.returncode == 0, done.stderr
    assert "12,288" in done.stdout or "12288" in done.stdout  # load sectors of three passes over 8x4096


def test_every_make_target_exists_and_every_target_is_told():
    told = set(re.findall(r"\bmake ([a-z][a-z-]*)", "\n".join([*re.findall(r"`([^`\n]*)`", README), *lines("bash")])))
    assert told <= TARGETS
    assert TARGETS - {"help"} <= told
    help_text = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    assert TARGETS - {"help"} == set(re.findall(r"^make ([a-z-]+)", help_text, re.MULTILINE))


def test_both_ways_without_make_install_the_same():
    install = 'python -m pip install -c constraints.txt -e ".[test]"'
    assert install in lines("bash") and install in lines("powershell")
    assert re.search(r"install .*-c constraints.txt -e '\.\[test\]'", MAKEFILE)


def test_links_and_folders_are_there():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
    (layout,) = [block for block in blocks("") if block.startswith("course/")]
    for line in layout.splitlines():
        name = line.split()[0]
        assert (ROOT / name).is_dir() or (ROOT / "autograder" / name).is_dir(), name


def test_ci_runs_the_tests_and_is_executable():
    script = ROOT / ".ci" / "run"
    assert script.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
    assert "make test" in script.read_text(encoding="utf-8")
    assert os.name == "nt" or os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0
