"""Faults of circuits at work: order, counts, transit, confinement, room and progress."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, ClassVar, Final

from ..toy.engine import Barrier, Circuit, Emission, Item
from ..toy.pipes import Pipe
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()


@faults.kind(
    "circuit",
    fault="drops one in a thousand",
    file="test_order.py",
    test="test_nothing_is_lost_or_doubled_under_ten_producers_on_one_pipe",
    says=r"100 .* lost",
)
class _Drops(Circuit):
    accepted = 0

    def accept(self, item: Item) -> None:
        if not self.inside:
            with self.lock:
                self.accepted += 1
                if self.accepted % 1000 == 0:
                    return
        super().accept(item)


@faults.kind(
    "circuit",
    fault="delivers twice",
    file="test_order.py",
    test="test_nothing_is_lost_or_doubled_under_ten_producers_on_one_pipe",
    says=r"10\d .* twice",
)
class _Doubles(Circuit):
    delivered = 0

    def deliver(self, pipe: Pipe, value: Any) -> None:
        self.delivered += 1
        super().deliver(pipe, value)
        if self.delivered % 1000 == 0:
            super().deliver(pipe, value)


@faults.kind(
    "circuit",
    fault="swaps two",
    file="test_order.py",
    test="test_one_callers_emissions_arrive_in_order",
    says=r"out of order",
)
class _Swaps(Circuit):
    taken = 0

    def take(self) -> Item | None:
        self.taken += 1
        if not self.transit and len(self.ingress) > 1 and self.taken > 100:
            first, second = self.ingress[0], self.ingress[1]
            if isinstance(first, Emission) and isinstance(second, Emission):
                self.ingress[0], self.ingress[1] = second, first
                self.taken = 0
        return super().take()


@faults.kind(
    "circuit",
    fault="keeps the order of each pipe, but not over all pipes",
    file="test_order.py",
    test="test_one_order_spans_all_pipes_of_a_circuit",
    says=r"\('direct', 2\) != \('named', 1\)",
)
class _OrdersPerPipe(Circuit):
    last: Pipe | None = None

    def take(self) -> Item | None:
        if not self.transit and self.ingress and isinstance(self.ingress[0], Emission):
            for item in self.ingress:
                if not isinstance(item, Emission):
                    break
                if item.pipe is self.last:
                    self.ingress.remove(item)
                    self.ingress.appendleft(item)
                    break
            first = self.ingress[0]
            self.last = first.pipe if isinstance(first, Emission) else None
        return super().take()


@faults.kind(
    "circuit",
    fault="runs transit depth-first",
    file="test_transit.py",
    test="test_transit_is_breadth_first",
    says=r"\[1, 2, 4, 7, 3, 5,",
)
class _DepthFirst(Circuit):
    _emitted: deque[Item] | None = None

    def defer(self, item: Item) -> None:
        if self._emitted is None:
            self._emitted = deque()
        self._emitted.append(item)

    def take(self) -> Item | None:
        if self._emitted:
            self.transit.extendleft(reversed(self._emitted))
            self._emitted = None
        return super().take()


@faults.kind(
    "circuit",
    fault="receives inside an emission instead of behind it",
    file="test_transit.py",
    test="test_an_emission_in_the_own_context_waits_until_the_receptor_has_ended",
    says=r"\[1, 2, 'end'\] ==",
)
class _Inline(Circuit):
    depth = 0

    def defer(self, item: Item) -> None:
        if self.depth > 10:
            super().defer(item)
            return
        self.depth += 1
        self.perform(item)
        self.depth -= 1


@faults.kind(
    "circuit",
    fault="lets ingress overtake transit",
    file="test_transit.py",
    test="test_ingress_that_comes_in_mid_cascade_waits_for_its_end",
    says=r"\[1, 100, 2, 3\]",
)
class _Overtakes(Circuit):
    def take(self) -> Item | None:
        if self.ingress and isinstance(self.ingress[0], Emission):
            return self.ingress.popleft()
        return super().take()


@faults.kind(
    "circuit",
    fault="takes what another circuit emits for transit",
    file="test_transit.py",
    test="test_an_emission_from_another_circuits_context_is_ingress",
    says=r"\[1, 50, 2, 3\] ==",
)
class _TakesAForeignCascadeForItsOwn(Circuit):
    def accept(self, item: Item) -> None:
        if self.cortex.running.current is not None and not self.inside and not self.closing:
            with self.lock:
                self.defer(item)
                self.wake()
            return
        super().accept(item)


@faults.kind(
    "circuit",
    fault="runs a receptor on the caller",
    file="test_confinement.py",
    test="test_a_calling_thread_never_runs_a_receptor",
    says=r"on the caller's thread",
)
class _OnCaller(Circuit):
    accepted = 0

    def accept(self, item: Item) -> None:
        with self.lock:
            self.accepted += 1
            idle = self.asleep and not self.ingress and not self.closing
            here = self.accepted % 10 == 0 and idle and isinstance(item, Emission)
            if here:
                running = self.cortex.running
                outer, running.current = running.current, self.current
                self.perform(item)
                running.current = outer
                self.lock.notify()
        if not here:
            super().accept(item)


@faults.kind(
    "circuit",
    fault="loses a wake-up",
    file="test_confinement.py",
    test="test_no_wake_up_is_lost_when_emissions_meet_the_moment_of_falling_asleep",
    says=r"never received",
)
class _LosesWakeUp(Circuit):
    calls = 0

    def wake(self) -> None:
        self.calls += 1
        if self.calls % 50:
            super().wake()


# -- room and progress


@faults.kind(
    "circuit",
    fault="blocks who emits until the value has been received",
    file="test_visibility.py",
    test="test_emitting_returns_while_the_receptor_is_blocked",
    says=r"not within .* s: Pipe.emit ended",
)
class _BlocksTheEmitter(Circuit):
    def accept(self, item: Item) -> None:
        super().accept(item)
        if not self.inside and not self.closing:
            barrier = Barrier()
            super().accept(barrier)
            barrier.gate.wait(5)


@faults.kind(
    "circuit",
    fault="discards emissions when many are waiting",
    file="test_visibility.py",
    test="test_emitting_never_discards_however_much_is_waiting",
    says=r"\[0, 1, 2, .* == \[0, 1, 2",
)
class _Discards(Circuit):
    def accept(self, item: Item) -> None:
        if self.inside or len(self.ingress) < 10_000:
            super().accept(item)


@faults.kind(
    "circuit",
    fault="cuts a long cascade off",
    file="test_transit.py",
    test="test_a_cascade_of_a_hundred_thousand_hops_needs_no_stack",
    says=r"\[\] == \[0\]",
)
class _CutsLongCascades(Circuit):
    hops = 0

    def take(self) -> Item | None:
        self.hops = self.hops + 1 if self.transit else 0
        if self.hops > 50_000:
            self.transit.clear()
        return super().take()


@faults.kind(
    "circuit",
    fault="lets one circuit at a time work",
    file="test_confinement.py",
    test="test_a_blocked_circuit_does_not_block_another",
    says=r"not within .* s: wait of <Circuit exec.free",
)
class _OneAtATime(Circuit):
    turn: ClassVar = threading.Lock()

    def deliver(self, pipe: Pipe, value: Any) -> None:
        with self.turn:
            super().deliver(pipe, value)


MUTANTS: Final = tuple(faults.mutants)
