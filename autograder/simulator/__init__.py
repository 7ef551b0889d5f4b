"""numba's CUDA simulator made exact: cooperative threads, warp operations, watched memory.

``launch`` runs a kernel and returns a :class:`Trace`; ``install`` makes plain
``kernel[grid, block](...)`` use the same scheduler. Numba must have been imported with
``NUMBA_ENABLE_CUDASIM=1`` in the environment.
"""

from autograder.simulator.errors import KernelError, LaunchError, MemoryFault, SimulatorError, StepLimit
from autograder.simulator.install import Configured, install
from autograder.simulator.launch import launch
from autograder.simulator.trace import ArrayInfo, Finding, LineTraffic, Place, Touches, Trace, Traffic

__all__ = [
    "ArrayInfo", "Configured", "Finding", "KernelError", "LaunchError", "LineTraffic", "MemoryFault", "Place",
    "SimulatorError", "StepLimit", "Touches", "Trace", "Traffic", "install", "launch",
]
