"""Populations of alpha: members, and kernel pipes to all of them, in the engine."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from substrates import Clock
from substrates.kernel import Binding, Lane
from substrates_base import Name
from substrates_base.currents import Current
from substrates_base.memberpipes import ArrayPipes
from substrates_base.memberpipes import MemberPipe as BaseMemberPipe
from substrates_base.members import numpy_arrays
from substrates_base.populations import ArrayMember, ArrayPopulation, all_reached
from substrates_base.room import require_room
from substrates_base.times import Time

from ._engine import ffi, lib
from .circuits import Circuit
from .pipes import NATIVE_KINDS, Float64KernelPipe, Int64KernelPipe, KernelPipe

if TYPE_CHECKING:
    from .provider import AlphaCortex

__all__ = ["Member", "MemberPipes", "Population"]

CIRCUIT_BYTES = 64
"""What a member takes in the engine."""
PIPE_BYTES = 64 + 8
"""What a pipe to a member takes in the engine, with its handle in the array and without its state."""
MOST_AT_ONCE = 1 << 20
"""Values admitted by one call into the engine, so that signals are handled: some ten milliseconds."""


_ADDRESSES = 1 << 48
"""Above the handles of circuits and below those of pipes."""
_new: Any = object.__new__


class Member(ArrayMember, Circuit):
    """A circuit of a population."""

    __slots__ = ("_index", "_population")

    _population: Population
    _index: int

    def __init__(self, population: Population, index: int) -> None:
        cortex = population._cortex
        self._population = population
        self._index = index
        self._cortex = cortex
        self._name = population._name
        self._subject = None
        self._current = None
        self._end_queued = False
        clock = population._clock
        self._time = None if clock is None else Time(clock)
        self._workers = cortex.workers
        self._runner = None
        self._transit = None
        self._ended = False
        self._ingress = None
        self._tail = None
        self._handle = lib.alpha_population_circuit(population._native, index)
        self._closing = population._closing

    @property
    def current(self) -> Current:
        self._population._pin(self)
        return super().current

    def close(self, *, wait: bool = False) -> None:
        self._population._pin(self)
        super().close(wait=wait)

    def _open_lane(self) -> None:
        if self._ingress is None:
            self._population._pin(self)
            self._population._run_here[self._index] = self
        super()._open_lane()


class Population(ArrayPopulation):
    """A population of the alpha engine.

    The engine's part goes with the last object that may use it: `_owner`, which members and pipes hold by
    their population.

    Attributes:
        _native: the engine's part.
        _run_here: the members that Python runs, which are pinned.
    """

    __slots__ = ("_native", "_owner", "_run_here")

    _cortex: AlphaCortex

    def __init__(self, cortex: AlphaCortex, name: Name, size: int, clock: Clock | None) -> None:
        super().__init__(cortex, name, size, clock)
        self._run_here: dict[int, Member] = {}
        self._native = 0
        require_room(size * CIRCUIT_BYTES, f"circuits({size})")
        cortex.start()
        native: int = lib.alpha_population_new(cortex.number(name), size)
        if not native:
            cortex.check_process()
            cortex.check(lib.ALPHA_MEMORY)
        self._owner = _owner(native, lib.alpha_population_drop)
        self._native = native
        cortex.sizes[native] = size
        self._closing = False

    def _new_member(self, index: int) -> Member:
        return Member(self, index)

    def _kernel_pipes(self, name: Name | None, binding: Binding[Any]) -> MemberPipes:
        return MemberPipes(self, name, binding)

    def _barrier(self, timeout: float | None) -> bool:
        cortex = self._cortex
        cortex.check_process()
        deadline = None if timeout is None else monotonic() + timeout
        waiter = ffi.new("uint64_t *")
        cortex.check(lib.alpha_population_barrier(self._native, waiter))
        if not cortex.waited(waiter[0], timeout):
            return False
        if not all_reached(list(self._run_here.values()), deadline):
            return False
        cortex.carry_events()
        return True

    def _end(self) -> None:
        cortex = self._cortex
        result = lib.alpha_population_close(self._native)
        if result != lib.ALPHA_FORKED:  # there nothing runs, and closing never raises (RES-02)
            cortex.check(result)
        with cortex.lock:
            alive = list(self._members.values())
        for member in alive:
            member.close()

    def _dropped(self) -> None:
        native = self._native
        cortex = self._cortex
        cortex.sizes.pop(native, None)
        if native and cortex.subjects:
            for handle in list(cortex.subjects):
                if lib.alpha_population_index(native, handle) >= 0:
                    cortex.subjects.pop(handle, None)


class MemberPipes(ArrayPipes):
    """Pipes of a kernel, one per member, with their states in one block of the engine's memory.

    Attributes:
        _native: the engine's part, let go of with `_owner` as that of the population.
        _array, _handles: the states and the handles; they keep the memory, not the pipes.
        _alive: the pipes that somebody holds.
    """

    __slots__ = ("_alive", "_array", "_handles", "_native", "_owner")

    _population: Population

    def __init__(self, population: Population, name: Name | None, binding: Binding[Any]) -> None:
        kernel = binding.kernel
        cortex = population._cortex
        layout = kernel.state_type.layout
        super().__init__(population, name, kernel, kernel.lane)
        self._native = 0
        address = cortex.know(kernel)
        state, own = self._initial(binding)
        size = len(population)
        require_room(size * (PIPE_BYTES + layout.size), f"pipes to {size} members")
        number = lib.ALPHA_SAME_NAME if name is None else cortex.number(name)
        native: int = lib.alpha_pipes_new(
            population._native, address, number, state, layout.size, own, len(own)
        )
        if not native:
            cortex.check_process()
            cortex.check(lib.ALPHA_MEMORY)
        self._owner = _owner(native, lib.alpha_pipes_drop)
        memory = ffi.gc(ffi.cast("void *", native), lib.alpha_pipes_free)
        self._native = native
        self._alive: WeakValueDictionary[int, MemberPipe] = WeakValueDictionary()
        self._array: Any = _array(
            lib.alpha_pipes_states(native), numpy_arrays().state_type(layout), size, memory
        )
        self._handles: Any = _array(lib.alpha_pipes_handles(native), "u8", size, memory)

    def _pipe(self, index: int) -> MemberPipe:
        pipe = self._alive.get(index)
        if pipe is None:
            made = _new(Int64MemberPipe if self._lane is Lane.INT64 else Float64MemberPipe)
            made._circuit = self._population._member(index)
            made._name = self._name
            made._subject = None
            made._kernel = self._kernel
            made._targets = None
            made._pipes = self
            made._index = index
            made._handle = int(self._handles[index])
            with self._population._cortex.lock:
                pipe = self._alive.setdefault(index, made)
        return pipe

    def _emit(self, values: Any, where: Any) -> None:
        cortex = self._population._cortex
        single = values.ndim == 0
        count = len(self) if where is None else len(where)
        data = ffi.cast("uint64_t *", values.ctypes.data)
        chosen = ffi.NULL if where is None else ffi.cast("int64_t *", where.ctypes.data)
        done = ffi.new("uint64_t *")
        while done[0] < count:
            most = min(count, done[0] + MOST_AT_ONCE)
            result = lib.alpha_pipes_emit(self._native, data, single, chosen, most, done)
            if result == lib.ALPHA_ADOPTED:
                at = done[0]
                done[0] = at + 1
                self._pipe(at if where is None else int(where[at])).emit(values[() if single else at].item())
            elif result == lib.ALPHA_RANGE:
                raise IndexError(
                    f"emit(where=...): changed meanwhile; {done[0]} of {count} values were admitted"
                )
            elif result == lib.ALPHA_MEMORY:
                raise MemoryError(
                    f"emit: the engine is out of memory; {done[0]} of {count} values were admitted"
                )
            else:
                cortex.check(result)

    def _cells(self) -> Any:
        return self._array

    def _numbers(self) -> Any:
        return self._handles

    def _index_of(self, handle: int) -> int | None:
        index: int = lib.alpha_pipes_index(self._native, handle)
        return None if index < 0 else index

    def __del__(self) -> None:
        native = getattr(self, "_native", 0)  # none if an interrupt came before it was made
        cortex = self._population._cortex
        if not native or cortex.forked:
            return
        if any(self._kept.values()):
            # What was accepted will still be emitted to these: they live until it is.
            cortex.limbo[lib.alpha_pipes_number(native)] = self._kept
        for handle in list(cortex.subjects):
            if handle > _ADDRESSES and lib.alpha_pipes_index(native, handle) >= 0:
                cortex.subjects.pop(handle, None)


class MemberPipe(BaseMemberPipe, KernelPipe):
    """A pipe of `MemberPipes`, which has the engine's part."""

    __slots__ = ()

    _pipes: MemberPipes
    _index: int

    def __del__(self) -> None:
        """Nothing: the pipes have the engine's part."""


class Int64MemberPipe(MemberPipe, Int64KernelPipe):
    """A pipe of `MemberPipes` of the int64 lane."""

    __slots__ = ("_index", "_pipes")


class Float64MemberPipe(MemberPipe, Float64KernelPipe):
    """A pipe of `MemberPipes` of the float64 lane."""

    __slots__ = ("_index", "_pipes")


NATIVE_KINDS.update((Int64MemberPipe, Float64MemberPipe))


class _Block:
    """Memory of the engine as NumPy takes it; arrays over it keep it."""

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, address: int, size: int, memory: Any) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": (size,),
            "typestr": "|u1",
        }
        self._memory = memory


def _array(address: Any, kind: Any, count: int, memory: Any) -> Any:
    """Return the engine's memory at `address` as an array of `count` elements that keeps `memory`."""
    import numpy as np

    kind = np.dtype(kind)
    if kind.itemsize == 0 or count == 0:
        return np.zeros(count, kind)
    place = address if isinstance(address, int) else int(ffi.cast("uintptr_t", address))
    block = _Block(place, count * kind.itemsize, memory)
    return np.asarray(block).view(kind)


def _owner(native: int, drop: Any) -> Any:
    """Return an object with which the engine's part at `native` goes: `drop` is called then.

    It goes when what holds it is cleared, behind the finalizers of all that the garbage collector finds with
    it, which may still use the engine's part. An object of `ffi.gc` would be finalized among them, in any
    order. A plain array keeps it from that: the collector does not know arrays, so to it what they hold is
    held from outside.
    """
    return _array(native, "u1", 1, ffi.gc(ffi.cast("void *", native), drop))
