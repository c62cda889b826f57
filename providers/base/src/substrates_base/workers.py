"""The threads of the object lane.

With a GIL one worker is best, since several would queue for one lock. A watcher looks every few
milliseconds, while there is work, whether ready circuits are waiting: it marks the running workers as
expired, so that a circuit that feeds itself goes back to the ready queue with its transit as it is; and it
adds a worker when they still wait, because a receptor blocks. Added workers retire when they find no work.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from _thread import get_ident
from collections import deque
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from .counts import Live

if TYPE_CHECKING:
    from .cortex import Cortex
    from .lane import LaneCircuit

__all__ = ["MOST_WORKERS", "Worker", "Workers", "usable_cores", "warn_exhausted"]

_log = logging.getLogger("substrates")

TICK_S = 0.005
"""The watcher's period: two of them are well under the 50 ms that a blocked receptor may cost others."""
RETIRE_S = 1.0
"""How long an added worker stays without work."""
MOST_WORKERS = 256
"""Bounds the threads that blocked receptors can cause."""
JOIN_S = 0.5
"""How long the interpreter's exit waits for a receptor that is still running."""


def usable_cores() -> int:
    """Return how many processors this process may use, CPU affinity and control-group limits counted."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        if quota != "max":
            cores = min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return cores


def warn_exhausted() -> None:
    """Log that all workers are in receptors that block; once, says who calls it."""
    _log.warning("%d receptors block at once: further circuits wait for one of them", MOST_WORKERS)


class Worker:
    """One thread of the lane.

    `expired` and `seen` are written by the watcher and, with each circuit that it takes, by the worker; the
    rest by the worker alone.
    """

    __slots__ = ("circuit", "expired", "ident", "seen", "transit")

    def __init__(self) -> None:
        self.circuit: LaneCircuit | None = None
        self.ident = 0
        self.seen = False
        """Whether the watcher has seen it with the circuit that it has."""
        self.expired = False
        self.transit: deque[Any] = deque()


class Workers:
    """The threads of one cortex's object lane; started with the first pipe that needs them."""

    def __init__(self, cortex: Cortex) -> None:
        self._cortex = cortex
        self._lock = threading.RLock()  # re-entrant, for a signal handler or a finalizer that needs a worker
        self._ready: SimpleQueue[LaneCircuit | None] = SimpleQueue()
        self.put = self._ready.put
        self._alarm: SimpleQueue[None] = SimpleQueue()
        self.watching = False
        self._started = False
        self._workers: dict[Worker, threading.Thread] = {}
        self._told = False
        self.stopped = False
        self.circuits = Live()
        self.pipes = Live()
        gil = getattr(sys, "_is_gil_enabled", lambda: True)()
        self._core = 1 if gil else usable_cores()

    def start(self) -> None:
        """Start the threads unless they run."""
        if not self._started:
            with self._lock:
                for _ in range(self._core - len(self._workers)):
                    self._add_worker(None)
                # Looked at last: a signal handler may have started them while a thread came up.
                if not self._started:
                    threading.Thread(target=self._watch, name="substrates.watcher", daemon=True).start()
                    self._started = True

    def schedule(self, circuit: LaneCircuit) -> None:
        """Put a circuit on the ready queue."""
        self.put(circuit)
        if not self.watching:
            self.watch()

    def watch(self) -> None:
        """Wake the watcher: there is work."""
        self.watching = True
        self._alarm.put(None)

    def about_to_block(self) -> None:
        """Make sure that others go on although the calling thread will block, if it is a worker."""
        if self._cortex.currents.circuit is not None and not self._ready.empty():
            with self._lock:
                if not self._has_idle_worker() and len(self._workers) < MOST_WORKERS and not self.stopped:
                    self._add_worker(RETIRE_S)

    def forget(self) -> None:
        """In a forked child, where no worker runs: let emitters to circuits that had work find that out."""
        self._lock = threading.RLock()
        for worker in self._workers:
            if worker.circuit is not None:
                worker.circuit._permit.append(None)
        with suppress(Empty):
            while True:
                circuit = self._ready.get(block=False)
                if circuit is not None:
                    circuit._permit.append(None)

    def count(self) -> int:
        """Return the number of worker threads."""
        return len(self._workers)

    def stop(self) -> None:
        """End the threads at the interpreter's exit; what is queued is not delivered."""
        with self._lock:
            self.stopped = True
            threads = list(self._workers.values())
        for worker in list(self._workers):
            worker.expired = True
        self._ready.put(None)
        self._alarm.put(None)
        deadline = monotonic() + JOIN_S
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - monotonic()))

    def _add_worker(self, patience_s: float | None) -> None:
        worker = Worker()
        thread = threading.Thread(
            target=self._work, args=(worker, patience_s), name="substrates.worker", daemon=True
        )
        self._workers[worker] = thread
        try:
            thread.start()
        except RuntimeError:  # the system gives no more threads
            del self._workers[worker]
            if not self._workers:
                raise

    def _has_idle_worker(self) -> bool:
        return any(worker.circuit is None for worker in list(self._workers))

    def _work(self, worker: Worker, patience_s: float | None) -> None:
        ready = self._ready
        get = ready.get if patience_s is None else partial(ready.get, timeout=patience_s)
        context = (
            self._cortex.currents.__dict__
        )  # this thread's; an attribute of a local costs three times as much
        worker.ident = get_ident()
        while True:
            try:
                circuit = get()
            except Empty:
                circuit = None
            else:
                if circuit is None:
                    ready.put(None)
            if circuit is None or self.stopped:
                with self._lock:
                    del self._workers[worker]
                return
            worker.circuit = circuit
            worker.seen = worker.expired = False
            context["circuit"] = circuit
            circuit._run(worker)
            context["circuit"] = None
            worker.circuit = None
            del circuit

    def _watch(self) -> None:
        while not self.stopped:
            self._alarm.get()
            quiet = False
            while not quiet and not self.stopped:
                try:
                    self._alarm.get(timeout=TICK_S)
                except Empty:
                    quiet = self._tick()
                else:
                    self.watching = True

    def _tick(self) -> bool:
        """Look once; return whether there is nothing to watch."""
        workers = list(self._workers)
        if self._ready.empty():
            self.watching = False
            # A circuit made ready before the line above did not raise the alarm: look again.
            if self._ready.empty():
                return True
            self.watching = True
        running = [worker for worker in workers if worker.circuit is not None]
        late = [worker for worker in running if worker.seen]
        for worker in running:
            worker.seen = True
        stuck = bool(late) and all(worker.expired for worker in late)
        for worker in late:
            worker.expired = True
        if stuck and len(late) == len(workers):
            with self._lock:
                if len(self._workers) < MOST_WORKERS and not self.stopped:
                    self._add_worker(RETIRE_S)
                elif not self._told and not self.stopped:
                    self._told = True
                    warn_exhausted()
        return False
