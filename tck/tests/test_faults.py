"""The kit has teeth: each faulty provider is caught by the test that is about its fault."""

from __future__ import annotations

import pytest

from substrates_tck.faults import HEALTHY, MUTANTS
from substrates_tck.faults.judge import Verdict, judge, survivors

pytestmark = pytest.mark.timeout(120)


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


@pytest.mark.parametrize("provider", [HEALTHY, "reference"])
def test_a_healthy_provider_passes_the_tests_that_catch_faults(provider: str) -> None:
    done = survivors(provider)

    assert [(test.id, test.message) for test in done.tests if test.outcome != "passed"] == []
    assert done.ok


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
