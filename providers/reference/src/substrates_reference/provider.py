"""Cortex and provider of the reference engine."""

from __future__ import annotations

from collections.abc import Mapping

from substrates.spi import Provider
from substrates_base import Cortex, Workers

from .engine import Circuit

__all__ = ["ReferenceCortex", "ReferenceProvider"]

VERSION = "0.1.0"


class ReferenceCortex(Cortex):
    """The cortex of the reference engine."""

    CIRCUIT = Circuit

    def __init__(self, provider: str = "reference") -> None:
        super().__init__(provider)
        self.workers = Workers(self)

    def facts(self) -> Mapping[str, int | float | str]:
        return {
            "circuits": self.workers.circuits.value(),
            "pipes": self.workers.pipes.value(),
            "workers": self.workers.count(),
            "faults": self.faults.count.value(),
            "rebuilds": self.rebuilds.value(),
        }

    def _stop(self) -> None:
        self.workers.stop()

    def _in_forked_child(self) -> None:
        super()._in_forked_child()
        self.workers.forget()


class ReferenceProvider(Provider):
    """See `substrates.spi.Provider`."""

    name = "reference"
    version = VERSION
    capabilities = frozenset({"kernels", "population-kernels"})

    def create(self) -> ReferenceCortex:
        return ReferenceCortex()
