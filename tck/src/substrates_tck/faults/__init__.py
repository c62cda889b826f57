"""Faulty providers, one bug each: the kit must catch every one, by the test that is about that bug."""

from __future__ import annotations

from .mutants import HEALTHY, MUTANTS, Mutant

__all__ = ["HEALTHY", "MUTANTS", "Mutant"]
