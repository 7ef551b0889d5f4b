"""The judging child inside bubblewrap: no network, no other process, nothing to read but Python and the
course, nothing to write, no capability. A second fence behind the source rules and the limits.

The new root is put together from nothing: what is not named here is not there, so neither the class's
folder nor anybody's home can be read.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

from . import environment

PROBE_S = 30.0  # seconds that the trial may take on a busy machine
HOME = "/home"
# The variables of the child that mean something inside: the rest names folders that are not there.
_KEPT = (
    "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONWARNINGS",
    "NUMBA_ENABLE_CUDASIM",
)  # fmt: skip
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime")
_FENCES = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL", "--uid", "65534", "--gid", "65534", "--new-session", "--die-with-parent",
)  # fmt: skip
_NO_NESTING = ("--disable-userns",)  # bubblewrap 0.8 and later


def command(
    inner: list[str],
    variables: Mapping[str, str],
    *,
    program: str = "bwrap",
    folders: Iterable[str] | None = None,
    nesting: bool = False,
) -> list[str]:
    """The command line that runs ``inner`` with ``variables`` in the sandbox. ``folders``: what it may read
    besides the system's libraries (default: this Python and this package). ``nesting``: leave out the option
    that an older bubblewrap does not have. To be started with an empty environment, because the first
    process in the sandbox keeps the one it was started with, for all to read in /proc."""
    known = {name: variables[name] for name in variables if name in _KEPT or name.endswith("_NUM_THREADS")}
    known |= {"HOME": HOME, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    line = [program, *_FENCES, *(() if nesting else _NO_NESTING), "--clearenv"]
    for name, value in sorted(known.items()):
        line += ["--setenv", name, value]
    for place in _SYSTEM:
        line += _system(place)
    for place in _SYSTEM_FILES:
        line += ["--ro-bind-try", place, place]
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", HOME, "--tmpfs", "/tmp"]
    for place in readable() if folders is None else folders:
        line += ["--ro-bind-try", place, place]
    # /proc too: started by root, the child would own /proc/sys and could write there without a capability.
    for place in (HOME, "/tmp", "/dev", "/proc", "/"):
        line += ["--remount-ro", place]
    return [*line, "--chdir", "/", "--", *inner]


def readable() -> list[str]:
    """The folders that the child has to read: Python, its packages, and this package (not the folder around
    it, where the solutions lie). Each also under its real name, sorted so that outer ones come first."""
    paths = sysconfig.get_paths()
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    places |= {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    places.add(os.path.dirname(os.path.realpath(sys.executable)))
    places |= set(environment.user_packages())
    for place in environment.import_folders():
        places.add(place if Path(place) != environment.PACKAGE_ROOT else os.path.join(place, "autograder"))
    places |= {place for place in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if place}
    places |= {os.path.realpath(place) for place in places}
    found = sorted(place for place in places if os.path.isabs(place) and os.path.exists(place) and place != "/")
    return [place for place in found if not any(_inside(place, other) for other in [*found, "/usr"])]


@functools.lru_cache(maxsize=1)
def fenced() -> tuple[tuple[str, ...], str]:
    """Whether the sandbox works here, tried once: ((program, "nesting" or ""), "") when it does, and ((),
    sentence) when it does not."""
    program = shutil.which("bwrap")
    if program is None:
        how = "install bubblewrap to add one" if sys.platform.startswith("linux") else "bubblewrap is for Linux"
        return (), f"The judging processes have limits but no sandbox around them: there is no bwrap here ({how})."
    reason = ""
    for nesting in (False, True):
        line = command([sys.executable, "-I", "-S", "-c", "pass"], {}, program=program, nesting=nesting)
        try:
            trial = subprocess.run(
                line, env={}, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            reason = str(problem)
            continue
        if trial.returncode == 0:
            return (program, "nesting" if nesting else ""), ""
        words = trial.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = words[-1][:200] if words else f"exit status {trial.returncode}"
    return (), (
        "The judging processes have limits but no sandbox around them: bubblewrap does not work here "
        f"({reason}), as in most containers."
    )


def wrapped(inner: list[str], variables: Mapping[str, str]) -> list[str]:
    """The command line for this machine, whose sandbox has been found to work."""
    (program, nesting), _ = fenced()
    return command(inner, variables, program=program, nesting=bool(nesting))


def _system(place: str) -> list[str]:
    """A folder of the system: bound, or the link that it is ("/lib" is "usr/lib" on most)."""
    if os.path.islink(place):
        return ["--symlink", os.readlink(place), place]
    return ["--ro-bind", place, place] if os.path.isdir(place) else []


def _inside(place: str, other: str) -> bool:
    return place != other and place.startswith(other.rstrip("/") + "/")
