"""Sinks and captures: emissions with where they came from.

A channel makes the capture at once, in the emitting context, because only there it is known who emits. The
capture then takes the value's place in the order of the sink's circuit: it is emitted to the endpoint if that
is a pipe of this circuit, else to a pipe of this circuit that forwards to it.

A recipe ahead of a channel is no context of its own (SINK-FILTER-05): its pipe takes the emitting context
along with the value, and puts it where the channel finds it once the recipe lets the value pass.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import substrates
from substrates.kernel import Lane

from .components import Component
from .lookups import Memo, Pool, looked_up, recipe_pool
from .names import Name
from .pipes import Pipe
from .states import State
from .subjects import Subject

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Capture", "CapturingPipe", "Sink"]


class Capture(substrates.Capture[Any]):
    """See `substrates.Capture`."""

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
    def current(self) -> Subject:
        return self._current

    @property
    def state(self) -> State:
        return self._subject.state  # empty, and the same one for all subjects

    def __repr__(self) -> str:
        return f"<Capture {self._emission!r} of {self._subject.name} by {self._current.name}>"


class Sink(Component, substrates.Sink[Any]):
    """See `substrates.Sink`."""

    __slots__ = ("_channels",)

    KIND = substrates.Sink

    def __init__(self, circuit: Circuit, name: Name, endpoint: Pipe) -> None:
        super().__init__(circuit, name)
        if endpoint._circuit is not circuit:
            endpoint = circuit._forwarding_pipe(name, (endpoint,))
        self._channels = Memo(partial(_Channel, circuit, self.subject, endpoint))

    def get(self, name: Any, /) -> Pipe:
        pipe: Pipe = self._channels.get(looked_up(self._circuit._cortex, name, self.subject))
        return pipe

    def pool(self, recipe: Any, /) -> Pool:
        return recipe_pool(self._circuit._cortex, self, recipe, self.subject)


class CapturingPipe(Pipe):
    """A pipe that knows who emits to it, and passes that on with the value.

    It is no engine's: behind it is one that is. So it works with every engine.
    """

    __slots__ = ("__weakref__", "_circuit", "_name", "_subject")

    def __init__(self, circuit: Circuit, subject: Subject) -> None:
        self._circuit = circuit
        self._name = subject.name
        self._subject = subject

    @abstractmethod
    def _passing(self, emitter: Callable[[], Subject], *, apart: bool) -> Callable[[Any], object]:
        """Return what takes a value, in the circuit's context, as emitted by `emitter()`.

        Args:
            emitter: returns the subject of the emitting context; called with each value.
            apart: whether the value is then received in a step of its own, instead of at once.
        """

    @property
    def _direct(self) -> Callable[[Any], object]:
        current = self._circuit.current.subject
        return self._passing(lambda: current, apart=False)

    def _recipe_pipe(
        self,
        make: Callable[[Callable[[Any], object]], Callable[[Any], object]],
        subject: Subject,
        *,
        apart: bool,
    ) -> Pipe:
        emitter = _Emitter()
        return _RecipePipe(self._circuit, subject, make(self._passing(emitter.get, apart=apart)), emitter)


class _Channel(CapturingPipe):
    """A sink's pipe of one name."""

    __slots__ = ("_captured", "_endpoint")

    def __init__(self, circuit: Circuit, enclosing: Subject, endpoint: Pipe, name: Name) -> None:
        self._captured = Subject(substrates.Pipe, name, enclosing)
        super().__init__(circuit, self._captured)
        self._endpoint = endpoint

    def emit(self, value: Any, /) -> None:
        if value is None:
            Lane.OBJECT.admit(value)
        current = self._circuit._cortex.current()
        self._endpoint.emit(Capture(value, self._captured, current._subject))

    def _passing(self, emitter: Callable[[], Subject], *, apart: bool) -> Callable[[Any], object]:
        subject = self._captured
        take = self._endpoint.emit if apart else self._endpoint._direct
        return lambda value: take(Capture(value, subject, emitter()))


class _RecipePipe(CapturingPipe):
    """A pipe ahead of a capturing pipe.

    Args:
        circuit: its circuit.
        subject: its subject.
        run: what receives its values: the recipe.
        emitter: where the capturing pipe finds who emitted the value that the recipe is at.
    """

    __slots__ = ("_emitter", "_entry", "_run")

    def __init__(
        self, circuit: Circuit, subject: Subject, run: Callable[[Any], object], emitter: _Emitter
    ) -> None:
        super().__init__(circuit, subject)
        self._run = run
        self._emitter = emitter

        def receive(emission: tuple[Any, Subject]) -> None:
            value, emitter.subject = emission
            run(value)

        self._entry = circuit._enclosed_pipe(subject, receive)

    def emit(self, value: Any, /) -> None:
        if value is None:
            Lane.OBJECT.admit(value)
        self._entry.emit((value, self._circuit._cortex.current()._subject))

    def _passing(self, emitter: Callable[[], Subject], *, apart: bool) -> Callable[[Any], object]:
        if apart:
            emit = self._entry.emit
            return lambda value: emit((value, emitter()))
        own, run = self._emitter, self._run

        def receive(value: Any) -> None:
            own.subject = emitter()
            run(value)

        return receive


class _Emitter:
    """Who emitted the value that a recipe is at; touched in the circuit's context alone."""

    __slots__ = ("subject",)

    subject: Subject

    def get(self) -> Subject:
        """Return the subject of its current."""
        return self.subject
