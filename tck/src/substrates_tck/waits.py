"""Bounded waiting: a wedged provider fails a test, with the name of what did not happen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any, Generic, Protocol, TypeVar

from substrates import Circuit, Population

__all__ = ["Background", "BoundExceeded", "Event", "Gate", "Settle", "Task", "Together", "settle", "until"]

T = TypeVar("T")

POLL_S = 0.001
"""How often a condition is looked at that nothing announces."""


class BoundExceeded(AssertionError):
    """What a test waits for did not happen in time."""

    def __init__(self, condition: str, bound_s: float) -> None:
        super().__init__(f"not within {bound_s:g} s: {condition}")


class Event:
    """A named condition that a callback sets and a test waits for."""

    def __init__(self, bound_s: float, condition: str) -> None:
        self._event = threading.Event()
        self._bound_s = bound_s
        self._condition = condition

    def set(self, _value: object = None) -> None:
        """Set it; the argument lets it be a receptor."""
        self._event.set()

    def is_set(self) -> bool:
        """Tell whether it is set."""
        return self._event.is_set()

    def wait(self) -> None:
        """Wait until it is set.

        Raises:
            BoundExceeded: it is not set in time.
        """
        if not self._event.wait(self._bound_s):
            raise BoundExceeded(self._condition, self._bound_s)


class Gate:
    """Holds a receptor until the test releases it; released at the end of the test in any case."""

    def __init__(self, bound_s: float) -> None:
        self._entered = Event(bound_s, "the receptor reached the gate")
        self._released = threading.Event()
        self._bound_s = bound_s

    def hold(self, _value: object = None) -> None:
        """Block the caller until the gate is released; the argument lets it be a receptor."""
        self._entered.set()
        self._released.wait(3 * self._bound_s)

    def await_entered(self) -> None:
        """Wait until somebody is held.

        Raises:
            BoundExceeded: nobody comes in time.
        """
        self._entered.wait()

    @property
    def released(self) -> bool:
        """Whether it is open."""
        return self._released.is_set()

    def release(self) -> None:
        """Let everybody pass, now and later."""
        self._released.set()


class Task(Generic[T]):
    """A function that runs in a thread of its own."""

    def __init__(self, function: Callable[..., T], arguments: tuple[Any, ...], bound_s: float) -> None:
        self._function = function
        self._arguments = arguments
        self._bound_s = bound_s
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="tck.task", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._function(*self._arguments)
        except BaseException as error:  # noqa: BLE001 - raised again by `result`
            self._error = error

    @property
    def done(self) -> bool:
        """Whether the function has returned or raised."""
        return not self._thread.is_alive()

    def join(self) -> None:
        """Wait until the function has returned or raised.

        Raises:
            BoundExceeded: it does not end in time.
        """
        self._thread.join(self._bound_s)
        if self._thread.is_alive():
            raise BoundExceeded(
                f"{getattr(self._function, '__qualname__', self._function)} ended", self._bound_s
            )

    def result(self) -> T:
        """Return what the function returned, or raise what it raised.

        Raises:
            BoundExceeded: it does not end in time.
        """
        self.join()
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value


class Settle(Protocol):
    """Waits for circuits and populations, one after the other, each within the bound."""

    def __call__(self, *circuits: Circuit | Population) -> None:
        """Wait."""


class Background(Protocol):
    """Starts a function in a thread of its own."""

    def __call__(self, function: Callable[..., T], /, *arguments: Any) -> Task[T]:
        """Start it."""


class Together(Protocol):
    """Calls a function in several threads at once, and waits until all have returned."""

    def __call__(self, threads: int, function: Callable[[int], object], /) -> None:
        """Call it with 0, 1, ... up to the number of threads."""


def settle(circuit: Circuit | Population, bound_s: float) -> None:
    """Wait for `circuit`, or for a population.

    Raises:
        BoundExceeded: its wait does not return in time.
    """
    try:
        circuit.wait(timeout=bound_s)
    except TimeoutError:
        raise BoundExceeded(f"wait of {circuit!r} returned", bound_s) from None


def until(condition: Callable[[], object], what: str, bound_s: float) -> None:
    """Look again and again until `condition` holds; for what nothing announces.

    Raises:
        BoundExceeded: it does not hold in time.
    """
    end = monotonic() + bound_s
    while not condition():
        if monotonic() > end:
            raise BoundExceeded(what, bound_s)
        sleep(POLL_S)
