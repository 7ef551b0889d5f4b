"""The exercises of lab 3: merge reduce."""

from __future__ import annotations

from .model import Exercise

EXERCISES: tuple[Exercise, ...] = ()
