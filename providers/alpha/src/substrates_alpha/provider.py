"""Cortex and provider of the alpha engine."""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Mapping
from importlib.util import find_spec
from time import monotonic
from typing import Any

import substrates
from substrates import Clock
from substrates.spi import Provider
from substrates_base import Name, Subject, Workers, usable_cores
from substrates_base.natives import CARRY_PATIENCE_S, STOP_PATIENCE_MS, NativeCortex
from substrates_base.populations import LoopPopulation
from substrates_base.populations import Population as BasePopulation

from ._engine import ffi, lib
from .circuits import Circuit
from .populations import Population

__all__ = ["AlphaCortex", "AlphaProvider"]

VERSION = "0.1.0"
PATIENCE_NS = 100_000_000
"""The longest stay in the engine while waiting, so that signals are handled whichever thread they reach."""

_log = logging.getLogger("substrates")


class AlphaCortex(NativeCortex):
    """The cortex of the alpha engine.

    Subjects of native circuits and pipes are made when somebody asks for them, or when a fault has to be
    reported; `subjects` finds them by handle, so that both get the same object. `limbo` keeps what a dropped
    pipe, or a population's, refers to until its last value is delivered. `sizes` has the populations that
    exist.
    """

    CIRCUIT = Circuit

    def __init__(self) -> None:
        super().__init__("alpha")
        self.workers = Workers(self)
        self.adopted: weakref.WeakValueDictionary[int, Circuit] = weakref.WeakValueDictionary()
        self.subjects: dict[int, Subject] = {}
        self.sizes: dict[int, int] = {}
        self.limbo: dict[int, Any] = {}

    def start(self) -> None:
        """Start the engine unless it runs.

        Raises:
            ForkedProcessError: in a forked child.
            MemoryError: no thread can be started.
        """
        if not self.started:
            with self.lock:
                if self._bridge is None:
                    self.check(lib.alpha_start(usable_cores()))
                    self._open_bridge()

    def waited(self, waiter: int, timeout: float | None) -> bool:
        """Wait at a barrier, 0 for none, and free it; False if `timeout` seconds passed first."""
        if not waiter:
            return True
        try:
            return self.wait_at(waiter, timeout)
        finally:
            lib.alpha_waiter_free(waiter)

    def wait_at(self, waiter: int, timeout: float | None) -> bool:
        """Wait at a barrier; False if `timeout` seconds passed first."""
        self.workers.about_to_block()
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            slice_ns = PATIENCE_NS
            if deadline is not None:
                slice_ns = max(0, min(slice_ns, int((deadline - monotonic()) * 1e9)))
            result = lib.alpha_wait(waiter, slice_ns)
            if result in (lib.ALPHA_OK, lib.ALPHA_STOPPED):
                return True
            if deadline is not None and monotonic() >= deadline:
                return False

    def check(self, result: int) -> None:
        """Raise what a result of the engine stands for.

        Raises:
            ForkedProcessError: in a forked child.
            MemoryError: the engine has no room.
        """
        if result == lib.ALPHA_FORKED:
            self.forked = True
            self.check_process()
        elif result == lib.ALPHA_MEMORY:
            raise MemoryError(f"provider {self.provider!r}: the engine is out of memory")

    def facts(self) -> Mapping[str, int | float | str]:
        native = ffi.new("alpha_facts *")
        lib.alpha_read_facts(native)
        return {
            "circuits": self.workers.circuits.value() + sum(list(self.sizes.values())),
            "pipes": self.workers.pipes.value() + native.pipes,
            "workers": native.workers + self.workers.count(),
            "faults": self.faults.count.value(),
            "rebuilds": self.rebuilds.value(),
            "engine_bytes": native.engine_bytes,
            "engine_used_bytes": native.used_bytes,
            "engine_cached_bytes": native.cached_bytes,
            "allocated_bytes": native.allocated_bytes,
            "visits": native.visits,
        }

    def native_subject(self, kind: type[Any], handle: int, name: Name, enclosure: Subject) -> Subject:
        """Return the subject of a native circuit or pipe, the same for the same handle."""
        with self.lock:
            subject = self.subjects.get(handle)
            if subject is None:
                # Making it may run a finalizer that needs it first.
                subject = self.subjects.setdefault(handle, Subject(kind, name, enclosure))
            return subject

    def carry_events(self, patience_s: float = CARRY_PATIENCE_S) -> None:
        """Bring what native threads have reported to where Python handles it.

        The bridge thread does so all the time; who returns from a wait does so too, so that the faults of
        what was waited for are told by then.
        """
        if not self._carrying.acquire(timeout=patience_s):
            return  # a fault hook takes its time
        try:
            event = ffi.new("alpha_event *")
            while lib.alpha_event_take(event):
                self._handle(event)
        finally:
            self._carrying.release()

    def _carry_all_events(self) -> None:
        while lib.alpha_events_wait(-1) != lib.ALPHA_STOPPED:
            self.carry_events()

    def _handle(self, event: Any) -> None:
        try:
            if event.kind == lib.ALPHA_EVENT_READY:
                circuit = self.adopted.get(event.circuit)
                if circuit is not None:
                    circuit.claim()
            elif event.kind == lib.ALPHA_EVENT_DROPPED:
                self.limbo.pop(event.pipe, None)
            else:
                self._report(event)
        except KeyboardInterrupt:  # on the main thread, which came here from a wait
            raise
        except BaseException as error:  # noqa: BLE001 - it carries for all circuits and must go on
            _log.error("an event could not be handled", exc_info=error)

    def _report(self, event: Any) -> None:
        circuit = self.native_subject(
            substrates.Circuit, event.circuit, self._numbered[event.circuit_name], self.subject
        )
        pipe = self.native_subject(substrates.Pipe, event.pipe, self._numbered[event.pipe_name], circuit)
        error = self._failure(event.kernel, event.code)
        self.faults.report_of(pipe, error, event.count)

    def _new_population(self, name: Name, size: int, clock: Clock | None) -> BasePopulation:
        if find_spec("numpy") is None:  # without arrays there is little that the engine could do better
            return LoopPopulation(self, name, size, clock)
        return Population(self, name, size, clock)

    def _stop(self) -> None:
        lib.alpha_stop(STOP_PATIENCE_MS)
        self.workers.stop()
        self._join_bridge()

    def _in_forked_child(self) -> None:
        super()._in_forked_child()
        self.workers.forget()


class AlphaProvider(Provider):
    """See `substrates.spi.Provider`."""

    name = "alpha"
    version = VERSION
    capabilities = frozenset({"kernels", "native-kernels", "parallel", "population-kernels"})

    def facts(self) -> Mapping[str, str]:
        return {
            **super().facts(),
            "engine": "C11, cffi API mode",
            "build": ffi.string(lib.alpha_build()).decode(),
            "cores": str(usable_cores()),
            "gil": str(getattr(sys, "_is_gil_enabled", lambda: True)()),
        }

    def create(self) -> AlphaCortex:
        return AlphaCortex()
