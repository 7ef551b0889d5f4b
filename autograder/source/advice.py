"""What to say about a name that a kernel may not use: the sentence, and what to do instead."""

from __future__ import annotations

import ast
import builtins
import difflib
import unicodedata

from autograder.source import catalog

_SHORT = {"numpy": "np", "numba.cuda": "cuda", "builtins": ""}

_RUNNING_MAX = "keep a running maximum"
_RUNNING_MIN = "keep a running minimum"
_RUNNING_SUM = "add up in a loop"
_ARRAY = "use cuda.shared.array or cuda.local.array"
_OUTSIDE = "it belongs outside the kernel"
_ELEMENT = "write the element with a plain assignment"

_FOR_NUMPY = {
    "max": _RUNNING_MAX,
    "amax": _RUNNING_MAX,
    "nanmax": _RUNNING_MAX,
    "min": _RUNNING_MIN,
    "amin": _RUNNING_MIN,
    "sum": _RUNNING_SUM,
    "mean": _RUNNING_SUM,
    "cumsum": _RUNNING_SUM,
    "dot": _RUNNING_SUM,
    "prod": "multiply in a loop",
    "maximum": "write max(a, b)",
    "minimum": "write min(a, b)",
    "fmax": "write max(a, b)",
    "fmin": "write min(a, b)",
    "abs": "write abs(x)",
    "absolute": "write abs(x)",
    "where": "write `a if condition else b`",
    "power": "write x ** y",
    "zeros": _ARRAY,
    "empty": _ARRAY,
    "ones": _ARRAY,
    "full": _ARRAY,
    "array": _ARRAY,
    "zeros_like": _ARRAY,
    "empty_like": _ARRAY,
    "arange": "loop over range(...)",
    "NINF": "write -math.inf",
    "Inf": "write math.inf",
    "PINF": "write math.inf",
    "NaN": "write math.nan",
    "NAN": "write math.nan",
    "finfo": "work the limit out above the kernel, as a constant: SMALLEST = float(np.finfo(np.float32).min)",
    "iinfo": "work the limit out above the kernel, as a constant",
    "exp": "write math.exp",
    "float_": "write np.float64",
    "int_": "write np.int64",
    "intp": "write np.int64",
}
_FOR_MATH = {
    "fsum": _RUNNING_SUM,
    "prod": "multiply in a loop",
    "dist": "write math.sqrt and a loop",
    "isclose": "compare abs(a - b) with a tolerance",
    "cbrt": "write x ** (1 / 3)",
}
_FOR_CUDA = {
    "to_device": _OUTSIDE,
    "device_array": _OUTSIDE,
    "device_array_like": _OUTSIDE,
    "synchronize": "inside a kernel the barrier is cuda.syncthreads()",
    "const": "name the number as a constant above the kernel",
    "libdevice": "use the functions of math",
    "cg": "blocks cannot wait for each other here; end the kernel instead",
    "get_current_device": _OUTSIDE,
    "jit": "decorate a function above the kernel with it",
    "random": "a softmax needs no random numbers",
    "reduce": "write the reduction in the kernel",
    "atomic_add": "write cuda.atomic.add",
}
_FOR_NUMBA = {
    "prange": "write range",
    "njit": "for a GPU write cuda.jit",
    "jit": "for a GPU write cuda.jit",
    "vectorize": "for a GPU write cuda.jit",
    "typeof": "write the type itself",
}
_FOR_BUILTIN = {
    "sum": _RUNNING_SUM,
    "any": "test in a loop",
    "all": "test in a loop",
    "sorted": "a kernel cannot sort a list",
    "list": _ARRAY,
    "dict": _ARRAY,
    "set": _ARRAY,
    "tuple": "write the tuple out",
    "enumerate": "loop over range(...)",
    "zip": "loop over range(...)",
    "map": "loop over range(...)",
    "filter": "loop over range(...)",
    "reversed": "loop over range(start, stop, -1)",
    "isinstance": "write one kernel for one type",
    "str": "a kernel works on numbers only",
    "complex": "a kernel of this course works on real numbers",
}
_FOR_METHOD = {
    "max": _RUNNING_MAX,
    "min": _RUNNING_MIN,
    "sum": _RUNNING_SUM,
    "mean": _RUNNING_SUM,
    "dot": _RUNNING_SUM,
    "copy": _ARRAY,
    "astype": "convert one element: np.float32(x)",
    "item": "read one element: X[i, j]",
    "fill": _ELEMENT,
    "reshape": "work the index out instead",
    "flatten": "work the index out instead",
    "ravel": "work the index out instead",
    "flat": "work the index out instead",
    "T": "swap the indices instead",
    "append": _ARRAY,
    "argmax": _RUNNING_MAX,
    "any": "test in a loop",
    "all": "test in a loop",
    "real": "use the number itself",
}


def short(node: ast.AST) -> str:
    """The text of a node for a message, at most 60 characters."""
    try:
        text = " ".join(ast.unparse(node).split())
    except (RecursionError, ValueError, AttributeError):
        return type(node).__name__
    return text if len(text) <= 60 else text[:57] + "..."


def shown(path: str) -> str:
    """How people write a canonical path: "numpy.max" is `np.max`."""
    home, _, name = path.rpartition(".")
    while home and home not in _SHORT and "." in home:
        home, _, middle = home.rpartition(".")
        name = f"{middle}.{name}"
    home = _SHORT.get(home, home)
    return f"{home}.{name}" if home else name


def unavailable(path: str, host: bool = False) -> tuple[str, str]:
    """(sentence, hint) for a path of a known module, or of a builtin, that may not be used."""
    home, _, name = path.rpartition(".")
    where = "in a function that is only calculated" if host else "inside a GPU kernel"
    sentence = f"`{shown(path)}` is not available {where}"
    if host:
        return sentence, "use numbers, min, max, abs, round, int, float and math"
    if home.startswith("numba.cuda.") and home.rpartition(".")[2] in ("shared", "local", "atomic", "fp16"):
        return sentence, near(name, _members(home), prefix=shown(home) + ".")
    if name.startswith("_"):
        return sentence, ""
    table = {
        "numpy": _FOR_NUMPY,
        "math": _FOR_MATH,
        "numba.cuda": _FOR_CUDA,
        "numba": _FOR_NUMBA,
        "builtins": _FOR_BUILTIN,
    }.get(home, {})
    if name in table:
        return sentence, table[name]
    if home == "numpy":
        if f"math.{name}" in catalog.ALLOWED:
            return sentence, f"write math.{name}"
        return sentence, "work on single numbers, with arithmetic, min, max and math"
    prefix = shown(home + ".")[:-1] if home in _SHORT else home
    return sentence, near(name, catalog.names_in(home), prefix=f"{prefix}." if prefix else "")


def _members(home: str) -> tuple[str, ...]:
    return tuple(p[len(home) + 1 :] for p in catalog.ALLOWED if p.startswith(home + "."))


def method(name: str) -> tuple[str, str]:
    """(sentence, hint) for an attribute of a value that may not be used."""
    if name.startswith("_"):
        return f"`.{name}` is not available; attributes that begin with `_` cannot be used", ""
    return (
        f"`.{name}` of a value is not available inside a GPU kernel",
        _FOR_METHOD.get(name, near(name, sorted(catalog.ATTRIBUTES), prefix=".")),
    )


def near(name: str, known: tuple[str, ...] | list[str], prefix: str = "") -> str:
    """ "did you mean `cuda.syncthreads`?" or ""."""
    lower = {other.lower(): other for other in known if type(other) is str}
    found = difflib.get_close_matches(name[:80].lower(), list(lower)[:2000], n=1, cutoff=0.66)
    return f"did you mean `{prefix}{lower[found[0]]}`?" if found else ""


def undefined(name: str, known: list[str], host: bool = False) -> tuple[str, str]:
    """(sentence, hint) for a name that nothing defines."""
    if hasattr(builtins, name) and not name.startswith("_"):
        return unavailable(f"builtins.{name}", host)
    sentence = f"`{name}` is not defined"
    alike = lookalike(name)
    if alike:
        return sentence, alike
    if name in catalog.SETUP_NAMES:
        return sentence, f"add `{import_line(name, catalog.SETUP_NAMES[name])}` above the kernel"
    if f"math.{name}" in catalog.ALLOWED:
        return sentence, f"write `math.{name}`, or add `from math import {name}` above the kernel"
    if f"numba.{name}" in catalog.ALLOWED and not host:
        return sentence, f"write `numba.{name}`, or add `from numba import {name}` above the kernel"
    if host:
        return sentence, near(name, known)
    if f"numba.cuda.{name}" in catalog.ALLOWED:
        return sentence, f"write `cuda.{name}`"
    return sentence, near(name, known) or near(name, _cuda_names(), prefix="cuda.")


def _cuda_names() -> tuple[str, ...]:
    return tuple(name for name in catalog.names_in("numba.cuda") if f"numba.cuda.{name}" in catalog.ALLOWED)


def lookalike(name: str) -> str:
    """A hint when ``name`` holds a letter that only looks like an ASCII one, else ""."""
    for character in name:
        if not character.isascii():
            called = unicodedata.name(character, "an unnamed character").lower()
            return f"it holds the letter `{character}` ({called}); type the name again"
    return ""


def import_line(name: str, path: str) -> str:
    """The import that binds ``name`` to the module or member ``path``."""
    home, _, last = path.rpartition(".")
    if not home:
        return f"import {path}" if name == path else f"import {path} as {name}"
    return f"from {home} import {last}" if name == last else f"from {home} import {last} as {name}"
