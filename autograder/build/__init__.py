"""From sources to notebooks, and the check that both still agree.

Sources are jupytext py:percent scripts: ``solutions/labN_name.py`` and ``course/NN_name.py``. Every
notebook is built from them and never edited:

    solutions/labN_name/labN_name.ipynb   nbgrader's source notebook, with solutions
    labs/labN_name/labN_name.ipynb        what students get, by nbgrader's generate_assignment
    course/NN_name.ipynb                  the lesson, executed on the simulator, with outputs

Building twice gives the same bytes. `autograder build` writes, `autograder build --check` compares.

    layout     where sources and notebooks lie
    cells      the setup cell, nbgrader's metadata, cell ids
    notebook   a source as a notebook, a notebook as bytes
    release    nbgrader's generate_assignment in a folder of its own
    lesson     running a lesson and cleaning its outputs
    builder    all notebooks of a course, written in one go
    rules      what a source may contain
    leaks      what a release may not contain
    drift      what lies in the folders against what the sources build
    quick      faster imports
    cli        the command
"""

from autograder.build.quick import import_jsonschema

import_jsonschema()  # before any module here imports nbformat

from autograder.build.layout import BuildError, Course, Lab, Lesson, find_course  # noqa: E402

__all__ = ["BuildError", "Course", "Lab", "Lesson", "find_course"]
