"""Processing time: one reading of the clock for each value from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from substrates import Clock

if TYPE_CHECKING:
    from .tickers import Ticker

__all__ = ["Time"]


class Time:
    """The clock of a circuit, its reading for what is being received, and its tickers.

    In a queue it stands where a pipe stands, at the front, behind the transit: its turn is when the next
    value from outside is about to come, which needs a reading of its own. So a circuit without time-aware
    operators pays nothing.

    Attributes:
        clock: from which the circuit takes its time.
        reading: None until somebody asks for it; the circuit's context alone touches it.
        tickers: those that run. They live as long as their circuit, whoever holds them, and no longer: what
            the clock holds of them are weak references. Any thread adds and removes.
    """

    __slots__ = ("clock", "reading", "tickers")

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.reading: int | None = None
        self.tickers: set[Ticker] = set()

    def stop(self) -> None:
        """Stop the tickers: their circuit accepts nothing any more."""
        for ticker in self.tickers.copy():
            ticker.stop()

    def _receive(self, value: Any) -> None:
        self.reading = None
