"""Circuits of alpha.

Where a circuit's queue lives
-----------------------------
A circuit that has only kernels is *native*: its queue is in the engine, workers run it without the GIL, and
the Python object is a handle. A circuit with a Python receptor is run by the object lane, its queue is a
Python deque. It begins as neither; its first pipe decides.

A circuit that has both is run by the object lane, and stays so: it is *adopted*. Kernels of other circuits
still emit to it natively, into its ingress in the engine, which is then the *tail* of its queue. Whoever
appends to the queue first asks the engine for a mark, the number of values in the tail so far, and appends
the mark in front; the runner, coming to a mark, puts as many values from the tail in its place. So there is
one order over both lanes, and who emits does nothing that takes long or could be interrupted half done. The
kernels of an adopted circuit are run by the lane's thread, in batches: all whose turn it is by one call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import substrates
from substrates.kernel import Lane
from substrates_base import LaneCircuit, Name, Pipe, Subject, discard

from ._engine import ffi, lib
from .pipes import (
    CELL,
    NATIVE_KINDS,
    KernelReceiver,
    ScalarPipe,
    discarding_pipe,
    forwarding_pipe,
    kernel_pipe,
)

if TYPE_CHECKING:
    from .provider import AlphaCortex

__all__ = ["Circuit"]

ROOM = 1024
"""Values put from the tail into the queue at a time: so many that what a batch costs is little for each."""
COMMAND_LAYOUT = "Q"
"""The format, as in `memoryview`, of a command's bits."""


class _Tail:
    """What Python extends when a circuit has a queue in Python and a tail in the engine.

    It stands in the queue for a mark too. `brought` counts the values that the runner has put into the queue.
    """

    __slots__ = ("_circuit", "brought")

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self.brought = 0

    def extend(self, item: Any) -> None:
        """Append `item`, a receiver and a value, behind everything that was admitted before."""
        circuit = self._circuit
        mark = lib.alpha_tail_mark(circuit._handle)
        if mark > self.brought:
            circuit._queue.extend((self, mark, *item))
        else:
            circuit._queue.extend(item)

    def more(self) -> bool:
        """With the queue empty: mark what has come in meanwhile, or let the tail rest."""
        circuit = self._circuit
        while True:
            mark = lib.alpha_tail_mark(circuit._handle)
            if mark > self.brought:
                circuit._queue.extend((self, mark))
                return True
            if lib.alpha_tail_rest(circuit._handle):
                return False

    def _receive(self, mark: int) -> None:
        """Put the values up to `mark` into the mark's place; the runner's."""
        circuit = self._circuit
        wanted = mark - self.brought
        if wanted > 0:
            room = min(wanted, ROOM)
            items = ffi.new("alpha_item[]", room)
            count = lib.alpha_tail_take(circuit._handle, items, room)
            self.brought += count
            queued = circuit._received(items, count)
            if count < wanted:
                queued += self, mark
            queued.reverse()
            circuit._queue.extendleft(queued)


class _Command:
    """Stands in a queue where a pipe stands: a native command, from before the adoption or a population's."""

    __slots__ = ("_bits", "_circuit")

    def __init__(self, circuit: Circuit, bits: int) -> None:
        self._circuit = circuit
        self._bits = bits

    def _receive(self, value: Any) -> None:
        circuit = self._circuit
        circuit._receivers.pop(lib.alpha_run_command(circuit._handle, self._bits), None)

    _discarded = _receive


class _Drop:
    """Stands in a queue where a pipe stands: the end of a pipe of an adopted circuit."""

    __slots__ = ("_circuit", "_handle")

    def __init__(self, circuit: Circuit, handle: int) -> None:
        self._circuit = circuit
        self._handle = handle

    def _receive(self, value: Any) -> None:
        self._circuit._receivers.pop(self._handle, None)
        self._circuit._cortex.subjects.pop(self._handle, None)
        lib.alpha_pipe_drop(self._handle, 0)

    _discarded = _receive


class Circuit(LaneCircuit):
    """A circuit of the alpha engine.

    `_handle` is 0 until the first pipe of a scalar lane; `_tail` is set while Python runs a circuit that
    has a native part.
    """

    __slots__ = ("_handle", "_receivers")

    _cortex: AlphaCortex
    _receivers: dict[int, Any]
    _tail: _Tail | None

    def __init__(self, cortex: AlphaCortex, name: Name) -> None:
        self._handle = 0
        LaneCircuit.__init__(self, cortex, name, cortex.workers)  # last: what it counts, `__del__` takes back

    @property
    def subject(self) -> Subject:
        if self._subject is None:
            with self._cortex.lock:
                if self._subject is None:
                    root = self._cortex.subject
                    if self._handle:
                        made = self._cortex.native_subject(substrates.Circuit, self._handle, self._name, root)
                    else:
                        made = Subject(substrates.Circuit, self._name, root)
                    # Making it may have run a finalizer that needed it first.
                    if self._subject is None:
                        self._subject = made
        return self._subject

    def _own_pipe(self, target: Any, operation: str) -> Pipe | None:
        if type(target) in NATIVE_KINDS and target._circuit._cortex is self._cortex:
            own: Pipe = target
            return own
        return super()._own_pipe(target, operation)

    def claim(self) -> None:
        """Have the lane run this circuit: values wait in its tail."""
        if self._permit:
            self._claim()

    # -- the engine interface

    def _receptor_pipe(self, name: Name | None, receive: Callable[[Any], object], lane: Lane) -> Pipe:
        if lane is Lane.OBJECT:
            return super()._receptor_pipe(name, receive, lane)
        if receive is discard and self._ingress is None:
            return discarding_pipe(self, name, lane)
        self._open_lane()
        return ScalarPipe(self, name, receive, lane)

    _kernel_pipe = kernel_pipe

    def _forwarding_pipe(self, name: Name | None, targets: Sequence[Pipe]) -> Pipe:
        lane = targets[0].lane if targets else Lane.OBJECT
        if (
            lane is Lane.OBJECT
            or self._ingress is not None
            or any(target.lane is not lane for target in targets)
        ):
            return super()._forwarding_pipe(name, targets)
        return forwarding_pipe(self, name, lane, targets)

    def _barrier(self, timeout: float | None) -> bool:
        self._cortex.check_process()
        if self._ingress is None:
            if not self._handle:
                return True
            waiter = ffi.new("uint64_t *")
            result = lib.alpha_barrier(self._handle, waiter)
            if result == lib.ALPHA_OK:
                done = self._cortex.waited(waiter[0], timeout)
                self._cortex.carry_events()
                return done
            if result != lib.ALPHA_ADOPTED:
                self._cortex.check(result)
            self._open_lane()
        done = super()._barrier(timeout)
        if self._tail is not None:
            self._cortex.carry_events()
        return done

    def _probe(self) -> tuple[int, int] | None:
        self._cortex.check_process()
        if self._ingress is None and self._handle:
            waiter = ffi.new("uint64_t *")
            result = lib.alpha_probe(self._handle, waiter)
            enqueued_ns = perf_counter_ns()
            if result == lib.ALPHA_OK:
                if not waiter[0]:
                    return None
                try:
                    self._cortex.wait_at(waiter[0], None)
                    turn_ns = lib.alpha_turn_ns(waiter[0])
                finally:
                    lib.alpha_waiter_free(waiter[0])
                return (enqueued_ns, turn_ns) if turn_ns else None
            if result != lib.ALPHA_ADOPTED:
                self._cortex.check(result)
            self._open_lane()
        return super()._probe()

    def _idle(self) -> bool:
        tail = self._tail
        if tail is None:
            return not self._handle and super()._idle()
        # In this order: what is no longer in the tail is in the queue by then, or done.
        return lib.alpha_tail_mark(self._handle) <= tail.brought and super()._idle()

    def _end(self) -> None:
        with self._cortex.lock:
            if self._handle:
                result = lib.alpha_circuit_close(self._handle)
                if self._ingress is None:
                    if result == lib.ALPHA_MEMORY:
                        self._cortex.check(result)
                    return
        tail = self._tail
        if tail is not None:
            mark = lib.alpha_tail_mark(self._handle)  # what came before the end is delivered
            self._queue.extend((tail, mark))
        super()._end()

    def _dropped(self) -> None:
        super()._dropped()
        # The garbage collector may finalize pipes after this: they find an ended circuit without a tail.
        self._ended = True
        self._tail = None
        handle, self._handle = self._handle, 0
        if handle:
            self._cortex.subjects.pop(handle, None)
            lib.alpha_circuit_drop(handle)

    # -- the native part

    def _native(self) -> int:
        """Return the handle, making the native part with the first scalar pipe."""
        if not self._handle:
            cortex = self._cortex
            if not cortex.started:
                cortex.start()
            number = cortex.number(self._name)
            with cortex.lock:
                while not self._handle:
                    lane_runs = self._ingress is not None
                    receivers: dict[int, Any] | None = {} if lane_runs else None
                    tail = _Tail(self) if lane_runs else None
                    handle: int = lib.alpha_circuit_new(number, lane_runs)
                    if not handle:
                        self._cortex.check_process()
                        self._cortex.check(lib.ALPHA_MEMORY)
                    if self._handle or lane_runs is not (self._ingress is not None):
                        # A finalizer, or a signal handler, has made one or opened the lane meanwhile.
                        lib.alpha_circuit_drop(handle)
                        continue
                    # No calls from here on: none of those may see a half.
                    self._handle = handle
                    if receivers is not None:
                        self._receivers = receivers
                        self._tail = tail
                        self._cortex.adopted[handle] = self
                        if not self._closing:
                            self._ingress = tail
                    if self._subject is not None:
                        self._cortex.subjects[handle] = self._subject
        return self._handle

    def _open_lane(self) -> None:
        if self._ingress is None and self._handle:
            # Outside the cortex's lock: it may have to wait for a kernel that is running.
            self._cortex.check(lib.alpha_circuit_adopt(self._handle))
        super()._open_lane()

    def _open_ingress(self) -> Any:
        ingress = super()._open_ingress()
        if not self._handle:  # looked at last: the line above may run a finalizer that makes the native part
            return ingress
        self._cortex.check(lib.alpha_circuit_adopt(self._handle))
        receivers: dict[int, Any] = {}
        transit: deque[Any] = deque()
        tail = _Tail(self)
        if self._ingress is not None:  # likewise, and opens the lane
            return self._ingress
        self._receivers = receivers
        self._tail = tail
        self._transit = transit
        self._cortex.adopted[self._handle] = self
        items = ffi.new("alpha_item[]", ROOM)
        while count := lib.alpha_left_transit(self._handle, items, ROOM):
            self._transit.extend(self._received(items, count))
        if tail.more() or self._transit:
            self._claim()
        if not self._closing:
            return tail
        self._end_queue()
        return self._ingress

    def _bury(self) -> None:
        super()._bury()
        if self._handle:
            lib.alpha_circuit_bury(self._handle)

    def _received(self, items: Any, count: int) -> list[Any]:
        """Return what stands in a queue for native values: receiver, value, receiver, value, ...

        A batch crosses in one buffer and is taken apart column by column; nothing is called for each value,
        unless values of several formats, or commands, are mixed.
        """
        if not count:
            return []
        words = memoryview(ffi.buffer(items, count * 2 * CELL))
        handles = words.cast("Q")[::2].tolist()
        receivers = {handle: self._receiver(handle) for handle in {*handles} - {0}}
        layouts = {receiver.layout for receiver in receivers.values()}
        commands = 0 in handles
        if commands:
            layouts.add(COMMAND_LAYOUT)
        columns = {layout: words.cast(layout)[1::2].tolist() for layout in layouts}
        queued: list[Any] = [None] * (2 * count)
        if len(columns) == 1 and not commands:
            queued[::2] = map(receivers.__getitem__, handles)
            (queued[1::2],) = columns.values()
            return queued
        for at, handle in enumerate(handles):
            if handle:
                receiver = queued[2 * at] = receivers[handle]
                queued[2 * at + 1] = columns[receiver.layout][at]
            else:
                queued[2 * at] = _Command(self, columns[COMMAND_LAYOUT][at])
        return queued

    def _receiver(self, handle: int) -> Any:
        receiver = self._receivers.get(handle)
        if receiver is None:
            receiver = self._receivers[handle] = KernelReceiver(self, handle, self._name)
        return receiver

    def _admit_to_kernel(self, handle: int, bits: int) -> None:
        """Admit a value from Python for a kernel of this adopted circuit."""
        self._open_lane()
        self._admit((self._receiver(handle), bits))

    def _drop_pipe(self, handle: int) -> None:
        """End a pipe of an adopted circuit, behind what was admitted to it."""
        item = (_Drop(self, handle), None)
        if self._ended:
            item[0]._receive(None)
        elif self._closing:
            self._queue.extend(item)
        else:
            self._ingress.extend(item)
        if self._permit and not self._cortex.forked and not self._ended:
            self._claim()
