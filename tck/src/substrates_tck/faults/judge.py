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
TOGETHER: Final = 10
"""How many mutants share a process: starting one takes longer than most tests."""


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
    # Neighbours are alike, and some are slow: deal them out.
    processes = -(-len(mutants) // TOGETHER)
    groups = [mutants[first::processes] for first in range(processes)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as executor:
        runs = list(executor.map(_run_killers, groups))
    verdicts = {
        mutant.name: [_verdict(mutant, killer, said, done) for killer, said in mutant.killers.items()]
        for group, done in zip(groups, runs, strict=True)
        for mutant in group
    }
    return [verdict for mutant in mutants for verdict in verdicts[mutant.name]]


def survivors(provider: str = HEALTHY) -> Run:
    """Run all tests that must catch a mutant on a provider that has to pass them."""
    return run(provider, *PLUGIN, quiet=True, tests=_killers(MUTANTS))


def _run_killers(group: Sequence[Mutant]) -> Run:
    names = [mutant.name for mutant in group]
    others = [option for name in names[1:] for option in ("--provider", name)]
    return run(names[0], *PLUGIN, "--killers", *others, quiet=True, tests=_killers(group))


def _killers(mutants: Sequence[Mutant]) -> list[str]:
    killers = dict.fromkeys(killer for mutant in mutants for killer in mutant.killers)
    return [f"suite/{killer}" for killer in killers]


def _verdict(mutant: Mutant, killer: str, said: str, done: Run) -> Verdict:
    cases = [
        test for test in done.tests if test.id.partition("[")[0] == f"suite/{killer}" and _is_on(test, mutant)
    ]
    failed = [test for test in cases if test.outcome == "failed"]
    stray = next((test for test in failed if test.phase != "call" or not test.is_assertion), None)
    caught = next((test for test in failed if re.search(said, test.message)), None)
    problem = None
    if not cases or all(test.outcome == "missing" for test in cases):
        said_by_pytest = [line for line in done.output.splitlines() if line.startswith("ERROR")]
        problem = "; ".join(
            [f"the test did not run: pytest ended with status {done.status}", *said_by_pytest]
        )
    elif not failed:
        problem = "it survives"
    elif stray is not None:
        problem = f"the test fails, but with {stray.error} in {stray.phase}: {_first_line(stray)}"
    elif caught is None:
        problem = f"the test fails, but does not say {said!r}: {_first_line(failed[0])}"
    return Verdict(mutant, killer, _first_line(caught) if caught else "", problem)


def _is_on(test: Test, mutant: Mutant) -> bool:
    """Tell whether a test ran on a mutant; the name of one may begin with another's."""
    parameters = test.id.partition("[")[2].rstrip("]")
    on = [each.name for each in MUTANTS if f"{parameters}-".startswith(f"{each.name}-")]
    return bool(on) and max(on, key=len) == mutant.name


def _first_line(test: Test) -> str:
    lines = test.message.strip().splitlines()
    return lines[0] if lines else ""
