"""Circuits: ordered mailboxes with one sequential execution context."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .current import Current
from .name import Name
from .pipe import Pipe
from .receptor import Receptor
from .resource import Resource
from .subject import Subject

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
