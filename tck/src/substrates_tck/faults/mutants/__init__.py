"""The faults, each a small change of the toy engine, and the tests that must catch it."""

from __future__ import annotations

from typing import Final

from . import (
    arguments,
    cells,
    identity,
    lifetime,
    operators,
    order,
    populations,
    routing,
    subscriptions,
    windows,
)
from .base import Mutant

__all__ = ["HEALTHY", "MUTANTS", "Mutant"]

HEALTHY: Final = "toy"
"""The name of the toy engine without a fault."""
MUTANTS: Final[tuple[Mutant, ...]] = (
    *order.MUTANTS,
    *lifetime.MUTANTS,
    *populations.MUTANTS,
    *arguments.MUTANTS,
    *identity.MUTANTS,
    *routing.MUTANTS,
    *subscriptions.MUTANTS,
    *cells.MUTANTS,
    *operators.MUTANTS,
    *windows.MUTANTS,
)
"""Every faulty provider."""
