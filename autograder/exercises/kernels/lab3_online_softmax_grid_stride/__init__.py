"""Right answers to one exercise, as text; see the package above."""
