"""The named bugs: wrong kernels that people really write, one module for each exercise.

Each is a right kernel with one or two edits, so the mistake is all that differs. The checks that a bug
fails are exact: the kill matrix in the tests holds every one of them against the judge.
"""
