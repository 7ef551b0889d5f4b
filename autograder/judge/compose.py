"""A student's device function and the kernel that calls it, as one source."""

from __future__ import annotations

import ast

from ..exercises.model import Harness
from ..source import KernelSource, SourceRefused, gather_text


def harnessed(source: KernelSource, harness: Harness) -> KernelSource:
    """``source`` (of kind "device") with the harness's kernel below it, as the source of that kernel.

    Lines of the student's keep their numbers and labels; those of the harness have none. Raises
    SourceRefused when a name of the student's text is one that the harness needs for itself.
    """
    _no_clash(source, harness)
    text = f"{source.text}\n\n{harness.text}"
    whole = gather_text(text, harness.name, kind="kernel", origin=source.origin)
    # the gathered text is that text in another order: each of its lines knows where it stood in it
    return KernelSource(
        whole.name,
        whole.kind,
        whole.text,
        source.origin,
        tuple(source.user_line(line) for line in whole.lines),
        tuple(source.user_label(line) for line in whole.lines),
        source.notes,
    )


def _no_clash(source: KernelSource, harness: Harness) -> None:
    own, needed = _bound(source.text), _bound(harness.text)
    for name in sorted(own.keys() & needed.keys()):
        if own[name] != needed[name]:
            raise SourceRefused(
                f"the check of `{source.name}` needs the name `{name}` for itself", hint="give yours another name"
            )


def _bound(text: str) -> dict[str, str]:
    """What the statements at the top of a module bind, each with its own text for comparison."""
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name.partition(".")[0]: f"import {a.name}" for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"from {node.module} import {a.name}" for a in node.names}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = ast.dump(node)
        elif isinstance(node, ast.Assign):
            found |= {target.id: ast.dump(node.value) for target in node.targets if isinstance(target, ast.Name)}
    return found
