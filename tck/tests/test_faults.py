"""The kit has teeth: each faulty provider is caught by the test that is about its fault."""

from __future__ import annotations

import pytest

from substrates_tck.faults import HEALTHY, MUTANTS
from substrates_tck.faults.judge import Verdict, judge, survivors
from substrates_tck.runs import run

pytestmark = pytest.mark.timeout(600)

PLUGIN = ("-p", "substrates_tck.faults.plugin", "-q")


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[Verdict]]:
    """Return the verdicts by mutant; all are judged at once, in processes of their own."""
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in judge():
        verdicts.setdefault(verdict.mutant.name, []).append(verdict)
    return verdicts


@pytest.mark.parametrize("name", [mutant.name for mutant in MUTANTS])
def test_a_faulty_provider_is_caught_by_the_test_that_is_about_its_fault(
    name: str, verdicts: dict[str, list[Verdict]]
) -> None:
    assert [(verdict.killer, verdict.problem) for verdict in verdicts[name] if verdict.problem] == []


def test_a_healthy_provider_passes_the_tests_that_catch_faults() -> None:
    done = survivors("reference")

    assert [(test.id, test.message) for test in done.tests if test.outcome != "passed"] == []
    assert done.ok


def test_the_engine_without_a_fault_passes_the_whole_kit() -> None:
    done = run(HEALTHY, *PLUGIN, quiet=True)

    assert [(test.id, test.message) for test in done.tests if test.outcome not in {"passed", "skipped"}] == []
    assert done.ok


def test_the_faults_are_different_ones() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.fault for mutant in MUTANTS}) == len(MUTANTS)


def test_the_faults_of_the_contracts_first_kit_are_there() -> None:
    faults = {mutant.fault for mutant in MUTANTS}

    assert faults >= {
        "drops one in a thousand",
        "delivers twice",
        "swaps two",
        "runs transit depth-first",
        "lets ingress overtake transit",
        "runs a receptor on the caller",
        "loses a wake-up",
        "forgets a barrier",
        "swallows an exception and the next emission with it",
        "closes without draining",
    }


def test_there_are_faults_in_all_files_of_the_suite_that_are_about_behaviour() -> None:
    files = {killer.partition("::")[0] for mutant in MUTANTS for killer in mutant.killers}

    assert len(MUTANTS) >= 150
    assert len(files) >= 35
