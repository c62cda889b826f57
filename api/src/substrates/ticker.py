"""Tickers: emissions at a fixed rate."""

from __future__ import annotations

from abc import abstractmethod

from .resource import Resource
from .subject import Subject

__all__ = ["Ticker"]


class Ticker(Resource):
    """Emits 0, 1, 2, ... to its target at a fixed rate; made by `Circuit.ticker`.

    Each tick is a value of the ticker's circuit first, then an emission to the target. A blocked circuit
    accumulates ticks. When the clock stalls for more than an interval, the rate starts anew from there.

    Contract: TICKER-01 to TICKER-15.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Ticker]: ...
