"""Generated programs do what a small sequential model says; see `substrates_tck.programs`."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, reject, settings

from substrates_tck.marks import derived, rule
from substrates_tck.programs.check import check
from substrates_tck.programs.model import TooLongError
from substrates_tck.programs.program import Program
from substrates_tck.programs.strategies import concurrent_programs, programs

pytestmark = pytest.mark.timeout(300)

steadily = settings(
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
"""The same programs on every run; `substrates-tck soak` takes others."""


@rule("CIRCUIT-ORDER-07", "CIRCUIT-TRANSIT-02", "CIRCUIT-TRANSIT-03", "SUBSCRIPTION-WIN-01")
@derived
@settings(steadily, max_examples=150)
@given(program=programs(1))
def test_programs_on_one_circuit_do_what_the_model_says(
    program: Program, tck_provider: str, bound_s: float
) -> None:
    _check(program, tck_provider, bound_s)


@rule("CIRCUIT-TRANSIT-08", "CIRCUIT-ORDER-09")
@derived
@settings(steadily, max_examples=75)
@given(program=programs(2))
def test_programs_on_two_circuits_do_what_the_model_says(
    program: Program, tck_provider: str, bound_s: float
) -> None:
    _check(program, tck_provider, bound_s)


@rule("CIRCUIT-ORDER-02", "CIRCUIT-ORDER-03", "CIRCUIT-TRANSIT-07")
@derived
@settings(steadily, max_examples=75)
@given(program=concurrent_programs())
def test_programs_of_several_producers_do_what_the_model_allows(
    program: Program, tck_provider: str, bound_s: float
) -> None:
    _check(program, tck_provider, bound_s)


def _check(program: Program, provider: str, bound_s: float) -> None:
    try:
        check(program, provider, bound_s)
    except TooLongError:
        reject()
