"""What a source may contain, what a release may not."""

from dataclasses import replace

import pytest
from build_sample import EXPECTED, LAB, make_course

from autograder.build.builder import read_sources
from autograder.build.leaks import leak_problems
from autograder.build.notebook import make_notebook
from autograder.build.rules import (
    Expected,
    count_words,
    exercise_problems,
    lab_problems,
    lesson_problems,
    marker_problems,
    parse_check,
    split_folded,
    style_problems,
)
from autograder.exercises import all_exercises

TEST_CELL = 'check("lab9.double.values", double)'


def problems(tmp_path, lab, expected=EXPECTED["lab9_sample"]):
    return lab_problems(read_sources(make_course(tmp_path, lab=lab))["lab9_sample"], expected)


def test_the_sample_is_in_order(tmp_path):
    assert problems(tmp_path, LAB) == []


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("### BEGIN SOLUTION", "### Begin Solution", "not a marker that nbgrader sees"),
        ("### BEGIN SOLUTION", "# begin_solution", "not a marker that nbgrader sees"),
        ("### END SOLUTION", "### END SOLUTIONS", "not a marker that nbgrader sees"),
        ("### END SOLUTION", "### END HIDDEN TEST", "not a marker that nbgrader sees"),
        ("    ### END SOLUTION\n", "", "### BEGIN SOLUTION has no ### END SOLUTION"),
        ("    ### BEGIN SOLUTION\n", "", "has no beginning"),
        ("### END SOLUTION", "### END HIDDEN TESTS", "has no beginning"),
        ("    twice", "    ### BEGIN SOLUTION\n    twice", "before the end of SOLUTION"),
        ('"solution": true}\ndef', '"locked": true}\ndef', 'without "solution": true'),
        ("# Double every number.", "# ### BEGIN SOLUTION\n# ### END SOLUTION", 'without "solution": true'),
        ("# Double every number.", "# ### BEGIN HIDDEN TESTS\n# ### END HIDDEN TESTS", 'without "grade": true'),
        ("    ### BEGIN SOLUTION\n    twice = x + x\n    return twice\n    ### END SOLUTION", "    pass", "lose all its"),
        ('"double_values"', '"double"', "grade_id 'double' is taken by solutions/lab9_sample.py, line 10"),
        ('"double_values"', '"setup"', "taken by the setup cell"),
        ('"double_values"', '"a b"', "grade_id must be"),
        ('"grade_id": "double", ', "", "grade_id must be"),
        ('"grade": true, "solution": true, "points": 1', '"solution": true', "a written answer needs both"),
        ('"points": 2', '"points": 0', 'needs "points" above 0'),
        (', "points": 2', "", 'needs "points" above 0'),
        ('"points": 2', '"points": 1', "has 1 points, but lab9.double.values is worth 2"),
        (TEST_CELL, TEST_CELL + "\nprint(1)", "exactly one line"),
        (TEST_CELL, "assert double(1) == 2", "exactly one line"),
        (TEST_CELL, f"score = {TEST_CELL}", "exactly one line"),
        (TEST_CELL, 'check("lab9.double.values", double, 3)', "exactly one line"),
        (TEST_CELL, 'check("lab9.double.values", lambda x: 2 * x)', "exactly one line"),
        (TEST_CELL, 'check("lab9.double.value", double)', "has no check 'lab9.double.value'"),
        (TEST_CELL, 'check("lab9.double.values", twice)', "judges double, but the cell gives it twice"),
        ("def double(x)", "def doubled(x)", "no solution cell above defines double"),
        ('"double", "solution": true', '"double", "solution": true, "grade": true, "points": 1', "not both"),
        (TEST_CELL + "\n", f'{TEST_CELL}\n\n# %% nbgrader={{"grade_id": "b", "grade": true, "points": 2}}\n{TEST_CELL}\n', "second time"),
        (
            '# %% nbgrader={"grade_id": "double_values", "grade": true, "points": 2}\n' + TEST_CELL,
            "",
            "no test cell for lab9.double.values",
        ),
    ],
)  # fmt: skip
def test_each_rule(tmp_path, old, new, said):
    assert old in LAB
    found = problems(tmp_path, LAB.replace(old, new))
    assert any(said in line for line in found), found
    assert all(line.startswith("solutions/lab9_sample.py") for line in found)


def test_every_check_of_an_exercise_has_its_cell(tmp_path):
    expected = {f"lab9.double.{name}": Expected(2, "double") for name in ("values", "rescale", "traffic", "safety")}
    (found,) = problems(tmp_path, LAB, expected)
    assert found.endswith("no test cell for lab9.double.rescale, lab9.double.safety, lab9.double.traffic.")


def test_a_kernel_exercise_has_its_four_checks():
    exercise = next(one for one in all_exercises() if one.kind == "kernel")
    assert exercise_problems([exercise]) == []
    less = replace(exercise, checks=exercise.checks[:3])
    (found,) = exercise_problems([less])
    assert found.startswith(f"autograder.exercises: {exercise.id} has the checks ")
    assert exercise_problems([replace(less, kind="host")]) == []


@pytest.mark.parametrize(
    "text, call",
    [
        ('check("a.b.c", d)', ("a.b.c", "d")),
        ('check("a.b.c", d)\n', ("a.b.c", "d")),
        ("check('a.b.c', d)", None),
        ('check("a.b.c", d)  # why', None),
        ('check("a.b.c",d)', None),
        ("check(a, d)", None),
        ("", None),
        ("check(", None),
    ],
)
def test_a_check_call_is_written_one_way(text, call):
    assert parse_check(text) == call


def test_lessons_have_no_grades_and_no_markers(tmp_path):
    lesson = '# %% tags=["setup"]\n# setup\n\n# %% nbgrader={"grade_id": "x", "solution": true}\n### BEGIN SOLUTION\n'
    source = read_sources(make_course(tmp_path, lesson=lesson))["00_sample"]
    found = lesson_problems(source)
    assert len(found) == 2 and "not graded" in found[0] and "hides nothing" in found[1]


def test_long_cells_are_a_matter_of_style(tmp_path):
    long = LAB + "\n# %%\n" + "x = 1\n" * 41 + "\n# %% [markdown]\n# " + "word " * 61 + "\n"
    source = read_sources(make_course(tmp_path, lab=long))["lab9_sample"]
    assert marker_problems(source) == []
    found = style_problems(source)
    assert ["41 lines of code" in found[0], "61 words" in found[1], len(found)] == [True, True, 2]


def test_folded_parts_are_read_one_at_a_time():
    text = "One two.\n\n<details><summary>Hint</summary>\n\nthree four five\n\n</details>\n"
    assert [count_words(part) for part in split_folded(text)] == [2, 4]


@pytest.mark.parametrize(
    "text, words",
    [
        ("one `x[i] + 1` three", 3),
        ("| a | b |\n|---|---|\n| c | d |", 0),
        ("```\na b c\n```\nend", 1),
        ("$$a + b + c$$\nend", 1),
        ("with $a + b$ in it", 4),
        ("[two words](https://example.org/a/b)", 2),
        ("<b>bold</b> – dash", 2),
    ],
)
def test_only_prose_counts(text, words):
    assert count_words(text) == words


def released_and_solved(tmp_path, lab=LAB):
    """Both notebooks of the sample; the released one as nbgrader would make it."""
    course = make_course(tmp_path, lab=lab)
    source = read_sources(course)["lab9_sample"]
    solved, released = (make_notebook(source, course.repository, graded=True) for _ in range(2))
    by_id = {cell.id: cell for cell in released.cells}
    by_id["double"].source = 'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
    by_id["lab9_written"].source = "YOUR ANSWER HERE"
    return solved, released, by_id


def test_a_clean_release_leaks_nothing(tmp_path):
    solved, released, _ = released_and_solved(tmp_path)
    assert leak_problems("labs/x", solved, released) == []


@pytest.mark.parametrize(
    "cell, text, said",
    [
        ("double", "def double(x):\n  twice = x + x", "a line of a solution or hidden test: 'twice = x + x'"),
        ("double_values", "# twice = x + x\n    twice = x + x", "twice = x + x"),
        ("double", "### BEGIN SOLUTION\npass", "the marker '### BEGIN SOLUTION'"),
        ("double", "# end solution", "the marker"),
        ("lab9_written", "Because adding a number to itself doubles it.", "a line of a solution"),
    ],
)
def test_a_leak_is_found(tmp_path, cell, text, said):
    solved, released, by_id = released_and_solved(tmp_path)
    by_id[cell].source = text
    found = leak_problems("labs/x", solved, released)
    assert any(said in line for line in found), found


def test_outputs_in_a_release_are_a_leak(tmp_path):
    solved, released, by_id = released_and_solved(tmp_path)
    by_id["double_values"].execution_count = 3
    assert "has outputs" in leak_problems("labs/x", solved, released)[0]


def test_a_line_that_the_text_gives_is_no_leak_but_a_whole_answer_is(tmp_path):
    body = ["a = x + 1", "b = a * 2", "c = b - x", "e = c - 2"]
    hidden = "".join(f"    {line}\n" for line in body)
    given = "# %% [markdown]\n" + "".join(f"#     {line}\n" for line in body) + "\n"
    lab = LAB.replace("    twice = x + x\n", hidden)
    solved, released, _ = released_and_solved(tmp_path / "one", lab + given.replace(f"#     {body[3]}\n", ""))
    assert leak_problems("labs/x", solved, released) == []
    solved, released, _ = released_and_solved(tmp_path / "all", lab + given)
    (found,) = leak_problems("labs/x", solved, released)
    assert "4 lines of a solution in a row" in found
