"""Right kernels of every exercise, in several styles, as text: one folder for each exercise.

The files are read, never imported: they are data for the judge, the tests and the named bugs, each
of which is a small edit of one of them.
"""
