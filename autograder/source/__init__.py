"""KernelSource: one kernel and exactly what it names, from a live notebook, a file or a text.

Nothing here runs a student's code (``load`` does, and only when asked to), and nothing imports numba.
"""

from autograder.source.gather import gather_notebook, gather_script, gather_text
from autograder.source.host import HostError, HostStepLimit, run_host, run_host_over
from autograder.source.live import gather_live
from autograder.source.model import KernelSource, SourceRefused

__all__ = [
    "HostError",
    "HostStepLimit",
    "KernelSource",
    "SourceRefused",
    "gather_live",
    "gather_notebook",
    "gather_script",
    "gather_text",
    "run_host",
    "run_host_over",
]
