"""What all components share that belong to a circuit and are no pipes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import substrates

from .names import Name
from .subjects import Subject, subject_of

if TYPE_CHECKING:
    from .circuits import Circuit
    from .pipes import Pipe

__all__ = ["Component", "Managed", "Receiving", "Reclaimed", "Resource"]


class Waited(Protocol):
    """What a `with` waits for: a circuit, or many."""

    def wait(self) -> None:
        """Wait until accepted work is done."""

    def _inside(self) -> bool:
        """Tell whether the calling thread is in its context, where it cannot be waited for."""


class Managed:
    """What can stand in a `with`: leaving it waits for accepted work, unless by an error, and then closes."""

    __slots__ = ()

    @property
    @abstractmethod
    def _waited_for(self) -> Waited:
        """What has that work; it is not waited for in its own context."""

    @abstractmethod
    def close(self, *, wait: bool = False) -> None:
        """See `substrates.Resource.close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        waited = self._waited_for
        try:
            if error is None and not waited._inside():
                waited.wait()
        finally:
            self.close()


class Reclaimed(Managed):
    """What is warned about when it is dropped unclosed, and lets go of its engine's part then."""

    __slots__ = ()

    _closing: bool

    @abstractmethod
    def _dropped(self) -> None:
        """Let go of the engine's part. Called once, from anywhere."""

    def __del__(self) -> None:
        try:
            closing = self._closing
        except AttributeError:  # an interrupt came before it was made
            return
        try:
            if not closing:
                self._closing = True  # type: ignore[misc]  # a slot of the subclass
                warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        finally:
            self._dropped()


class Component:
    """A component of a circuit: it holds the circuit, which does not hold it.

    Attributes:
        KIND: the class of the api that it implements.
    """

    __slots__ = ("__weakref__", "_circuit", "_name", "_subject")

    KIND: ClassVar[type[Any]]

    def __init__(self, circuit: Circuit, name: Name) -> None:
        self._circuit = circuit
        self._name = name
        self._subject: Subject | None = None

    @property
    def subject(self) -> Subject:
        subject = self._subject
        if subject is None:
            subject = subject_of(self, self.KIND, self._name, self._enclosing())
        return subject

    def _enclosing(self) -> Subject:
        """Return the subject that encloses this component's."""
        return self._circuit.subject

    def __repr__(self) -> str:
        circuit = self._circuit
        kind = self.KIND.__name__
        return f"<{kind} {self._name} of circuit '{circuit._name}' ({circuit._cortex.provider})>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it belongs to a circuit of this process")


class Receiving(Component):
    """A component that values get into through a pipe of its own, made when somebody asks for it."""

    __slots__ = ("_pipe",)

    def __init__(self, circuit: Circuit, name: Name) -> None:
        super().__init__(circuit, name)
        self._pipe: Pipe | None = None

    def pipe(self) -> Pipe:
        pipe = self._pipe
        if pipe is None:
            circuit = self._circuit
            # Outside the lock: an engine may have to wait before a circuit gets its first receptor.
            subject = Subject(substrates.Pipe, self._name, self.subject)
            made = circuit._enclosed_pipe(subject, self._receptor())
            with circuit._cortex.lock:
                pipe = self._pipe
                if pipe is None:
                    pipe = self._pipe = made
        return pipe

    @abstractmethod
    def _receptor(self) -> Callable[[Any], object]:
        """Return what receives the pipe's values; it does not hold this component, which holds the pipe."""


class Resource(Managed, Component):
    """A component that is closed; its clean-up is a job of the circuit (RES-03).

    `_closed` is what synchronous checks look at; it is set when the close is accepted, before its job.
    """

    __slots__ = ("_closed", "_end_queued")

    def __init__(self, circuit: Circuit, name: Name) -> None:
        super().__init__(circuit, name)
        self._closed = False
        self._end_queued = False

    @property
    def _waited_for(self) -> Circuit:
        return self._circuit

    def close(self, *, wait: bool = False) -> None:
        circuit = self._circuit
        if wait:
            circuit._outside("close")
        if not self._end_queued:
            # In this order, so that a call which an interrupt cuts short can be repeated.
            self._closed = True
            if not circuit._cortex.forked:  # there no job would run, and closing never raises (RES-02)
                circuit._job(self._ended)
            self._end_queued = True
        if wait:
            circuit._barrier(None)

    @abstractmethod
    def _ended(self) -> None:
        """Clean up, in the circuit's context; a second call does nothing."""

    def _require_open(self, operation: str) -> None:
        if self._closed:
            raise substrates.ClosedFault(
                self.subject, operation, f"{operation}: {self!r} is closed; make a new one"
            )
