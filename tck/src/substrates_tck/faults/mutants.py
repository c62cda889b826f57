"""The faults, each a small change of the toy engine, and the test that must catch it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from .engine import Barrier, Circuit, Item, Pipe

__all__ = ["HEALTHY", "MUTANTS", "Mutant"]

HEALTHY: Final = "toy"
"""The name of the toy engine without a fault."""


@dataclass(frozen=True)
class Mutant:
    """One faulty provider.

    Attributes:
        name: what it is chosen by.
        fault: what is wrong with it.
        kind: its circuits.
        killers: the tests that must fail on it, each with a pattern of what the failure says.
    """

    name: str
    fault: str
    kind: type[Circuit]
    killers: Mapping[str, str]


class _Drops(Circuit):
    accepted = 0

    def accept(self, item: Item) -> None:
        if not self.inside:
            with self.lock:
                self.accepted += 1
                if self.accepted % 1000 == 0:
                    return
        super().accept(item)


class _Doubles(Circuit):
    delivered = 0

    def deliver(self, pipe: Pipe, value: Any) -> None:
        self.delivered += 1
        super().deliver(pipe, value)
        if self.delivered % 1000 == 0:
            super().deliver(pipe, value)


class _Swaps(Circuit):
    taken = 0

    def take(self) -> Item | None:
        self.taken += 1
        if not self.transit and len(self.ingress) > 1 and self.taken > 100:
            first, second = self.ingress[0], self.ingress[1]
            if not isinstance(first[0], Barrier) and not isinstance(second[0], Barrier):
                self.ingress[0], self.ingress[1] = second, first
                self.taken = 0
        return super().take()


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


class _Overtakes(Circuit):
    def take(self) -> Item | None:
        if self.ingress and not isinstance(self.ingress[0][0], Barrier):
            return self.ingress.popleft()
        return super().take()


class _OnCaller(Circuit):
    accepted = 0

    def accept(self, item: Item) -> None:
        with self.lock:
            self.accepted += 1
            here = self.accepted % 10 == 0 and self.asleep and not self.ingress and not self.closing
            if here:
                outer, self._cortex.running.circuit = self._cortex.running.circuit, self
                self.deliver(*item)
                self._cortex.running.circuit = outer
                self.lock.notify()
        if not here:
            super().accept(item)


class _LosesWakeUp(Circuit):
    calls = 0

    def wake(self) -> None:
        self.calls += 1
        if self.calls % 50:
            super().wake()


class _ForgetsBarrier(Circuit):
    last: Barrier | None = None

    def arrive(self, barrier: Barrier) -> None:
        with self.lock:
            others = any(isinstance(item[0], Barrier) for item in self.ingress)
        if not others:
            super().arrive(barrier)


class _WaitsTooLittle(Circuit):
    def wait(self, timeout: float | timedelta | None = None) -> None:
        with self.lock:
            idle = not self.ingress and not self.closing
        if not idle or self.inside:
            super().wait(timeout)


class _Swallows(Circuit):
    failed = False

    def deliver(self, pipe: Pipe, value: Any) -> None:
        if self.failed:
            self.failed = False
            return
        try:
            pipe.receive(value)
        except BaseException:  # noqa: BLE001 - the fault
            self.failed = True


class _DoesNotDrain(Circuit):
    def end(self) -> None:
        super().end()
        self.ingress.clear()


MUTANTS: Final = (
    Mutant(
        "toy-drops",
        "drops one in a thousand",
        _Drops,
        {"test_order.py::test_nothing_is_lost_or_doubled_under_ten_producers_on_one_pipe": r"100 .* lost"},
    ),
    Mutant(
        "toy-doubles",
        "delivers twice",
        _Doubles,
        {"test_order.py::test_nothing_is_lost_or_doubled_under_ten_producers_on_one_pipe": r"10\d .* twice"},
    ),
    Mutant(
        "toy-swaps",
        "swaps two",
        _Swaps,
        {"test_order.py::test_one_callers_emissions_arrive_in_order": r"out of order"},
    ),
    Mutant(
        "toy-depth-first",
        "runs transit depth-first",
        _DepthFirst,
        {"test_transit.py::test_transit_is_breadth_first": r"\[1, 2, 4, 7, 3, 5,"},
    ),
    Mutant(
        "toy-overtakes",
        "lets ingress overtake transit",
        _Overtakes,
        {"test_transit.py::test_ingress_that_comes_in_mid_cascade_waits_for_its_end": r"\[1, 100, 2, 3\]"},
    ),
    Mutant(
        "toy-on-caller",
        "runs a receptor on the caller",
        _OnCaller,
        {"test_confinement.py::test_a_calling_thread_never_runs_a_receptor": r"on the caller's thread"},
    ),
    Mutant(
        "toy-loses-wake-up",
        "loses a wake-up",
        _LosesWakeUp,
        {
            "test_confinement.py::test_no_wake_up_is_lost_when_emissions_meet_the_moment_of_falling_asleep": (
                r"never received"
            )
        },
    ),
    Mutant(
        "toy-forgets-barrier",
        "forgets a barrier",
        _ForgetsBarrier,
        {"test_wait.py::test_several_callers_wait_at_once": r"not within .* s: wait"},
    ),
    Mutant(
        "toy-waits-too-little",
        "returns from a wait while work is held",
        _WaitsTooLittle,
        {"test_wait.py::test_wait_does_not_return_while_work_accepted_before_is_held": r"DID NOT RAISE"},
    ),
    Mutant(
        "toy-swallows",
        "swallows an exception and the next emission with it",
        _Swallows,
        {"test_isolation.py::test_the_emission_after_a_failure_is_received": r"\[0, 2, 3, 5"},
    ),
    Mutant(
        "toy-does-not-drain",
        "closes without draining",
        _DoesNotDrain,
        {"test_closing.py::test_close_drains_what_was_accepted_before": r"\[0\] =="},
    ),
)
"""Every faulty provider."""
