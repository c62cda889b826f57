"""The smallest real provider: the object lane of `substrates_base`, and no kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from substrates import ConfigurationError
from substrates.kernel import Binding
from substrates.spi import Provider, hookimpl
from substrates_base import Cortex, LaneCircuit, Name, Workers


class ForeignCircuit(LaneCircuit):
    """A circuit of the foreign engine."""

    __slots__ = ()

    def _kernel_pipe(self, name: Name | None, binding: Binding[Any]) -> NoReturn:
        raise ConfigurationError(f"pipe({binding!r}): provider 'foreign' runs no kernels")


class ForeignCortex(Cortex):
    """The cortex of the foreign engine."""

    def __init__(self) -> None:
        super().__init__("foreign")
        self._workers = Workers(self)

    def facts(self) -> Mapping[str, int | float | str]:
        return {
            "circuits": self._workers.circuits.value(),
            "pipes": self._workers.pipes.value(),
            "workers": self._workers.count(),
            "faults": self.faults.count.value(),
        }

    def _new_circuit(self, name: Name) -> ForeignCircuit:
        return ForeignCircuit(self, name, self._workers)

    def _stop(self) -> None:
        self._workers.stop()


class ForeignProvider(Provider):
    """See `substrates.spi.Provider`."""

    name = "foreign"
    version = "3.1.4"

    def create(self) -> ForeignCortex:
        return ForeignCortex()


@hookimpl
def substrates_provider() -> Provider:
    """Hand over the provider; see `substrates.spi`."""
    return ForeignProvider()
