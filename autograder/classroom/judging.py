"""The judge of a class: the course's own, and a picture of the traffic for the feedback page."""

from __future__ import annotations

from dataclasses import replace

from autograder.report import Report
from autograder.source import KernelSource

PICTURE = "picture"  # in a report's details: an HTML <img> that says where the kernel reads and writes


def judge_with_picture(source: KernelSource, check_id: str, seed: int) -> Report:
    """The report of a limited child process. A check of traffic gets a picture where its launch was recorded."""
    from autograder import child

    report = child.run_judge(source, check_id, seed)
    if not check_id.endswith(".traffic") or not any(check.ledger for check in report.checks):
        return report
    picture = child.run_picture(source, check_id, seed)
    return replace(report, details={**report.details, PICTURE: picture}) if picture else report
