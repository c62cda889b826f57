"""Resources: they work until they are closed, and may be closed by anybody, again, and with a wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import Circuit, ContextError, ManualClock, Pipe, Resource, Subscription
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer
from substrates_tck.outcomes import noted, refused
from substrates_tck.waits import Background, Gate, Settle, Together

STEP_S = 0.01
"""The interval of the ticker here."""

each_kind = pytest.mark.parametrize("kind", ["bank", "conduit", "subscriber", "subscription", "ticker"])


class Parts:
    """One resource of each kind, of one circuit, and what comes through it."""

    def __init__(self, circuit: Circuit, clock: ManualClock) -> None:
        self._clock = clock
        self.observer = Observer(circuit)
        self.subscriber = self.observer.subscriber
        self.bank = circuit.bank(int)
        self.conduit = self.bank.get("banked")
        self.subscription: Subscription = self.observer.watch(self.conduit)
        self.ticks: list[int] = []
        self.ticker = circuit.ticker(STEP_S, circuit.pipe(self.ticks.append))

    def at(self, kind: str) -> Resource:
        resource: Resource = getattr(self, kind)
        return resource

    def use(self, kind: str) -> None:
        """Have one value go through the resource, if it is open."""
        if kind == "ticker":
            self._clock.advance(STEP_S)
        else:
            self.conduit.get("a").emit(1)

    def seen(self, kind: str) -> int:
        """Return how many values came through it."""
        return len(self.ticks if kind == "ticker" else self.observer.received)

    def ended(self, kind: str) -> bool:
        """Tell whether its end was told exactly once, as far as it is told."""
        return kind == "ticker" or self.observer.ended == [self.subscription]


@pytest.fixture
def parts(timed: Circuit, clock: ManualClock) -> Parts:
    """Return the resources of a circuit with a clock that the test moves."""
    return Parts(timed, clock)


@rule("RES-02", "RESOURCE-02", "RES-01")
@each_kind
def test_a_resource_works_until_it_is_closed_and_may_be_closed_again(
    kind: str, parts: Parts, timed: Circuit, wait: Settle
) -> None:
    for _ in range(2):
        parts.use(kind)
    wait(timed)
    for _ in range(3):
        parts.at(kind).close()
    wait(timed)
    for _ in range(2):
        parts.use(kind)
    wait(timed)

    assert parts.seen(kind) == 2
    assert parts.ended(kind)


@rule("RES-02", "RESOURCE-02")
@each_kind
def test_a_resource_may_be_closed_by_many_threads(
    kind: str, parts: Parts, timed: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    parts.use(kind)
    wait(timed)

    together(10, lambda number: parts.at(kind).close(wait=number % 2 == 0))
    parts.use(kind)
    wait(timed)

    assert parts.seen(kind) == 1
    assert parts.ended(kind)


@rule("RES-02", "RESOURCE-02")
@pytest.mark.parametrize("context", ["own context", "another circuit"])
@each_kind
def test_a_resource_may_be_closed_in_any_context(
    context: str, kind: str, parts: Parts, timed: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("resource.other")
    errors: list[BaseException | None] = []
    closing: Pipe[int] = (timed if context == "own context" else other).pipe(
        lambda value: errors.append(noted(parts.at(kind).close))
    )
    parts.use(kind)
    wait(timed)

    closing.emit(0)
    wait(other, timed)
    parts.use(kind)
    wait(timed)

    assert errors == [None]
    assert parts.seen(kind) == 1
    assert parts.ended(kind)


@rule("RES-04", "RES-07", "RES-08", "RES-09", "RESOURCE-04")
@each_kind
def test_close_and_wait_has_taken_effect_and_may_be_repeated(
    kind: str, parts: Parts, timed: Circuit, wait: Settle
) -> None:
    parts.use(kind)

    parts.at(kind).close(wait=True)
    ended = parts.ended(kind)
    parts.at(kind).close(wait=True)
    parts.use(kind)
    wait(timed)

    assert ended
    assert parts.seen(kind) == 1
    assert parts.ended(kind)


@rule("RES-04", "RESOURCE-04")
@each_kind
def test_close_and_wait_waits_for_what_was_accepted_before(
    kind: str, parts: Parts, timed: Circuit, background: Background, gate: Gate
) -> None:
    timed.pipe(gate.hold).emit(0)
    gate.await_entered()
    parts.use(kind)

    def close() -> int:
        parts.at(kind).close(wait=True)
        return parts.seen(kind)

    closing = background(close)
    assert not closing.done
    gate.release()

    assert closing.result() == 1


@rule("RES-05", "RESOURCE-04")
@each_kind
def test_close_and_wait_may_follow_close(kind: str, parts: Parts) -> None:
    parts.at(kind).close()
    parts.at(kind).close(wait=True)

    assert parts.ended(kind)


@rule("RES-05")
def test_close_and_wait_may_follow_another_way_to_the_end(parts: Parts) -> None:
    parts.subscriber.close()
    parts.subscription.close(wait=True)

    assert parts.ended("subscription")


@rule("RES-06", "RESOURCE-04")
@each_kind
def test_close_and_wait_in_the_own_context_is_refused_and_closes_nothing(
    kind: str, parts: Parts, timed: Circuit, wait: Settle
) -> None:
    errors: list[BaseException | None] = []

    def close() -> None:
        parts.at(kind).close(wait=True)

    closing: Pipe[int] = timed.pipe(lambda value: errors.append(noted(close)))
    closing.emit(0)
    wait(timed)
    parts.use(kind)
    wait(timed)

    assert [type(error) for error in errors] == [ContextError]
    assert parts.seen(kind) == 1
    assert parts.observer.ended == []


@rule("RES-06")
@derived
@each_kind
def test_close_and_wait_in_another_circuits_context_is_allowed(
    kind: str, parts: Parts, timed: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("resource.other")
    errors: list[BaseException | None] = []

    def close() -> None:
        parts.at(kind).close(wait=True)

    closing: Pipe[int] = other.pipe(lambda value: errors.append(noted(close)))
    closing.emit(0)
    wait(other)
    ended = parts.ended(kind)
    parts.use(kind)
    wait(timed)

    assert errors == [None]
    assert ended
    assert parts.seen(kind) == 0


@rule("RES-10", "RESOURCE-02")
@each_kind
def test_a_close_after_the_circuits_is_silent(kind: str, parts: Parts, timed: Circuit, wait: Settle) -> None:
    timed.close(wait=True)

    parts.at(kind).close()
    parts.at(kind).close(wait=True)
    parts.use(kind)
    wait(timed)

    assert parts.seen(kind) == 0
    assert parts.observer.ended == []


@rule("RES-10", "ONCLOSE-NOFALLBACK-06")
def test_a_late_close_calls_nobody(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    late: list[Callable[..., Any]] = [
        observer.watch(conduit).close,
        observer.subscriber.close,
        conduit.close,
    ]
    circuit.close(wait=True)

    for close in late:
        close()
        close(wait=True)
    wait(circuit)

    assert observer.ended == []


@rule("RES-02")
@derived
@each_kind
def test_a_resource_is_a_context_manager_that_waits_and_closes(
    kind: str, parts: Parts, timed: Circuit, wait: Settle
) -> None:
    with parts.at(kind) as entered:
        parts.use(kind)

    assert entered is parts.at(kind)
    assert parts.seen(kind) == 1, "what was accepted in the block was waited for"
    parts.use(kind)
    wait(timed)
    assert parts.seen(kind) == 1
    assert parts.ended(kind)


@rule("RES-02")
@derived
@each_kind
def test_a_resource_that_is_left_by_an_exception_is_closed_without_waiting(
    kind: str, parts: Parts, timed: Circuit, wait: Settle, gate: Gate
) -> None:
    error = ValueError("raised in the block")

    def leave() -> None:
        with parts.at(kind):
            timed.pipe(gate.hold).emit(0)
            gate.await_entered()
            raise error

    assert refused(ValueError, leave) is error
    assert not gate.released
    gate.release()
    wait(timed)
    parts.use(kind)
    wait(timed)

    assert parts.seen(kind) == 0
    assert parts.ended(kind)
