"""Reading right kernels as text, and turning one into a wrong one by named edits."""

from __future__ import annotations

from importlib import resources

from .model import NamedBug, Variant

Edit = tuple[str, str]


def folder_of(exercise_id: str) -> str:
    """The folder of an exercise's kernels: "lab1.row_max" is in "lab1_row_max"."""
    return exercise_id.replace(".", "_")


def kernel_text(exercise_id: str, name: str) -> str:
    """The module text of the right kernel ``name`` ("strided").

    Raises FileNotFoundError when the exercise has none of that name.
    """
    path = resources.files(__package__) / "kernels" / folder_of(exercise_id) / f"{name}.py"
    return path.read_text(encoding="utf-8")


def variants(exercise_id: str) -> tuple[Variant, ...]:
    """Every right kernel of the exercise, by name."""
    folder = resources.files(__package__) / "kernels" / folder_of(exercise_id)
    names = sorted(
        entry.name[:-3]
        for entry in folder.iterdir()
        if entry.name.endswith(".py") and entry.name != "__init__.py"
    )
    return tuple(Variant(name, kernel_text(exercise_id, name)) for name in names)


def edited(text: str, *edits: Edit) -> str:
    """``text`` after each ``(old, new)`` edit in turn.

    Raises ValueError unless ``old`` stands in the text exactly once, so that an edit can neither miss
    nor change more than it names.
    """
    for old, new in edits:
        count = text.count(old)
        if count != 1:
            raise ValueError(f"the text to replace stands {count} times, not once: {old!r}")
        text = text.replace(old, new)
    return text


def bug(id: str, title: str, explain: str, checks: str, text: str, *edits: Edit) -> NamedBug:
    """The named bug that ``edits`` make of the right kernel ``text``; ``checks`` is a list of names
    such as "values rescale"."""
    return NamedBug(id, title, explain, edited(text, *edits), frozenset(checks.split()))
