"""Populations: many circuits in one object."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import substrates
from substrates import Clock, ClosedFault, ContextError
from substrates.absent import UNSET, present
from substrates.kernel import Binding, Kernel, Lane
from substrates.receptor import receive_of

from .awaiting import waited_for
from .circuits import Circuit, checked_timeout
from .components import Reclaimed
from .memberpipes import LoopPipes, Pipes
from .members import View, at, numpy_arrays
from .names import Name
from .room import require_room
from .subjects import Subject, subject_of
from .times import Time

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["ArrayMember", "ArrayPopulation", "LoopPopulation", "Membership", "Population", "all_reached"]

LOOP_BYTES = 600
"""What a member of a `LoopPopulation` takes at least, by which one that cannot fit is refused."""


class Population(Reclaimed, substrates.Population):
    """A population of some engine; see `substrates.Population`.

    A member holds its population. `close` of the population and of a member are told apart by `_closing` here
    and in the member.
    """

    __slots__ = ("__weakref__", "_clock", "_closing", "_cortex", "_end_queued", "_name", "_size", "_subject")

    def __init__(self, cortex: Cortex, name: Name, size: int, clock: Clock | None) -> None:
        self._cortex = cortex
        self._name = name
        self._size = size
        self._clock = clock
        self._subject: Subject | None = None
        self._closing = True  # until it is whole: so that what an interrupt leaves behind says nothing
        self._end_queued = False

    @property
    def _waited_for(self) -> Population:
        return self

    @property
    def subject(self) -> Subject:
        subject = self._subject
        if subject is None:
            subject = subject_of(self, substrates.Population, self._name, self._cortex.subject)
        return subject

    def __repr__(self) -> str:
        return f"<Population {self._name} of {self._size} circuits ({self._cortex.provider})>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it runs in this process")

    # -- members

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return View(self, range(self._size)[index])
        return self._member(at(index, self._size, "population"))

    def __iter__(self) -> Iterator[Any]:
        return map(self._member, range(self._size))

    def __contains__(self, circuit: object) -> bool:
        return isinstance(circuit, Membership) and circuit._population is self

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the index of a member; see `Sequence.index`."""
        if value in self and value._index in range(self._size)[start:stop]:
            index: int = value._index
            return index
        raise ValueError(f"{value!r} is no member")

    # -- pipes

    def pipes(self, *arguments: Any, lane: Any = UNSET) -> Pipes:
        if len(arguments) not in (1, 2):
            raise TypeError(
                "pipes takes a name, if any, and a kernel or a callable;"
                f" {len(arguments)} arguments were given"
            )
        name: Name | None = None
        if len(arguments) == 2:
            name = self._cortex.names.given(arguments[0], "pipes", self.subject)
        scalar = Lane.OBJECT if lane is UNSET else Lane.of(lane)
        target = present(arguments[-1], "pipes", "target")
        if isinstance(target, Kernel):
            target = target.bind()
        if isinstance(target, Binding):
            if lane is not UNSET:
                raise TypeError("pipes(..., lane=...): only pipes to a Python callable are given a lane")
            numpy_arrays()
            self._require_open("pipes")
            return self._kernel_pipes(name, target)
        receive = None if isinstance(target, substrates.Pipe) else receive_of(target, "pipes")
        if receive is None:
            raise TypeError(f"pipes({target!r}): give a kernel, or a callable of an index and a value")
        self._require_open("pipes")
        return self._receptor_pipes(name, receive, scalar)

    def _receptor_pipes(self, name: Name | None, receive: Callable[..., object], lane: Lane) -> Pipes:
        members: Iterator[Circuit] = iter(self)
        pipes = [
            member._receptor_pipe(name, partial(receive, index), lane) for index, member in enumerate(members)
        ]
        return LoopPipes(self, name, None, lane, pipes, None)

    def _require_open(self, operation: str) -> None:
        if self._closing:
            raise ClosedFault(
                self.subject,
                operation,
                f"{operation}: population '{self._name}' is closed; make a new population",
            )

    # -- lifetime

    def wait(self, timeout: float | timedelta | None = None) -> None:
        seconds = checked_timeout(timeout)
        self._cortex.check_process()
        self._outside("wait")
        if not self._barrier(seconds):
            raise TimeoutError(
                f"wait(timeout={timeout!r}): population '{self._name}' still has work accepted before"
            )

    def __await__(self) -> Generator[Any, Any, None]:
        self._cortex.check_process()
        self._outside("await")
        return waited_for(self.wait)

    def close(self, *, wait: bool = False) -> None:
        if wait:
            self._outside("close")
        if not self._end_queued:
            # In this order, so that a call which an interrupt cuts short can be repeated.
            self._closing = True
            self._end()
            self._end_queued = True
        if wait:
            self._barrier(None)

    def _inside(self) -> bool:
        return self._cortex.currents.circuit in self

    def _outside(self, operation: str) -> None:
        if self._inside():
            raise ContextError(
                f"{operation}: called in a member of population '{self._name}', which would wait for itself;"
                " guard with 'cortex.current() is not member.current'"
            )

    # -- the engine interface

    @abstractmethod
    def _member(self, index: int) -> Circuit:
        """Return a member: the same object as long as somebody holds it."""

    @abstractmethod
    def _kernel_pipes(self, name: Name | None, binding: Binding[Any]) -> Pipes:
        """Make a pipe per member that runs a kernel."""

    @abstractmethod
    def _barrier(self, timeout: float | None) -> bool:
        """Wait until all that members accepted before is done. False on a time-out."""

    @abstractmethod
    def _end(self) -> None:
        """Close all members; again is no change."""

    @abstractmethod
    def _dropped(self) -> None:
        """Let go of the engine's part: nobody refers to this population or a member any more."""


class Membership:
    """What a member adds to its engine's circuit: it holds its population, which is warned about instead."""

    __slots__ = ()

    _population: Population
    _index: int
    _closing: bool

    def __del__(self) -> None:
        try:
            self._closing  # noqa: B018 - an interrupt may have come before it was made
        except AttributeError:
            return
        self._dropped()  # type: ignore[attr-defined]


def member_type(kind: type[Circuit]) -> type[Circuit]:
    """Return the type of the members whose other circuits are of type `kind`."""
    return type(
        kind.__name__,
        (Membership, kind),
        {"__slots__": ("_index", "_population"), "__module__": kind.__module__},
    )


class ArrayMember(Membership):
    """What a member of an `ArrayPopulation` adds: it goes when nobody holds it, unless it has been pinned.

    An engine's `__init__` of it sets `_time` if the population has a clock.
    """

    __slots__ = ()

    _population: ArrayPopulation

    def _timing(self) -> Time:
        self._population._pin(self)  # for tickers, which live as long as their circuit
        time: Time = super()._timing()  # type: ignore[misc]  # the engine's circuit's
        return time

    def _dropped(self) -> None:
        """Nothing: the population has the engine's part."""


class ArrayPopulation(Population):
    """A population that its engine makes at once; the object of a member is made when somebody asks for it.

    Attributes:
        _members: those that somebody holds, by index.
        _pinned: those that have something of their own in Python and must not be made anew.
    """

    __slots__ = ("_members", "_pinned")

    def __init__(self, cortex: Cortex, name: Name, size: int, clock: Clock | None) -> None:
        super().__init__(cortex, name, size, clock)
        self._members: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._pinned: dict[int, Any] = {}

    def _member(self, index: int) -> Circuit:
        member: Any = self._members.get(index)
        if member is None:
            with self._cortex.lock:
                # Made before it is looked for: making it may run a finalizer that asks for it.
                made = self._new_member(index)
                member = self._members.setdefault(index, made)
                if member is made and self._closing:
                    made._closing = True  # `_end` looks at the members under this lock
        circuit: Circuit = member
        return circuit

    def _pin(self, member: ArrayMember) -> None:
        self._pinned[member._index] = member

    @abstractmethod
    def _new_member(self, index: int) -> Circuit:
        """Make the object of a member."""


def all_reached(circuits: Iterable[Circuit], deadline: float | None) -> bool:
    """Wait for each circuit that is not idle; False if `deadline`, by `time.monotonic`, passed first."""
    for circuit in circuits:
        if not circuit._idle():
            left = None if deadline is None else max(0.0, deadline - monotonic())
            if not circuit._barrier(left):
                return False
    return True


class LoopPopulation(Population):
    """A population of circuits that are made at once, each like any other: plain loops.

    Members hold it and it holds them, so it is the cyclic collector that finds one that nobody holds.
    """

    __slots__ = ("_circuits",)

    def __init__(self, cortex: Cortex, name: Name, size: int, clock: Clock | None) -> None:
        super().__init__(cortex, name, size, clock)
        require_room(size * LOOP_BYTES, f"circuits({size})")
        self._circuits: list[Any] = []
        for index in range(size):
            member: Any = cortex.MEMBER(cortex, name)
            member._population = self
            member._index = index
            if clock is not None:
                member._time = Time(clock)
            self._circuits.append(member)
        self._closing = False

    def _member(self, index: int) -> Circuit:
        circuit: Circuit = self._circuits[index]
        return circuit

    def _kernel_pipes(self, name: Name | None, binding: Binding[Any]) -> Pipes:
        return LoopPipes.of_kernels(self, name, binding)

    def _barrier(self, timeout: float | None) -> bool:
        return all_reached(self._circuits, None if timeout is None else monotonic() + timeout)

    def _end(self) -> None:
        for circuit in self._circuits:
            circuit.close()

    def _dropped(self) -> None:
        """Each member lets go of its own."""
