"""Populations of the toy: a list of circuits and lists of pipes, without kernels.

Seams for mutants: `Population.member`, `barriers`, `end`, and of `MemberPipes` `pairs` and `admit`.
"""

from __future__ import annotations

import asyncio
import operator
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import substrates
from substrates import AbsentValueError, Clock, ClosedFault, ContextError
from substrates.absent import UNSET, present
from substrates.kernel import Lane
from substrates.receptor import receive_of

from .engine import Circuit, seconds_of
from .names import Here, Name, Owned, Subject
from .pipes import Managed, Pipe

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["MemberPipes", "Population"]

MOST = 2000
"""How many members there is room for: each is a thread."""


class Population(Managed, Owned, Here, substrates.Population):
    """A population; it holds its members, and they it."""

    closed = True

    def __init__(self, cortex: Cortex, name: Name, size: int, clock: Clock) -> None:
        if size > MOST:
            raise MemoryError(f"circuits({size}): {MOST} at most")
        self.cortex = cortex
        self.name = name
        self._subject = cortex.new_subject(substrates.Population, name, cortex.subject)
        kind: type[Circuit] = cortex.kinds["circuit"]
        self.circuits = [kind(cortex, name, clock) for _ in range(size)]
        for circuit in self.circuits:
            circuit.population = self
        self.closed = False

    # -- the seams

    def member(self, index: int) -> Circuit:
        """Return a member by its place, negative ones from the end."""
        return self.circuits[index]

    def barriers(self) -> Sequence[Circuit]:
        """Return whose barriers a wait waits for."""
        return self.circuits

    def end(self) -> None:
        """Close the members."""
        for circuit in self.circuits:
            circuit.close()

    # -- a sequence

    def __len__(self) -> int:
        return len(self.circuits)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.circuits[index]
        return self.member(operator.index(index))

    # -- the rest of the contract

    @property
    def subject(self) -> Subject:
        return self._subject

    def pipes(self, *arguments: Any, lane: Any = UNSET) -> MemberPipes:
        if len(arguments) not in {1, 2}:
            raise TypeError(f"pipes takes a name, if any, and a callable, {len(arguments)} were given")
        name = self.name
        if len(arguments) == 2:
            name = Name.given(self.cortex, arguments[0], "pipes", self._subject)
        chosen = Lane.OBJECT if lane is UNSET else Lane.of(lane)
        receive = receive_of(present(arguments[-1], "pipes", "receptor"), "pipes")
        if receive is None:
            raise TypeError(f"pipes({arguments[-1]!r}): a callable is required")
        if self.closed:
            raise ClosedFault(self._subject, "pipes", f"pipes: {self!r} is closed")
        made: MemberPipes = self.cortex.kinds["member-pipes"](self, name, receive, chosen)
        return made

    def require_outside(self, operation: str) -> None:
        """Refuse to wait for oneself."""
        if self.inside:
            raise ContextError(f"{operation}: called in a member of {self!r}")

    @property
    def inside(self) -> bool:
        """Whether the caller is in a member's context."""
        return any(circuit.inside for circuit in self.circuits)

    def wait(self, timeout: float | timedelta | None = None) -> None:
        seconds = seconds_of(timeout)
        self.require_outside("wait")
        end = None if seconds is None else monotonic() + seconds
        for circuit in self.barriers():
            circuit.wait(None if end is None else max(0.0, end - monotonic()))

    def __await__(self) -> Generator[Any, Any, None]:
        self.require_outside("await")
        return asyncio.get_running_loop().run_in_executor(None, self.wait).__await__()

    def close(self, *, wait: bool = False) -> None:
        if wait:
            self.require_outside("close")
        self.closed = True
        self.end()
        if wait:
            for circuit in self.circuits:
                circuit.ended.wait()

    @property
    def waited_for(self) -> Population:
        return self

    def __repr__(self) -> str:
        return f"<Population {self.name} of {len(self)} circuits ({self.cortex.provider})>"

    def __del__(self) -> None:
        if not self.closed:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)


class MemberPipes(Owned, Here, substrates.Pipes[Any]):
    """Pipes of members, to a callable that is told the index."""

    def __init__(
        self, population: Population, name: Name, receive: Callable[..., object], lane: Lane
    ) -> None:
        self.cortex = population.cortex
        self._population = population
        self._lane = lane
        self.pipes = [
            circuit.new_pipe(name, partial(receive, index), lane)
            for index, circuit in enumerate(population.circuits)
        ]

    # -- the seams

    def pairs(self, values: Any, where: Any) -> list[tuple[Pipe, Any]]:
        """Return which pipe gets which value, in order, all of it checked."""
        pipes = self.pipes
        if where is not None:
            pipes = [self.pipes[place] for place in self.places(where)]
        return list(zip(pipes, self.admitted(values, len(pipes)), strict=True))

    def places(self, where: Any) -> list[int]:
        """Return the places that `where` means, negative ones from the end."""
        given = _listed(where, "where")
        if given and all(isinstance(each, bool) for each in given):
            if len(given) != len(self.pipes):
                raise ValueError(f"emit: {len(given)} booleans for {len(self.pipes)} members")
            return [place for place, chosen in enumerate(given) if chosen]
        places = [operator.index(each) for each in given]
        for place in places:
            if not -len(self.pipes) <= place < len(self.pipes):
                raise IndexError(f"emit: index {place} in a population of {len(self.pipes)}")
        return places

    def admitted(self, values: Any, count: int) -> list[Any]:
        """Return `count` checked values."""
        present(values, "emit", "values")
        if isinstance(values, (str, bytes, bytearray)):
            raise TypeError(f"emit({values!r}): a sequence of values is required")
        one_for_all = not hasattr(values, "__len__") or getattr(values, "shape", None) == ()
        if one_for_all and self._lane is not Lane.OBJECT:
            return [self._lane.admit(values.item() if hasattr(values, "item") else values)] * count
        given = _listed(values, "values", nested=self._lane is Lane.OBJECT)
        if len(given) != count:
            raise ValueError(f"emit: {len(given)} values for {count} members")
        return [self._lane.admit(value) for value in given]

    def admit(self, pipe: Pipe, value: Any) -> None:
        """Admit one checked value."""
        pipe.emit(value)

    # -- the contract

    @property
    def population(self) -> Population:
        return self._population

    @property
    def lane(self) -> Lane:
        return self._lane

    @property
    def state(self) -> Any:
        raise TypeError(f"{self!r} have no kernel")

    @property
    def handles(self) -> Any:
        raise TypeError(f"{self!r} have no handles: there are no kernels")

    def emit(self, values: Any, /, *, where: Any = None) -> None:
        for pipe, value in self.pairs(values, where):
            self.admit(pipe, value)

    def __len__(self) -> int:
        return len(self.pipes)

    def __getitem__(self, index: Any) -> Any:
        return self.pipes[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.pipes)

    def __repr__(self) -> str:
        return f"<{len(self)} pipes of {self._population!r}>"


def _listed(given: Any, parameter: str, *, nested: bool = False) -> list[Any]:
    """Return what an array or a sequence has, as a list of plain values."""
    plain = given.tolist() if hasattr(given, "tolist") else given
    if not hasattr(plain, "__iter__"):
        if parameter == "where":
            raise ValueError(f"emit({parameter}={given!r}): one dimension is required")
        raise TypeError(f"emit({parameter}={given!r}): a sequence is required")
    listed = list(plain)
    for each in listed:
        if each is None and parameter == "values":
            raise AbsentValueError("emit: None is the absent value")
        if not nested and isinstance(each, (list, tuple)):
            raise ValueError(f"emit({parameter}=...): one dimension is required")
    return listed
