"""The circuits of the toy: one thread each, two queues, one lock.

Its seams are the methods of `Circuit` that mutants override:

1. `accept` takes an item in, from whatever thread; inside the context it becomes transit (`defer`).
2. `take` chooses the next item: transit before ingress; `perform` does what it says.
3. `deliver` has a pipe receive a value, and isolates what is raised (`isolate`).
4. `wake` tells the sleeping thread that there is work.
5. `arrive` opens the gate of a barrier that has come up.
6. `end` asks for the end behind all that was accepted.

The thread holds the queues and, while there is nothing to do, nothing else, so that a circuit that was
dropped can be collected.
"""

from __future__ import annotations

import math
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta
from time import perf_counter_ns
from types import UnionType
from typing import TYPE_CHECKING, Any

import substrates
from substrates import Clock, ClosedFault, ConfigurationError, ContextError, Pulse, Routing
from substrates.absent import UNSET, present
from substrates.duration import nanoseconds
from substrates.kernel import Lane
from substrates.receptor import checked_function, receive_of
from substrates.recipe import whole

from .names import Current, Here, Name, Owned, Subject
from .pipes import Forwarder, Managed, Pipe, discard

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Barrier", "Circuit", "Emission", "Item", "Job", "is_witness", "seconds_of"]


class Item:
    """Something with a place in the order."""


class Emission(Item):
    """A value for a pipe, and the context that emitted it."""

    def __init__(self, pipe: Pipe, value: Any, emitter: Current) -> None:
        self.pipe = pipe
        self.value = value
        self.emitter = emitter


class Job(Item):
    """Something to do for the component of `subject`."""

    def __init__(self, call: Callable[[], object], subject: Subject) -> None:
        self.call = call
        self.subject = subject


class Barrier(Item):
    """Where somebody waits for what was accepted before."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.arrived_ns = 0


class Circuit(Managed, Owned, Here, substrates.Circuit):
    """A circuit.

    `ingress` and `closing` are guarded by `lock`; `transit`, `emitter` and `reading_ns` belong to the thread.
    A member of a `population` holds it, which warns instead if they are dropped unclosed.
    """

    population: Any = None

    def __init__(self, cortex: Cortex, name: Name, clock: Clock) -> None:
        self.cortex = cortex
        self.name = name
        self.clock = clock
        self._subject = cortex.new_subject(substrates.Circuit, name, cortex.subject)
        self._current = Current(cortex, name, self._subject)
        self.emitter = self._current
        self.reading_ns: int | None = None
        self.lock = threading.Condition()
        self.ingress: deque[Item] = deque()
        self.transit: deque[Item] = deque()
        self.closing = False
        self.asleep = False
        self.ended = threading.Event()
        self.tickers: weakref.WeakSet[Any] = weakref.WeakSet()
        cortex.alive.add(self)
        threading.Thread(
            target=_work,
            args=(cortex, weakref.ref(self), self.lock, self.ended, (self.ingress, self.transit)),
            name="toy",
            daemon=True,
        ).start()

    # -- the seams

    def accept(self, item: Item) -> None:
        """Take an item in."""
        if self.inside:
            self.defer(item)
            return
        with self.lock:
            if not self.closing:
                self.ingress.append(item)
                self.wake()

    def defer(self, item: Item) -> None:
        """Append to the transit."""
        self.transit.append(item)

    def take(self) -> Item | None:
        """Return the next item, None if there is none; the lock is held."""
        if self.transit:
            return self.transit.popleft()
        if not self.ingress:
            return None
        self.reading_ns = None
        return self.ingress.popleft()

    def perform(self, item: Item) -> None:
        """Do what an item says."""
        if isinstance(item, Barrier):
            self.arrive(item)
        elif isinstance(item, Emission):
            self.emitter = item.emitter
            self.deliver(item.pipe, item.value)
        elif isinstance(item, Job):
            self.emitter = self._current
            self.isolate(item.subject, item.call)

    def deliver(self, pipe: Pipe, value: Any) -> None:
        """Have a pipe receive a value."""
        self.isolate(pipe.subject, lambda: pipe.receiver(value))

    def isolate(self, subject: Subject, call: Callable[[], object]) -> None:
        """Call client code, and report what it raises."""
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - the trust boundary
            self.cortex.report(subject, error)

    def wake(self) -> None:
        """Tell the thread that there is work; the lock is held."""
        self.lock.notify()

    def arrive(self, barrier: Barrier) -> None:
        """Let go whoever waits at a barrier."""
        barrier.arrived_ns = perf_counter_ns()
        barrier.gate.set()

    def end(self) -> None:
        """Ask for the end; the lock is held."""
        self.closing = True

    def now_ns(self) -> int:
        """Return the processing time: one reading for a value from outside and all that it causes."""
        if self.reading_ns is None:
            self.reading_ns = self.clock.now()
        return self.reading_ns

    # -- who and where

    @property
    def inside(self) -> bool:
        """Whether the caller is in this circuit's context."""
        return self.cortex.running.current is self._current

    @property
    def subject(self) -> Subject:
        return self._subject

    @property
    def current(self) -> Current:
        return self._current

    def job(self, call: Callable[[], object], subject: Subject) -> None:
        """Give `call` its place in the order."""
        self.accept(Job(call, subject))

    def require_open(self, operation: str) -> None:
        """Refuse to make things for a closed circuit."""
        if self.closing:
            raise ClosedFault(self._subject, operation, f"{operation}: circuit '{self.name}' is closed")

    def require_outside(self, operation: str) -> None:
        """Refuse to wait for oneself."""
        if self.inside:
            raise ContextError(f"{operation}: called in the own context of circuit '{self.name}'")

    # -- factories

    def pipe(self, *arguments: Any, lane: Any = UNSET) -> Pipe:
        if len(arguments) > 2:
            raise TypeError(f"pipe takes at most a name and a target, {len(arguments)} were given")
        name = self.name
        if len(arguments) == 2:
            name = Name.given(self.cortex, arguments[0], "pipe", self._subject)
        if not arguments:
            self.require_open("pipe")
            return self.new_pipe(name, discard, lane)
        target = present(arguments[-1], "pipe", "target")
        own = self.cortex.pipe_or_none(target, "pipe", self._subject)
        if own is not None:
            if len(arguments) == 2:
                raise TypeError("pipe(name, pipe): no such form; use pipe(name, [pipe])")
            return self._forwarding(name, (own,), collapse=True)
        receive = receive_of(target, "pipe")
        if receive is not None:
            self.require_open("pipe")
            return self.new_pipe(name, receive, lane)
        if isinstance(target, (str, bytes)) or not isinstance(target, Iterable):
            raise TypeError(f"pipe({target!r}): a pipe, pipes or a receptor is required")
        targets = tuple(self.cortex.pipe_given(each, "pipe", "targets", self._subject) for each in target)
        return self._forwarding(name, targets, collapse=len(arguments) == 1)

    def new_pipe(self, name: Name, receive: Callable[[Any], object], lane: Any) -> Pipe:
        """Make a pipe of checked arguments."""
        kind: type[Pipe] = self.cortex.kinds["pipe"]
        chosen = Lane.OBJECT if lane is UNSET else Lane.of(lane)
        return kind(self, self.cortex.new_subject(substrates.Pipe, name, self._subject), receive, chosen)

    def _forwarding(self, name: Name, targets: tuple[Pipe, ...], *, collapse: bool) -> Pipe:
        self.require_open("pipe")
        if collapse and not targets:
            return self.new_pipe(name, discard, UNSET)
        if collapse and len(targets) == 1 and targets[0].circuit is self:
            return targets[0]
        forwarder: Forwarder = self.cortex.kinds["forwarder"](self, targets)
        return self.new_pipe(name, forwarder.receive, forwarder.lane)

    def conduit(self, *arguments: Any, routing: Any = Routing.PIPE) -> Any:
        if len(arguments) > 2:
            raise TypeError(f"conduit takes at most a name and a class, {len(arguments)} were given")
        names, witnesses = arguments[:1], arguments[1:]
        if len(arguments) == 1 and is_witness(arguments[0]):
            names, witnesses = (), arguments
        name = Name.given(self.cortex, names[0], "conduit", self._subject) if names else self.name
        self._checked_form("conduit", witnesses, routing)
        return self.cortex.kinds["conduit"](self, name, routing)

    def bank(self, *arguments: Any, routing: Any = Routing.PIPE) -> Any:
        if len(arguments) > 1:
            raise TypeError(f"bank takes at most a class, {len(arguments)} were given")
        self._checked_form("bank", arguments, routing)
        return self.cortex.kinds["bank"](self, self.name, routing)

    def _checked_form(self, operation: str, witnesses: tuple[Any, ...], routing: Any) -> None:
        for witness in witnesses:
            if not is_witness(present(witness, operation, "type")):
                raise TypeError(f"{operation}(type={witness!r}): a class is required")
        if not isinstance(present(routing, operation, "routing"), Routing):
            raise TypeError(f"{operation}(routing={routing!r}): a Routing is required")
        self.require_open(operation)

    def subscriber(self, name: Any, callback: Any, /) -> Any:
        own = Name.given(self.cortex, name, "subscriber", self._subject)
        looks_like_a_pool = hasattr(callback, "get") and hasattr(callback, "pool")
        if isinstance(present(callback, "subscriber", "callback"), substrates.Pool) or looks_like_a_pool:
            pool = self.cortex.checked(
                callback, substrates.Pool, "subscriber", "callback", self._subject, looks=("get", "pool")
            )
            self.require_open("subscriber")
            return self.cortex.kinds["subscriber"](
                self, own, lambda subject, registrar: registrar.register(pool.get(subject))
            )
        checked_function(callback, "subscriber", "callback")
        self.require_open("subscriber")
        return self.cortex.kinds["subscriber"](self, own, callback)

    def sink(self, *arguments: Any) -> Any:
        name, endpoint = self._given("sink", arguments, "endpoint")
        own = self.cortex.pipe_given(endpoint, "sink", "endpoint", self._subject)
        self.require_open("sink")
        return self.cortex.kinds["sink"](self, name, own)

    def basin(self, *arguments: Any) -> Any:
        if len(arguments) not in {1, 2}:
            raise TypeError(f"basin takes a class, if any, and a capacity, {len(arguments)} were given")
        for witness in arguments[:-1]:
            if not is_witness(present(witness, "basin", "type")):
                raise TypeError(f"basin(type={witness!r}): a class is required")
        capacity = whole(arguments[-1], 1, "basin", "capacity")
        self.require_open("basin")
        return self.cortex.kinds["basin"](self, self.name, capacity)

    def cell(self, *arguments: Any) -> Any:
        return self._holder("cell", arguments)

    def port(self, *arguments: Any) -> Any:
        return self._holder("port", arguments)

    def pin(self, *arguments: Any) -> Any:
        return self._holder("pin", arguments)

    def _holder(self, operation: str, arguments: tuple[Any, ...]) -> Any:
        name, initial = self._given(operation, arguments, "initial")
        self.require_open(operation)
        return self.cortex.kinds[operation](self, name, initial)

    def ticker(self, *arguments: Any) -> Any:
        name, interval, target = self._given("ticker", arguments, "interval", "target")
        own = self.cortex.pipe_given(target, "ticker", "target", self._subject)
        interval_ns = nanoseconds(interval, "ticker", "interval")
        self.require_open("ticker")
        return self.cortex.kinds["ticker"](self, name, interval_ns, own)

    def _given(self, operation: str, arguments: tuple[Any, ...], *parameters: str) -> tuple[Any, ...]:
        """Return a name, given or the circuit's, and the other arguments, none of them absent."""
        if len(arguments) - len(parameters) not in {0, 1}:
            raise TypeError(f"{operation} takes a name, if any, and {', '.join(parameters)}")
        others = arguments[-len(parameters) :]
        name = self.name
        if len(arguments) > len(parameters):
            name = Name.given(self.cortex, arguments[0], operation, self._subject)
        for value, parameter in zip(others, parameters, strict=True):
            present(value, operation, parameter)
        return (name, *others)

    # -- waiting and the end

    def pulse(self) -> Pulse | None:
        start_ns = perf_counter_ns()
        self.require_outside("pulse")
        barrier = Barrier()
        with self.lock:
            gate = self.await_all(barrier)
            enqueued_ns = perf_counter_ns()
        gate.wait()
        if gate is self.ended:
            return None
        return Pulse(start_ns, enqueued_ns, barrier.arrived_ns, perf_counter_ns())

    def wait(self, timeout: float | timedelta | None = None) -> None:
        seconds = seconds_of(timeout)
        self.require_outside("wait")
        barrier = Barrier()
        with self.lock:
            gate = self.await_all(barrier)
        if not gate.wait(seconds):
            raise TimeoutError(f"wait(timeout={timeout}): circuit '{self.name}' still has work")

    def await_all(self, barrier: Barrier) -> threading.Event:
        """Return what is set when all that was accepted is done; the lock is held."""
        if self.closing:
            return self.ended
        self.ingress.append(barrier)
        self.lock.notify()
        return barrier.gate

    def close(self, *, wait: bool = False) -> None:
        if wait:
            self.require_outside("close")
        with self.lock:
            if not self.closing:
                self.end()
                self.lock.notify()
        for ticker in list(self.tickers):
            ticker.stop()
        if wait:
            self.ended.wait()

    @property
    def waited_for(self) -> Circuit:
        return self

    def __repr__(self) -> str:
        return f"<Circuit {self.name} ({self.cortex.provider})>"

    def __del__(self) -> None:
        if not self.closing:
            if self.population is None:
                warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            with self.lock:
                self.closing = True
                self.lock.notify()


def _work(
    cortex: Cortex,
    reference: Callable[[], Circuit | None],
    lock: threading.Condition,
    ended: threading.Event,
    queues: tuple[deque[Item], ...],  # noqa: ARG001 - what is queued holds the circuit
) -> None:
    circuit = reference()
    if circuit is not None:
        cortex.running.current = circuit.current
    while circuit is not None:
        with lock:
            item = circuit.take()
            while item is None and not circuit.closing:
                circuit.asleep = True
                del circuit
                lock.wait()
                circuit = reference()
                if circuit is None:
                    break
                circuit.asleep = False
                item = circuit.take()
        if item is None or circuit is None:
            break
        circuit.perform(item)
        del item, circuit
        circuit = reference()
    ended.set()


def is_witness(given: Any) -> bool:
    """Tell whether `given` is a class, or an expression of classes."""
    return isinstance(given, (type, UnionType)) or given is Any or hasattr(given, "__origin__")


def seconds_of(timeout: Any) -> float | None:
    """Return a time limit in seconds, None for none."""
    if timeout is None:
        return None
    if isinstance(timeout, timedelta):
        timeout = timeout.total_seconds()
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout={timeout!r}: seconds as a number, a timedelta, or None")
    if math.isnan(timeout if isinstance(timeout, float) else 0.0) or timeout < 0:
        raise ConfigurationError(f"timeout={timeout!r}: 0 or more seconds")
    return min(timeout, threading.TIMEOUT_MAX)
