"""Cortex and provider of the beta engine."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Mapping
from typing import Any

import substrates
from substrates import Clock
from substrates.kernel import Lane
from substrates.spi import Provider
from substrates_base import MOST_WORKERS, Live, Name, Subject, usable_cores, warn_exhausted
from substrates_base.natives import CARRY_PATIENCE_S, STOP_PATIENCE_MS, NativeCortex

from . import _engine
from .circuits import Circuit
from .currents import Currents
from .populations import Population

__all__ = ["BetaCortex", "BetaProvider"]

VERSION = "0.1.0"

_log = logging.getLogger("substrates")


def _has_lock() -> bool:
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def _breathe() -> None:
    """Do nothing: at a function's start the interpreter lets others have its lock if they wait for it."""


class BetaCortex(NativeCortex):
    """The cortex of the beta engine.

    `carries` is True while events are on their way from the engine to who handles them; written by the thread
    that carries them.
    """

    CIRCUIT = Circuit

    def __init__(self) -> None:
        super().__init__("beta")
        self.currents = Currents()
        self.alive = Live()
        self._told = False
        self.carries = False
        self.hosting = False
        _engine.setup(
            self.faults.report,
            [Lane.OBJECT.admit, Lane.INT64.admit, Lane.FLOAT64.admit],
            self.check_process,
            _breathe,
            _has_lock(),
        )

    def start(self) -> None:
        """Start the engine unless it runs.

        Raises:
            ForkedProcessError: in a forked child.
            MemoryError: no thread can be started.
        """
        self.check_process()
        with self.lock:
            if not self.started:
                if not _engine.start(usable_cores()):
                    self.forked = True
                    self.check_process()
                self._open_bridge()

    def start_hosted(self) -> None:
        """Start the threads that run Python receptors unless they run: one more than may run at a time."""
        self.start()
        with self.lock:
            if not self.hosting:
                limit = 1 if _has_lock() else usable_cores()
                _engine.start_hosted(limit, MOST_WORKERS)
                for _ in range(limit + 1):
                    self._add_worker()
                self.hosting = True

    def _add_worker(self) -> None:
        threading.Thread(target=self._work, name="substrates.worker", daemon=True).start()

    def _work(self) -> None:
        while _engine.work():
            self._add_spare()

    def _add_spare(self) -> None:
        try:
            self._add_worker()
        except RuntimeError as error:  # the system gives no more threads; the engine will ask again
            if not self._told:
                self._told = True
                _log.warning("further circuits wait while receptors block: %s", error)

    def _new_population(self, name: Name, size: int, clock: Clock | None) -> Population:
        return Population(self, name, size, clock)

    def facts(self) -> Mapping[str, int | float | str]:
        engine = _engine.facts()
        return {
            **engine,
            "circuits": self.alive.value() + engine["circuits"],
            "faults": self.faults.count.value(),
            "rebuilds": self.rebuilds.value(),
        }

    def carry_events_if_any(self) -> None:
        """Carry what may wait, or wait for another thread that has taken it and has not told it yet."""
        if _engine.any_events() or self.carries:
            self.carry_events()

    def carry_events(self, patience_s: float = CARRY_PATIENCE_S) -> None:
        """Bring what native threads have reported to where Python handles it.

        The bridge thread does so all the time; who returns from a wait does so too, so that the faults of
        what was waited for are told by then.
        """
        if not self._carrying.acquire(timeout=patience_s):
            return  # a fault hook takes its time
        carried = self.carries
        try:
            self.carries = True  # before the engine is asked, which then no longer says that events wait
            if _engine.take_wanted():
                self._add_spare()
            if _engine.take_exhausted():
                warn_exhausted()
            _engine.release_events()
            while (fault := _engine.take_fault()) is not None:
                try:
                    self._report(*fault)
                except KeyboardInterrupt:  # on the main thread, which came here from a wait
                    raise
                except BaseException as error:  # noqa: BLE001 - it carries for all circuits and must go on
                    _log.error("an event could not be handled", exc_info=error)
        finally:
            self.carries = carried
            self._carrying.release()

    def _carry_all_events(self) -> None:
        while _engine.events_wait():
            self.carry_events()

    def _report(
        self, pipe: Any, address: int, circuit_name: int, pipe_name: int, code: int, count: int
    ) -> None:
        if pipe is not None:
            subject = pipe.subject
        else:
            circuit = Subject(substrates.Circuit, self._numbered[circuit_name], self.subject)
            subject = Subject(substrates.Pipe, self._numbered[pipe_name], circuit)
        error = self._failure(address, code)
        self.faults.report_of(subject, error, count)

    def _stop(self) -> None:
        _engine.stop(STOP_PATIENCE_MS)
        self._join_bridge()


class BetaProvider(Provider):
    """See `substrates.spi.Provider`."""

    name = "beta"
    version = VERSION
    capabilities = frozenset({"kernels", "native-kernels", "parallel", "population-kernels"})

    def facts(self) -> Mapping[str, str]:
        return {
            **super().facts(),
            "engine": "Rust, PyO3",
            "cores": str(usable_cores()),
            "gil": str(_has_lock()),
        }

    def create(self) -> BetaCortex:
        return BetaCortex()
