"""Basins: the newest values, until they are drained."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import substrates

from .components import Receiving
from .pipes import FanOut, Pipe

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Basin"]


class Basin(Receiving, substrates.Basin[Any]):
    """See `substrates.Basin`; `_values` is touched in the circuit's context alone."""

    __slots__ = ("_values",)

    KIND = substrates.Basin

    def __init__(self, circuit: Circuit, capacity: int) -> None:
        super().__init__(circuit, circuit._name)
        # More than the longest deque is as good as no limit.
        self._values: deque[Any] = deque(maxlen=capacity if capacity <= sys.maxsize else None)

    def drain(self, target: Any, /) -> None:
        circuit = self._circuit
        own = circuit._cortex.pipe_given(target, "drain", "target", self)
        circuit._job(partial(self._drain, own))

    def _receptor(self) -> Callable[[Any], object]:
        return self._values.append

    def _drain(self, target: Pipe) -> None:
        # All are taken out first: the target may be this basin's own pipe (BASIN-SELF-11).
        values = list(self._values)
        self._values.clear()
        forward = FanOut(self._circuit, (target,))
        for value in values:
            forward(value)
