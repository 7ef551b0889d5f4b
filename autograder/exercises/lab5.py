"""The exercises of lab 5: online attention."""

from __future__ import annotations

from .model import Exercise

EXERCISES: tuple[Exercise, ...] = ()
