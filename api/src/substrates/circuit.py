"""Circuits: ordered mailboxes with one sequential execution context."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .bank import Bank
from .basin import Basin
from .cell import Cell
from .current import Current
from .lookup import Pool
from .name import Name
from .pin import Pin
from .pipe import Pipe
from .port import Port
from .pulse import Pulse
from .receptor import Receptor
from .resource import Resource
from .routing import Routing
from .sink import Capture, Sink
from .source import Conduit
from .subject import Subject
from .subscriber import Registrar, Subscriber
from .ticker import Ticker

if TYPE_CHECKING:
    from .kernel import Binding, Lane

__all__ = ["Circuit"]

E = TypeVar("E")


class Circuit(Resource):
    """An ordered mailbox with one sequential execution context.

    Everything its pipes admit is received one value at a time, in one order that spans all pipes. What a
    receptor emits on its own circuit (transit) is received before the next value from outside (ingress).
    Close it, or keep it: a circuit that is dropped unclosed is reclaimed with a `ResourceWarning`.

    Contract: CIRCUIT-ID-01 to CIRCUIT-TIME-03.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Circuit]: ...

    @property
    @abstractmethod
    def current(self) -> Current:
        """The token of this circuit's own context: what `cortex.current()` is inside its callbacks."""

    @overload
    def pipe(self, *, lane: Lane | object = ...) -> Pipe[Any]: ...
    @overload
    def pipe(self, target: Pipe[E], /) -> Pipe[E]: ...
    @overload
    def pipe(self, kernel: Binding[E], /) -> Pipe[E]: ...
    @overload
    def pipe(
        self, receptor: Receptor[E] | Callable[[E], object], /, *, lane: Lane | object = ...
    ) -> Pipe[E]: ...
    @overload
    def pipe(self, targets: Iterable[Pipe[E]], /) -> Pipe[E]: ...
    @overload
    def pipe(self, name: Name | str, kernel: Binding[E], /) -> Pipe[E]: ...
    @overload
    def pipe(
        self, name: Name | str, receptor: Receptor[E] | Callable[[E], object], /, *, lane: Lane | object = ...
    ) -> Pipe[E]: ...
    @overload
    def pipe(self, name: Name | str, targets: Iterable[Pipe[E]], /) -> Pipe[E]: ...

    @abstractmethod
    def pipe(self, *arguments: Any, lane: Any = ...) -> Pipe[Any]:
        """Make a pipe of this circuit.

        ==================== ==============================================================
        ``pipe()``           values hold their place in the order and are discarded
        ``pipe(target)``     `target` itself if it is this circuit's; else a new pipe that
                             forwards each value, after its turn here, to the other circuit
        ``pipe(targets)``    a fan-out: every target gets every value, in list order; empty
                             is ``pipe()``, one is ``pipe(target)``; the list is copied
        ``pipe(receptor)``   a callable of one argument, an object with `receive`, or a
                             kernel (``relay.bind(...)``)
        ``pipe(name, x)``    named: always a new pipe, `x` a receptor, a kernel or targets
        ==================== ==============================================================

        Args:
            arguments: see above.
            lane: with a Python receptor or without any: `kernel.int64` or `kernel.float64` for a pipe
                that kernels can emit to; default: any object.

        Raises:
            AbsentValueError: an argument or an element is None.
            ProviderMismatchFault: a pipe or name of another provider.
            ConfigurationError: the name is malformed; the receptor is a coroutine function.
            TypeError: no form takes these arguments.
            ClosedFault: the circuit is closed.

        Contract: PIPE-KIND-01 to -04, FANOUT-01 to -10, CLOSED-02, CLOSED-03, CIRCUIT-FACT-01 to -04.
        """

    # -- named channels

    @overload
    def conduit(self, *, routing: Routing = ...) -> Conduit[Any]: ...
    @overload
    def conduit(self, type: type[E], /, *, routing: Routing = ...) -> Conduit[E]: ...
    @overload
    def conduit(self, name: Name | str, /, *, routing: Routing = ...) -> Conduit[Any]: ...
    @overload
    def conduit(self, name: Name | str, type: type[E], /, *, routing: Routing = ...) -> Conduit[E]: ...

    @abstractmethod
    def conduit(self, *arguments: Any, routing: Any = ...) -> Conduit[Any]:
        """Make a conduit of this circuit, never cached.

        Args:
            arguments: a name, by default the circuit's; then a class, the type of what is emitted, for type
                checkers alone.
            routing: which channels an emission reaches; default `Routing.PIPE`.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name of another provider.
            ConfigurationError: the name is malformed.
            TypeError: of another kind.
            ClosedFault: the circuit is closed.

        Contract: CONDUIT-CREATE-01, -02, CIRCUIT-FACT-05, CLOSED-01.
        """

    @overload
    def bank(self, *, routing: Routing = ...) -> Bank[Any]: ...
    @overload
    def bank(self, type: type[E], /, *, routing: Routing = ...) -> Bank[E]: ...

    @abstractmethod
    def bank(self, *arguments: Any, routing: Any = ...) -> Bank[Any]:
        """Make a bank, whose conduits have `routing`.

        Raises:
            As `conduit`.

        Contract: BANK-CREATE-01, CIRCUIT-FACT-07, CLOSED-01.
        """

    @overload
    def subscriber(
        self, name: Name | str, callback: Callable[[Subject[Pipe[E]], Registrar[E]], object], /
    ) -> Subscriber[E]: ...
    @overload
    def subscriber(self, name: Name | str, pool: Pool[Pipe[E]], /) -> Subscriber[E]: ...

    @abstractmethod
    def subscriber(self, name: Any, callback: Any, /) -> Subscriber[Any]:
        """Make a subscriber, for sources of this circuit.

        Args:
            name: of the subscriber.
            callback: called with the subject of a channel and a registrar, once per subscription and channel;
                or a pool of pipes, for a callback that registers the pool's pipe of the channel's name.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name or pool of another provider.
            ConfigurationError: the name is malformed; the callback is a coroutine function.
            TypeError: neither callable nor pool.
            ClosedFault: the circuit is closed.

        Contract: SUBSCRIBER-CREATE-01, -02, CIRCUIT-FACT-14, -15, CLOSED-04.
        """

    @overload
    def sink(self, endpoint: Pipe[Capture[E]], /) -> Sink[E]: ...
    @overload
    def sink(self, name: Name | str, endpoint: Pipe[Capture[E]], /) -> Sink[E]: ...

    @abstractmethod
    def sink(self, *arguments: Any) -> Sink[Any]:
        """Make a sink that emits captures to `endpoint`, a pipe of any circuit of this provider.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name or pipe of another provider.
            TypeError: no pipe.
            ClosedFault: the circuit is closed.

        Contract: SINK-CREATE-01, CIRCUIT-FACT-13, CLOSED-02.
        """

    # -- values that are kept

    @overload
    def basin(self, capacity: int, /) -> Basin[Any]: ...
    @overload
    def basin(self, type: type[E], capacity: int, /) -> Basin[E]: ...

    @abstractmethod
    def basin(self, *arguments: Any) -> Basin[Any]:
        """Make a basin that keeps the newest `capacity` values, 1 or more.

        Raises:
            AbsentValueError: an argument is None.
            ConfigurationError: a capacity below 1.
            TypeError: of another kind.
            ClosedFault: the circuit is closed.

        Contract: BASIN-CREATE-01, -02, CIRCUIT-FACT-09, CLOSED-01.
        """

    @overload
    def cell(self, initial: E, /) -> Cell[E]: ...
    @overload
    def cell(self, name: Name | str, initial: E, /) -> Cell[E]: ...

    @abstractmethod
    def cell(self, *arguments: Any) -> Cell[Any]:
        """Make a cell: ``cell(initial)`` or ``cell(name, initial)``.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name of another provider.
            ClosedFault: the circuit is closed.

        Contract: CELL-CREATE-01, -02, CIRCUIT-FACT-10, CLOSED-01.
        """

    @overload
    def port(self, initial: E, /) -> Port[E]: ...
    @overload
    def port(self, name: Name | str, initial: E, /) -> Port[E]: ...

    @abstractmethod
    def port(self, *arguments: Any) -> Port[Any]:
        """Make a port: ``port(initial)`` or ``port(name, initial)``; errors as `cell`.

        Contract: PORT-CREATE-01, CIRCUIT-FACT-12, CLOSED-01.
        """

    @overload
    def pin(self, initial: E, /) -> Pin[E]: ...
    @overload
    def pin(self, name: Name | str, initial: E, /) -> Pin[E]: ...

    @abstractmethod
    def pin(self, *arguments: Any) -> Pin[Any]:
        """Make a pin: ``pin(initial)`` or ``pin(name, initial)``; errors as `cell`.

        Contract: PIN-CREATE-01, CIRCUIT-FACT-11, CLOSED-01.
        """

    @overload
    def ticker(self, interval: timedelta | float, target: Pipe[int], /) -> Ticker: ...
    @overload
    def ticker(self, name: Name | str, interval: timedelta | float, target: Pipe[int], /) -> Ticker: ...

    @abstractmethod
    def ticker(self, *arguments: Any) -> Ticker:
        """Make a ticker: it emits to `target` every `interval`, for the first time after one.

        It takes its time from the circuit's clock, and stops at its own close or the circuit's.

        Args:
            arguments: a name, by default the circuit's; the interval, a timedelta or seconds; a pipe of any
                circuit of this provider.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name or pipe of another provider.
            ConfigurationError: an interval that is not more than 0, or not finite.
            TypeError: of another kind.
            ClosedFault: the circuit is closed.

        Contract: TICKER-01, -03, -13, CLOSED-04.
        """

    # -- waiting

    @abstractmethod
    def pulse(self) -> Pulse | None:
        """Send a probe through the circuit, behind all that was accepted, and return when it was where.

        Returns:
            None if the circuit has ended.

        Raises:
            ContextError: called in this circuit's own context.

        Contract: PULSE-01 to -08.
        """

    @abstractmethod
    def wait(self, timeout: float | timedelta | None = None) -> None:
        """Return once everything accepted before this call, with what it caused on this circuit, is done.

        A barrier, not a drain: work accepted later is not waited for. On a closing circuit it waits for
        the end, on a closed one it returns at once. Ctrl-C raises `KeyboardInterrupt` here at once.

        Args:
            timeout: the most to wait, in seconds or as a timedelta; None waits as long as it takes.

        Raises:
            ContextError: called in this circuit's own context.
            TimeoutError: `timeout` passed first; the circuit goes on.
            ConfigurationError: a negative timeout.
            TypeError: a timeout of another kind.

        Contract: CIRCUIT-AWAIT-01 to -10.
        """
