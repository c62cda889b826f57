"""What a run advises, and who uses the machine."""

from __future__ import annotations

from time import monotonic, process_time
from typing import Any

import pytest

from perfkit import machine
from perfkit.rounds import Round
from perfkit.showcase import report
from perfkit.showcase.parameters import Parameters
from perfkit.showcase.run import Record


def _record(seconds: list[float], *, cpu_s: float = 2.0, tokens: int = 2, **known: Any) -> Record:
    parameters = Parameters(10, 5, tokens, None, len(seconds), 0, "kernel", True, "loop", False, 60.0, {})
    rounds = [Round(False, each, 50, 8, 10, cpu_s * each, 0, 0, 0) for each in seconds]
    quiet = {"busy_s": cpu_s * sum(seconds), "stolen_s": 0.0} | known
    return Record(parameters, "some", "1", 2, "results/x", True, outcome="complete", rounds=rounds, **quiet)


def test_a_quiet_run_needs_no_advice() -> None:
    assert list(report.advice(_record([1.0, 1.01, 1.0]))) == []


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (_record([1.0, 1.0]), "--rounds 3 or more"),
        (_record([1.0, 1.0, 1.3]), "rounds vary by 14.4 %"),
        (_record([1.0] * 3, cpu_s=1.5), "were busy for 75.0 % of the time only"),
        (_record([1.0] * 3, cpu_s=1.0, tokens=1), "use --tokens 2"),
        (_record([1.0] * 3, stolen_s=0.3), "5.0 % of the processors' time was stolen"),
        (_record([1.0] * 3, busy_s=6.6), "10.0 % of the processors' time went to other processes"),
        (_record([0.01] * 3), "raise --burst"),
        (_record([1.0] * 3, faults=1, first_fault="E"), "receptors failed 1 time, first with E"),
    ],
)
def test_what_spoils_the_figures_is_said(record: Record, words: str) -> None:
    (advice,) = report.advice(record)

    assert words in advice


def test_what_is_unknown_spoils_nothing() -> None:
    assert list(report.advice(_record([1.0] * 3, stolen_s=None, busy_s=None))) == []


def test_own_work_shows_in_the_usage_of_the_processors() -> None:
    before = machine.Usage.now()
    if before is None:
        pytest.skip("the platform does not tell")
    start, deadline = process_time(), monotonic() + 60
    while process_time() - start < 0.3:
        assert monotonic() < deadline

    after = machine.Usage.now()

    assert after is not None
    assert after.busy - before.busy > 0.2
