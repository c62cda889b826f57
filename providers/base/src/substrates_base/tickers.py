"""Tickers: emissions at a fixed rate.

Who holds whom: the circuit holds its tickers (in its `Time`), so that one goes on that nobody else holds; the
clock holds a `_Beat`, which refers to the ticker weakly, so that a circuit can be collected though it ticks.

One tick: the clock calls the beat; the tick's number goes to `_source`, a pipe of the ticker's own circuit
(TICKER-06), in whose context it is emitted to the target; the beat of the next tick is ordered.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import substrates
from substrates.kernel import Lane

from .components import Resource
from .names import Name
from .pipes import FanOut, Pipe

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Ticker"]


class Ticker(Resource, substrates.Ticker):
    """See `substrates.Ticker`.

    `_lock` is held while a tick is given to the circuit, and taken by `close`: once that has returned, none
    is (TICKER-11). It is re-entrant, because a signal handler may close the ticker at any point.
    """

    __slots__ = ("_beat", "_due_ns", "_interval_ns", "_lock", "_number", "_source", "_time")

    KIND = substrates.Ticker

    def __init__(self, circuit: Circuit, name: Name, interval_ns: int, target: Pipe) -> None:
        super().__init__(circuit, name)
        self._beat = _Beat(self)
        circuit._cortex.check_process()
        self._lock = threading.RLock()
        self._interval_ns = interval_ns
        self._number = 0
        self._source = circuit._receptor_pipe(name, FanOut(circuit, (target,)), Lane.OBJECT)
        self._time = circuit._timing()
        with self._lock:
            self._due_ns = self._time.clock.now()
            self._order_next()
        self._time.tickers.add(self)
        self._stop_if_closed()

    def close(self, *, wait: bool = False) -> None:
        if wait:
            self._circuit._outside("close")
        if not self._circuit._cortex.forked:  # there nothing ticks, and nobody gives the lock back
            with self._lock:
                self._closed = True
            self.stop()
        super().close(wait=wait)

    def __del__(self) -> None:
        beat: _Beat | None = getattr(self, "_beat", None)
        if beat is not None:  # else an interrupt came before it was made
            beat.cancel()

    def stop(self) -> None:
        """Order no further tick: the ticker or its circuit is closed."""
        self._time.tickers.discard(self)
        try:
            self._beat.cancel()
        except Exception as error:  # noqa: BLE001 - a clock's; closing never raises (RES-02)
            self._circuit._cortex.faults.report(self, error)

    def tick(self) -> None:
        """Give one number to the circuit, on a thread of the clock's choice."""
        with self._lock:
            if self._stop_if_closed():
                return
            try:
                self._source.emit(self._number)
                self._number += 1
            finally:
                self._order_next()
        self._stop_if_closed()

    def _order_next(self) -> None:
        clock = self._time.clock
        self._due_ns += self._interval_ns
        now_ns = clock.now()
        if self._due_ns < now_ns:  # more than an interval late: from here on anew (TICKER-05)
            self._due_ns = now_ns + self._interval_ns
        self._beat.cancel = clock.call_at(self._due_ns, self._beat)

    def _stop_if_closed(self) -> bool:
        # Once more after a tick was ordered: just before, the circuit may have been closed on another thread,
        # or the ticker by a signal handler, and have stopped what was ordered then.
        over = self._closed or self._circuit._closing
        if over:
            self.stop()
        return over

    def _ended(self) -> None:
        """Nothing is left to do: `close` waits for the ticks that were accepted before."""


class _Beat:
    """What a clock calls for a ticker, without holding it.

    Attributes:
        cancel: revokes the call that is ordered.
    """

    __slots__ = ("_ticker", "cancel")

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = weakref.ref(ticker)
        self.cancel: Callable[[], object] = _nothing

    def __call__(self) -> None:
        ticker = self._ticker()
        if ticker is not None:
            ticker.tick()


def _nothing() -> None:
    """Revoke nothing."""
