"""``judge``: one submission, one exercise or check, one seed, one report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..exercises.model import Case, Check, Exercise
from ..report import CaseResult, CheckResult, Report
from ..source import KernelSource, SourceRefused
from . import breaking, bugs, host, launches, outputs, pattern, running, safety, traffic
from .ids import UnknownCheck, parse
from .launches import STEP_LIMIT, Launched, Program
from .reports import NOT_RUN, WORDS_LIMIT, all_fail, answered, assemble, could_not_judge, refused

CHECK_STEPS = 4  # launches' worth of STEP_LIMIT that all cases of a check may take together


WANTED = {
    "kernel": "a @cuda.jit kernel",
    "device": "a device function (@cuda.jit(device=True))",
    "host": "a plain Python function",
}
KINDS = {"kernel": "kernel", "device": "device function", "host": "function"}


@dataclass
class Spending:
    """Simulated steps that one check may still take: a count, so that every machine agrees."""

    limit: int
    spent: int = 0
    stopped: str = ""  # the sentence of the launch that was stopped

    def note(self, runs: Sequence[Launched]) -> None:
        """Count the runs of one case."""
        for run in runs:
            self.spent += self.limit if run.endless else (run.trace.steps if run.trace else 0)
            if run.endless:
                self.stopped = run.problem

    @property
    def over(self) -> str:
        """Why no more cases are run, or ""."""
        if self.stopped:
            return f"{NOT_RUN}, because an earlier case did not end"
        if self.spent > CHECK_STEPS * self.limit:
            return f"{NOT_RUN}: the earlier cases took {self.spent:,} steps, more than this check allows"
        return ""


@dataclass
class Tally:
    """What the cases of one check gave."""

    cases: list[CaseResult] = field(default_factory=list)
    runs: list[Launched] = field(default_factory=list)


def judge(source: KernelSource, check_id: str, seed: int = 0, *, step_limit: int | None = None) -> Report:
    """The verdict on ``source`` for a whole exercise or one check of it.

    Pure: the same arguments give the same report, on every machine. ``step_limit`` bounds the steps
    of one simulated launch. Never raises for what the student wrote: what cannot be judged comes back
    with ``error`` set.
    """
    steps = STEP_LIMIT if step_limit is None else step_limit
    try:
        exercise, checks = parse(check_id)
    except UnknownCheck as problem:
        return could_not_judge(check_id, source.origin, str(problem))
    mismatch = _mismatch(source, exercise)
    if mismatch:
        return could_not_judge(check_id, source.origin, mismatch)
    if exercise.source_kind == "host":
        judged = breaking.answer if exercise.kind == "break" else host.answer
        results = [judged(source, exercise, check, seed, steps) for check in checks]
        return assemble(exercise, source.origin, results)
    wrong_arity = _arity(source, exercise)
    if wrong_arity:
        return all_fail(exercise, checks, source.origin, wrong_arity)
    try:
        program = launches.load(source, exercise)
    except SourceRefused as refusal:
        return refused(check_id, source.origin, refusal)
    results = [_check(program, check, seed, steps) for check in checks]
    return assemble(exercise, source.origin, results)


def _check(program: Program, check: Check, seed: int, steps: int) -> CheckResult:
    if check.name == "traffic":
        return _traffic(program, check, seed, steps)
    if check.name == "safety":
        return _safety(program, check, seed, steps)
    return _values(program, check, seed, steps)


def _values(program: Program, check: Check, seed: int, steps: int) -> CheckResult:
    spending, tally = Spending(steps), Tally()
    failing: list[bugs.Evidence] = []
    passing: list[bugs.Evidence] = []
    for case in check.cases:
        if spending.over:
            tally.cases.append(_not_run(case, spending))
            continue
        inputs = case.make(seed)
        # An account of every access costs as much again: the ledger needs one case of it.
        record = all(earlier.trace is None for earlier in tally.runs)
        run = launches.launch(program, inputs, step_limit=steps, record=record)
        spending.note([run])
        outcome = outputs.assess(program, run, inputs_too=check.name == "values")
        if not outcome.passed and not record and run.trace is not None and len(failing) < bugs.CASES:
            run = launches.launch(program, inputs, step_limit=steps)  # again, for its findings
            spending.note([run])
        tally.runs.append(run)
        tally.cases.append(CaseResult(case.name, case.group, outcome.passed, outcome.fraction, outcome.message))
        (passing if outcome.passed else failing).append(bugs.Evidence(case, run, outcome))
    named = bugs.by_values(program, check.name, failing, passing) if failing else ()
    if failing and not named:
        _tell_more(program, tally, failing)
    findings, more = safety.collect(program, tally.runs)
    return _result(program, check, tally, named, (*findings, *_more(more)))


def _tell_more(program: Program, tally: Tally, failing: Sequence[bugs.Evidence]) -> None:
    """Nothing known looks like it: say what the wrong elements have in common, and where the running state first
    goes wrong, each at the first of the cases told in words where that can be seen."""
    told = failing[:WORDS_LIMIT]
    patterns = [(one, pattern.pattern(program, one.launched, one.outcome)) for one in told]
    said = Counter(found.sentence for _, found in patterns if found is not None)
    seen = [(one, found) for one, found in patterns if found is not None and (found.alone or said[found.sentence] > 1)]
    if seen:
        one, found = next((pair for pair in seen if pair[1].telling), seen[0])
        _add(tally, one.case, found.sentence)
    for one in told:
        row = one.outcome.worst.row if one.outcome.worst is not None else 0
        sentence = running.divergence(program, one.launched, row)
        if sentence:
            return _add(tally, one.case, sentence)


def _add(tally: Tally, case: Case, sentence: str) -> None:
    """A sentence more in the message of one case."""
    tally.cases = [
        replace(one, message=f"{one.message} {sentence}") if one.name == case.name else one for one in tally.cases
    ]


def _traffic(program: Program, check: Check, seed: int, steps: int) -> CheckResult:
    spending, tally = Spending(steps), Tally()
    failing: list[Launched] = []
    wrong: list[bugs.Evidence] = []
    for case in (*check.cases, *traffic.borrowed(program.exercise, check)):
        if spending.over:
            tally.cases.append(_not_run(case, spending))
            continue
        run = launches.launch(program, case.make(seed), step_limit=steps)
        spending.note([run])
        message = "" if case.counted and run.problem else " ".join(traffic.problems(program, run))
        if message:
            failing.append(run)
        elif not case.counted:
            message = outputs.not_yet(program, run)
            if message:
                wrong.append(bugs.Evidence(case, run, outputs.assess(program, run, inputs_too=False)))
        tally.runs.append(run)
        tally.cases.append(CaseResult(case.name, case.group, not message, None, message))
    named = bugs.by_traffic(program, failing) or bugs.by_values(program, check.name, wrong, ())
    return _result(program, check, tally, named, ())


def _safety(program: Program, check: Check, seed: int, steps: int) -> CheckResult:
    spending, tally = Spending(steps), Tally()
    failing: list[safety.Safety] = []
    wrong: list[bugs.Evidence] = []
    for case in check.cases:
        if spending.over:
            tally.cases.append(_not_run(case, spending))
            continue
        examined = safety.examine(program, case.make(seed), seed, steps)
        spending.note(examined.runs)
        tally.runs.extend(examined.runs)
        tally.cases.append(CaseResult(case.name, case.group, not examined.message, None, examined.message))
        if examined.far:
            run = examined.runs[0]
            wrong.append(bugs.Evidence(case, run, outputs.assess(program, run, inputs_too=False)))
        elif examined.message:
            failing.append(examined)
    named = bugs.by_safety(program, failing, seed) or bugs.by_values(program, check.name, wrong, ())
    findings, more = safety.collect(program, tally.runs, outputs_too=True)
    return _result(program, check, tally, named, (*findings, *_more(more)))


def _result(program: Program, check: Check, tally: Tally, named: bugs.Named, findings: tuple[str, ...]) -> CheckResult:
    first = next((run for run in tally.runs if run.trace is not None), None)
    return answered(
        program.exercise,
        check,
        tally.cases,
        named,
        _summary(program, check, tally),
        findings=findings,
        traffic=traffic.totals(first.trace) if first else None,
        ledger=traffic.ledger(program, first) if first else (),
    )


def _summary(program: Program, check: Check, tally: Tally) -> str:
    failed = next((case for case in tally.cases if not case.passed), None)
    if failed:
        return f"{failed.name}: {failed.message}"
    if check.name == "traffic":
        run = tally.runs[0]
        uses = [use for use in traffic.account(program, run) if use.lines]
        told = [f"{program.own(use.array)} {'written' if use.stores else 'read'} {use.times:.3g}×" for use in uses]
        return f"{' and '.join(told)}, as budgeted."
    if check.name == "safety":
        return "No findings, whatever the order of the threads."
    worst = max(tally.cases, key=lambda case: case.gate_fraction or 0.0)
    share = worst.gate_fraction or 0.0
    return f"{len(tally.cases)} cases right; the largest error is {share:.2g} of what is allowed ({worst.name})."


def _not_run(case: Case, spending: Spending) -> CaseResult:
    return CaseResult(case.name, case.group, False, None, spending.over)


def _more(count: int) -> tuple[str, ...]:
    return (f"and {count:,} more findings",) if count else ()


def _mismatch(source: KernelSource, exercise: Exercise) -> str:
    kind = exercise.source_kind
    if source.kind != kind:
        is_now = f", and yours is {WANTED[source.kind]}" if source.kind in WANTED else ", and this is not one"
        return f"{exercise.id} is {WANTED[kind]}{is_now}."
    if source.name != exercise.name:
        return (
            f"{exercise.id} checks a {KINDS[kind]} called "
            f"`{exercise.name}`, and this one is called `{source.name}`. Rename it."
        )
    return ""


def _arity(source: KernelSource, exercise: Exercise) -> str:
    own, wanted = launches.parameters(source), exercise.parameters
    if len(own) == len(wanted):
        return ""
    return (
        f"`{exercise.name}` must take {len(wanted)} parameters ({', '.join(wanted)}); yours takes "
        f"{len(own)} ({', '.join(own) or 'none'})."
    )
