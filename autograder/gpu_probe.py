"""Is there a GPU that runs a numba kernel? Found out in another process, by running one."""

from __future__ import annotations

import ctypes.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

SECONDS = 90  # the first compilation on a slow machine

_SCRIPT = """
import json
import numpy as np
from numba import cuda

@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

x = np.zeros(32, dtype=np.float32)
add_one[1, 32](x)
cuda.synchronize()
assert x.sum() == 32
name = cuda.get_current_device().name
print(json.dumps(name.decode() if isinstance(name, bytes) else str(name)))
"""


@dataclass(frozen=True)
class Probe:
    """``usable`` with the card's ``name``; or not, with a ``reason`` where a card seems to be there."""

    usable: bool
    name: str = ""
    reason: str = ""


def probe() -> Probe:
    """Try a real launch, if a GPU seems to be there at all. Never raises."""
    if not seems_present():
        return Probe(False)
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Probe(False, reason=f"the GPU did not answer in {SECONDS} s")
    except OSError as problem:
        return Probe(False, reason=f"the GPU could not be tried ({problem})")
    if done.returncode == 0 and done.stdout.strip():
        return Probe(True, name=str(json.loads(done.stdout.strip().splitlines()[-1])))
    return Probe(False, reason=_reason(done.stderr))


def seems_present() -> bool:
    """Cheap signs of an NVIDIA card: its device file, its tool, or its driver library."""
    if os.path.exists("/dev/nvidia0") or shutil.which("nvidia-smi"):
        return True
    return ctypes.util.find_library("nvcuda" if os.name == "nt" else "cuda") is not None


def _reason(errors: str) -> str:
    """The failure in one line, with the remedy where we know it."""
    if "UNSUPPORTED_PTX_VERSION" in errors or "unsupported toolchain" in errors.lower():
        return (
            "the GPU's driver is older than the installed CUDA toolkit: install the toolkit of the driver's "
            'version (`pip install "numba-cuda[cu12]"`), then restart'
        )
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    last = lines[-1].strip()[:160] if lines else "it ended without a word"
    return f"a GPU is there, but a test kernel did not run on it ({last})"
