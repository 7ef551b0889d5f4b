"""The simulator gives every value the type that numba-cuda's compiler gives it, and refuses what that refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import compiler_types
import numba
import numpy as np
import pytest
from compiler_types import LETTERS, NAMES
from numba import cuda

from autograder.simulator import KernelError, kinds, launch, signatures
from autograder.simulator.errors import KernelTypeError
from autograder.simulator.template import specialise, template

STORED = json.loads((Path(__file__).parent / "compiler_types.json").read_text())
TABLES = STORED["tables"]


def written(kind):
    if kind is None:
        return "unknown"
    return f"Tuple({', '.join(written(k) for k in kind.items)})" if kind.name == "tuple" else kind.name


def pairs(find):
    return "".join(LETTERS[str(find(a, b))] for a in NAMES for b in NAMES)


def planned(name, *types):
    try:
        result = signatures.plan(name, [kinds.number(t) for t in types]).result
    except KernelTypeError:
        return "-"
    return LETTERS.get(result.name, "?")


@pytest.mark.parametrize("op", sorted(compiler_types.OPERATORS))
def test_operators(op):
    assert pairs(lambda a, b: (kinds.RULES[op](a, b) or [None])[-1]) == TABLES[op]


def test_unification():
    assert pairs(kinds.common) == TABLES["unify"]


@pytest.mark.parametrize(
    "name", ["abs", "int", "float", "bool", "round", *[n for n in TABLES if n.startswith("math.")]]
)
def test_builtins_and_math(name):
    if name.endswith(" of two"):
        found = "".join(planned(name.split()[0], a, b) for a in NAMES for b in NAMES)
    else:
        found = "".join(planned(name, a) for a in NAMES)
    assert found == TABLES[name]


@cuda.jit(device=True)
def identity(v):
    return v


def kind_of(name):
    scalar = kinds.number(name.lstrip("@"))
    return kinds.array(scalar, 1, 20) if name.startswith("@") else scalar


@pytest.mark.parametrize(
    ("body", "types", "answer"), STORED["functions"], ids=[f"{b} {','.join(t)}" for b, t, _ in STORED["functions"]]
)
def test_functions(body, types, answer):
    made = compiler_types.function(body, types, numba=numba, cuda=cuda)
    form = specialise(made, [kind_of(t) for t in types])
    if answer == "refused":
        with pytest.raises(KernelError, match="line 2"):
            template(form, lambda f: False)
    else:
        assert written(template(form, lambda f: False).returns) == answer


@pytest.mark.skipif("numba_cuda" not in Path(cuda.__file__).parts, reason="numba alone: there is no numba-cuda here")
def test_the_stored_types_are_those_of_the_installed_compiler():
    every = 6
    run = subprocess.run(
        [sys.executable, compiler_types.__file__, str(every)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "0"},
    )
    found = json.loads(run.stdout)
    assert found["tables"] == TABLES
    assert found["functions"] == STORED["functions"][::every]


def test_a_device_function_has_one_form_for_each_set_of_types():
    @cuda.jit
    def kernel(x, out):
        out[0] = identity(x[0]) / 3  # float32 / int64: float64
        out[1] = identity(7) / 2
        out[2] = identity(x[0]) / np.float32(3)

    out = np.zeros(3)
    launch(kernel, 1, 1, (np.ones(1, np.float32), out))
    assert out.tolist() == [1 / 3, 3.5, float(np.float32(1) / np.float32(3))]


def test_forms_are_kept_and_forgotten_with_their_function():
    function = identity.fn
    assert specialise(function, [kinds.FLOAT32]) is specialise(function, [kinds.FLOAT32])
    assert specialise(function, [kinds.FLOAT32]) is not specialise(function, [kinds.FLOAT64])
