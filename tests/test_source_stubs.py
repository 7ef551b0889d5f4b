"""A stub that is still as it was handed out is told apart from wrong work."""

from __future__ import annotations

import textwrap

import pytest

from autograder.source import SourceRefused, gather_text

HEAD = "import math\nimport numba\nimport numpy as np\nfrom numba import cuda\n"


def refusal(text: str, name: str = "k", kind: str = "kernel") -> SourceRefused:
    with pytest.raises(SourceRefused) as caught:
        gather_text(text, name, kind)
    found = caught.value
    assert found.sentence and not found.sentence.endswith(".") and "{" not in found.sentence.replace("{...}", "")
    assert str(found).count("\n") == 0
    return found


def kernel(body: str, above: str = "", decorator: str = "@cuda.jit", parameters: str = "X, Y") -> str:
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEAD}{above}{decorator}\ndef k({parameters}):\n{body}\n"


STUBS = {
    "nbgrader": (
        "# YOUR CODE HERE\nraise NotImplementedError()",
        "`k` is not written yet: line 7 still raises NotImplementedError",
    ),
    "without call": ("raise NotImplementedError", "`k` is not written yet: line 7 still raises NotImplementedError"),
    "docstring": (
        "'''Fill in.'''\n# YOUR CODE HERE\nraise NotImplementedError()",
        "line 8 still raises NotImplementedError",
    ),
    "given code": ("row = cuda.blockIdx.x\nraise NotImplementedError()", "line 7 still raises NotImplementedError"),
    "pass": ("pass", "`k` is not written yet: its body does nothing"),
    "docstring only": ("'''Fill in.'''", "`k` is not written yet: its body does nothing"),
    "ellipsis": ("...", "`k` is not written yet: its body does nothing"),
    "return": ("return", "`k` is not written yet: its body does nothing"),
}


@pytest.mark.parametrize("case", STUBS.values(), ids=STUBS.keys())
def test_an_untouched_stub_is_told(case):
    body, sentence = case
    body = textwrap.indent(body, "    ")
    for kind, decorator in (("kernel", "@cuda.jit\n"), ("host", "\n")):
        found = refusal(f"{HEAD}{decorator}def k(X, Y):\n{body}\n", kind=kind)
        assert found.untouched and str(found).startswith("`k` is not written yet")
        if "line" not in sentence:
            assert found.sentence == sentence
        else:
            number = 7 + body.replace("    # YOUR CODE HERE\n", "#\n").split("raise")[0].count("\n")
            assert found.sentence.endswith(f"line {number} still raises NotImplementedError") and found.line == number


def test_an_untouched_device_function_is_told_too():
    found = refusal(
        kernel("X[0] = merge(1)", "@cuda.jit(device=True)\ndef merge(x):\n    raise NotImplementedError()\n")
    )
    assert found.untouched and found.sentence == "`merge` is not written yet: line 7 still raises NotImplementedError"


def test_a_stub_that_hides_an_answer_is_explained():
    found = refusal(kernel("X[0] = 1") + "@cuda.jit\ndef k(X):\n    raise NotImplementedError()\n")
    assert found.untouched and found.hint == "`k` is defined at lines 6 and 9; the last one counts"
