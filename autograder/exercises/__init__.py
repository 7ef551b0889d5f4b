"""What each lab asks: contract, launch, cases, budget, named bugs and float64 references.

``get("lab2.online_softmax_tiled")`` is one exercise, ``all_exercises()`` all of them in lab order,
``labs()`` the names of the labs. Nothing here runs a kernel or imports numba.
"""

from .registry import UnknownExercise, all_exercises, get, labs

__all__ = ["UnknownExercise", "all_exercises", "get", "labs"]
