"""nbformat and nbgrader, imported in half the time."""

from __future__ import annotations

import sys


def import_jsonschema() -> None:
    """Import jsonschema without its grammar of international addresses, if it is not there yet.

    nbformat and nbgrader import jsonschema, and jsonschema compiles that grammar at once (rfc3987_syntax):
    about as long as everything else together, in every process, for a format no notebook has. Others
    can import rfc3987_syntax as before.
    """
    name = "rfc3987_syntax"
    if "jsonschema" in sys.modules or name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # makes the import fail, which jsonschema expects
    try:
        import jsonschema  # noqa: F401
    finally:
        del sys.modules[name]
