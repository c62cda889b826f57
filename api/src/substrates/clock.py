"""Clocks: where tickers and time-aware operators take their time from."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from heapq import heappop, heappush
from itertools import count
from operator import index
from typing import Any

from .absent import present
from .duration import nanoseconds
from .receptor import checked_function

__all__ = ["Clock", "ManualClock"]


class Clock(ABC):
    """A monotonic clock with timers; a circuit is given one with ``cortex.circuit(name, clock=...)``.

    Without one a circuit has the system's monotonic clock.
    """

    __slots__ = ()

    @abstractmethod
    def now(self) -> int:
        """Return the time in nanoseconds, of arbitrary origin; it never goes back. Any thread may call it."""

    @abstractmethod
    def call_at(self, due_ns: int, callback: Callable[[], object], /) -> Callable[[], object]:
        """Call `callback` once, soon after `now()` has reached `due_ns`; on a thread of the clock's choice.

        Returns:
            A function that cancels the call. If it returns before the call has begun, there is none.

        Raises:
            AbsentValueError: an argument is None.
            TypeError: no whole number; not callable.
        """


class ManualClock(Clock):
    """A clock that stands still until it is told to move: for tests without sleeping.

    Timers are called by whoever moves it, in the order in which they are due, those that are due at the same
    time in the order in which they were set. What one raises is raised there; the clock then stands at that
    timer. Any thread may use it; one at a time moves it, and a timer may move it too.

    Args:
        start_ns: what it shows at first.

    Raises:
        AbsentValueError: None.
        TypeError: no whole number.
    """

    def __init__(self, start_ns: int = 0) -> None:
        self._now_ns = _whole(start_ns, "ManualClock", "start_ns")
        self._moving = threading.RLock()
        self._lock = threading.RLock()  # re-entrant for signal handlers; never held while a timer is called
        self._sequence = count()
        self._timers: list[tuple[int, int, _Timer]] = []

    def now(self) -> int:
        return self._now_ns

    def call_at(self, due_ns: int, callback: Callable[[], object], /) -> Callable[[], object]:
        due_ns = _whole(due_ns, "call_at", "due_ns")
        timer = _Timer(checked_function(callback, "call_at", "callback"))
        with self._lock:
            heappush(self._timers, (due_ns, next(self._sequence), timer))
        return timer.cancel

    def advance(self, duration: timedelta | float) -> None:
        """Go on by `duration`, a timedelta or seconds; timers are called on the way, each at its time.

        Raises:
            AbsentValueError: None.
            ConfigurationError: not more than 0.
            TypeError: neither timedelta nor number.
        """
        self._move(nanoseconds(duration, "advance", "duration"), on_the_way=True)

    def jump(self, duration: timedelta | float) -> None:
        """Go on by `duration` at once, as after a stall: timers that have become due are called late.

        Raises:
            As `advance`.
        """
        self._move(nanoseconds(duration, "jump", "duration"), on_the_way=False)

    def _move(self, duration_ns: int, *, on_the_way: bool) -> None:
        with self._moving:
            end_ns = self._now_ns + duration_ns
            if not on_the_way:
                self._now_ns = end_ns
            while (first := self._take_due(end_ns)) is not None:
                due_ns, timer = first
                self._now_ns = max(self._now_ns, due_ns)
                timer.call()
            self._now_ns = max(self._now_ns, end_ns)

    def _take_due(self, end_ns: int) -> tuple[int, _Timer] | None:
        with self._lock:
            if not self._timers or self._timers[0][0] > end_ns:
                return None
            due_ns, _, timer = heappop(self._timers)
            return due_ns, timer

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: its timers belong to this process")


def _whole(value: Any, operation: str, parameter: str) -> int:
    present(value, operation, parameter)
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{operation}({parameter}={value!r}): a whole number is required") from None


class _Timer:
    """One call that is ordered; its `callback` is None once it has begun or is cancelled."""

    __slots__ = ("_callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Revoke the call, unless it has begun."""
        self._callback = None

    def call(self) -> None:
        """Call, unless that is revoked."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()
