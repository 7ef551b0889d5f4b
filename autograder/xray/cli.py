"""``autograder xray FILE.py::kernel``: the ledger and picture of any kernel, on the command line."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autograder.xray.look import (
    STEP_LIMIT,
    Configuration,
    argument_problem,
    caution,
    parameter_names,
    trace_here,
)
from autograder.xray.sources import FileProblem, load_kernel, told_by

MOST_BYTES = 2**31


class BadInput(ValueError):
    """Something on the command line cannot be used; the message is a sentence."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``xray``; its ``func(args)`` returns 0, or 2 with one sentence on stderr."""
    parser = subparsers.add_parser(
        "xray",
        help="show what a kernel moves: traffic by source line, and a picture",
        description="Run one traced launch of a kernel on the simulator and show its traffic by source"
        " line, which part of each array it touches when, and the sanitizer's findings. Arrays are filled"
        " with seeded random normal numbers and bound to the kernel's parameters by name, else in order.",
        epilog="example: autograder xray softmax.py::kernel --grid 8 --block 256"
        " --array X=8x4096 --array Y=8x4096",
    )
    parser.add_argument("target", metavar="FILE::KERNEL", help="a .py file or .ipynb notebook, and the kernel")
    parser.add_argument("--grid", required=True, metavar="SHAPE", help="blocks: 8, 8x4 or 8,4")
    parser.add_argument("--block", required=True, metavar="SHAPE", help="threads of a block: 256 or 32x8")
    parser.add_argument("--array", action="append", default=[], metavar="NAME=SHAPE[:DTYPE]",
                        help="an array argument, for example X=8x4096 or index=1000:int32")
    parser.add_argument("--scalar", action="append", default=[], metavar="NAME=VALUE",
                        help="a number argument, for example n=4096 or scale=0.125")
    parser.add_argument("--dtype", default="float32", help="dtype of arrays that name none (float32)")
    parser.add_argument("--shared", type=int, default=0, metavar="BYTES", help="dynamic shared memory (0)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (0)")
    parser.add_argument("--step-limit", type=int, default=STEP_LIMIT, metavar="N",
                        help=f"most simulated steps ({STEP_LIMIT:,})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--html", metavar="OUT.html", help="also write a page with the table and the picture")
    parser.set_defaults(func=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Carry out the command. 0, or 2 when there is nothing to show."""
    try:
        # what the file or the kernel prints must not get between the lines of the JSON
        with contextlib.redirect_stdout(sys.stderr) if args.json else contextlib.nullcontext():
            result = _look(args)
    except (BadInput, FileProblem) as problem:
        return _refuse(str(problem))
    if result.trace is None:
        return _refuse(result.message)
    if args.html:
        try:
            Path(args.html).write_text(result.page(), encoding="utf-8")
        except OSError as error:
            return _refuse(f"{args.html} could not be written: {error.strerror or error}.")
    print(json.dumps(result.as_json(), indent=2) if args.json else repr(result))
    if args.html and not args.json:
        print(f"\nThe picture is in {args.html}.")
    return 0


def _refuse(sentence: str) -> int:
    print(f"autograder xray: {sentence}", file=sys.stderr)
    return 2


def _look(args: argparse.Namespace) -> Any:
    file, _, name = args.target.rpartition("::")
    if not file or not name:
        raise BadInput(f"{args.target!r} does not say which kernel: write FILE.py::kernel.")
    grid, block = read_shape(args.grid, "--grid"), read_shape(args.block, "--block")
    if len(grid) > 3 or len(block) > 3:
        raise BadInput("A grid and a block have at most three dimensions.")
    arrays = [read_array(text, args.dtype) for text in args.array]
    scalars = [read_scalar(text) for text in args.scalar]
    named = [entry[0] for entry in (*arrays, *scalars)]
    twice = {n for n in named if named.count(n) > 1}
    if twice:
        raise BadInput(f"{', '.join(sorted(twice))} is given twice.")
    kernel, source = load_kernel(Path(file), name)
    function = getattr(kernel, "fn", None) or getattr(kernel, "py_func", None) or kernel
    setting = Configuration(kernel, function, grid, block, True, args.shared)
    rng = np.random.default_rng(args.seed)
    values: dict[str, Any] = {n: fill(rng, shape, dtype) for n, shape, dtype in arrays}
    values.update(scalars)
    arguments = bind(values, parameter_names(function))
    problem = argument_problem(setting, tuple(arguments))
    if problem:
        raise BadInput(f"{problem} Use --array NAME=SHAPE and --scalar NAME=VALUE.")
    result = trace_here(setting, arguments, args.step_limit)
    if source is not None:
        return told_by(source, result)
    return replace(result, caution=caution(kernel))


def bind(values: dict[str, Any], names: list[str] | None) -> list[Any]:
    """The values in the order of the parameters: first by name, the others into the free places."""
    if names is None:
        return list(values.values())
    free = [value for name, value in values.items() if name not in names]
    out = []
    for name in names:
        if name in values:
            out.append(values[name])
        elif free:
            out.append(free.pop(0))
    return out + free


def read_shape(text: str, what: str) -> tuple[int, ...]:
    """"8x4", "8,4" or "8" as whole numbers from 1. Raises BadInput."""
    parts = re.split(r"[x×,*]", text.strip().strip("()").replace(" ", ""))
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise BadInput(f"{what} {text!r} is not a shape: write whole numbers from 1, like 8 or 8x4.")
    return tuple(int(part) for part in parts)


def read_array(text: str, dtype: str) -> tuple[str, tuple[int, ...], np.dtype]:
    """"X=8x4096" or "X=8x4096:float64" as (name, shape, dtype). Raises BadInput."""
    name, equals, rest = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise BadInput(f"--array {text!r} is not of the form NAME=SHAPE, like X=8x4096.")
    shape_text, _, own = rest.partition(":")
    shape = read_shape(shape_text, f"The shape of --array {name.strip()},")
    try:
        kind = np.dtype(own or dtype)
    except TypeError:
        raise BadInput(f"{own or dtype!r} is not a dtype; use float32, float64, int32 and so on.") from None
    if kind.kind not in "biufc":
        raise BadInput(f"A kernel's array holds numbers; {own or dtype!r} does not.")
    if np.prod([float(n) for n in shape]) * kind.itemsize > MOST_BYTES:
        raise BadInput(f"--array {name.strip()} is larger than 2 GiB; use a smaller one, the counts scale.")
    return name.strip(), shape, kind


def read_scalar(text: str) -> tuple[str, int | float]:
    """"n=5" or "scale=0.125" as (name, number). Raises BadInput."""
    name, equals, value = text.partition("=")
    if equals and name.strip().isidentifier():
        for kind in (int, float):
            try:
                return name.strip(), kind(value)
            except ValueError:
                continue
    raise BadInput(f"--scalar {text!r} is not of the form NAME=NUMBER, like n=4096.")


def fill(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Random normal numbers; integers and booleans get their rounded size, so that none is negative."""
    data = rng.standard_normal(shape)
    if dtype.kind in "biu":
        return np.abs(np.rint(data)).astype(dtype)
    return data.astype(dtype)
