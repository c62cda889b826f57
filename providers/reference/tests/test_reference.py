"""What is reference's own."""

from __future__ import annotations

import pytest

import substrates
from substrates import ConfigurationError, kernel


class Tally(kernel.State):
    """One field."""

    count: kernel.int64


def count(ctx: kernel.Context, state: Tally, value: int) -> None:
    """Count."""
    state.count += 1


def test_kernel_known_by_its_address_alone_is_refused() -> None:
    known = kernel.from_address(4096, Tally, kernel.int64, name="native only")

    with (
        substrates.cortex("reference").circuit() as circuit,
        pytest.raises(ConfigurationError, match=r"native only.*from_address\(python=...\)"),
    ):
        circuit.pipe(known.bind())


def test_kernel_by_address_runs_as_the_python_that_comes_with_it() -> None:
    known = kernel.from_address(4096, Tally, kernel.int64, python=count)

    with substrates.cortex("reference").circuit() as circuit:
        pipe = circuit.pipe(known.bind(count=5))
        pipe.emit(1)
        circuit.wait(10)

        assert pipe.state.count == 6


def test_facts_leave_out_what_reference_does_not_count() -> None:
    facts = substrates.cortex("reference").facts()

    assert {"circuits", "pipes", "workers", "faults"} <= set(facts)
    assert "engine_bytes" not in facts
