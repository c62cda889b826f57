"""What all circuits share: the forms of `pipe`, checks, subjects; and the engine interface.

The abstract methods of `Circuit` at the end of this file, and `emit` of its pipes, are all that an engine
supplies; everything else in the contract is built on them here, once.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import substrates
from substrates import ClosedFault, ConfigurationError, ContextError, ProviderMismatchFault
from substrates.absent import UNSET, present
from substrates.kernel import Binding, Kernel, Lane

from .currents import Current
from .names import Name
from .pipes import FanOut, Pipe
from .subjects import Subject, subject_of

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Circuit", "checked_timeout", "discard"]


class Circuit(substrates.Circuit):
    """A circuit of some engine; see `substrates.Circuit`."""

    __slots__ = ("__weakref__", "_closing", "_cortex", "_current", "_end_queued", "_name", "_subject")

    def __init__(self, cortex: Cortex, name: Name) -> None:
        self._cortex = cortex
        self._name = name
        self._subject: Subject | None = None
        self._current: Current | None = None
        self._closing = False
        self._end_queued = False

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
                current = self._current
                if current is None:
                    own = Subject(substrates.Current, self._name, self.subject)
                    current = self._current = Current(own)
        return current

    def __repr__(self) -> str:
        return f"<Circuit {self._name} ({self._cortex.provider})>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it runs in this process")

    # -- pipes

    def pipe(self, *arguments: Any, lane: Any = UNSET) -> Pipe:
        if len(arguments) == 1 and type(arguments[0]) is Binding and lane is UNSET and not self._closing:
            return self._kernel_pipe(None, arguments[0])
        if len(arguments) > 2:
            raise TypeError(f"pipe takes at most a name and a target, {len(arguments)} arguments were given")
        name: Name | None = None
        if len(arguments) == 2:
            name = self._cortex.names.given(arguments[0], "pipe", self.subject)
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
        receive = _callback(target)
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
        if isinstance(target, Pipe) and target._circuit._cortex is self._cortex:
            return target
        if isinstance(target, substrates.Pipe) or (hasattr(target, "emit") and hasattr(target, "subject")):
            raise ProviderMismatchFault(
                self.subject,
                operation,
                f"{operation}({target!r}): a pipe of another provider given to {self._cortex.provider!r};"
                " create the pipe from the same cortex",
            )
        return None

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

    # -- lifetime

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
            self._end()
            self._end_queued = True
        if wait:
            self._barrier(None)

    def _outside(self, operation: str) -> None:
        if self._inside():
            raise ContextError(
                f"{operation}: called in circuit '{self._name}', whose context would wait for itself;"
                " guard with 'cortex.current() is not circuit.current'"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        try:
            if error is None and not self._inside():
                self.wait()
        finally:
            self.close()

    def __del__(self) -> None:
        try:
            if not self._closing:
                self._closing = True
                warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        finally:
            self._dropped()

    # -- the engine interface

    @abstractmethod
    def _receptor_pipe(self, name: Name | None, receive: Callable[[Any], object], lane: Lane) -> Pipe:
        """Make a pipe that calls `receive` in this circuit's context."""

    @abstractmethod
    def _kernel_pipe(self, name: Name | None, binding: Binding[Any]) -> Pipe:
        """Make a pipe that runs a kernel in this circuit's context, with a state of its own."""

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

    @abstractmethod
    def _end(self) -> None:
        """Queue the end behind all accepted work, drop what comes from now on; again is no change."""

    @abstractmethod
    def _dropped(self) -> None:
        """Let go of the engine's part: nobody refers to this circuit any more. Called once, from anywhere."""


def discard(value: Any) -> None:
    """Receive and ignore."""


def _callback(receptor: Any) -> Callable[[Any], object] | None:
    """Return the callable behind a receptor, None if it is none.

    Raises:
        ConfigurationError: a coroutine function, whose coroutines nobody would await.
    """
    receive: Any = getattr(receptor, "receive", None)
    if not callable(receive):
        if not callable(receptor):
            return None
        receive = receptor
    # What is called in the end: of a partial its function, of an instance its __call__.
    called: Any = receive
    while isinstance(called, functools.partial):
        called = called.func
    if not inspect.isroutine(called):
        called = getattr(called, "__call__", called)  # noqa: B004
    called = inspect.unwrap(called)
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        raise ConfigurationError(
            f"pipe({receptor!r}): a coroutine function cannot be a receptor, its coroutines would never run;"
            " schedule them from a plain function with loop.call_soon_threadsafe"
        )
    result: Callable[[Any], object] = receive
    return result


def checked_timeout(timeout: float | timedelta | None) -> float | None:
    """Return `timeout` in seconds, None for no limit.

    Raises:
        ConfigurationError: negative or not a number.
        TypeError: of another kind.
    """
    if timeout is None:
        return None
    try:
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    except (TypeError, ValueError):
        raise TypeError(f"timeout={timeout!r}: seconds as a number, a timedelta, or None") from None
    if math.isnan(seconds) or seconds < 0:
        raise ConfigurationError(f"timeout={timeout!r}: 0 or more seconds")
    return None if math.isinf(seconds) else seconds
