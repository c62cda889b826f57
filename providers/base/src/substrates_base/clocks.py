"""The system's clock: one thread for all timers, and none while there are no timers.

How a timer gets to the thread
------------------------------
1. `call_at` puts the timer into the inbox, a queue, and then tries the permit, a lock. Whoever gets it starts
   the thread, which owns it from then on.
2. The thread waits at the inbox until its first timer is due, or for something new. Its heap is its own.
3. Without timers for a while it gives the permit back and then looks at the inbox once more: if a timer has
   come in meanwhile it tries the permit itself. So a timer put in before that look is seen by the thread, and
   one put in after it finds the permit free.

The permit only keeps threads from being started for nothing. One too many, started because a signal handler
had raised in the middle of step 1, does no harm: `_running` (a lock) lets one at a time work, and whoever
finds it taken ends, since the other's last look is still to come.

To cancel is to take the callback out of the timer, and to tell the thread, so that it does not wait for
nothing. The thread takes the callback out before it calls: whoever takes it first wins.

Nobody waits for a lock here, and `SimpleQueue.put` is re-entrant: ordering and cancelling are safe in signal
handlers and finalizers, and a fork leaves nothing behind that is locked.
"""

from __future__ import annotations

import logging
import threading
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import suppress
from heapq import heapify, heappop, heappush
from itertools import count
from queue import Empty, SimpleQueue
from time import perf_counter_ns

from substrates import Clock

__all__ = ["SystemClock"]

_log = logging.getLogger("substrates")

RETIRE_S = 1.0
"""How long the thread stays without a timer."""
JOIN_S = 0.5
"""How long the interpreter's exit waits for a timer's callback that is still running."""
FEW = 64
"""So many cancelled timers may stay in the heap, whatever its size."""


class _Timer:
    """One call that is ordered; its `callback` is None once it has begun or is cancelled."""

    __slots__ = ("callback", "due_ns", "told")

    def __init__(self, due_ns: int, callback: Callable[[], object], told: SimpleQueue[_Timer | None]) -> None:
        self.due_ns = due_ns
        self.callback: Callable[[], object] | None = callback
        self.told = told

    def cancel(self) -> None:
        """Revoke the call, unless it has begun."""
        if self.callback is not None:
            self.callback = None
            self.told.put(None)


class SystemClock(Clock):
    """See `substrates.Clock`; its time is that of `time.perf_counter_ns`.

    `_heap` and `_cancelled`, the number of cancelled timers in it, are the thread's.
    """

    __slots__ = (
        "__weakref__",
        "_cancelled",
        "_heap",
        "_inbox",
        "_permit",
        "_running",
        "_sequence",
        "_stopped",
        "_thread",
    )

    def __init__(self) -> None:
        self._inbox: SimpleQueue[_Timer | None] = SimpleQueue()
        self._permit = allocate_lock()
        self._running = allocate_lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._sequence = count()
        self._heap: list[tuple[int, int, _Timer]] = []
        self._cancelled = 0

    def now(self) -> int:
        return perf_counter_ns()

    def call_at(self, due_ns: int, callback: Callable[[], object], /) -> Callable[[], object]:
        timer = _Timer(due_ns, callback, self._inbox)
        self._inbox.put(timer)
        try:
            if self._permit.acquire(False):
                self._thread = threading.Thread(target=self._run, name="substrates.clock", daemon=True)
                self._thread.start()
        except BaseException:  # no more threads; or a signal handler's, and the permit may be ours or not
            timer.cancel()
            with suppress(RuntimeError):
                self._permit.release()
            raise
        return timer.cancel

    def stop(self) -> None:
        """End the thread at the interpreter's exit; what is ordered is not called."""
        self._stopped = True
        self._inbox.put(None)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_S)

    def _run(self) -> None:
        if not self._running.acquire(False):
            return
        while not self._stopped:
            try:
                self._take_in(self._inbox.get(timeout=self._until_first()))
            except Empty:
                if not self._heap and self._retires():
                    return
            self._take_in_all()
            self._call_due()

    def _until_first(self) -> float:
        """Return the seconds until the first timer is due; with none, how long to stay."""
        if not self._heap:
            return RETIRE_S
        left_s = (self._heap[0][0] - perf_counter_ns()) / 1e9
        return max(0.0, min(left_s, threading.TIMEOUT_MAX))

    def _take_in_all(self) -> None:
        try:
            while True:
                self._take_in(self._inbox.get(block=False))
        except Empty:
            pass

    def _take_in(self, timer: _Timer | None) -> None:
        if timer is not None:
            heappush(self._heap, (timer.due_ns, next(self._sequence), timer))
            return
        self._cancelled += 1
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heappop(heap)
            self._cancelled -= 1
        if self._cancelled > FEW and self._cancelled > len(heap) // 2:
            heap[:] = [entry for entry in heap if entry[2].callback is not None]
            heapify(heap)
            self._cancelled = 0

    def _call_due(self) -> None:
        heap = self._heap
        while heap and not self._stopped:
            if heap[0][0] > perf_counter_ns():
                return
            timer = heappop(heap)[2]
            callback, timer.callback = timer.callback, None
            if callback is None:
                self._cancelled -= 1
                continue
            try:
                callback()
            except BaseException:  # noqa: BLE001 - the timers of others go on
                _log.exception("a timer of the system clock failed")

    def _retires(self) -> bool:
        """Give the permit back; return whether the thread ends."""
        self._running.release()
        with suppress(RuntimeError):  # nobody's, if this thread is one too many
            self._permit.release()
        return self._inbox.empty() or not (self._permit.acquire(False) and self._running.acquire(False))
