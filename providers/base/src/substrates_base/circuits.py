"""What all circuits share: the forms of `pipe`, checks, subjects; and the engine interface.

The abstract methods of `Circuit` at the end of this file, and `emit` of its pipes, are all that an engine
supplies; everything else in the contract is built on them here, once.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from time import perf_counter_ns
from types import FunctionType, UnionType
from typing import TYPE_CHECKING, Any

import substrates
from substrates import ClosedFault, ConfigurationError, ContextError, ProviderMismatchFault, Pulse, Routing
from substrates.absent import UNSET, present
from substrates.duration import nanoseconds
from substrates.kernel import Binding, Kernel, Lane
from substrates.receptor import checked_function, receive_of
from substrates.recipe import whole

from .components import Reclaimed
from .currents import Current
from .names import Name
from .origin import mismatch
from .pipes import FanOut, Pipe
from .subjects import Subject, subject_of
from .times import Time

if TYPE_CHECKING:
    from .banks import Bank
    from .basins import Basin
    from .cells import Cell
    from .conduits import Conduit
    from .cortex import Cortex
    from .pins import Pin
    from .ports import Port
    from .sinks import Sink
    from .subscribers import Subscriber
    from .tickers import Ticker

__all__ = ["Circuit", "checked_routing", "checked_timeout", "checked_witness", "discard", "is_witness"]


class Circuit(Reclaimed, substrates.Circuit):
    """A circuit of some engine; see `substrates.Circuit`."""

    __slots__ = (
        "__weakref__",
        "_closing",
        "_cortex",
        "_current",
        "_end_queued",
        "_name",
        "_subject",
        "_time",
    )

    def __init__(self, cortex: Cortex, name: Name) -> None:
        self._cortex = cortex
        self._name = name
        self._subject: Subject | None = None
        self._current: Current | None = None
        self._closing = False
        self._end_queued = False
        self._time: Time | None = None

    @property
    def _waited_for(self) -> Circuit:
        return self

    # -- identity

    @property
    def subject(self) -> Subject:
        subject = self._subject
        if subject is None:
            subject = subject_of(self, substrates.Circuit, self._name, self._cortex.subject)
        return subject

    @property
    def current(self) -> Current:
        current = self._current
        if current is None:
            with self._cortex.lock:
                made = Current(Subject(substrates.Current, self._name, self.subject))
                # Looked at last: making it may have run a finalizer that needed it first.
                current = self._current
                if current is None:
                    current = self._current = made
        return current

    def __repr__(self) -> str:
        return f"<Circuit {self._name} ({self._cortex.provider})>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it runs in this process")

    # -- pipes

    def pipe(self, *arguments: Any, lane: Any = UNSET) -> Pipe:
        if len(arguments) == 1 and lane is UNSET and not self._closing:
            # What populations are made of, ahead of all that it is not.
            kind = type(arguments[0])
            if kind is Binding:
                return self._kernel_pipe(None, arguments[0])
            if kind is FunctionType and not hasattr(arguments[0], "emit"):
                receive = receive_of(arguments[0], "pipe")
                if receive is not None:
                    return self._receptor_pipe(None, receive, Lane.OBJECT)
        if len(arguments) > 2:
            raise TypeError(f"pipe takes at most a name and a target, {len(arguments)} arguments were given")
        name: Name | None = None
        if len(arguments) == 2:
            name = self._cortex.names.given(arguments[0], "pipe", self)
        scalar = Lane.OBJECT if lane is UNSET else Lane.of(lane)
        if not arguments:
            self._require_open("pipe")
            return self._receptor_pipe(None, discard, scalar)
        target = present(arguments[-1], "pipe", "target")
        if isinstance(target, Kernel):
            target = target.bind()
        if isinstance(target, Binding):
            self._no_lane(lane)
            self._require_open("pipe")
            return self._kernel_pipe(name, target)
        own = self._own_pipe(target, "pipe")
        if own is not None:
            self._no_lane(lane)
            if name is not None:
                raise TypeError(
                    "pipe(name, pipe): no such form; to name a forwarding pipe use pipe(name, [pipe])"
                )
            self._require_open("pipe")
            return own if own._circuit is self else self._forwarding_pipe(None, (own,))
        receive = receive_of(target, "pipe")
        if receive is not None:
            self._require_open("pipe")
            return self._receptor_pipe(name, receive, scalar)
        self._no_lane(lane)
        targets = self._targets(target)
        self._require_open("pipe")
        if name is None and len(targets) < 2:
            return self.pipe(*targets)
        return self._forwarding_pipe(name, targets)

    def _targets(self, pipes: Any) -> tuple[Pipe, ...]:
        if isinstance(pipes, (str, bytes, bytearray)) or not isinstance(pipes, Iterable):
            raise TypeError(
                f"pipe({pipes!r}): give a pipe, an iterable of pipes, a kernel, a callable"
                " or an object with a method 'receive'"
            )
        targets = []
        for element in tuple(pipes):
            own = self._own_pipe(present(element, "pipe", "targets[...]"), "pipe")
            if own is None:
                raise TypeError(f"pipe([... {element!r} ...]): each target is a pipe")
            targets.append(own)
        return tuple(targets)

    def _own_pipe(self, target: Any, operation: str) -> Pipe | None:
        """Return `target` if it is a pipe of this cortex, None if it is no pipe.

        Raises:
            ProviderMismatchFault: a pipe of another provider, or a look-alike.
        """
        return self._cortex.own_pipe(target, operation, self)

    @staticmethod
    def _no_lane(lane: Any) -> None:
        if lane is not UNSET:
            raise TypeError(
                "pipe(..., lane=...): only a pipe to a Python receptor, or to none, is given a lane"
            )

    def _require_open(self, operation: str) -> None:
        if self._closing:
            raise ClosedFault(
                self.subject, operation, f"{operation}: circuit '{self._name}' is closed; make a new circuit"
            )

    # -- named channels

    def conduit(self, *arguments: Any, routing: Any = Routing.PIPE) -> Conduit:
        from .conduits import Conduit

        name = self._name_and_witness("conduit", arguments)
        checked_routing(routing, "conduit")
        self._require_open("conduit")
        return Conduit(self, name, routing)

    def bank(self, *arguments: Any, routing: Any = Routing.PIPE) -> Bank:
        from .banks import Bank

        if len(arguments) > 1:
            raise TypeError(f"bank takes at most a class, {len(arguments)} arguments were given")
        for witness in arguments:
            checked_witness(witness, "bank")
        checked_routing(routing, "bank")
        self._require_open("bank")
        return Bank(self, routing)

    def subscriber(self, name: Any, callback: Any, /) -> Subscriber:
        from .lookups import Pool
        from .subscribers import Subscriber

        own = self._cortex.names.given(name, "subscriber", self)
        present(callback, "subscriber", "callback")
        if isinstance(callback, substrates.Pool):
            if not self._cortex.owns(callback):
                raise self._mismatch("subscriber", "callback", callback, "a pool")
            pool: Pool = callback  # type: ignore[assignment]
            call = lambda subject, registrar: registrar.register(pool.get(subject))  # noqa: E731
        else:
            if not callable(callback) and hasattr(callback, "get") and hasattr(callback, "pool"):
                raise self._mismatch("subscriber", "callback", callback, "a pool")
            call = checked_function(callback, "subscriber", "callback")
        self._require_open("subscriber")
        return Subscriber(self, own, call)

    def sink(self, *arguments: Any) -> Sink:
        from .sinks import Sink

        name, endpoint = self._given("sink", arguments, "endpoint")
        own = self._cortex.pipe_given(endpoint, "sink", "endpoint", self)
        self._require_open("sink")
        return Sink(self, name, own)

    # -- values that are kept

    def basin(self, *arguments: Any) -> Basin:
        from .basins import Basin

        if len(arguments) not in (1, 2):
            raise TypeError(
                f"basin takes a class, if any, and a capacity, {len(arguments)} arguments were given"
            )
        if len(arguments) == 2:
            checked_witness(arguments[0], "basin")
        capacity = whole(arguments[-1], 1, "basin", "capacity")
        self._require_open("basin")
        return Basin(self, capacity)

    def cell(self, *arguments: Any) -> Cell:
        from .cells import Cell

        name, initial = self._given("cell", arguments, "initial")
        self._require_open("cell")
        return Cell(self, name, initial)

    def port(self, *arguments: Any) -> Port:
        from .ports import Port

        name, initial = self._given("port", arguments, "initial")
        self._require_open("port")
        return Port(self, name, initial)

    def pin(self, *arguments: Any) -> Pin:
        from .pins import Pin

        name, initial = self._given("pin", arguments, "initial")
        self._require_open("pin")
        return Pin(self, name, initial)

    def ticker(self, *arguments: Any) -> Ticker:
        from .tickers import Ticker

        name, interval, target = self._given("ticker", arguments, "interval", "target")
        own = self._cortex.pipe_given(target, "ticker", "target", self)
        interval_ns = nanoseconds(interval, "ticker", "interval")
        self._require_open("ticker")
        return Ticker(self, name, interval_ns, own)

    # -- arguments of the factories

    def _given(self, operation: str, arguments: tuple[Any, ...], *parameters: str) -> tuple[Any, ...]:
        """Return the name, this circuit's unless one is given first, and the other arguments."""
        surplus = len(arguments) - len(parameters)
        if surplus not in (0, 1):
            raise TypeError(
                f"{operation} takes a name, if any, and {', '.join(parameters)};"
                f" {len(arguments)} arguments were given"
            )
        name = self._cortex.names.given(arguments[0], operation, self) if surplus else self._name
        others = arguments[surplus:]
        for parameter, value in zip(parameters, others, strict=True):
            present(value, operation, parameter)
        return (name, *others)

    def _name_and_witness(self, operation: str, arguments: tuple[Any, ...]) -> Name:
        """Return the name of a factory that takes a name and a class, each if any."""
        if len(arguments) > 2:
            raise TypeError(f"{operation} takes at most a name and a class, {len(arguments)} were given")
        if len(arguments) == 1 and is_witness(arguments[0]):
            return self._name
        name = self._name
        if arguments:
            name = self._cortex.names.given(arguments[0], operation, self)
        if len(arguments) == 2:
            checked_witness(arguments[1], operation)
        return name

    def _mismatch(self, operation: str, parameter: str, given: Any, kind: str) -> ProviderMismatchFault:
        provider = self._cortex.provider
        return mismatch(self, operation, f"{parameter}={given!r}", kind, provider)

    # -- lifetime

    def pulse(self) -> Pulse | None:
        self._outside("pulse")
        start = perf_counter_ns()
        probed = self._probe()
        if probed is None:
            return None
        enqueued, dequeued = probed
        return Pulse(start, enqueued, dequeued, perf_counter_ns())

    def wait(self, timeout: float | timedelta | None = None) -> None:
        seconds = checked_timeout(timeout)
        self._outside("wait")
        if not self._barrier(seconds):
            raise TimeoutError(
                f"wait(timeout={timeout!r}): circuit '{self._name}' still has work accepted before"
            )

    def close(self, *, wait: bool = False) -> None:
        if wait:
            self._outside("close")
        if not self._end_queued:
            # In this order, so that a call which an interrupt cuts short can be repeated.
            with self._cortex.lock:
                self._closing = True
            if self._time is not None:
                self._time.stop()
            self._end()
            self._end_queued = True
        if wait:
            self._barrier(None)

    def _timing(self) -> Time:
        """Return where this circuit takes its time from."""
        time = self._time
        if time is None:
            with self._cortex.lock:
                made = Time(self._cortex.clock)
                # Looked at last: making it may have run a finalizer that needed it first.
                time = self._time
                if time is None:
                    time = self._time = made
        return time

    def _outside(self, operation: str) -> None:
        if self._inside():
            raise ContextError(
                f"{operation}: called in circuit '{self._name}', whose context would wait for itself;"
                " guard with 'cortex.current() is not circuit.current'"
            )

    def _enclosed_pipe(self, subject: Subject, receive: Callable[[Any], object]) -> Pipe:
        """Make a pipe of the object lane that has `subject`, instead of one enclosed by this circuit's."""
        pipe = self._receptor_pipe(subject.name, receive, Lane.OBJECT)
        pipe._subject = subject
        return pipe

    # -- the engine interface

    @abstractmethod
    def _receptor_pipe(self, name: Name | None, receive: Callable[[Any], object], lane: Lane) -> Pipe:
        """Make a pipe that calls `receive` in this circuit's context."""

    @abstractmethod
    def _kernel_pipe(self, name: Name | None, binding: Binding[Any]) -> Pipe:
        """Make a pipe that runs a kernel in this circuit's context, with a state of its own."""

    def _kernel_pipe_over(self, name: Name | None, binding: Binding[Any], memory: memoryview) -> Pipe:
        """Make a pipe as `_kernel_pipe` does, whose state is `memory`: what `LoopPopulation` needs.

        Args:
            name: None for the circuit's.
            binding: the kernel; `memory` has its initial values, and gets the pipe fields'.
            memory: writable bytes, as many as the state has, which live as long as the pipe.
        """
        raise ConfigurationError(
            f"provider {self._cortex.provider!r} has no kernels in populations; make the circuits one by one"
        )

    def _forwarding_pipe(self, name: Name | None, targets: Sequence[Pipe]) -> Pipe:
        """Make a pipe that emits each value to `targets` in order."""
        lanes = {target.lane for target in targets}
        lane = lanes.pop() if len(lanes) == 1 else Lane.OBJECT
        return self._receptor_pipe(name, FanOut(self, targets) if targets else discard, lane)

    @abstractmethod
    def _job(self, call: Callable[[], object]) -> None:
        """Run `call` in this circuit's context, with its place in the one order; dropped after close."""

    @abstractmethod
    def _inside(self) -> bool:
        """Tell whether the calling thread is in this circuit's context."""

    @abstractmethod
    def _barrier(self, timeout: float | None) -> bool:
        """Wait until all work accepted before is done; while closing, until the end. False on a time-out."""

    def _idle(self) -> bool:
        """Tell whether all work accepted before is done, where that is seen at a glance."""
        return False

    @abstractmethod
    def _probe(self) -> tuple[int, int] | None:
        """Send a probe behind all accepted work and wait until it has run; None once the circuit has ended.

        Returns:
            When it had its place in the order and when its turn came, by `time.perf_counter_ns`.
        """

    @abstractmethod
    def _now(self) -> int:
        """Return the processing time of what is being received, by this circuit's clock; in its context.

        One reading per value from outside, shared by all that it causes (CIRCUIT-TIME-01, -02).
        """

    @abstractmethod
    def _end(self) -> None:
        """Queue the end behind all accepted work, drop what comes from now on; again is no change."""

    @abstractmethod
    def _dropped(self) -> None:
        """Let go of the engine's part: nobody refers to this circuit any more. Called once, from anywhere."""


def discard(value: Any) -> None:
    """Receive and ignore."""


def is_witness(given: Any) -> bool:
    """Tell whether `given` is a class, or an expression of classes, rather than a value."""
    return isinstance(given, (type, UnionType)) or hasattr(given, "__origin__") or given is Any


def checked_witness(given: Any, operation: str) -> None:
    """Refuse what is no class.

    Raises:
        AbsentValueError: None.
        TypeError: of another kind.
    """
    if not is_witness(present(given, operation, "type")):
        raise TypeError(f"{operation}(type={given!r}): a class is required")


def checked_routing(routing: Any, operation: str) -> None:
    """Refuse what is no routing.

    Raises:
        AbsentValueError: None.
        TypeError: of another kind.
    """
    if not isinstance(present(routing, operation, "routing"), Routing):
        raise TypeError(f"{operation}(routing={routing!r}): Routing.PIPE or Routing.STEM is required")


def checked_timeout(timeout: float | timedelta | None) -> float | None:
    """Return `timeout` in seconds, None for no limit.

    Raises:
        ConfigurationError: negative or not a number.
        TypeError: of another kind.
    """
    if timeout is None:
        return None
    try:
        if isinstance(timeout, (bool, str, bytes, bytearray)):
            raise TypeError
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    except (TypeError, ValueError):
        raise TypeError(f"timeout={timeout!r}: seconds as a number, a timedelta, or None") from None
    except OverflowError:  # an integer beyond all floats
        seconds = math.inf if timeout > 0 else -1.0  # type: ignore[operator]
    if math.isnan(seconds) or seconds < 0:
        raise ConfigurationError(f"timeout={timeout!r}: 0 or more seconds")
    return None if math.isinf(seconds) else seconds
