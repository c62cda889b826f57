"""The object lane: circuits whose receptors are Python callables, run by Python threads.

How a value travels
-------------------
1. `Pipe.emit` appends the pipe and the value to a queue of the pipe's circuit: to the transit if the calling
   thread is running that circuit, else to the ingress.
2. A circuit whose ingress was idle is put on the lane's ready queue.
3. A worker takes it and delivers: transit until empty, then one value of the ingress, and so on.
4. When both are empty the circuit is idle again.

A queue holds receiver, value, receiver, value, ... Two slots and no pair, because pairs are objects that the
cyclic garbage collector walks: a backlog of them doubles the cost of an emission. `deque.extend` of a tuple
adds both at once, as far as any other thread can tell.

No lost wake-up
---------------
`_permit` decides. The emitter appends, then tries to take the permit, and whoever gets it puts the circuit on
the ready queue. The runner gives the permit back and then looks at the ingress once more; if a value came in
between it tries the permit itself. So a value appended before the runner's last look is seen by the runner,
and a value appended after it finds the permit free. Queue and permit are the synchronisation; nothing here
blocks or takes a second lock, so emitting is safe in a signal handler and in `__del__`.

The permit only keeps a circuit from being on the ready queue many times. An entry too many, made when two
claims meet or a signal handler raises in the middle of one, does no harm: `_running` lets one worker at a
time run a circuit, and whoever finds it taken leaves, since the runner's last look is still to come.

Both are lists of one element: `pop` takes it and fails if it is taken, `append` gives it back. That is as
atomic as a lock that nobody waits for, and costs a tenth (20 ns for both against 190, CPython 3.11), which
is a good part of what handing a value from circuit to circuit costs. Being true while it is free, the list
is also what an emitter looks at first.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock, get_ident
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from substrates.kernel import Lane

from .circuits import Circuit
from .names import Name
from .pipes import Pipe
from .subjects import Subject
from .workers import Worker, Workers

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["LaneCircuit", "LanePipe", "ScalarPipe"]


class _Dropping:
    """Takes the place of a closed circuit's ingress."""

    __slots__ = ()

    def extend(self, item: Any) -> None:
        """Drop `item`."""


_dropping = _Dropping()


class _Job:
    """Stands in a queue where a pipe stands."""

    __slots__ = ("_call", "_circuit")

    def __init__(self, call: Callable[[], object], circuit: LaneCircuit) -> None:
        self._call = call
        self._circuit = circuit

    @property
    def subject(self) -> Subject:
        """The circuit's, whose failure it would be."""
        return self._circuit.subject

    def _receive(self, value: Any) -> None:
        self._call()


class _Barrier:
    """Stands in a queue where a pipe stands; opens the gate that a caller waits at."""

    __slots__ = ("gate",)

    def __init__(self) -> None:
        self.gate = allocate_lock()
        self.gate.acquire()

    def _receive(self, value: Any) -> None:
        with suppress(RuntimeError):  # it may stand in the queue twice, see _admit_barrier
            self.gate.release()

    _discarded = _receive


class _Probe(_Barrier):
    """A barrier that notes when its turn came, or when the circuit's end came instead."""

    __slots__ = ("dequeued_ns",)

    def __init__(self) -> None:
        super().__init__()
        self.dequeued_ns: int | None = None

    def _receive(self, value: Any) -> None:
        if self.dequeued_ns is None:
            self.dequeued_ns = perf_counter_ns()
        super()._receive(value)

    _discarded = _receive


class LaneCircuit(Circuit):
    """A circuit on the object lane.

    Who touches what: `_queue` is filled by emitters and emptied by the runner; `_ingress` is what emitters
    extend: the queue itself while open; `_runner` and `_transit` are written by the runner, and mean
    something to the running thread alone. A circuit that runs has its worker's `_transit`, one that rests has
    None, unless it was put back with work in it: then it keeps that, and the worker gets another. `_tail` is
    the native queue of an engine that has one behind this: `more()` brings values in from it and returns
    whether there were any.
    """

    __slots__ = (
        "_ended",
        "_ingress",
        "_permit",
        "_queue",
        "_runner",
        "_running",
        "_tail",
        "_transit",
        "_workers",
    )

    _queue: deque[Any]
    _ingress: Any
    _permit: list[None]
    _running: list[None]
    _tail: Any
    _transit: Any

    def __init__(self, cortex: Cortex, name: Name, workers: Workers) -> None:
        # As Circuit.__init__, written out: a population is a million of these calls.
        self._cortex = cortex
        self._name = name
        self._subject = None
        self._current = None
        self._end_queued = False
        self._time = None
        self._workers = workers
        self._runner: int | None = None
        self._ended = False
        self._ingress = None
        self._tail = None
        self._transit = None
        self._closing = False  # last: `__del__` takes a circuit that has it as one that was counted
        workers.circuits.born()

    def _open_lane(self) -> None:
        """Make the queue, with the first pipe or job: a circuit that has none is a small object."""
        if self._ingress is None:
            with self._cortex.lock:
                self._workers.start()
                queue: deque[Any] = deque()
                permit: list[None] = [None]
                running: list[None] = [None]
                # Looked at last: the lines above may have run a finalizer that opened it first.
                if self._ingress is None:
                    self._queue = queue
                    self._permit = permit
                    self._running = running
                    self._ingress = self._open_ingress()

    def _open_ingress(self) -> Any:
        """Return what emitters append to; for engines with a queue of their own in front."""
        return _dropping if self._closing else self._queue

    def _receptor_pipe(self, name: Name | None, receive: Callable[[Any], object], lane: Lane) -> Pipe:
        self._open_lane()
        if lane is Lane.OBJECT:
            return LanePipe(self, name, receive)
        return ScalarPipe(self, name, receive, lane)

    def _admit(self, item: tuple[Any, Any]) -> None:
        """Give `item` its place in the order."""
        runner = self._runner
        if runner is not None and runner == get_ident():
            self._transit.extend(item)
        else:
            self._ingress.extend(item)
            if self._permit:
                self._claim()

    def _claim(self) -> None:
        """Put this circuit on the ready queue, unless somebody else does."""
        cortex = self._cortex
        if cortex.forked:
            cortex.check_process()
        workers = self._workers
        permit = self._permit
        try:
            permit.pop()
            workers.put(self)
            if not workers.watching:
                workers.watch()
        except BaseException as error:  # a signal handler's, or another claim was faster
            workers.schedule(self)  # whether the permit was got is not known
            if not isinstance(error, IndexError):
                raise

    def _job(self, call: Callable[[], object]) -> None:
        if self._closing and self._ingress is None:
            return
        self._open_lane()
        self._admit((_Job(call, self), None))

    def _inside(self) -> bool:
        return self._runner == get_ident()

    def _barrier(self, timeout: float | None) -> bool:
        self._cortex.check_process()
        if self._ingress is None or self._ended:
            return True
        barrier = _Barrier()
        self._admit_barrier(barrier)
        return self._reached(barrier, timeout)

    def _idle(self) -> bool:
        # An emission has taken the permit before it returns, and it is back behind the last delivery.
        return self._ingress is None or (bool(self._permit) and not self._queue)

    def _probe(self) -> tuple[int, int] | None:
        self._cortex.check_process()
        if self._ended or (self._ingress is None and self._closing):
            return None
        if self._ingress is None:  # nothing can be waited for
            return perf_counter_ns(), perf_counter_ns()
        probe = _Probe()
        self._admit_barrier(probe)
        enqueued_ns = perf_counter_ns()
        self._reached(probe, None)
        return None if probe.dequeued_ns is None else (enqueued_ns, probe.dequeued_ns)

    def _reached(self, barrier: _Barrier, timeout: float | None) -> bool:
        """Wait until the turn of a barrier has come; False on a time-out."""
        if self._ended or self._workers.stopped:
            return True
        self._workers.about_to_block()
        return barrier.gate.acquire(timeout=-1 if timeout is None else min(timeout, threading.TIMEOUT_MAX))

    def _now(self) -> int:
        time = self._time or self._timing()
        reading = time.reading
        if reading is None:
            reading = time.reading = time.clock.now()
            self._queue.extendleft((None, time))
        return reading

    def _admit_barrier(self, barrier: _Barrier) -> None:
        """Give a barrier its place in the order."""
        item = (barrier, None)
        if self._closing:
            # The ingress drops everything by now; behind the end, the barrier opens with it.
            self._queue.extend(item)
        else:
            self._ingress.extend(item)
            if self._closing:
                self._queue.extend(item)
        if self._permit:
            self._claim()

    def _end(self) -> None:
        with self._cortex.lock:
            if self._ingress is None:
                self._ended = True
                return
        self._end_queue()

    def _end_queue(self) -> None:
        """Queue the end behind all that is in the queue; what comes from now on is dropped."""
        self._queue.extend((_Job(self._finish, self), None))
        self._ingress = _dropping
        if self._permit and not self._cortex.forked:
            self._claim()

    def _finish(self) -> None:
        self._ended = True

    def _dropped(self) -> None:
        self._workers.circuits.died()

    def _run(self, worker: Worker) -> None:
        """Deliver until nothing is left or the time slice is over."""
        queue, permit, running, runner = self._queue, self._permit, self._running, worker.ident
        try:
            running.pop()
        except IndexError:
            return
        transit = self._transit
        if transit is None:
            transit = self._transit = worker.transit
        self._runner = runner
        receiver: Any = None
        while True:
            try:
                while not worker.expired:
                    if transit:
                        receiver = transit.popleft()
                        value = transit.popleft()
                    elif queue:
                        receiver = queue.popleft()
                        value = queue.popleft()
                    else:
                        break
                    receive = receiver._receive  # apart from the call, which CPython 3.11 then does faster
                    receive(value)
                    if self._ended:
                        receiver = receive = value = None
                        self._bury()
                        return
                else:
                    if transit or queue:
                        receiver = receive = value = None
                        self._pause(worker)
                        return
            except BaseException as error:  # noqa: BLE001 - the trust boundary (ISO-10)
                self._cortex.faults.report(receiver, error)
                continue
            receiver = receive = value = None
            self._runner = None
            if transit:  # from the finalizer of the last value, which went just now
                self._runner = runner
                continue
            # The worker's again, for the circuit it runs next: kept, it would be taken for this one's own.
            self._transit = None
            running.append(None)
            if not permit:  # else nobody took it: this run came from an entry too many
                permit.append(None)
            if not queue and ((tail := self._tail) is None or not tail.more()):
                return
            try:
                permit.pop()
                running.pop()
            except IndexError:  # somebody else has put the circuit on the ready queue, or runs it
                return
            transit = self._transit
            if transit is None:
                transit = self._transit = worker.transit
            self._runner = runner

    def _pause(self, worker: Worker) -> None:
        self._runner = None
        if not self._transit:
            self._transit = None
        elif self._transit is worker.transit:
            worker.transit = deque()
        self._running.append(None)
        self._workers.schedule(self)

    def _bury(self) -> None:
        """End for good: transit of what was accepted is done before the end, what came after is dropped."""
        self._runner = None
        self._transit.clear()  # a finalizer's; the worker's next circuit gets this transit
        while self._queue:
            late = self._queue.popleft()
            self._queue.popleft()
            discarded = getattr(late, "_discarded", None)
            if discarded is not None:
                discarded(None)


class LanePipe(Pipe):
    """A pipe to a Python callable."""

    __slots__ = ("__weakref__", "_circuit", "_name", "_receive", "_subject")

    _circuit: LaneCircuit

    def __init__(self, circuit: LaneCircuit, name: Name | None, receive: Callable[[Any], object]) -> None:
        self._name = name
        self._subject = None
        self._receive = receive
        self._circuit = circuit  # last: `__del__` takes a pipe that has it as one that was counted
        circuit._workers.pipes.born()

    def __del__(self) -> None:
        try:  # noqa: SIM105 - every pipe runs this, and `suppress` costs five times as much
            self._circuit._workers.pipes.died()
        except AttributeError:  # an interrupt came before it was made
            pass

    @property
    def _direct(self) -> Callable[[Any], object]:
        return self._receive

    def emit(self, value: Any, /) -> None:
        if value is None:
            Lane.OBJECT.admit(value)
        circuit = self._circuit
        runner = circuit._runner
        if runner is not None and runner == get_ident():
            circuit._transit.extend((self, value))
        else:
            circuit._ingress.extend((self, value))
            if circuit._permit:
                circuit._claim()


class ScalarPipe(LanePipe):
    """A pipe of a scalar lane to a Python callable."""

    __slots__ = ("_lane",)

    def __init__(
        self, circuit: LaneCircuit, name: Name | None, receive: Callable[[Any], object], lane: Lane
    ) -> None:
        super().__init__(circuit, name, receive)
        self._lane = lane

    @property
    def lane(self) -> Lane:
        return self._lane

    @property
    def _direct(self) -> Callable[[Any], object]:
        return self.emit

    def emit(self, value: Any, /) -> None:
        self._circuit._admit((self, self._lane.admit(value)))
