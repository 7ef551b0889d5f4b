"""What can stop a simulated launch. Every message is a whole sentence."""

from __future__ import annotations

from autograder.simulator.trace import Place


class SimulatorError(RuntimeError):
    """Base of the errors that the simulator itself raises."""

    place: Place | None = None


class LaunchError(SimulatorError, ValueError):
    """The launch configuration or an argument is one that a GPU would refuse."""


class KernelError(SimulatorError):
    """The kernel uses something that has no meaning on a GPU, or that the simulator does not know."""


class SourceMissing(KernelError):
    """The kernel's source text cannot be found, so it cannot be rewritten."""


class StepLimit(SimulatorError):
    """More steps were simulated than the caller allowed."""


class MemoryFault(SimulatorError, IndexError):
    """An access outside an array, in a launch that stops at the first finding."""


class KernelTypeError(KernelError, TypeError):
    """The kernel asks for an operation or an index that its types do not have on a GPU."""
