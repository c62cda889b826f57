"""Circuits of beta: a handle of the native circuit, which is made with the first pipe or job.

A circuit has one native queue for all its receivers, whichever lane they are of. While all are kernels it
is run by workers that know nothing of Python; with the first Python receptor it becomes one that only threads
run which hold the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from substrates.kernel import Binding, Lane
from substrates_base import Circuit as BaseCircuit
from substrates_base import Name, discard
from substrates_base import Pipe as BasePipe

from . import _engine
from .pipes import Job, discarding_pipe, forwarding_pipe, kernel_pipe, receptor_pipe

if TYPE_CHECKING:
    from .provider import BetaCortex

__all__ = ["Circuit"]

MOST_NS = 2**62
"""A time-out that is as good as none."""


class Circuit(BaseCircuit):
    """A circuit of the beta engine. `_native` is None until its first pipe or job."""

    __slots__ = ("_native", "_python")

    _cortex: BetaCortex
    _native: _engine.Circuit | None

    def __init__(self, cortex: BetaCortex, name: Name) -> None:
        # As Circuit.__init__ of base, written out: a population is a million of these calls.
        self._cortex = cortex
        self._name = name
        self._subject = None
        self._current = None
        self._closing = False
        self._end_queued = False
        self._time = None
        self._native = None
        self._python = False
        cortex.alive.born()

    # -- the engine interface

    def _receptor_pipe(self, name: Name | None, receive: Callable[[Any], object], lane: Lane) -> BasePipe:
        if lane is not Lane.OBJECT and receive is discard and not self._python:
            return discarding_pipe(self, name, lane)
        self._python = True
        if not self._cortex.hosting:
            self._cortex.start_hosted()
        return receptor_pipe(self, name, receive, lane)

    def _kernel_pipe(self, name: Name | None, binding: Binding[Any]) -> BasePipe:
        return kernel_pipe(self, name, binding)

    def _forwarding_pipe(self, name: Name | None, targets: Sequence[BasePipe]) -> BasePipe:
        lane = targets[0].lane if targets else Lane.OBJECT
        if lane is Lane.OBJECT or self._python or any(target.lane is not lane for target in targets):
            return super()._forwarding_pipe(name, targets)
        return forwarding_pipe(self, name, lane, targets)

    def _job(self, call: Callable[[], object]) -> None:
        if self._closing and self._native is None:
            return
        self._python = True
        if not self._cortex.hosting:
            self._cortex.start_hosted()
        native = self._native or self._open()
        _engine.receptor_pipe(Job, self, native, None, 0, call, 0)._submit()

    def _inside(self) -> bool:
        return self._native is not None and self._native.inside()

    def _barrier(self, timeout: float | None) -> bool:
        self._cortex.check_process()
        if self._native is None:
            return True
        done = self._native.wait(-1 if timeout is None else int(min(timeout * 1e9, MOST_NS)))
        self._cortex.carry_events_if_any()
        return done

    def _probe(self) -> tuple[int, int] | None:
        self._cortex.check_process()
        if self._native is None:
            now = perf_counter_ns()
            return None if self._closing else (now, now)  # nothing can be waited for
        return self._native.probe()

    def _now(self) -> int:
        time = self._time or self._timing()
        native = self._native
        reading = time.reading
        if reading is None or native is None or not native.timed():
            reading = time.reading = time.clock.now()
            if native is not None:
                native.note_time()
        return reading

    def _end(self) -> None:
        with self._cortex.lock:
            if self._native is not None:
                self._native.close()

    def _dropped(self) -> None:
        self._cortex.alive.died()
        self._native = None

    # -- the native part

    def _number(self, name: Name | None) -> int:
        return self._cortex.number(self._name if name is None else name)

    def _open(self) -> _engine.Circuit:
        """Return the native part, made now."""
        cortex = self._cortex
        if not cortex.started:
            cortex.start()
        cortex.check_process()
        with cortex.lock:
            native = self._native
            if native is None:
                native = _engine.circuit(cortex.number(self._name))
                if self._closing:
                    native.close()
                self._native = native
        return native
