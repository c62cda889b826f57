"""Pipes of alpha's scalar lanes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import substrates
from substrates.kernel import SELF, Binding, Field, Kernel, Lane
from substrates.kernel.state import CELL
from substrates_base import Name, Pipe, Subject, checked_target

from ._engine import ffi, lib

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = [
    "CELL",
    "MASK",
    "NATIVE_KINDS",
    "KernelPipe",
    "KernelReceiver",
    "ScalarPipe",
    "discarding_pipe",
    "forwarding_pipe",
    "kernel_pipe",
]

_emit_int64 = lib.alpha_emit_int64
_emit_float64 = lib.alpha_emit_float64
_pipe_new = lib.alpha_pipe_new
_SAME_NAME = lib.ALPHA_SAME_NAME
_new: Any = object.__new__
_BITS = 2**64
MASK = _BITS - 1
"""Takes the bits of a cell, signed in C, to a handle."""
BATCH = 256
"""Values that one call takes into the engine."""
SLICE_NS = 2_000_000
"""How long one call runs kernels before it looks whether other circuits wait; the engine's own tick."""


class _NativePipe(Pipe):
    """A pipe that the engine knows by a handle."""

    __slots__ = ("__weakref__", "_circuit", "_handle", "_name", "_subject")

    _circuit: Circuit
    _handle: int

    @property
    def subject(self) -> Subject:
        subject = self._subject
        if subject is None:
            circuit = self._circuit
            subject = self._subject = circuit._cortex.native_subject(
                substrates.Pipe, self._handle, self._name or circuit._name, circuit.subject
            )
        return subject

    @property
    def _cell(self) -> int:
        return self._handle


class KernelPipe(_NativePipe):
    """A pipe to a kernel.

    `_targets` keeps the pipes alive that the state's fields refer to: None, one pipe, or a tuple of pipes.
    """

    __slots__ = ("_kernel", "_targets")

    _kernel: Kernel[Any] | None
    _targets: Any

    @property
    def state(self) -> Any:
        kernel = self._kernel
        if kernel is None:
            return super().state
        cells = self._cells()
        size = kernel.state_type.layout.size
        return kernel.state_type(memoryview(ffi.buffer(cells, size) if size else b""), self)

    def _link(self, field: Field, target: Any) -> None:
        own: Any = None if target is None else checked_target(self, field, target, "pipe")
        cells = self._cells()
        cells[field.index] = 0 if own is None else _signed(own._handle)
        held = {cells[other.index] & MASK for other in self._fields() if other.is_pipe}
        pipes = {
            pipe._handle: pipe
            for pipe in (*_kept(self._targets), own)
            if pipe is not None and pipe._handle in held
        }
        pipes.pop(self._handle, None)
        self._targets = tuple(pipes.values()) or None

    def _linked(self, field: Field) -> Pipe | None:
        handle = self._cells()[field.index] & MASK
        if handle == self._handle:
            return self
        return next((pipe for pipe in _kept(self._targets) if pipe._handle == handle), None)

    def _cells(self) -> Any:
        """Return the state's memory, as integers of 64 bits."""
        if not self._handle:
            raise RuntimeError(f"{self!r} was collected as garbage; its state is gone")
        return lib.alpha_pipe_state(self._handle)

    def _fields(self) -> tuple[Field, ...]:
        return () if self._kernel is None else self._kernel.state_type.layout.fields

    def _failed(self, result: int, value: Any) -> None:
        """Go on where the engine could not take a value."""
        circuit = self._circuit
        if result == lib.ALPHA_ADOPTED:
            circuit._admit_to_kernel(self._handle, self.lane.to_bits(self.lane.admit(value)))
        else:
            circuit._cortex.check(result)

    def __del__(self) -> None:
        circuit, handle = self._circuit, self._handle
        cortex = circuit._cortex
        if not handle or cortex.forked:
            return
        self._handle = 0  # a finalizer in the same garbage may still hold this object
        if circuit._tail is not None:
            circuit._drop_pipe(handle)
            return
        cortex.subjects.pop(handle, None)
        targets = self._targets
        if targets is None:
            lib.alpha_pipe_drop(handle, 0)
            return
        # What was accepted will still be emitted to the targets: they live until it is.
        cortex.limbo[handle] = targets
        if lib.alpha_pipe_drop(handle, 1) != lib.ALPHA_DEFERRED:
            cortex.limbo.pop(handle, None)


class Int64KernelPipe(KernelPipe):
    """A pipe to a kernel of the int64 lane."""

    __slots__ = ()

    lane = Lane.INT64

    def emit(self, value: Any, /) -> None:
        try:
            result = _emit_int64(self._handle, value)
        except (TypeError, OverflowError):
            result = _emit_int64(self._handle, Lane.INT64.admit(value))
        if result:
            self._failed(result, value)


class Float64KernelPipe(KernelPipe):
    """A pipe to a kernel of the float64 lane."""

    __slots__ = ()

    lane = Lane.FLOAT64

    def emit(self, value: Any, /) -> None:
        try:
            result = _emit_float64(self._handle, value)
        except (TypeError, OverflowError):
            result = _emit_float64(self._handle, Lane.FLOAT64.admit(value))
        if result:
            self._failed(result, value)


NATIVE_KINDS: set[type[KernelPipe]] = {Int64KernelPipe, Float64KernelPipe}
"""The types of pipes to kernels."""


def kernel_pipe(circuit: Circuit, name: Name | None, binding: Binding[Any]) -> KernelPipe:
    """Make a pipe to a kernel, with a state of its own; the circuit's `_kernel_pipe`.

    Raises:
        ProviderMismatchFault: a field is bound to a pipe of another provider.
        ConfigurationError: the kernel cannot be compiled.
        MemoryError: the engine has no room.
    """
    kernel = binding.kernel
    cortex = circuit._cortex
    address = cortex.addresses.get(kernel)
    if address is None:
        address = cortex.know(kernel)
    state = binding.memory
    own = cell = target = 0
    targets: Any = None
    for field, linked in binding.links:
        if linked is SELF:
            own |= 1 << field.index
            continue
        if type(linked) not in NATIVE_KINDS or linked._circuit._cortex is not cortex:
            circuit._own_pipe(linked, "pipe")
        if targets is None:  # one is the rule; more are packed into the state
            cell, target, targets = field.index, linked._handle, linked
        else:
            cells = bytearray(state)
            struct.pack_into("=Q", cells, field.index * CELL, linked._handle)
            state = bytes(cells)
            targets = (*_kept(targets), linked)
    pipe = _native_pipe(circuit, name, kernel.lane, address, state, own, targets, cell, target)
    pipe._kernel = kernel
    return pipe


def forwarding_pipe(circuit: Circuit, name: Name | None, lane: Lane, targets: Sequence[Pipe]) -> KernelPipe:
    """Make a pipe that emits each value to `targets`, pipes of the same scalar lane, in order."""
    handles = [target._handle for target in targets]  # type: ignore[attr-defined]
    state = struct.pack(f"={len(handles) + 1}Q", len(handles), *handles)
    return _native_pipe(circuit, name, lane, lib.alpha_kernel_fan_out(), state, 0, tuple(targets), 0, 0)


def discarding_pipe(circuit: Circuit, name: Name | None, lane: Lane) -> KernelPipe:
    """Make a pipe of a scalar lane whose values hold their place and are ignored."""
    return _native_pipe(circuit, name, lane, lib.alpha_kernel_discard(), b"", 0, None, 0, 0)


def _native_pipe(
    circuit: Circuit,
    name: Name | None,
    lane: Lane,
    address: int,
    state: bytes,
    own: int,
    targets: Any,
    cell: int,
    target: int,
) -> KernelPipe:
    """Make a pipe to the native function at `address`.

    Args:
        circuit: its circuit.
        name: None for the circuit's.
        lane: of the values.
        address: of the function.
        state: its initial memory.
        own: the cells, one bit each, that get the pipe's own handle.
        targets: what the state refers to, kept alive.
        cell: a cell that gets the handle `target`.
        target: 0 for none.
    """
    kind = Int64KernelPipe if lane is Lane.INT64 else Float64KernelPipe
    pipe: KernelPipe = _new(kind)
    pipe._circuit = circuit
    pipe._name = name
    pipe._subject = None
    pipe._kernel = None
    pipe._targets = targets
    pipe._handle = 0
    number = _SAME_NAME if name is None else circuit._cortex.number(name)
    native = circuit._handle or circuit._native()
    mask = own if own < _BITS else 0
    handle = _pipe_new(native, address, number, state, len(state), mask, cell, target)
    if not handle:
        circuit._cortex.check(lib.ALPHA_MEMORY)
    pipe._handle = handle
    if own >= _BITS:
        memory = lib.alpha_pipe_state(handle)
        for index in range(len(state) // CELL):
            if own >> index & 1:
                memory[index] = _signed(handle)
    return pipe


class ScalarPipe(_NativePipe):
    """A pipe of a scalar lane to a Python callable; kernels of other circuits emit to it by its handle."""

    __slots__ = ("_receiver",)

    def __init__(
        self,
        circuit: Circuit,
        name: Name | None,
        receive: Callable[[Any], object],
        lane: Lane,
    ) -> None:
        self._circuit = circuit
        self._name = name
        self._subject = None
        self._handle = 0
        cortex = circuit._cortex
        kernel = lib.alpha_kernel_python()
        number = _SAME_NAME if name is None else cortex.number(name)
        handle = _pipe_new(circuit._handle or circuit._native(), kernel, number, b"", 0, 0, 0, 0)
        if not handle:
            cortex.check(lib.ALPHA_MEMORY)
        self._handle = handle
        self._receiver = ScalarReceiver(circuit, handle, name or circuit._name, receive, lane)
        circuit._receivers[handle] = self._receiver

    @property
    def lane(self) -> Lane:
        return self._receiver.lane

    def emit(self, value: Any, /) -> None:
        receiver = self._receiver
        self._circuit._admit((receiver, receiver.lane.admit(value)))

    def __del__(self) -> None:
        if self._handle and not self._circuit._cortex.forked:
            self._circuit._drop_pipe(self._handle)


class _Receiver:
    """Stands in a queue where a pipe stands: what receives the values of a handle.

    Not the pipe itself, so that values on their way do not keep the pipe from ending in its turn.
    """

    __slots__ = ("_circuit", "_handle", "_name")

    def __init__(self, circuit: Circuit, handle: int, name: Name) -> None:
        self._circuit = circuit
        self._handle = handle
        self._name = name

    @property
    def subject(self) -> Subject:
        circuit = self._circuit
        return circuit._cortex.native_subject(substrates.Pipe, self._handle, self._name, circuit.subject)


class ScalarReceiver(_Receiver):
    """A Python callable behind a scalar pipe."""

    __slots__ = ("_receive", "lane", "layout")

    def __init__(
        self, circuit: Circuit, handle: int, name: Name, receive: Callable[[Any], object], lane: Lane
    ) -> None:
        super().__init__(circuit, handle, name)
        self._receive = receive
        self.lane = lane
        self.layout = "q" if lane is Lane.INT64 else "d"
        """The format, as in `memoryview`, of a value that a kernel emitted."""


class KernelReceiver(_Receiver):
    """A kernel of an adopted circuit, run by the lane's thread.

    One call runs all kernels whose turn it is, and, if no Python receptor waits behind them, what they cause.
    """

    __slots__ = ()

    layout = "Q"
    """What stands in the queue are the bits of a value."""

    def _receive(self, bits: int) -> None:
        circuit = self._circuit
        transit = circuit._transit
        batch = [(self._handle, bits & MASK)]
        while transit and len(batch) < BATCH and type(transit[0]) is KernelReceiver:
            handle = transit.popleft()._handle
            batch.append((handle, transit.popleft() & MASK))
        left = lib.alpha_run(circuit._handle, batch, len(batch), not transit, SLICE_NS)
        if left < 0:
            raise MemoryError(f"{len(batch)} values for kernels of circuit '{circuit._name}' were lost")
        if left:
            items = ffi.new("alpha_item[]", left)
            lib.alpha_left(items, left)
            transit.extend(circuit._received(items, left))


def _kept(targets: Any) -> tuple[Any, ...]:
    return () if targets is None else targets if isinstance(targets, tuple) else (targets,)


def _signed(handle: int) -> int:
    return handle - 2**64 if handle >= 2**63 else handle
