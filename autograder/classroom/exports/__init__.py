"""Marks for other gradebooks: Canvas, Moodle and Gradescope, from the folder that ``autograder grade`` wrote."""
