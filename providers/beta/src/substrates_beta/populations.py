"""Populations of beta: members, their pipes and their states made, fed and waited for by the engine.

An object for a member, or for its pipe, is made when somebody asks for it, and goes with the last reference:
what it stands for is the engine's. Those that have something of their own in Python, a subject or a time, are
kept.
"""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from substrates import Clock
from substrates.kernel import Binding, Kernel, Lane
from substrates.kernel.state import CELL
from substrates_base import Name, Subject
from substrates_base.memberpipes import ArrayPipes
from substrates_base.memberpipes import MemberPipe as BaseMemberPipe
from substrates_base.members import numpy_arrays
from substrates_base.populations import ArrayMember, ArrayPopulation
from substrates_base.room import require_room
from substrates_base.times import Time

from . import _engine
from .circuits import MOST_NS, Circuit
from .pipes import FLOAT64_KERNEL, INT64_KERNEL, KernelPipe

if TYPE_CHECKING:
    from .provider import BetaCortex

__all__ = ["Member", "MemberPipes", "Population"]

CIRCUIT_BYTES = 64
PIPE_BYTES = 64 + CELL
"""Of a member's pipe without its state: the pipe, and its handle in the array."""


class Member(ArrayMember, Circuit):
    """A member of a population: an object for its circuit, which ends with the population."""

    __slots__ = ("_index", "_population")

    _population: Population

    def __init__(self, population: Population, index: int) -> None:
        native = population._part().circuit(index)
        self._cortex = population._cortex
        self._name = population._name
        self._subject = None
        self._current = None
        self._closing = population._closing or native.is_closing()
        self._end_queued = False
        clock = population._clock
        self._time = None if clock is None else Time(clock)
        self._native = native
        self._python = False
        self._population = population
        self._index = index

    @property
    def subject(self) -> Subject:
        if self._subject is None:
            self._population._pin(self)
        return super().subject


class Population(ArrayPopulation):
    """A population of the beta engine.

    Attributes:
        _native: None once nobody refers to it any more.
    """

    __slots__ = ("_native",)

    _cortex: BetaCortex

    def __init__(self, cortex: BetaCortex, name: Name, size: int, clock: Clock | None) -> None:
        self._native: _engine.Population | None = None
        super().__init__(cortex, name, size, clock)
        require_room(size * CIRCUIT_BYTES, f"circuits({size})")
        if not cortex.started:
            cortex.start()
        self._native = _engine.population(size, cortex.number(name))
        self._closing = False

    def _part(self) -> _engine.Population:
        native = self._native
        assert native is not None, "a population that somebody holds"
        return native

    def _new_member(self, index: int) -> Member:
        return Member(self, index)

    def _kernel_pipes(self, name: Name | None, binding: Binding[Any]) -> MemberPipes:
        return MemberPipes(self, name, binding)

    def _barrier(self, timeout: float | None) -> bool:
        cortex = self._cortex
        cortex.check_process()
        done = self._part().wait(-1 if timeout is None else int(min(timeout * 1e9, MOST_NS)))
        cortex.carry_events_if_any()
        return done

    def _end(self) -> None:
        with self._cortex.lock:
            for member in list(self._members.values()):
                member._closing = True
                if member._time is not None:
                    member._time.stop()
        self._part().close()

    def _dropped(self) -> None:
        native = self._native
        self._native = None
        if native is not None:
            _linger(native, None, self._size)


class MemberPipe(BaseMemberPipe, KernelPipe):
    """An object for a member's pipe to a kernel, which in the engine is one of the population's pipes."""

    __slots__ = ("_index", "_pipes")

    _index: int
    _pipes: MemberPipes

    @property
    def subject(self) -> Subject:
        if self._subject is None:
            self._pipes._pinned[self._index] = self
        return super().subject


class Int64MemberPipe(MemberPipe):
    """One of the int64 lane."""

    __slots__ = ()

    lane = Lane.INT64


class Float64MemberPipe(MemberPipe):
    """One of the float64 lane."""

    __slots__ = ()

    lane = Lane.FLOAT64


class MemberPipes(ArrayPipes):
    """Pipes to a kernel in the beta engine, one for each member.

    Attributes:
        _native: the pipes in the engine.
        _objects: the objects of pipes that somebody holds, by index.
        _pinned: those that must not be made anew.
    """

    __slots__ = ("_address", "_arrays", "_native", "_objects", "_pinned")

    _population: Population
    _kernel: Kernel[Any]

    def __init__(self, population: Population, name: Name | None, binding: Binding[Any]) -> None:
        kernel = binding.kernel
        super().__init__(population, name, kernel, kernel.lane)
        cortex = population._cortex
        size = kernel.state_type.layout.size
        members = len(population)
        require_room(members * (PIPE_BYTES + size), f"pipes of {members} circuits")
        state, own = self._initial(binding)
        address = cortex.know(kernel)
        self._objects: WeakValueDictionary[int, MemberPipe] = WeakValueDictionary()
        self._pinned: dict[int, MemberPipe] = {}
        self._arrays: tuple[Any, Any] | None = None
        self._native = population._part().pipes(
            address,
            cortex.number(name or population._name),
            state,
            struct.pack(f"={len(own)}I", *own),
        )

    def _pipe(self, index: int) -> MemberPipe:
        pipe = self._objects.get(index)
        if pipe is None:
            population = self._population
            cortex = population._cortex
            member: Any = population._member(index)
            handle = int(self._numbers()[index])
            with cortex.lock:
                pipe = self._objects.get(index)
                if pipe is None:
                    pipe = self._objects[index] = self._made(member, handle)
        return pipe

    def _made(self, member: Member, handle: int) -> MemberPipe:
        kind, code = (
            (Int64MemberPipe, INT64_KERNEL)
            if self._lane is Lane.INT64
            else (Float64MemberPipe, FLOAT64_KERNEL)
        )
        assert member._native is not None
        pipe: MemberPipe = _engine.member_pipe(
            kind,
            member,
            member._native,
            self._name,
            member._number(self._name),
            self._kernel,
            handle,
            self._kernel.state_type.layout.size,
            code,
        )
        pipe._index = member._index
        pipe._pipes = self
        return pipe

    def _emit(self, values: Any, where: Any) -> None:
        cortex = self._population._cortex
        if cortex.forked:
            cortex.check_process()
        count = len(self) if where is None else len(where)
        done = self._native.emit(values, where)
        if done < count:
            raise MemoryError(f"emit: no memory for more than {done} of {count} values, which were admitted")

    def _cells(self) -> Any:
        return self._views()[0]

    def _numbers(self) -> Any:
        return self._views()[1]

    def _views(self) -> tuple[Any, Any]:
        """Return the states and the handles, arrays over the engine's memory that hold nothing else."""
        views = self._arrays
        if views is None:
            import numpy as np

            layout = self._kernel.state_type.layout
            region = self._native.memory()
            count = len(self)
            cells = np.ndarray(count, numpy_arrays().state_type(layout), region)
            numbers = np.ndarray(count, np.uint64, region, count * layout.size)
            numbers.flags.writeable = False
            views = self._arrays = (cells, numbers)
        return views

    def _index_of(self, handle: int) -> int | None:
        return self._native.place(handle)

    def __del__(self) -> None:
        try:
            native = self._native
        except AttributeError:  # an interrupt came before it was made
            return
        _linger(native, self._kept, len(self._population))


class _Lingering:
    """Keeps what nobody holds any more but members may still emit to, until that is done.

    What was accepted causes more, and so on: as often as there are members, so that a value can have passed
    them all. A value that goes in a circle ends then.
    """

    __slots__ = ("_kept", "_native", "_rounds", "waits")

    def __init__(self, native: _engine.Population | _engine.Pipes, kept: object, rounds: int) -> None:
        self._native = native
        self._kept = kept
        self._rounds = rounds
        self.waits = False

    def __del__(self) -> None:
        if self.waits and self._rounds > 0:
            _linger(self._native, self._kept, self._rounds - 1)


class _Due(threading.local):
    """What the calling thread has to keep: a list while it does so, so that it is done in turn."""

    waiting: list[tuple[_engine.Population | _engine.Pipes, object, int]] | None = None


_due = _Due()


def _linger(native: _engine.Population | _engine.Pipes, kept: object, rounds: int) -> None:
    if _due.waiting is not None:
        _due.waiting.append((native, kept, rounds))
        return
    waiting = _due.waiting = [(native, kept, rounds)]
    del native, kept
    try:
        while waiting:
            lingering = _Lingering(*waiting.pop())
            lingering.waits = lingering._native.keep(lingering)
            del lingering  # it may be done already
    finally:
        _due.waiting = None
