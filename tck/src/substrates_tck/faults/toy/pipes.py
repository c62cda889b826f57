"""Pipes of the toy, and what all components of a circuit share."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import substrates
from substrates import ClosedFault
from substrates.kernel import Lane

from .names import Here, Name, Owned, Subject

if TYPE_CHECKING:
    from .engine import Circuit
    from .recipes import Attachment

__all__ = ["Component", "Forwarder", "Managed", "Pipe", "Resource", "discard"]


class Pipe(Owned, Here, substrates.Pipe[Any]):
    """A pipe; `receiver` is called in the circuit's context, and runs the `attachment` if there is one."""

    attachment: Attachment | None = None

    def __init__(
        self,
        circuit: Circuit,
        subject: Subject,
        receive: Callable[[Any], object],
        lane: Lane = Lane.OBJECT,
    ) -> None:
        self.cortex = circuit.cortex
        self.circuit = circuit
        self.receiver = receive
        self._lane = lane
        self._subject = subject
        self.cortex.pipes.add(self)

    @property
    def subject(self) -> Subject:
        return self._subject

    @property
    def lane(self) -> Lane:
        return self._lane

    @property
    def state(self) -> Any:
        raise TypeError(f"{self!r} has no kernel")

    def emit(self, value: Any, /) -> None:
        from .engine import Emission

        self.circuit.accept(Emission(self, self._lane.admit(value), self.cortex.current()))

    def __repr__(self) -> str:
        circuit = self.circuit
        return f"<Pipe {self._subject.name} of circuit '{circuit.name}' ({self.cortex.provider})>"


class Forwarder:
    """Emits to pipes, in order."""

    def __init__(self, circuit: Circuit, targets: tuple[Pipe, ...]) -> None:
        self.circuit = circuit
        self.targets = targets

    @property
    def lane(self) -> Lane:
        """The lane of all, if it is one."""
        lanes = {target.lane for target in self.targets}
        return lanes.pop() if len(lanes) == 1 else Lane.OBJECT

    def receive(self, value: Any) -> None:
        """Emit."""
        for target in self.targets:
            self.circuit.isolate(target.subject, lambda target=target: target.emit(value))  # type: ignore[misc]


class Managed:
    """What can stand in a `with`: leaving it waits for accepted work, unless by an error, and then closes."""

    __slots__ = ()

    @property
    def waited_for(self) -> Any:
        """The circuit whose work that is."""
        raise NotImplementedError

    def close(self, *, wait: bool = False) -> None:
        """Ask for the end."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        circuit = self.waited_for
        try:
            if error is None and not circuit.inside:
                circuit.wait()
        finally:
            self.close()


class Component(Owned, Here):
    """What belongs to a circuit; `KIND` is what it is."""

    KIND: ClassVar[type]

    def __init__(self, circuit: Circuit, name: Name, enclosure: Subject | None = None) -> None:
        self.cortex = circuit.cortex
        self.circuit = circuit
        self._subject = self.cortex.new_subject(self.KIND, name, enclosure or circuit.subject)

    @property
    def subject(self) -> Subject:
        """Who it is."""
        return self._subject

    def __repr__(self) -> str:
        what = f"{self.KIND.__name__} {self._subject.name}"
        return f"<{what} of circuit '{self.circuit.name}' ({self.cortex.provider})>"


class Resource(Managed, Component):
    """What is closed: `closed` is what checks look at, `finish` is the clean-up in the circuit's context."""

    closed = False

    def close(self, *, wait: bool = False) -> None:
        """Ask for the end."""
        if wait:
            self.circuit.require_outside("close")
        with self.cortex.lock:
            first, self.closed = not self.closed, True
        if first:
            self.closing()
            self.circuit.job(self.finish, self._subject)
        if wait:
            self.circuit.wait()

    def closing(self) -> None:
        """Do what cannot wait for its turn."""

    def finish(self) -> None:
        """Clean up, once."""

    def require_open(self, operation: str) -> None:
        """Refuse what is too late."""
        if self.closed:
            raise ClosedFault(self._subject, operation, f"{operation}: {self!r} is closed")

    @property
    def waited_for(self) -> Circuit:
        return self.circuit


def discard(value: Any) -> None:
    """Receive and ignore."""
