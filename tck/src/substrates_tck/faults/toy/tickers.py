"""Tickers of the toy, and the clock of circuits that were given none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, ClassVar

import substrates
from substrates import Clock

from .names import Name
from .pipes import Pipe, Resource

if TYPE_CHECKING:
    from .engine import Circuit

__all__ = ["MonotonicClock", "Ticker"]


class MonotonicClock(Clock):
    """The system's time; a thread for each timer."""

    def now(self) -> int:
        return monotonic_ns()

    def call_at(self, due_ns: int, callback: Callable[[], object], /) -> Callable[[], object]:
        left_s = max(0, due_ns - self.now()) / 1e9
        timer = threading.Timer(min(left_s, threading.TIMEOUT_MAX), callback)
        timer.daemon = True
        timer.start()
        return timer.cancel


class Ticker(Resource, substrates.Ticker):
    """Emits numbers at a rate; `turn` guards what the clock's thread and a closer share."""

    KIND: ClassVar[type] = substrates.Ticker

    def __init__(self, circuit: Circuit, name: Name, interval_ns: int, target: Pipe) -> None:
        super().__init__(circuit, name)
        self.interval_ns = interval_ns
        self.target = target
        self.next = 0
        self.turn = threading.RLock()
        self.stopped = False
        self.cancel: Callable[[], object] = lambda: None
        subject = self.cortex.new_subject(substrates.Pipe, name, self._subject)
        self._ticks = Pipe(circuit, subject, self.forward)
        circuit.tickers.add(self)
        self.due_ns = circuit.clock.now() + interval_ns
        with self.turn:
            self.schedule()

    def schedule(self) -> None:
        """Have the next tick come when it is due."""
        self.cancel = self.circuit.clock.call_at(self.due_ns, self.tick)

    def tick(self) -> None:
        """Give in the next tick, on a thread of the clock."""
        with self.turn:
            if self.stopped or self.circuit.closing:
                return
            self._ticks.emit(self.next)
            self.next += 1
            self.due_ns = self.after(self.due_ns, self.circuit.clock.now())
            self.schedule()

    def after(self, due_ns: int, now_ns: int) -> int:
        """Return when the tick after the one of `due_ns` is due."""
        if now_ns - due_ns > self.interval_ns:
            return now_ns + self.interval_ns
        return due_ns + self.interval_ns

    def forward(self, number: Any) -> None:
        """Emit, in the circuit's context."""
        self.target.emit(number)

    def closing(self) -> None:
        """Give in no more ticks."""
        self.stop()

    def stop(self) -> None:
        """Give in no more ticks."""
        with self.turn:
            self.stopped = True
            self.cancel()
