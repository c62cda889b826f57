"""The smallest real provider: a thread a circuit, two queues, no kernels.

What an engine supplies are the abstract methods of `substrates_base.Circuit`, and pipes that can emit. All
else of the contract is built on them by `substrates_base`.
"""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from queue import SimpleQueue
from time import monotonic, perf_counter_ns
from typing import Any

from substrates import ConfigurationError
from substrates.kernel import Binding, Lane
from substrates.spi import Provider, hookimpl
from substrates_base import Circuit, Cortex, Live, Name, Pipe


class Mailbox:
    """The queues of one circuit, and the loop that empties them; it does not hold the circuit, but items do.

    An item is what receives, and a value. `transit` belongs to the thread; `over` is set after the last item.
    """

    def __init__(self, cortex: ForeignCortex) -> None:
        self.cortex = cortex
        self.ingress: SimpleQueue[tuple[Any, Any] | None] = SimpleQueue()
        self.transit: deque[tuple[Any, Any]] = deque()
        self.over = threading.Event()
        self.reading: int | None = None
        self.starters = [start_new_thread]
        """Who takes it starts the thread: a list, because a finalizer may ask in the middle of asking."""

    def started(self) -> bool:
        return not self.starters

    def start(self) -> None:
        with suppress(IndexError):
            self.starters.pop()(self.run, ())

    def run(self) -> None:
        self.cortex.threads.born()
        while True:
            if not self.transit:
                self.reading = None  # the next value from outside has a time of its own
            item = self.transit.popleft() if self.transit else self.ingress.get()
            if item is None:
                break
            receiver, value = item
            self.cortex.currents.circuit = receiver._circuit
            try:
                receiver._receive(value)
            except BaseException as error:
                self.cortex.faults.report(receiver, error)
            self.cortex.currents.circuit = item = receiver = value = None
        self.cortex.threads.died()
        self.over.set()


class ForeignPipe(Pipe):
    """A pipe to a Python callable."""

    __slots__ = ("__weakref__", "_circuit", "_lane", "_name", "_receive", "_subject")

    _circuit: ForeignCircuit

    def __init__(
        self, circuit: ForeignCircuit, name: Name | None, receive: Callable[[Any], object], lane: Lane
    ) -> None:
        self._circuit = circuit
        self._name = name
        self._subject = None
        self._receive = receive
        self._lane = lane
        circuit._cortex.pipes.born()

    def __del__(self) -> None:
        self._circuit._cortex.pipes.died()

    @property
    def lane(self) -> Lane:
        return self._lane

    @property
    def _direct(self) -> Callable[[Any], object]:
        return self._receive if self._lane is Lane.OBJECT else self.emit

    def emit(self, value: Any, /) -> None:
        self._circuit._admit((self, self._lane.admit(value)))


class Job:
    """Stands in a queue where a pipe stands."""

    def __init__(self, circuit: ForeignCircuit, call: Callable[[], object]) -> None:
        self._circuit = circuit
        self._call = call
        self.subject = circuit.subject

    def _receive(self, value: Any) -> None:
        self._call()


class ForeignCircuit(Circuit):
    """A circuit of the foreign engine: its thread starts with its first pipe or job."""

    __slots__ = ("_mailbox",)

    _cortex: ForeignCortex

    def __init__(self, cortex: ForeignCortex, name: Name) -> None:
        super().__init__(cortex, name)
        self._mailbox = Mailbox(cortex)
        cortex.alive.born()

    def _open(self) -> None:
        if not self._closing:
            self._mailbox.start()

    def _admit(self, item: tuple[Any, Any]) -> None:
        if self._inside():
            self._mailbox.transit.append(item)
        elif not self._closing:
            self._cortex.check_process()
            self._mailbox.ingress.put(item)

    # -- the engine interface

    def _receptor_pipe(self, name: Name | None, receive: Callable[[Any], object], lane: Lane) -> Pipe:
        self._open()
        return ForeignPipe(self, name, receive, lane)

    def _kernel_pipe(self, name: Name | None, binding: Binding[Any]) -> Pipe:
        raise ConfigurationError(f"pipe({binding!r}): provider 'foreign' runs no kernels")

    def _job(self, call: Callable[[], object]) -> None:
        self._open()
        self._admit((Job(self, call), None))

    def _inside(self) -> bool:
        return self._cortex.currents.circuit is self

    def _barrier(self, timeout: float | None) -> bool:
        self._cortex.check_process()
        if not self._mailbox.started():
            return True
        if self._closing:
            return self._mailbox.over.wait(timeout)
        gate = threading.Lock()
        gate.acquire()
        self._mailbox.ingress.put((Job(self, gate.release), None))
        deadline = inf if timeout is None else monotonic() + timeout
        # In slices: the end may have come in front of it, from a close at the same time.
        while not gate.acquire(timeout=max(0.0, min(0.05, deadline - monotonic()))):
            if self._mailbox.over.is_set():
                return True
            if monotonic() >= deadline:
                return False
        return True

    def _probe(self) -> tuple[int, int] | None:
        stamps: list[int] = []
        if self._mailbox.started():
            self._mailbox.ingress.put((Job(self, lambda: stamps.append(perf_counter_ns())), None))
        elif not self._closing:
            stamps.append(perf_counter_ns())
        enqueued = perf_counter_ns()
        self._barrier(None)
        return (enqueued, stamps[0]) if stamps else None

    def _now(self) -> int:
        if self._mailbox.reading is None:
            self._mailbox.reading = self._timing().clock.now()
        return self._mailbox.reading

    def _end(self) -> None:
        self._mailbox.ingress.put(None)

    def _dropped(self) -> None:
        self._cortex.alive.died()
        self._end()


class ForeignCortex(Cortex):
    """The cortex of the foreign engine."""

    CIRCUIT = ForeignCircuit

    def __init__(self) -> None:
        super().__init__("foreign")
        self.alive = Live()
        self.pipes = Live()
        self.threads = Live()

    def facts(self) -> Mapping[str, int | float | str]:
        return {
            "circuits": self.alive.value(),
            "pipes": self.pipes.value(),
            "workers": self.threads.value(),
            "faults": self.faults.count.value(),
            "rebuilds": self.rebuilds.value(),
        }

    def _stop(self) -> None:
        """The threads are daemons: they end with the interpreter."""


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
