"""Look-alikes: objects with all that a component has but its origin (ERR-PROV-01)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import substrates
from substrates import (
    Cell,
    Circuit,
    Current,
    Fiber,
    Flow,
    Name,
    Pipe,
    Pool,
    Pulse,
    Slot,
    SlotType,
    State,
    Subject,
    Subscriber,
    kernel,
)
from substrates.kernel import Lane

__all__ = [
    "FOREIGN_CELLS",
    "FOREIGN_FIBERS",
    "FOREIGN_FLOWS",
    "FOREIGN_NAMES",
    "FOREIGN_PIPES",
    "FOREIGN_POOLS",
    "FOREIGN_SLOTS",
    "FOREIGN_STATES",
    "FOREIGN_SUBJECTS",
    "FOREIGN_SUBSCRIBERS",
    "DuckCell",
    "DuckName",
    "DuckPipe",
    "DuckPool",
    "DuckRecipe",
    "DuckResource",
    "DuckSlot",
    "DuckState",
    "DuckSubject",
    "DuckSubscriber",
    "ForeignCell",
    "ForeignCircuit",
    "ForeignCortex",
    "ForeignName",
    "ForeignPipe",
    "ForeignPool",
    "ForeignSlot",
    "ForeignState",
    "ForeignSubject",
    "ForeignSubscriber",
    "foreign_fiber",
    "foreign_flow",
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


class _Closing:
    """What the resources of nobody do when they are closed: count."""

    closed = 0

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


class ForeignCircuit(_Closing, Circuit):
    """A circuit of nobody, with a genuine subject."""

    def __init__(self, subject: Subject[Any], current: Current) -> None:
        self._subject = subject
        self._current = current

    @property
    def subject(self) -> Subject[Circuit]:
        return self._subject

    @property
    def current(self) -> Current:
        return self._current

    def pipe(self, *arguments: Any, lane: Any = None) -> Pipe[Any]:  # noqa: ARG002 - as the original
        return ForeignPipe(self._subject)

    def conduit(self, *arguments: Any, routing: Any = None) -> Any:
        """Make nothing."""

    def bank(self, *arguments: Any, routing: Any = None) -> Any:
        """Make nothing."""

    def subscriber(self, name: Any, callback: Any, /) -> Any:
        """Make nothing."""

    def sink(self, *arguments: Any) -> Any:
        """Make nothing."""

    def basin(self, *arguments: Any) -> Any:
        """Make nothing."""

    def cell(self, *arguments: Any) -> Any:
        """Make nothing."""

    def port(self, *arguments: Any) -> Any:
        """Make nothing."""

    def pin(self, *arguments: Any) -> Any:
        """Make nothing."""

    def ticker(self, *arguments: Any) -> Any:
        """Make nothing."""

    def pulse(self) -> Pulse | None:
        """Make nothing."""
        return None

    def wait(self, timeout: float | timedelta | None = None) -> None:
        """Return."""


FOREIGN_PIPES: tuple[Callable[[Subject[Any]], Any], ...] = (DuckPipe, ForeignPipe)
FOREIGN_SLOTS: tuple[Callable[[Slot[Any]], Any], ...] = (DuckSlot, ForeignSlot)
FOREIGN_STATES: tuple[Callable[[State], Any], ...] = (DuckState, ForeignState)


class ForeignCortex:
    """Has what recipes ask of their cortex, and a genuine subject; takes everything for its own."""

    def __init__(self, subject: Subject[Any]) -> None:
        self.subject = subject
        self.provider = "foreign"

    def owns(self, _component: object, /) -> bool:
        """Tell that it does."""
        return True


def foreign_fiber(subject: Subject[Any]) -> Fiber[Any]:
    """Return a fiber of another cortex."""
    cortex: Any = ForeignCortex(subject)
    return Fiber(cortex)


def foreign_flow(subject: Subject[Any]) -> Flow[Any, Any]:
    """Return a flow of another cortex."""
    cortex: Any = ForeignCortex(subject)
    return Flow(cortex)


class DuckRecipe:
    """Has what a recipe has, but not its class."""

    def __init__(self, subject: Subject[Any]) -> None:
        self.cortex = ForeignCortex(subject)
        self.stages = ()

    def pipe(self, target: Any, /) -> Any:
        """Return the target."""
        return target


class DuckCell:
    """Has what a cell has, and a genuine subject, but not its class."""

    def __init__(self, subject: Subject[Any]) -> None:
        self.subject = subject
        self._pipe = ForeignPipe(subject)

    def get(self) -> Any:
        """Return what came last."""
        return self._pipe.received[-1]

    def pipe(self) -> Pipe[Any]:
        """Return its pipe."""
        return self._pipe


class ForeignCell(Cell[Any]):
    """A cell of nobody, with a genuine subject."""

    def __init__(self, subject: Subject[Any]) -> None:
        self._subject = subject
        self._pipe = ForeignPipe(subject)

    @property
    def subject(self) -> Subject[Cell[Any]]:
        return self._subject

    def get(self) -> Any:
        return self._pipe.received[-1]

    def pipe(self) -> Pipe[Any]:
        return self._pipe


FOREIGN_CELLS: tuple[Callable[[Subject[Any]], Any], ...] = (DuckCell, ForeignCell)
FOREIGN_FIBERS: tuple[Callable[[Subject[Any]], Any], ...] = (DuckRecipe, foreign_fiber)
FOREIGN_FLOWS: tuple[Callable[[Subject[Any]], Any], ...] = (DuckRecipe, foreign_flow)


class DuckName:
    """Has what a name has, but not its class."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.enclosure = None
        self.depth = 1

    def name(self, suffix: Any) -> DuckName:
        """Return another."""
        return DuckName(f"{self.part}.{suffix}")

    def path(self) -> str:
        """Return the part."""
        return self.part

    def __str__(self) -> str:
        """Return the part."""
        return self.part


class DuckSubject:
    """Has what a subject has, from a genuine one, but not its class."""

    def __init__(self, genuine: Subject[Any]) -> None:
        self.part = genuine.part
        self.enclosure = genuine.enclosure
        self.id = genuine.id
        self.name = genuine.name
        self.state = genuine.state
        self.type = genuine.type


class DuckSubscriber(DuckResource):
    """Has what a subscriber has, and a genuine subject, but not its class."""


class ForeignSubscriber(_Closing, Subscriber[Any]):
    """A subscriber of nobody, with a genuine subject."""

    def __init__(self, subject: Subject[Any]) -> None:
        self._subject = subject

    @property
    def subject(self) -> Subject[Subscriber[Any]]:
        return self._subject


class DuckPool:
    """Has what a pool has, but not its class; gives one genuine thing for every name."""

    def __init__(self, genuine: Any) -> None:
        self._genuine = genuine
        self.asked: list[Any] = []

    def get(self, name: Any) -> Any:
        """Note the name and return the thing."""
        self.asked.append(name)
        return self._genuine

    def pool(self, function: Callable[[Any], Any]) -> DuckPool:
        """Return another."""
        return DuckPool(function(self._genuine))


class ForeignPool(Pool[Any]):
    """A pool of nobody; gives one genuine thing for every name."""

    def __init__(self, genuine: Any) -> None:
        self._genuine = genuine
        self.asked: list[Any] = []

    def get(self, name: Any, /) -> Any:
        self.asked.append(name)
        return self._genuine

    def pool(self, function: Callable[[Any], Any], /) -> Pool[Any]:
        return ForeignPool(function(self._genuine))


FOREIGN_NAMES: tuple[Callable[[str], Any], ...] = (DuckName, ForeignName)
FOREIGN_POOLS: tuple[Callable[[Any], Any], ...] = (DuckPool, ForeignPool)
FOREIGN_SUBJECTS: tuple[Callable[[Subject[Any]], Any], ...] = (DuckSubject, ForeignSubject)
FOREIGN_SUBSCRIBERS: tuple[Callable[[Subject[Any]], Any], ...] = (DuckSubscriber, ForeignSubscriber)
