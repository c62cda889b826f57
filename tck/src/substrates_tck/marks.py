"""The marks that the kit's tests carry."""

from __future__ import annotations

from typing import Final

import pytest

from substrates import kernel

__all__ = ["capability", "derived", "each_lane", "kernels", "members", "population_kernels", "rule"]

rule: Final = pytest.mark.rule
"""The ids of the rules that a test asserts: ``@rule("CIRCUIT-ORDER-01")``."""
derived: Final = pytest.mark.derived
"""The rule is stated or inferred, but the portable kit of the contract's source does not assert it."""
capability: Final = pytest.mark.capability
"""What a provider must be capable of to be given this test; see `substrates.spi.CAPABILITIES`."""
kernels: Final = pytest.mark.capability("kernels")
"""The provider runs kernels."""
population_kernels: Final = pytest.mark.capability("kernels", "population-kernels")
"""The provider runs kernels in populations."""
members: Final = pytest.mark.members
"""What holds for a circuit holds for a member of a population: tests that get circuits by fixtures run twice.

A test about making or dropping circuits makes its own, by the cortex, and runs once.
"""
each_lane: Final = pytest.mark.parametrize(
    "lane", [object, kernel.int64, kernel.float64], ids=["object", "int64", "float64"]
)
"""What holds for a Python receptor on every lane of values."""
