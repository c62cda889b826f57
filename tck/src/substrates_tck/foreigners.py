"""Look-alikes: objects with all that a component has but its origin (ERR-PROV-01)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import substrates
from substrates import Circuit, Current, Name, Pipe, Slot, SlotType, State, Subject, kernel
from substrates.kernel import Lane

__all__ = [
    "FOREIGN_PIPES",
    "FOREIGN_SLOTS",
    "FOREIGN_STATES",
    "DuckPipe",
    "DuckResource",
    "DuckSlot",
    "DuckState",
    "ForeignCircuit",
    "ForeignName",
    "ForeignPipe",
    "ForeignSlot",
    "ForeignState",
    "ForeignSubject",
]


class DuckPipe:
    """Has what a pipe has, and a genuine subject, but not its class; callable on top (Q5)."""

    def __init__(self, subject: Subject[Any]) -> None:
        self.subject = subject
        self.lane = Lane.OBJECT
        self.received: list[Any] = []

    def emit(self, value: Any) -> None:
        """Keep the value."""
        self.received.append(value)

    def __call__(self, value: Any) -> None:
        """Keep the value."""
        self.received.append(value)


class ForeignPipe(Pipe[Any]):
    """A pipe of nobody, with a genuine subject."""

    def __init__(self, subject: Subject[Any]) -> None:
        self._subject = subject
        self.received: list[Any] = []

    @property
    def subject(self) -> Subject[Pipe[Any]]:
        return self._subject

    @property
    def lane(self) -> Lane:
        return Lane.INT64

    @property
    def state(self) -> kernel.State:
        raise TypeError("no kernel")

    def emit(self, value: Any, /) -> None:
        self.received.append(value)


class ForeignName(Name):
    """A name of nobody."""

    def __init__(self, part: str, enclosure: ForeignName | None = None) -> None:
        self._part = part
        self._enclosure = enclosure

    @property
    def part(self) -> str:
        return self._part

    @property
    def enclosure(self) -> ForeignName | None:
        return self._enclosure

    def name(self, suffix: Any, _mapper: Any = None, /) -> Name:
        return ForeignName(str(suffix), self)

    def __truediv__(self, suffix: Any) -> Name:
        return self.name(suffix)

    def __str__(self) -> str:
        return self.path()

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)

    def __le__(self, other: Any) -> bool:
        return str(self) <= str(other)

    def __gt__(self, other: Any) -> bool:
        return str(self) > str(other)

    def __ge__(self, other: Any) -> bool:
        return str(self) >= str(other)


class ForeignSubject(Subject[Any]):
    """A subject of nobody, with the id, the name and the place of a genuine one."""

    def __init__(self, genuine: Subject[Any]) -> None:
        self._genuine = genuine

    @property
    def part(self) -> str:
        return self._genuine.part

    @property
    def enclosure(self) -> Any:
        return self._genuine.enclosure

    @property
    def id(self) -> substrates.Id:
        return self._genuine.id

    @property
    def name(self) -> Name:
        return self._genuine.name

    @property
    def state(self) -> State:
        return self._genuine.state

    @property
    def type(self) -> Any:
        return self._genuine.type

    def __lt__(self, other: Any) -> bool:
        return False

    def __le__(self, other: Any) -> bool:
        return True

    def __gt__(self, other: Any) -> bool:
        return False

    def __ge__(self, other: Any) -> bool:
        return True


class DuckSlot:
    """Has what a slot has, from a genuine one, but not its class."""

    def __init__(self, genuine: Slot[Any]) -> None:
        self.name = genuine.name
        self.type = genuine.type
        self.value = genuine.value


class ForeignSlot(Slot[Any]):
    """A slot of nobody, with all that a genuine one has."""

    def __init__(self, genuine: Slot[Any]) -> None:
        self._genuine = genuine

    @property
    def name(self) -> Name:
        return self._genuine.name

    @property
    def type(self) -> SlotType[Any]:
        return self._genuine.type

    @property
    def value(self) -> Any:
        return self._genuine.value


class DuckState:
    """Has what a state has, from a genuine one, but not its class."""

    def __init__(self, genuine: State) -> None:
        self.state = genuine.state
        self.value = genuine.value
        self._genuine = genuine

    def __iter__(self) -> Iterator[Slot[Any]]:
        """Iterate."""
        return iter(self._genuine)

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self._genuine)


class ForeignState(State):
    """A state of nobody, with the slots of a genuine one."""

    def __init__(self, genuine: State) -> None:
        self._genuine = genuine

    def state(self, *arguments: Any, **keywords: Any) -> State:
        return self._genuine.state(*arguments, **keywords)

    def value(self, slot: Slot[Any], /) -> Any:
        return self._genuine.value(slot)

    def __getitem__(self, slot: Slot[Any], /) -> Any:
        return self._genuine[slot]

    def __contains__(self, slot: Slot[Any], /) -> bool:
        return slot in self._genuine

    def __iter__(self) -> Iterator[Slot[Any]]:
        return iter(self._genuine)

    def __reversed__(self) -> Iterator[Slot[Any]]:
        return reversed(self._genuine)

    def __len__(self) -> int:
        return len(self._genuine)


class DuckResource:
    """Has what a resource has, and a genuine subject, but not its class."""

    def __init__(self, subject: Subject[Any]) -> None:
        self.subject = subject
        self.closed = 0

    def close(self, *, wait: bool = False) -> None:  # noqa: ARG002 - as the original
        """Count."""
        self.closed += 1


class ForeignCircuit(Circuit):
    """A circuit of nobody, with a genuine subject."""

    def __init__(self, subject: Subject[Any], current: Current) -> None:
        self._subject = subject
        self._current = current
        self.closed = 0

    @property
    def subject(self) -> Subject[Circuit]:
        return self._subject

    @property
    def current(self) -> Current:
        return self._current

    def pipe(self, *arguments: Any, lane: Any = None) -> Pipe[Any]:  # noqa: ARG002 - as the original
        return ForeignPipe(self._subject)

    def wait(self, timeout: float | timedelta | None = None) -> None:
        """Return."""

    def close(self, *, wait: bool = False) -> None:  # noqa: ARG002 - as the original
        self.closed += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()


FOREIGN_PIPES: tuple[Callable[[Subject[Any]], Any], ...] = (DuckPipe, ForeignPipe)
FOREIGN_SLOTS: tuple[Callable[[Slot[Any]], Any], ...] = (DuckSlot, ForeignSlot)
FOREIGN_STATES: tuple[Callable[[State], Any], ...] = (DuckState, ForeignState)
