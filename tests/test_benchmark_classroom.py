"""The class that benchmarks/classroom.py makes: the same every time, no two texts alike, of the mix it says, and
marked as the same kernels in the catalogue's own words."""

import ast
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from classroom_parts import people, stock
from classroom_parts.texts import renamable, varied

from autograder.classroom.release import find_release, load_release
from autograder.exercises import all_exercises, get, labs
from autograder.judge import judge
from autograder.source import SourceRefused, gather_notebook, gather_text

SEED = 7
COUNT = 12
LAB = "lab1_three_pass"


@pytest.fixture(scope="module")
def made():
    return people.make_class(labs(), COUNT, SEED)


def released(lab):
    return load_release(lab, find_release(lab, Path(__file__).resolve().parents[1] / "labs"))


def test_the_same_seed_makes_the_same_class_and_another_one_another(made):
    again = people.make_class(labs()[-1:], 3, SEED)
    assert again == people.make_class(labs()[-1:], 3, SEED)
    assert [one.student for one in made[:COUNT]] == [f"student{number:05d}" for number in range(COUNT)]
    other = people.make_class([LAB], 4, SEED + 1)
    texts = {answer.text for one in made for answer in one.answers.values()}
    assert other
    assert not texts & {answer.text for one in other for answer in one.answers.values()}


def test_no_two_texts_are_alike(made):
    """Also without comments and spacing, most of them differ: what a cache of verdicts could share is little."""
    texts = [answer.text for one in made for answer in one.answers.values()]
    assert len(texts) == len(set(texts)) > 250
    kernels = [text for text in texts if "while" in text or text.count("\n") > 30]
    assert len({ast.dump(ast.parse(text)) for text in kernels}) > 0.95 * len(kernels)


def test_the_mix_is_what_it_says(made):
    assert sum(people.SHARES.values()) == pytest.approx(1.0)
    whole = Counter(one.kind for one in made)
    for kind, share in people.SHARES.items():
        assert abs(whole[kind] - share * len(made)) <= 1, kind
        for lab in labs():
            count = sum(one.kind == kind for one in made if one.lab == lab)
            assert abs(count - share * COUNT) < 1 + 1e-9, (kind, lab)
    for one in made:
        assert (one.damage != "none") == (one.kind == people.BROKEN)
        assert bool(one.mistakes) == (one.kind in (people.BUGS, people.ENDLESS, people.REFUSED))
        assert (not one.answers) == (one.kind == people.UNTOUCHED)
        assert len(one.mistakes) <= 2


def test_every_right_and_wrong_kernel_can_be_varied():
    """Renaming keeps the text's tree, but for the names."""
    for exercise in all_exercises():
        for number, one in enumerate((*exercise.variants, *exercise.bugs[:3])):
            new = varied(one.text, random.Random(number))
            before, after = ast.parse(one.text), ast.parse(new)
            assert new != one.text
            for old, now in zip(_functions(before), _functions(after), strict=True):
                assert old.name == now.name and ast.dump(old.args) == ast.dump(now.args)
            assert _shape(before) == _shape(after), (exercise.id, one.id)


def _functions(tree):
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _shape(tree):
    """The tree with each name replaced by the order in which it is met in its function."""
    for top in tree.body:
        seen = {}
        for node in ast.walk(top):
            if isinstance(node, ast.Name):
                node.id = f"n{seen.setdefault(node.id, len(seen))}"
    return ast.dump(tree)


def test_names_that_others_use_stay():
    text = "def f(x, y):\n    a = g(shape=x)\n    shape = a\n    b: int = 1\n    for i in range(y):\n        b += i\n    return f'{a}'\n"
    (function,) = ast.parse(text).body
    assert renamable(function) == {"b", "i"}


def test_renaming_keeps_the_marks():
    """A right kernel and wrong ones, in the catalogue's words and in another student's."""
    largest, formula = get("lab1.row_max"), get("lab1.predict_bytes")
    padding = next(bug for bug in largest.bugs if bug.id == "zero_padding")
    cases = (
        (largest, largest.variants[-1]),
        (largest, padding),
        (formula, formula.variants[0]),
        (formula, formula.bugs[0]),
    )
    for exercise, one in cases:
        points = []
        for text in (one.text, varied(one.text, random.Random(one.id))):
            report = judge(gather_text(text, exercise.name, kind=exercise.source_kind), exercise.id, SEED)
            points.append([check.points for check in report.checks])
        full = [check.points for check in exercise.checks]
        lost = {check.name for check, got in zip(exercise.checks, points[0], strict=True) if got < check.points}
        assert points[0] == points[1] and lost == getattr(one, "checks", set()), one.id
        assert (points[0] == full) == (not lost)


def test_what_may_not_be_judged_is_refused_and_what_never_ends_is_not(made):
    """Of each kind one, as the grader reads it."""
    import json

    import nbformat

    refused = {}
    for kind in (people.REFUSED, people.ENDLESS):
        one = next(one for one in made if one.kind == kind)
        (exercise_id,) = one.mistakes
        notebook = nbformat.from_dict(json.loads(one.file(released(one.lab))[1]))
        try:
            gather_notebook(notebook, get(exercise_id).name, kind="kernel")
            refused[kind] = False
        except SourceRefused:
            refused[kind] = True
    assert refused == {people.REFUSED: True, people.ENDLESS: False}


def test_the_stock_tool_gets_plain_notebooks():
    """Nothing of this course is left in them but the solutions' cells and a test for each kernel."""
    release = released(LAB)
    code = [cell.source for cell in stock.plain(release).notebook.cells if cell.cell_type == "code"]
    tests = [text for text in code if text.startswith("passes(")]
    wanted = [cell.check_id for cell in release.checks if cell.check_id.endswith((".values", ".rescale", ".answer"))]
    assert [text.split('"')[1] for text in tests] == wanted
    for text in code:
        assert "autograder" not in text and "xray" not in text and not text.startswith("check(")
        ast.parse(text)


def test_the_stock_tool_s_sample_is_of_each_kind_that_it_can_finish():
    class_ = people.make_class([LAB], 30, SEED)
    for count, kinds in ((1, {"right": 1}), (2, {"right": 1, "bugs": 1}), (6, {"right": 3, "bugs": 2, "untouched": 1})):
        chosen = stock.sample(class_, count)
        assert Counter(one.kind for one in chosen) == kinds and all(stock.finishes(one) for one in chosen)
        assert len({one.student for one in chosen}) == count
