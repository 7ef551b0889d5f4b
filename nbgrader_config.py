"""nbgrader's settings for this course. `nbgrader` commands run from this folder use them."""

import os

c = get_config()  # noqa: F821  (nbgrader defines it)

c.CourseDirectory.course_id = "online-softmax"
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))

# solutions/lab1_three_pass/lab1_three_pass.ipynb -> labs/lab1_three_pass/lab1_three_pass.ipynb.
# Both are built by `autograder build`; edit solutions/lab1_three_pass.py.
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "labs"
c.CourseDirectory.submitted_directory = "submitted"
c.CourseDirectory.autograded_directory = "autograded"
c.CourseDirectory.feedback_directory = "feedback"
# nbgrader's own name for this is one letter from our sources, and `generate_solution` writes there.
c.CourseDirectory.solution_directory = "solution_copies"

# A stray script beside a notebook in solutions/ must not reach the students with the answers in it.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "__pycache__", "*.pyc", "*.py", "feedback"]

# A check ends by itself within seconds; this is for the rest of a student's notebook.
c.Execute.timeout = 120

# A student who deletes a test cell gets it back, instead of losing its points for ever.
c.OverwriteCells.add_missing_cells = True

# Feedback must neither show a hidden test nor run what a student wrote into an answer.
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "nbgrader.preprocessors.ClearHiddenTests",
    "autograder.classroom.feedback.SafeHtml",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]
