"""What the GPU compiler says about lab 4's kernels: registers a thread, stack and shared memory.

    python course/data/registers.py > course/data/registers.json

Needs no GPU, but numba-cuda with NVVM, the CUDA runtime's headers and nvJitLink, and the repository on PYTHONPATH.
numba compiles each kernel to PTX; nvJitLink assembles it for a card and tells what it took (``-verbose``). 32 values
a thread are 128 bytes: where the stack is that large, the slots are not in registers but in local memory.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import tempfile
import types
from importlib import util
from pathlib import Path

os.environ["NUMBA_ENABLE_CUDASIM"] = "0"

import numba
from cuda.bindings import nvjitlink
from numba.cuda import compile_ptx, dispatcher

from autograder.exercises.texts import kernel_text

CARDS = {"T4": 75, "A100": 80, "H200": 90}
KERNELS = {
    "row_cache two_reductions": ("softmax_row_cache", "two_reductions", ()),
    "register_cache two_reductions": ("softmax_register_cache", "two_reductions", ()),
    "register_cache guarded_slots": ("softmax_register_cache", "guarded_slots", ()),
    "register_cache used_slots": ("softmax_register_cache", "used_slots", ()),
    "register_cache sixteen_bytes": ("softmax_register_cache", "sixteen_bytes", ()),
    **{
        f"register_cache two_reductions, {slots} slots": (
            "softmax_register_cache",
            "two_reductions",
            (("local.array(32,", f"local.array({slots},"), ("range(32)", f"range({slots})")),
        )
        for slots in (8, 16, 64, 128, 256)
    },
}
USED = re.compile(r"used (\d+) registers.*?(\d+) stack(?:, (\d+) bytes smem)?", re.DOTALL)


def kernel(name: str, variant: str, edits: tuple[tuple[str, str], ...]):
    """The function of a right kernel of lab 4, after replacing text in it."""
    text = kernel_text(f"lab4.{name}", variant)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    path = Path(tempfile.mkdtemp()) / "kernel.py"
    path.write_text(text, encoding="utf-8")
    spec = util.spec_from_file_location("kernel", path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name).py_func


def compiled(function, capability: int) -> dict[str, int]:
    """Registers a thread, stack bytes a thread and shared bytes a block on a card of that capability."""
    cc = divmod(capability, 10)
    # A device function is compiled for the card that is there; here none is.
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=cc)
    rows = numba.types.Array(numba.float32, 2, "C")
    ptx, _ = compile_ptx(function, (rows, rows), cc=cc)
    handle = nvjitlink.create(2, [f"-arch=sm_{capability}", "-verbose"])
    data = ptx.encode() + b"\0"
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "kernel.ptx")
    nvjitlink.complete(handle)
    log = bytearray(nvjitlink.get_info_log_size(handle))
    nvjitlink.get_info_log(handle, log)
    registers, stack, shared = USED.search(log.decode()).groups()
    return {"registers": int(registers), "stack": int(stack), "shared": int(shared or 0)}


def main() -> None:
    versions = {name: importlib.metadata.version(name) for name in ("numba", "numba-cuda", "nvidia-nvjitlink-cu12")}
    found = {
        name: {card: compiled(kernel(*made), capability) for card, capability in CARDS.items()}
        for name, made in KERNELS.items()
    }
    made_by = {**versions, "command": "python course/data/registers.py"}
    print(json.dumps({"made_by": made_by, "kernels": found}, indent=1))


if __name__ == "__main__":
    main()
