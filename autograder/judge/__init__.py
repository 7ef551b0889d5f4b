"""Judging: (KernelSource, check id, seed) -> Report, a pure function.

What fails a case of each check:

* ``values``: a value over the gate, an output element never written, an input changed, an exception;
* ``rescale``: the same on the loud battery, but for changed inputs, which ``values`` has told already;
* ``traffic``: an array moved more often than its budget allows, or in more sectors than its bytes need;
* ``safety``: a sanitizer finding in any of three thread orders, or a result that depends on the order;
* ``answer``: a host function's wrong value.

A kernel that leaves out the work (an input not read, or an output not written, as often as it has
elements) in every case of ``traffic`` or ``safety`` fails that check: an empty kernel moves little and
does no harm. Each group of cases earns an equal share of a check's points.

``judge`` needs a process in which NUMBA_ENABLE_CUDASIM was set before numba was loaded; students'
kernels are judged in the limited child of :mod:`autograder.child`, which is such a process.
"""

from .core import judge
from .ids import UnknownCheck

__all__ = ["UnknownCheck", "judge"]
