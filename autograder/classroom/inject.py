"""nbgrader's autograde with verdicts in place of execution.

nbgrader's own preprocessors still read the points out of the outputs and write them into the
gradebook, so its formgrader and feedback see what they always see. Those that clean a submission have
nothing to do: it was put into the released notebook before.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbconvert.exporters import Exporter, NotebookExporter
from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, BaseConverter
from nbgrader.preprocessors import (
    AssignLatePenalties,
    IgnorePattern,
    LimitOutput,
    NbGraderPreprocessor,
    SaveAutoGrades,
)
from traitlets import Any as AnyTrait
from traitlets import Bool, Type

from autograder.classroom.defusing import defuse
from autograder.classroom.verdicts import Verdict, outputs


class InjectVerdicts(NbGraderPreprocessor):
    """Fills the outputs of check cells; every other code cell keeps none."""

    verdicts = AnyTrait({}, help="Verdicts by grade_id")

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        if cell.cell_type == "code":
            cell.outputs = []
            data = cell.metadata.get("nbgrader", {})
            if data.get("grade") and not data.get("solution"):
                # KeyError when a graded cell has no verdict: silence would earn full points.
                cell.outputs = outputs(self.verdicts[data["grade_id"]])
        return cell, resources


class HoldForPerson(NbGraderPreprocessor):
    """Corrects what SaveAutoGrades cannot know, in the gradebook.

    ``unjudged``: grade_ids without a mark; they wait for a person. ``reviewed``: grade_ids whose
    answer a person has already graded and that has not changed since; they need no second look.
    ``unread``: grade_ids of solutions that could not be read, on which "No response" would be wrong.
    """

    unjudged = AnyTrait(frozenset())
    reviewed = AnyTrait(frozenset())
    unread = AnyTrait(frozenset())

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            for grade_id in sorted(self.unjudged | self.reviewed):
                grade = gradebook.find_grade(grade_id, where["notebook"], where["assignment"], where["student"])
                if grade_id in self.unjudged:
                    grade.auto_score = None
                    grade.needs_manual_grade = grade.manual_score is None
                if grade_id in self.reviewed:
                    grade.needs_manual_grade = False
            for grade_id in sorted(self.unread):
                comment = gradebook.find_comment(grade_id, where["notebook"], where["assignment"], where["student"])
                comment.auto_comment = None
            gradebook.db.commit()
        return nb, resources


class DefuseText(NbGraderPreprocessor):
    """Takes the power out of HTML, links and pictures that a student wrote into a text cell: nbgrader's
    formgrader shows the autograded notebook in the instructor's browser, and would run it. ``trusted``
    are the lab's texts."""

    trusted = AnyTrait(frozenset())

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        if cell.cell_type == "markdown" and cell.source not in self.trusted:
            cell.source = defuse(cell.source)
        return cell, resources


class OnceChecked(NotebookExporter):
    """nbconvert's, which checks a notebook after its last step instead of after each: a third of its time."""

    optimistic_validation = Bool(True)


class InjectingAutograde(Autograde):
    """Autograde for one student's folder, given by path: file names are never taken as patterns."""

    exporter_class = Type(OnceChecked, klass=Exporter)
    folder = AnyTrait(help="the student's submitted folder, a Path")
    trusted = AnyTrait(frozenset())
    verdicts = AnyTrait({})
    unjudged = AnyTrait(frozenset())
    reviewed = AnyTrait(frozenset())
    unread = AnyTrait(frozenset())

    def init_notebooks(self) -> None:
        folder: Path = self.folder
        self.assignments = {str(folder): [str(path) for path in sorted(folder.glob("*.ipynb"))]}

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """In one pass where nbgrader takes two, of which the first cleans a submission: this notebook was made
        from the release a moment ago, and there is nothing to clean or to check in it."""
        self._init_preprocessors()
        BaseConverter.convert_single_notebook(self, notebook_filename)

    def _init_preprocessors(self) -> None:
        # Instances carry one student's verdicts, so they are made anew for each notebook.
        self.sanitize_preprocessors = [  # of the first pass, which reads what was handed in
            InjectVerdicts(verdicts=self.verdicts),
            IgnorePattern,
            ClearMetadataPreprocessor,
            LimitOutput,
            SaveAutoGrades,
            HoldForPerson(unjudged=self.unjudged, reviewed=self.reviewed, unread=self.unread),
            AssignLatePenalties,
            DefuseText(trusted=self.trusted),
        ]
        super()._init_preprocessors()


def without_mark(verdicts: Mapping[str, Verdict]) -> frozenset[str]:
    """The grade_ids that have no mark."""
    return frozenset(grade_id for grade_id, verdict in verdicts.items() if verdict.points is None)
