"""Pipes of beta: the native pipe, and what is rare enough to be Python."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from substrates.kernel import SELF, Binding, Field, Kernel, Lane
from substrates.kernel.state import CELL
from substrates_base import Name, Subject, checked_target
from substrates_base import Pipe as BasePipe

from . import _engine

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = [
    "FLOAT64_KERNEL",
    "INT64_KERNEL",
    "Job",
    "KernelPipe",
    "Pipe",
    "ReceptorPipe",
    "discarding_pipe",
    "forwarding_pipe",
    "kernel_pipe",
    "receptor_pipe",
]

_BITS = 2**64
_DISCARD, _FAN_OUT = _engine.kernels()

# Kinds of the native pipe.
_RECEPTOR, _RECEPTOR_INT64, _RECEPTOR_FLOAT64, INT64_KERNEL, FLOAT64_KERNEL = range(5)


class Pipe(_engine.Pipe, BasePipe):
    """A pipe of beta: the layout and `emit` are native, all else is base's."""

    __slots__ = ()

    _circuit: Circuit

    @property
    def _cell(self) -> int:
        return self._handle()


class ReceptorPipe(Pipe):
    """A pipe to a Python callable."""

    __slots__ = ()

    @property
    def _direct(self) -> Callable[[Any], object]:
        receive: Callable[[Any], object] = self._receive
        return receive


class Int64ReceptorPipe(Pipe):
    """A pipe of the int64 lane to a Python callable."""

    __slots__ = ()

    lane = Lane.INT64


class Float64ReceptorPipe(Pipe):
    """A pipe of the float64 lane to a Python callable."""

    __slots__ = ()

    lane = Lane.FLOAT64


class Job(_engine.Pipe):
    """Stands in a queue where a pipe stands: its receptor is called without a value."""

    __slots__ = ()

    @property
    def subject(self) -> Subject:
        """The circuit's, whose failure it would be."""
        subject: Subject = self._circuit.subject
        return subject


class KernelPipe(Pipe):
    """A pipe to a kernel.

    `_targets` keeps the pipes alive that the state's fields refer to: None, one pipe, or a tuple of pipes.
    `_receive` is the kernel, or None of a pipe of the engine's own.
    """

    __slots__ = ()

    @property
    def state(self) -> Any:
        kernel: Kernel[Any] | None = self._receive
        if kernel is None:
            return super().state
        return kernel.state_type(self._memory(), self)

    def _link(self, field: Field, target: Any) -> None:
        own: Any = None if target is None else checked_target(self, field, target, "pipe")
        cells = self._memory().cast("Q")
        cells[field.index] = 0 if own is None else own._handle()
        held = {cells[other.index] for other in self._fields() if other.is_pipe}
        pipes = {
            pipe._handle(): pipe
            for pipe in (*_kept(self._targets), own)
            if pipe is not None and pipe is not self and pipe._handle() in held
        }
        self._targets = tuple(pipes.values()) or None

    def _linked(self, field: Field) -> BasePipe | None:
        handle = self._memory().cast("Q")[field.index]
        if handle == self._handle():
            return self
        return next((pipe for pipe in _kept(self._targets) if pipe._handle() == handle), None)

    def _fields(self) -> tuple[Field, ...]:
        kernel: Kernel[Any] | None = self._receive
        return () if kernel is None else kernel.state_type.layout.fields


class Int64KernelPipe(KernelPipe):
    """A pipe to a kernel of the int64 lane."""

    __slots__ = ()

    lane = Lane.INT64


class Float64KernelPipe(KernelPipe):
    """A pipe to a kernel of the float64 lane."""

    __slots__ = ()

    lane = Lane.FLOAT64


_RECEPTOR_KINDS: dict[Lane, tuple[type[Pipe], int]] = {
    Lane.OBJECT: (ReceptorPipe, _RECEPTOR),
    Lane.INT64: (Int64ReceptorPipe, _RECEPTOR_INT64),
    Lane.FLOAT64: (Float64ReceptorPipe, _RECEPTOR_FLOAT64),
}


def receptor_pipe(circuit: Circuit, name: Name | None, receive: Callable[[Any], object], lane: Lane) -> Pipe:
    """Make a pipe to a Python callable."""
    kind, code = _RECEPTOR_KINDS[lane]
    native = circuit._native or circuit._open()
    number = circuit._number(name) if code else 0
    pipe: Pipe = _engine.receptor_pipe(kind, circuit, native, name, number, receive, code)
    return pipe


def kernel_pipe(circuit: Circuit, name: Name | None, binding: Binding[Any]) -> KernelPipe:
    """Make a pipe to a kernel, with a state of its own.

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
        if not isinstance(linked, _engine.Pipe) or linked._circuit._cortex is not cortex:
            circuit._own_pipe(linked, "pipe")
        if targets is None:  # one is the rule; more are packed into the state
            cell, target, targets = field.index, linked._handle(), linked
        else:
            cells = bytearray(state)
            struct.pack_into("=Q", cells, field.index * CELL, linked._handle())
            state = bytes(cells)
            targets = (*_kept(targets), linked)
    pipe = _native_pipe(
        circuit, name, kernel, address, kernel.lane, state, own if own < _BITS else 0, targets, cell, target
    )
    if own >= _BITS:
        memory = pipe._memory().cast("Q")
        for index in range(len(memory)):
            if own >> index & 1:
                memory[index] = pipe._handle()
    return pipe


def forwarding_pipe(circuit: Circuit, name: Name | None, lane: Lane, targets: Sequence[Any]) -> KernelPipe:
    """Make a pipe that emits each value to `targets`, pipes of the same scalar lane, in order."""
    state = struct.pack(f"={len(targets) + 1}Q", len(targets), *(target._handle() for target in targets))
    return _native_pipe(circuit, name, None, _FAN_OUT, lane, state, 0, tuple(targets), 0, 0)


def discarding_pipe(circuit: Circuit, name: Name | None, lane: Lane) -> KernelPipe:
    """Make a pipe of a scalar lane whose values hold their place and are ignored."""
    return _native_pipe(circuit, name, None, _DISCARD, lane, b"", 0, None, 0, 0)


def _native_pipe(
    circuit: Circuit,
    name: Name | None,
    kernel: Kernel[Any] | None,
    address: int,
    lane: Lane,
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
        kernel: None for a function of the engine's own.
        address: of the function.
        lane: of the values.
        state: its initial memory.
        own: the cells, one bit each, that get the pipe's own handle.
        targets: what the state refers to, kept alive.
        cell: a cell that gets the handle `target`.
        target: 0 for none.
    """
    native = circuit._native or circuit._open()
    kind, code = (
        (Int64KernelPipe, INT64_KERNEL) if lane is Lane.INT64 else (Float64KernelPipe, FLOAT64_KERNEL)
    )
    pipe: KernelPipe = _engine.kernel_pipe(
        kind,
        circuit,
        native,
        name,
        circuit._number(name),
        kernel,
        address,
        state,
        own,
        targets,
        cell,
        target,
        code,
    )
    return pipe


def _kept(targets: Any) -> tuple[Any, ...]:
    return () if targets is None else targets if isinstance(targets, tuple) else (targets,)
