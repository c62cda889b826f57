"""Cells, ports, pins, basins, sinks and captures of the toy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import substrates
from substrates import ContextError, Fault
from substrates.absent import present
from substrates.receptor import checked_function

from .names import Name, Subject
from .pipes import Component, Pipe
from .pools import Memo, PoolOfPipes

if TYPE_CHECKING:
    from .engine import Circuit

__all__ = ["Basin", "Capture", "Cell", "Pin", "Port", "Sink"]


class _Holder(Component):
    """What holds a value."""

    def __init__(self, circuit: Circuit, name: Name, initial: Any) -> None:
        super().__init__(circuit, name)
        self.held = initial


class Cell(_Holder, substrates.Cell[Any]):
    """A value for everybody to read."""

    KIND: ClassVar[type] = substrates.Cell

    def __init__(self, circuit: Circuit, name: Name, initial: Any) -> None:
        super().__init__(circuit, name, initial)
        subject = self.cortex.new_subject(substrates.Pipe, name, self._subject)
        self._pipe = Pipe(circuit, subject, self.update)

    def get(self) -> Any:
        return self.held

    def pipe(self) -> Pipe:
        return self._pipe

    def update(self, value: Any) -> None:
        """Replace the value, in the circuit's context."""
        self.held = value


class Port(_Holder, substrates.Port[Any]):
    """A value that is changed in the circuit's order."""

    KIND: ClassVar[type] = substrates.Port

    def replace(self, value: Any, /) -> None:
        present(value, "replace", "value")
        self.queue(lambda: self.set(value))

    def update(self, *arguments: Any) -> None:
        if len(arguments) not in {1, 2}:
            raise TypeError(f"update takes an argument, if any, and a function, {len(arguments)} were given")
        for argument in arguments:
            present(argument, "update", "argument")
        function = checked_function(arguments[-1], "update", "function")
        given = arguments[:-1]
        self.queue(lambda: self.transform(lambda value: function(value, *given)))

    def emit(self, target: Any, /) -> None:
        own = self.cortex.pipe_given(target, "emit", "target", self._subject)
        self.queue(lambda: own.emit(self.held))

    def queue(self, call: Callable[[], object]) -> None:
        """Have something done at its turn."""
        self.circuit.job(call, self._subject)

    def set(self, value: Any) -> None:
        """Replace the value, in the circuit's context."""
        self.held = value

    def transform(self, function: Callable[[Any], Any]) -> None:
        """Replace the value by what a function makes of it, in the circuit's context."""
        value = function(self.held)
        if value is None:
            raise Fault(self._subject, "update", "update: the function returned None; the value stays")
        self.set(value)


class Pin(_Holder, substrates.Pin[Any]):
    """A value for the circuit's own context."""

    KIND: ClassVar[type] = substrates.Pin

    def get(self) -> Any:
        self.guard("get")
        return self.held

    def set(self, value: Any, /) -> None:
        self.guard("set")
        self.held = present(value, "set", "value")

    def guard(self, operation: str) -> None:
        """Refuse other contexts."""
        if not self.circuit.inside:
            raise ContextError(f"{operation}: pin of circuit '{self.circuit.name}', used outside its context")


class Basin(Component, substrates.Basin[Any]):
    """The newest values."""

    KIND: ClassVar[type] = substrates.Basin

    def __init__(self, circuit: Circuit, name: Name, capacity: int) -> None:
        super().__init__(circuit, name)
        self.capacity = capacity
        self.values: deque[Any] = deque()
        subject = self.cortex.new_subject(substrates.Pipe, name, self._subject)
        self._pipe = Pipe(circuit, subject, self.keep)

    def pipe(self) -> Pipe:
        return self._pipe

    def drain(self, target: Any, /) -> None:
        own = self.cortex.pipe_given(target, "drain", "target", self._subject)
        self.circuit.job(lambda: self.empty(own), self._subject)

    def keep(self, value: Any) -> None:
        """Keep a value, in the circuit's context; the oldest gives way."""
        self.values.append(value)
        if len(self.values) > self.capacity:
            self.values.popleft()

    def empty(self, target: Pipe) -> None:
        """Emit what is kept, in the circuit's context."""
        values = list(self.values)
        self.values.clear()
        for value in values:
            try:
                target.emit(value)
            except TypeError as error:  # its lane does not take it
                self.cortex.report(target.subject, error)


class Capture(substrates.Capture[Any]):
    """A record of one emission."""

    __slots__ = ("_current", "_emission", "_subject")

    def __init__(self, emission: Any, subject: Subject, current: Subject) -> None:
        self._emission = emission
        self._subject = subject
        self._current = current

    @property
    def emission(self) -> Any:
        return self._emission

    @property
    def subject(self) -> Subject:
        return self._subject

    @property
    def current(self) -> Any:
        return self._current

    @property
    def state(self) -> substrates.State:
        return self._subject.state

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Capture) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def _fields(self) -> tuple[Any, ...]:
        return self._emission, self._subject, self._current

    def __repr__(self) -> str:
        return f"<Capture {self._emission!r} of {self._subject.name} by {self._current.name}>"


class Sink(Component, PoolOfPipes, substrates.Sink[Any]):
    """Captures what is emitted."""

    KIND: ClassVar[type] = substrates.Sink

    def __init__(self, circuit: Circuit, name: Name, endpoint: Pipe) -> None:
        super().__init__(circuit, name)
        self.endpoint = endpoint
        self.memo: Memo = self.cortex.kinds["memo"](self._channel)

    def _channel(self, name: Name) -> Pipe:
        subject = self.cortex.new_subject(substrates.Pipe, name, self._subject)
        return Pipe(self.circuit, subject, lambda value: self.capture(subject, value))

    def capture(self, subject: Subject, value: Any) -> None:
        """Emit a capture, in the circuit's context."""
        self.endpoint.emit(Capture(value, subject, self.emitter()))

    def emitter(self) -> Subject:
        """Return who emitted what is being received."""
        return self.circuit.emitter.subject
