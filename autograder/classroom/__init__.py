"""A whole class: collect submissions, put them into the released notebook, judge them, and write
nbgrader's gradebook, grades.csv and feedback pages. Start at :mod:`autograder.classroom.grading`."""
