"""How the judging child is started: which interpreter, with which variables and folders."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parents[2]  # the folder that holds autograder/

KEPT = (
    "PATH", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR",
    "COMSPEC", "TEMP", "TMP", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPYCACHEPREFIX",
)  # fmt: skip
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def command() -> list[str]:
    """The child's command line. ``-P`` keeps its working folder off the import path."""
    flags = ["-P"] if site.ENABLE_USER_SITE else ["-P", "-s"]
    return [sys.executable or "python", *flags, "-m", "autograder.child"]


def variables() -> dict[str, str]:
    """A short, known environment: what the system needs, the simulator flag, and one thread each for
    the numeric libraries (their pools would only eat the memory limit)."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {
        **kept,
        **{name: "1" for name in ONE_THREAD},
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(import_folders()),
    }


def import_folders() -> list[str]:
    """Folders that the child must search and would not by itself: this package's own, and what the
    parent was given explicitly; never the working folder, where a student's ``numpy.py`` may lie."""
    default = {_real(path) for path in _default_folders()}
    working = _real(os.getcwd()) if _has_cwd() else ""
    folders: list[str] = []
    for path in [str(PACKAGE_ROOT), *sys.path]:
        real = _real(path) if path else working
        ours = real == _real(str(PACKAGE_ROOT))
        if real in default or real in folders or not os.path.exists(real):
            continue
        if ours or (real != working and os.path.isabs(path)):
            folders.append(real)
    return folders


def _default_folders() -> list[str]:
    paths = sysconfig.get_paths()
    stdlib = [paths["stdlib"], paths["platstdlib"]]
    dynload = [os.path.join(path, "lib-dynload") for path in stdlib]
    zipped = [path for path in sys.path if path.endswith(".zip")]
    packages = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    return [*stdlib, *dynload, *zipped, *packages, *user_packages()]


def user_packages() -> list[str]:
    """The folder of the packages that the user installed for themselves, where Python looks into it."""
    return [site.getusersitepackages()] if site.ENABLE_USER_SITE else []


def _real(path: str) -> str:
    return os.path.realpath(path)


def _has_cwd() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True
