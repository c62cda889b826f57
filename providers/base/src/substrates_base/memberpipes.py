"""Pipes of populations: what all engines share, what those with arrays do, and plain loops for the others."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import substrates
from substrates import AbsentValueError
from substrates.absent import present
from substrates.kernel import SELF, Binding, Field, Kernel, Lane
from substrates.kernel.state import CELL

from .members import View, at, numpy_arrays
from .names import Name
from .pipes import Pipe, checked_target

if TYPE_CHECKING:
    from .circuits import Circuit
    from .populations import Population

__all__ = ["ArrayPipes", "LoopPipes", "MemberPipe", "Pipes"]


class Pipes(substrates.Pipes[Any]):
    """See `substrates.Pipes`. It holds its population.

    An engine supplies the abstract methods. What is handed out as an array holds the pipes, not they it: a
    million are reclaimed when the last reference goes, and do not wait for the cyclic collector.

    Attributes:
        _kernel: None of pipes to a Python callable.
        _kept: per pipe field, what its column was assigned and has to live as long as this: pipes.
    """

    __slots__ = ("__weakref__", "_kept", "_kernel", "_lane", "_name", "_population")

    def __init__(
        self, population: Population, name: Name | None, kernel: Kernel[Any] | None, lane: Lane
    ) -> None:
        self._population = population
        self._name = name
        self._kernel = kernel
        self._lane = lane
        self._kept: dict[str, list[Any]] = {}

    @property
    def population(self) -> Population:
        return self._population

    @property
    def lane(self) -> Lane:
        return self._lane

    def __len__(self) -> int:
        return len(self._population)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return View(self, range(len(self))[index])
        return self._pipe(at(index, len(self), "pipe"))

    def __iter__(self) -> Iterator[Any]:
        return map(self._pipe, range(len(self)))

    def __contains__(self, pipe: object) -> bool:
        return self._place(pipe) is not None

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the index of a pipe; see `Sequence.index`."""
        place = self._place(value)
        if place is None or place not in range(len(self))[start:stop]:
            raise ValueError(f"{value!r} is none of these pipes")
        return place

    @property
    def state(self) -> Any:
        if self._kernel is None:
            raise TypeError(f"{self!r} have no kernel, so they have no state")
        return numpy_arrays().StateArray.of(self, self._cells())

    @property
    def handles(self) -> Any:
        if self._lane is Lane.OBJECT:
            raise TypeError(f"{self!r}: no kernel can emit to pipes of the object lane")
        return numpy_arrays().Handles.of(self, self._numbers())

    def emit(self, values: Any, /, *, where: Any = None) -> None:
        population = self._population
        chosen = None if where is None else numpy_arrays().indices(where, len(population))
        count = len(population) if chosen is None else len(chosen)
        if self._lane is not Lane.OBJECT:
            self._emit(numpy_arrays().scalars(values, self._lane, count), chosen)
            return
        present(values, "emit", "values")
        if isinstance(values, (str, bytes, bytearray)):
            raise TypeError(f"emit({values!r}): a sequence of {count} values is required")
        given = list(values)
        if len(given) != count:
            raise ValueError(f"emit: {len(given)} values: {count} are required")
        if any(value is None for value in given):
            raise AbsentValueError("emit([... None ...]): None is the absent value and cannot be emitted")
        self._emit(given, chosen)

    def _field(self, name: str) -> Field:
        assert self._kernel is not None
        layout = self._kernel.state_type.layout
        field = layout.by_name.get(name)
        if field is None:
            known = ", ".join(layout.by_name) or "none"
            raise KeyError(f"state[{name!r}]: no such field; the fields are {known}")
        return field

    def _assign(self, field: Field, cells: Any, key: Any, targets: Any) -> None:
        """Store checked targets, None, a pipe or handles, in a part of a pipe field's column.

        Raises:
            ValueError: of another shape.
            IndexError: no such member.
        """
        whole = key is Ellipsis or (isinstance(key, slice) and key == slice(None))
        cells[key] = 0 if targets is None else targets._cell if isinstance(targets, Pipe) else targets
        if whole:
            self._kept.pop(field.name, None)
        if targets is not None:
            self._keep(field, targets)

    def _keep(self, field: Field, target: Any) -> None:
        """Keep what a pipe field refers to: a pipe; of a member's, or of handles, all that go together."""
        held = target if isinstance(target, Pipe) and not isinstance(target, MemberPipe) else target._pipes
        kept = self._kept.setdefault(field.name, [])
        if held is not self and not any(each is held for each in kept):
            kept.append(held)

    def _pipe_of(self, field: Field, handle: int) -> Pipe | None:
        """Return the pipe of a handle that a state's field has, None if it is gone."""
        for kept in (self, *self._kept.get(field.name, ())):
            if isinstance(kept, Pipe):
                if kept._cell == handle:
                    return kept
                continue
            index = kept._index_of(handle)
            if index is not None:
                pipe: Pipe = kept._pipe(index)
                return pipe
        return None

    def _index_of(self, handle: int) -> int | None:
        """Return the index of a handle, None if it is of none of these."""
        found = (self._numbers() == handle).nonzero()[0]
        return int(found[0]) if len(found) else None

    def __repr__(self) -> str:
        population = self._population
        name = self._name or population._name
        return (
            f"<{len(self)} pipes {name} of population '{population._name}' ({population._cortex.provider})>"
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: they belong to circuits of this process")

    # -- the engine interface

    @abstractmethod
    def _pipe(self, index: int) -> Pipe:
        """Return the pipe of a member."""

    @abstractmethod
    def _place(self, pipe: object) -> int | None:
        """Return the index of a pipe, None if it is none of these."""

    @abstractmethod
    def _emit(self, values: Any, where: Any) -> None:
        """Admit checked values: a list of objects; or an array, of one value for all or one for each.

        Args:
            values: what is admitted.
            where: an array of indices, None for all members in order.
        """

    @abstractmethod
    def _cells(self) -> Any:
        """Return the kernels' states as a structured array, always over the same memory."""

    @abstractmethod
    def _numbers(self) -> Any:
        """Return what stands for each pipe in a kernel state's memory, always the same array of uint64."""


class MemberPipe:
    """What a pipe of `ArrayPipes` adds to its engine's pipe: it holds them, which have the engine's part."""

    __slots__ = ()

    _pipes: ArrayPipes
    _index: int

    def _link(self, field: Field, target: Any) -> None:
        own = None if target is None else checked_target(self, field, target, "pipe")  # type: ignore[arg-type]
        pipes = self._pipes
        pipes._assign(field, pipes._cells()[field.name], self._index, own)

    def _linked(self, field: Field) -> Pipe | None:
        pipes = self._pipes
        handle = int(pipes._cells()[field.name][self._index])
        return pipes._pipe_of(field, handle) if handle else None


class ArrayPipes(Pipes):
    """Pipes of an engine that makes them all at once; the object of one is made when somebody asks for it."""

    __slots__ = ()

    def _place(self, pipe: object) -> int | None:
        return pipe._index if isinstance(pipe, MemberPipe) and pipe._pipes is self else None

    def _initial(self, binding: Binding[Any]) -> tuple[bytes, list[int]]:
        """Return a state to start from, and the indices of the fields that get the own pipe.

        The pipes in the others are kept.

        Raises:
            ProviderMismatchFault: a field is bound to a pipe of another provider.
        """
        population = self._population
        state = bytearray(binding.memory)
        own: list[int] = []
        for field, linked in binding.links:
            if linked is SELF:
                own.append(field.index)
                continue
            target = population._cortex.own_pipe(linked, "pipes", population.subject)
            assert target is not None, "a binding has checked that it is a pipe"
            struct.pack_into("=Q", state, field.index * CELL, target._cell)
            self._keep(field, target)
        return bytes(state), own


class LoopPipes(Pipes):
    """Pipes of members, each made like any other pipe of its circuit."""

    __slots__ = ("_memory", "_pipe_numbers", "_pipes")

    def __init__(
        self,
        population: Population,
        name: Name | None,
        kernel: Kernel[Any] | None,
        lane: Lane,
        pipes: Sequence[Pipe],
        memory: Any,
    ) -> None:
        super().__init__(population, name, kernel, lane)
        self._pipes = pipes
        self._memory = memory
        self._pipe_numbers: Any = None

    @classmethod
    def of_kernels(cls, population: Population, name: Name | None, binding: Binding[Any]) -> LoopPipes:
        """Make pipes to a kernel whose states lie in one array."""
        kernel = binding.kernel
        layout = kernel.state_type.layout
        import numpy as np

        cells = np.zeros(len(population), numpy_arrays().state_type(layout))
        memory: Any = cells.view(np.uint8)
        rows = memoryview(memory)
        pipes = []
        members: Iterator[Circuit] = iter(population)
        for index, circuit in enumerate(members):
            row = rows[index * layout.size : (index + 1) * layout.size]
            row[:] = binding.memory
            pipes.append(circuit._kernel_pipe_over(name, binding, row))
        return cls(population, name, kernel, kernel.lane, pipes, cells)

    def _pipe(self, index: int) -> Pipe:
        return self._pipes[index]

    def _place(self, pipe: object) -> int | None:
        return next((index for index, each in enumerate(self._pipes) if each is pipe), None)

    def _emit(self, values: Any, where: Any) -> None:
        pipes: Any = self._pipes if where is None else map(self._pipes.__getitem__, where.tolist())
        if isinstance(values, list):
            given = values
        elif values.ndim:
            given = values.tolist()
        else:
            given = [values.item()] * (len(self._pipes) if where is None else len(where))
        for pipe, value in zip(pipes, given, strict=True):
            pipe.emit(value)

    def _cells(self) -> Any:
        return self._memory

    def _numbers(self) -> Any:
        if self._pipe_numbers is None:
            import numpy as np

            self._pipe_numbers = np.array([pipe._cell for pipe in self._pipes], np.uint64)
        return self._pipe_numbers

    def _assign(self, field: Field, cells: Any, key: Any, targets: Any) -> None:
        before = cells.copy()
        super()._assign(field, cells, key, targets)
        changed = (before != cells).nonzero()[0].tolist()
        known: dict[int, Any] = {0: None}
        if isinstance(targets, Pipe):
            known[targets._cell] = targets
        elif targets is not None:
            known.update((pipe._cell, pipe) for pipe in targets._pipes)
        for index in changed:
            linked: Any = self._pipes[index]
            linked._link(field, known[int(cells[index])])
