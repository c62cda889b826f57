"""A pytest plugin (``-p substrates_tck.faults.plugin``) that makes toy and mutants known as providers."""

from __future__ import annotations

from typing import Final

from substrates import Cortex, spi

from .engine import Circuit
from .engine import Cortex as ToyCortex
from .mutants import HEALTHY, MUTANTS

__all__ = ["ToyProvider"]


class ToyProvider(spi.Provider):
    """A toy with circuits of one class."""

    version = "0"

    def __init__(self, name: str, kind: type[Circuit]) -> None:
        self.name = name
        self._kind: Final = kind

    def create(self) -> Cortex:
        return ToyCortex(self.name, self._kind)

    @spi.hookimpl
    def substrates_provider(self) -> spi.Provider:
        """Hand over the provider; see `substrates.spi`."""
        return self


def pytest_addoption() -> None:
    """Register the providers, before anybody looks for them."""
    kinds = {HEALTHY: Circuit} | {mutant.name: mutant.kind for mutant in MUTANTS}
    for name, kind in kinds.items():
        spi.register(name, ToyProvider(name, kind))
