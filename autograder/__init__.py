"""The autograder of the online-softmax course.

``check`` and ``xray`` are what a notebook uses. Importing this package never imports numba: the
notebook's setup cell decides first whether the simulator or a GPU is used.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "check", "xray"]


def __getattr__(name: str) -> Any:
    if name == "check":
        from autograder.notebook import check

        return check
    if name == "xray":
        from autograder.xray import xray

        return xray
    raise AttributeError(f"module 'autograder' has no attribute {name!r}")
