"""Judging: (KernelSource, check id, seed) -> Report, a pure function.

What fails a case of each check:

* ``values``: a value over the gate, an output element never written, an input changed, an exception;
* ``rescale``: the same on the loud battery, but for changed inputs, which ``values`` has told already;
* ``traffic``: an array moved more often than its budget allows, or in more sectors or requests than its
  bytes need, or an output far from right;
* ``safety``: a sanitizer finding in any of three thread orders, a result that depends on the order, or
  an output far from right;
* ``answer``: a host function's wrong value, or an input that does not break what it should.

A kernel earns nothing for work that it leaves out: a copy moves few bytes and does no harm. So in
``traffic`` and ``safety`` a case counts only when each output element is written and within a tenth of
the right one. That is meant to tell work from no work, and to leave alone who makes one mistake: the rows
are easy ones (``families.easy``: the maximum of a row is in its first tile, and no thread's own moves later),
so what goes wrong on loud or empty rows, or by rounding, costs ``values`` or ``rescale`` and no more. A
kernel that is far off on every row whatever earns nothing until that is mended, and one that loses the tail
of a ragged row loses the ragged cases: bytes that should have been moved and were not are no merit. Sizes
there are drawn near the case's own from the seed, so a kernel cannot tell by the shape in which check it is.
What is moved in two launches of ``values`` and ``rescale`` counts in ``traffic`` as well, whatever they give: the
maximum of their rows moves, and a kernel that reads once more where it does is over its budget.
Each group of cases earns an equal share of a check's points.

``judge`` needs a process in which NUMBA_ENABLE_CUDASIM was set before numba was loaded; students'
kernels are judged in the limited child of :mod:`autograder.child`, which is such a process.
"""

from .core import judge
from .ids import UnknownCheck

__all__ = ["UnknownCheck", "judge"]
