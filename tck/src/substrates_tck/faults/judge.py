"""Runs the tests that must catch the mutants, on the mutants and on healthy providers."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from ..runs import Run, Test, run
from .mutants import HEALTHY, MUTANTS, Mutant

__all__ = ["BOUND_S", "Verdict", "judge", "survivors"]

BOUND_S: Final = 2.0
"""How long a test waits on a mutant for what never happens."""
PLUGIN: Final = ("-p", "substrates_tck.faults.plugin", "-q", "--bound", str(BOUND_S))


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant.

    Attributes:
        mutant: the mutant.
        killer: the test that caught it.
        said: the first line of its failure.
        problem: why it does not count as killed; None if it does.
    """

    mutant: Mutant
    killer: str
    said: str
    problem: str | None


def judge(mutants: Sequence[Mutant] = MUTANTS) -> list[Verdict]:
    """Return a verdict on each mutant and each test that must catch it."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as executor:
        runs = list(executor.map(_run_killers, mutants))
    return [
        _verdict(mutant, killer, said, done)
        for mutant, done in zip(mutants, runs, strict=True)
        for killer, said in mutant.killers.items()
    ]


def survivors(provider: str = HEALTHY) -> Run:
    """Run all tests that must catch a mutant on a provider that has to pass them."""
    killers = dict.fromkeys(killer for mutant in MUTANTS for killer in mutant.killers)
    return run(provider, *PLUGIN, quiet=True, tests=[f"suite/{killer}" for killer in killers])


def _run_killers(mutant: Mutant) -> Run:
    return run(mutant.name, *PLUGIN, quiet=True, tests=[f"suite/{killer}" for killer in mutant.killers])


def _verdict(mutant: Mutant, killer: str, said: str, done: Run) -> Verdict:
    cases = [test for test in done.tests if test.id.partition("[")[0] == f"suite/{killer}"]
    failed = [test for test in cases if test.outcome == "failed"]
    stray = next((test for test in failed if test.phase != "call" or not test.is_assertion), None)
    caught = next((test for test in failed if re.search(said, test.message)), None)
    problem = None
    if not cases:
        problem = f"the test did not run: pytest ended with status {done.status}"
    elif not failed:
        problem = "it survives"
    elif stray is not None:
        problem = f"the test fails, but with {stray.error} in {stray.phase}: {_first_line(stray)}"
    elif caught is None:
        problem = f"the test fails, but does not say {said!r}: {_first_line(failed[0])}"
    return Verdict(mutant, killer, _first_line(caught) if caught else "", problem)


def _first_line(test: Test) -> str:
    lines = test.message.strip().splitlines()
    return lines[0] if lines else ""
