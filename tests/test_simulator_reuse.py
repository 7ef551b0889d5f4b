"""Loads that the compiler would not repeat: never another value, and only where nothing may have changed it."""

import importlib.util
import random

import numpy as np
import pytest
from numba import cuda, float32

from autograder.simulator import launch


class Program:
    """Random kernel bodies over three small arrays; one thread runs them, so plain Python gives the right answer."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.loops = 0

    def index(self):
        return self.random.choice(["0", "1", "i", "j", "i + 1", "1 + i", "k[0]", "(i + j) % 4", "a % 4"])

    def load(self):
        kind = self.random.random()
        if kind < 0.5:
            return f"{self.random.choice('xs')}[{self.index()}]"
        if kind < 0.7:
            return f"y[{self.random.choice('ij01')}, {self.random.choice(['0', '1', 'i', 'j'])}]"
        return f"{self.random.choice(['r', 'y[i]'])}[{self.random.choice('ij01')}]"

    def expression(self):
        kind = self.random.random()
        first, second = self.load(), self.load()
        if kind < 0.4:
            return f"{first} + {second}"
        if kind < 0.55:
            return f"({first} if a % 2 == 0 else {second})"
        if kind < 0.7:
            return f"max({first}, {second}) - {self.load()}"
        return self.random.choice([first, f"{first} + a", f"b - {first}", "a", "i * 2"])

    def statement(self, depth, indent):
        pad = "    " * indent
        kind = self.random.random()
        if kind < 0.35 or depth > 2:
            self.lines.append(f"{pad}{self.random.choice('ab')} = int({self.expression()}) % 100")
        elif kind < 0.6:
            target = self.random.choice([f"x[{self.index()}]", f"s[{self.index()}]", "y[i, j]", "r[j]", "k[0]"])
            value = self.expression()
            self.lines.append(f"{pad}{target} = ({value}) % {4 if target == 'k[0]' else 50}")
        elif kind < 0.68:
            self.lines.append(f"{pad}{self.random.choice(['x[i]', 's[j]', 'y[j, i]'])} += {self.load()} % 7")
        elif kind < 0.72:
            self.lines.append(f"{pad}x[i], x[j] = x[j], x[i]")
        elif kind < 0.76:
            self.lines.append(f"{pad}r = y[{self.random.choice('ij')}]")
        elif kind < 0.87:
            condition = self.random.choice([f"{self.load()} > b", "a % 2 == 0", "i < j", f"a < 50 and {self.load()} > 3"])
            self.lines.append(f"{pad}if {condition}:")
            self.block(depth + 1, indent + 1)
            if self.random.random() < 0.4:
                self.lines.append(f"{pad}else:")
                self.block(depth + 1, indent + 1)
        elif kind < 0.95:
            self.lines.append(f"{pad}for {self.random.choice('ij')} in range({self.random.choice(['3', '2', 'a % 3'])}):")
            self.block(depth + 1, indent + 1)
            if self.random.random() < 0.3:
                self.lines.append(f"{pad}    if {self.load()} > 20:")
                self.lines.append(f"{pad}        {self.random.choice(['break', 'continue'])}")
                self.block(depth + 2, indent + 1)
        else:
            self.loops += 1
            n = f"n{self.loops}"
            self.lines += [f"{pad}{n} = 0", f"{pad}while {n} < 2 and {self.load()} < 90:", f"{pad}    {n} += 1"]
            self.block(depth + 1, indent + 1)

    def block(self, depth, indent):
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, indent)

    def text(self, name, shared):
        self.block(0, 1)
        self.block(0, 1)
        made = "cuda.shared.array(8, int64)" if shared else "np.empty(8, np.int64)"
        head = [f"def {name}(x, y, k, out):", "    a, b, i, j = 3, 5, 0, 1", f"    s = {made}", "    r = y[1]",
                "    for j in range(8):", "        s[j] = j", "    j = 1"]
        tail = ["    for i in range(8):", "        out[i] = s[i]", "    out[8], out[9] = a, b"]
        return "\n".join([*head, *self.lines, *tail])


PROGRAMS = 150


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "programs.py"
    parts = ["import numpy as np\nfrom numba import cuda, int64\n"]
    for seed in range(PROGRAMS):
        parts += [Program(seed).text(f"plain{seed}", False), "@cuda.jit\n" + Program(seed).text(f"kernel{seed}", True)]
    path.write_text("\n\n\n".join(parts) + "\n")
    spec = importlib.util.spec_from_file_location("programs_of_reuse", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("first", range(0, PROGRAMS, 30))
def test_random_programs_compute_what_plain_python_does(programs, first):
    touched = 0
    for seed in range(first, first + 30):
        def arrays():
            return (np.arange(8, dtype=np.int64) * 3, np.arange(64, dtype=np.int64).reshape(8, 8) % 11,
                    np.zeros(1, np.int64), np.zeros(10, np.int64))

        wanted, given = arrays(), arrays()
        getattr(programs, f"plain{seed}")(*wanted)
        trace = launch(getattr(programs, f"kernel{seed}"), 1, 1, given)
        for name, right, mine in zip(("x", "y", "k", "out"), wanted, given, strict=True):
            assert np.array_equal(right, mine), (seed, name, right, mine)
        touched += trace.accesses
    assert touched > 1000


def requests(kernel, *arrays, threads=32):
    trace = launch(kernel, 1, threads, arrays)
    return trace.traffic.load_requests, trace.findings


def vectors(count, n=64):
    return [np.arange(n, dtype=np.float32) for _ in range(count)]


@cuda.jit
def barrier_between(X, Y):
    t = cuda.threadIdx.x
    a = X[t]
    cuda.syncthreads()
    Y[t] = X[t] + a


@cuda.jit
def store_between(X, Y):
    t = cuda.threadIdx.x
    a = X[t]
    Y[t] = a
    Y[t + 32] = X[t]


@cuda.jit
def nothing_between(X, Y):
    t = cuda.threadIdx.x
    Y[t] = X[t] * X[t] + X[t]


@cuda.jit
def index_changes(X, Y):
    t = cuda.threadIdx.x
    a = X[t]
    t += 32
    Y[t] = a + X[t]


@cuda.jit
def only_in_a_branch(X, Y):
    t = cuda.threadIdx.x
    a = float32(0.0)
    if t < 40:
        a = X[t]
    Y[t] = a + X[t]


@cuda.jit
def in_a_loop(X, Y):
    t = cuda.threadIdx.x
    a = float32(0.0)
    for _ in range(5):
        a += X[t]
    Y[t] = a


@cuda.jit
def in_a_loop_behind_a_branch(X, Y):
    t = cuda.threadIdx.x
    a = float32(0.0)
    for n in range(5):
        if n > 2:
            a += X[t]
    Y[t] = a


@cuda.jit
def in_a_loop_that_stores(X, Y):
    t = cuda.threadIdx.x
    for n in range(5):
        Y[t] = X[t] + n


@pytest.mark.parametrize(("kernel", "loads"), [
    (barrier_between, 2), (store_between, 2), (nothing_between, 1), (index_changes, 2), (only_in_a_branch, 2),
    (in_a_loop, 1), (in_a_loop_behind_a_branch, 2), (in_a_loop_that_stores, 5),
], ids=lambda value: getattr(value, "__name__", str(value)))
def test_how_often_an_element_is_loaded(kernel, loads):
    X, Y = vectors(2)
    assert requests(kernel, X, Y) == (loads, ())


def test_a_value_that_was_stored_is_used_as_it_was_kept():
    @cuda.jit
    def whole_numbers(out, N):
        N[0] = 7.9
        out[0] = N[0]
        out[1] = 1.0 / 3.0
        out[2] = out[1] * 3.0

    out, N = np.zeros(3, np.float32), np.zeros(1, np.int32)
    trace = launch(whole_numbers, 1, 1, (out, N))
    assert out[0] == 7 and out[2] == np.float32(np.float32(1 / 3) * 3.0) and trace.traffic.load_requests == 0


def test_a_device_function_that_stores_is_noticed():
    @cuda.jit(device=True)
    def put(A, i, v):
        A[i] = v

    @cuda.jit(device=True)
    def look(A, i):
        return A[i] * float32(2.0)

    @cuda.jit
    def calls(X, Y):
        a = X[0]
        b = X[0] + look(Y, 1)
        put(X, 0, float32(9.0))
        Y[0] = a + b + X[0]

    X, Y = np.ones(4, np.float32), np.ones(4, np.float32)
    trace = launch(calls, 1, 1, (X, Y))
    assert Y[0] == 1 + 1 + 2 + 9 and trace.traffic.load_requests == 3
