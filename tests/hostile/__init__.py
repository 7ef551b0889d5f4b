"""Attacks on the grading of a class, as data: see :mod:`hostile.model`."""

from hostile.answers import ATTACKS as ANSWERS
from hostile.code import ATTACKS as CODE
from hostile.files import ATTACKS as FILES
from hostile.kernels import ATTACKS as KERNELS
from hostile.model import CANARY, HONEST, LAB, LAB2, MARK, SECRET, Attack, hand_in_class
from hostile.names import ATTACKS as NAMES
from hostile.notebooks import ATTACKS as NOTEBOOKS

ATTACKS: tuple[Attack, ...] = (*CODE, *KERNELS, *ANSWERS, *NOTEBOOKS, *FILES, *NAMES)

__all__ = ["ATTACKS", "CANARY", "HONEST", "LAB", "LAB2", "MARK", "SECRET", "Attack", "hand_in_class"]
