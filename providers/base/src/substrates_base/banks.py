"""Banks: conduits by name, closed together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import substrates
from substrates import Routing

from .components import Resource
from .conduits import Conduit
from .lookups import looked_up
from .names import Name

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Bank"]


class Bank(Resource, substrates.Bank[Any]):
    """See `substrates.Bank`.

    A conduit is entered first and only then the bank's closed mark read; whoever closes sets the mark first
    and only then reads the entries. So one of the two closes a conduit that is made meanwhile.
    """

    __slots__ = ("_conduits", "_routing")

    KIND = substrates.Bank

    def __init__(self, circuit: Circuit, routing: Routing) -> None:
        super().__init__(circuit, circuit._name)
        self._routing = routing
        self._conduits: dict[Name, Conduit] = {}

    def get(self, name: Any, /) -> Conduit:
        own = looked_up(self._circuit._cortex, name, self.subject)
        self._require_open("get")
        conduit = self._conduits.get(own)
        if conduit is None:
            circuit = self._circuit
            circuit._require_open("get")
            conduit = self._conduits.setdefault(own, Conduit(circuit, own, self._routing))
            if self._closed:
                conduit.close()
                self._require_open("get")
        return conduit

    def close(self, *, wait: bool = False) -> None:
        if wait:
            self._circuit._outside("close")
        # The conduits refuse at once, as the bank does; what they have is ended by the bank's job.
        self._closed = True
        for conduit in list(self._conduits.values()):
            conduit._closed = True
        super().close(wait=wait)

    def _ended(self) -> None:
        for conduit in list(self._conduits.values()):
            conduit._closed = True
            conduit._ended()
