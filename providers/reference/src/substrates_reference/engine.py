"""The reference engine: the object lane, and kernels as plain Python on it.

The way of a value, in five steps: `LanePipe.emit` (admission), `LaneCircuit._claim` (the circuit becomes
ready), `Workers._work` (a thread takes it), `LaneCircuit._run` (transit before ingress), the receptor. They
are in `substrates_base` (`lane`, `workers`), because alpha runs Python receptors by the same steps. What is
here is how a kernel runs without native code: its state is raw memory behind the same descriptors that native
providers read, and its context emits at once, which is the same order as emitting when it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from substrates import ConfigurationError
from substrates.kernel import SELF, Binding, Field
from substrates_base import LaneCircuit, Name, Pipe, ScalarPipe, checked_target

if TYPE_CHECKING:
    from .provider import ReferenceCortex

__all__ = ["Circuit", "KernelPipe"]


class Circuit(LaneCircuit):
    """A circuit of the reference engine."""

    __slots__ = ()

    _cortex: ReferenceCortex

    def __init__(self, cortex: ReferenceCortex, name: Name) -> None:
        super().__init__(cortex, name, cortex.workers)

    def _kernel_pipe(self, name: Name | None, binding: Binding[Any]) -> Pipe:
        return self._kernel_pipe_over(name, binding, memoryview(bytearray(binding.memory)))

    def _kernel_pipe_over(self, name: Name | None, binding: Binding[Any], memory: memoryview) -> Pipe:
        kernel = binding.kernel
        if kernel.function is None:
            raise ConfigurationError(
                f"kernel {kernel.name!r} is known by its address alone; provider"
                f" {self._cortex.provider!r} runs kernels as plain Python: give from_address(python=...),"
                " or use a native provider"
            )
        self._open_lane()
        return KernelPipe(self, name, binding, kernel.function, memory)


class _Context:
    """What a kernel gets as `ctx`."""

    __slots__ = ()

    @staticmethod
    def emit(pipe: Any, value: Any, /) -> None:
        """See `substrates.kernel.Context.emit`."""
        if pipe is not None:
            pipe._circuit._admit((pipe, pipe.lane.cast(value)))


_context = _Context()


class KernelPipe(ScalarPipe):
    """A pipe to a kernel, run as plain Python."""

    __slots__ = ("_pipes", "_state")

    def __init__(
        self,
        circuit: Circuit,
        name: Name | None,
        binding: Binding[Any],
        function: Callable[[Any, Any, Any], object],
        memory: memoryview,
    ) -> None:
        kernel = binding.kernel
        self._pipes: list[Pipe | None] = [None] * len(kernel.state_type.layout.fields)
        self._state = kernel.state_type(memory, self)
        super().__init__(circuit, name, partial(function, _context, self._state), kernel.lane)
        for field, target in binding.links:
            self._link(field, self if target is SELF else target)

    @property
    def state(self) -> Any:
        return self._state

    def _link(self, field: Field, target: Any) -> None:
        own = None if target is None else checked_target(self, field, target, "pipe")
        self._pipes[field.index] = own
        self._state._ints[field.index] = 0 if own is None else own._cell

    def _linked(self, field: Field) -> Pipe | None:
        return self._pipes[field.index]
