"""Close callbacks: told once, in the circuit's context, when the end of a subscription is processed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    AffinityFault,
    Bank,
    Circuit,
    ClosedFault,
    Conduit,
    Cortex,
    Current,
    ProviderMismatchFault,
    Resource,
    Subscriber,
    Subscription,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import ForeignSubscriber
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer, registering
from substrates_tck.outcomes import refused
from substrates_tck.waits import Gate, Settle, Together

PATHS = ["subscription", "subscriber", "conduit", "bank"]
"""What may be closed for a subscription to end."""


class Watched:
    """A subscription, and what its end may come from."""

    def __init__(self, circuit: Circuit) -> None:
        self.bank: Bank[int] = circuit.bank(int)
        self.conduit: Conduit[int] = self.bank.get("watched")
        self.observer = Observer(circuit)
        self.subscriber: Subscriber[int] = self.observer.subscriber
        self.subscription = self.observer.watch(self.conduit)

    @property
    def ended(self) -> list[Subscription]:
        return self.observer.ended

    def at(self, path: str) -> Resource:
        resource: Resource = getattr(self, path)
        return resource


@rule("ONCLOSE-PATH-01", "ONCLOSE-ARG-04", "ONCLOSE-ONCE-02")
@pytest.mark.parametrize("path", PATHS)
def test_the_end_of_a_subscription_is_told_once_with_it(path: str, circuit: Circuit, wait: Settle) -> None:
    watched = Watched(circuit)
    watched.conduit.get("a").emit(1)
    wait(circuit)
    assert watched.ended == []

    watched.at(path).close()
    wait(circuit)
    watched.at(path).close()
    wait(circuit)

    assert len(watched.ended) == 1
    assert watched.ended[0] is watched.subscription


@rule("ONCLOSE-PATH-01", "COMMON-FIFO-02", "RES-03", "RESOURCE-03")
@pytest.mark.parametrize("path", PATHS)
def test_the_end_is_told_when_it_is_processed_and_not_before(
    path: str, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[object] = []
    bank = circuit.bank(int)
    conduit = bank.get("watched")
    subscriber: Subscriber[int] = circuit.subscriber("logging", registering(log.append))
    subscription = conduit.subscribe(subscriber, lambda ended: log.append("ended"))
    parts: dict[str, Resource] = {
        "bank": bank,
        "conduit": conduit,
        "subscriber": subscriber,
        "subscription": subscription,
    }
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    conduit.get("a").emit(1)
    conduit.get("b").emit(2)
    parts[path].close()
    conduit.get("a").emit(3)
    conduit.get("c").emit(4)

    assert log == []
    gate.release()
    wait(circuit)
    assert log == [1, 2, "ended"]


@rule("ONCLOSE-PATH-01", "RES-04", "RESOURCE-04", "BANK-CLOSE-08")
@pytest.mark.parametrize("path", PATHS)
def test_the_end_has_been_told_when_a_close_that_waits_returns(path: str, circuit: Circuit) -> None:
    watched = Watched(circuit)
    watched.conduit.get("a").emit(1)

    watched.at(path).close(wait=True)

    assert watched.ended == [watched.subscription]
    assert watched.observer.values == [1]


@rule("ONCLOSE-ONCE-02")
@pytest.mark.parametrize("path", PATHS)
def test_the_end_is_told_once_whatever_else_is_closed_later(
    path: str, circuit: Circuit, wait: Settle
) -> None:
    watched = Watched(circuit)

    watched.at(path).close()
    for other in PATHS:
        watched.at(other).close()
    watched.at(path).close(wait=True)
    for other in PATHS:
        watched.at(other).close()
    wait(circuit)

    assert watched.ended == [watched.subscription]


@rule("ONCLOSE-ONCE-02", "RESOURCE-02", "RES-02")
def test_the_end_is_told_once_when_many_threads_close_in_every_way(
    new_circuit: NewCircuit, wait: Settle, together: Together, interleaved: None
) -> None:
    for _ in range(10):
        circuit = new_circuit("close.race")
        watched = Watched(circuit)

        def close(number: int, watched: Watched = watched) -> None:
            watched.at(PATHS[number % 4]).close(wait=number > 4)

        together(8, close)
        wait(circuit)

        assert watched.ended == [watched.subscription]


@rule("ONCLOSE-ONCE-02")
def test_a_subscription_that_is_closed_at_once_is_told_though_nothing_was_emitted(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)

    subscription = observer.watch(conduit)
    for _ in range(3):
        subscription.close()
    wait(circuit)

    assert observer.ended == [subscription]
    assert observer.channels == []


@rule("ONCLOSE-CTX-03", "COMMON-CTX-01", "CIRCUIT-EXEC-01", "CURRENT-06")
@pytest.mark.parametrize("path", PATHS)
def test_the_end_is_told_in_the_circuits_context(
    path: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    contexts: list[Current] = []
    bank = circuit.bank(int)
    conduit = bank.get("watched")
    subscriber: Subscriber[int] = circuit.subscriber("context", registering())
    subscription = conduit.subscribe(subscriber, lambda ended: contexts.append(cortex.current()))
    parts: dict[str, Resource] = {
        "bank": bank,
        "conduit": conduit,
        "subscriber": subscriber,
        "subscription": subscription,
    }

    parts[path].close(wait=True)
    wait(circuit)

    assert contexts == [circuit.current]
    assert cortex.current() is not circuit.current


@rule("ONCLOSE-ARG-04")
def test_the_end_is_told_with_the_subscription_though_subscribe_has_not_returned_it(
    circuit: Circuit, wait: Settle
) -> None:
    told: list[Subscription] = []
    returned: list[Subscription] = []
    conduit = circuit.conduit(int)

    def receive(value: int) -> None:
        # All in the circuit's context, so that nothing is told before the receptor has ended.
        returned.append(conduit.subscribe(circuit.subscriber("s", registering()), told.append))
        conduit.close()

    circuit.pipe(receive).emit(1)
    wait(circuit)

    assert len(told) == 1
    assert told[0] is returned[0]


REJECTIONS: dict[str, tuple[type[BaseException], Callable[[Any, Any], Any]]] = {
    "absent subscriber": (AbsentValueError, lambda circuit, other: None),
    "foreign subscriber": (
        ProviderMismatchFault,
        lambda circuit, other: ForeignSubscriber(circuit.subject),
    ),
    "subscriber of another circuit": (
        AffinityFault,
        lambda circuit, other: other.subscriber("s", registering()),
    ),
}


@rule("ONCLOSE-REJECT-05", "ERR-FAULT-05", "COMMON-VALID-06")
@pytest.mark.parametrize("reason", REJECTIONS)
def test_a_refused_subscription_has_no_end(reason: str, new_circuit: NewCircuit, wait: Settle) -> None:
    circuit, other = new_circuit(), new_circuit()
    conduit: Any = circuit.conduit(int)
    told: list[Subscription] = []
    category, subscriber = REJECTIONS[reason]

    refused(category, conduit.subscribe, subscriber(circuit, other), told.append)
    conduit.get("a").emit(1)
    conduit.close(wait=True)
    wait(circuit, other)

    assert told == []


@rule("ONCLOSE-REJECT-05", "ERR-FAULT-05")
@pytest.mark.parametrize("closed", ["subscriber", "conduit"])
def test_a_subscription_that_is_refused_because_of_a_close_has_no_end(
    closed: str, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    parts: dict[str, Resource] = {"subscriber": observer.subscriber, "conduit": conduit}

    parts[closed].close()
    refused(ClosedFault, observer.watch, conduit)
    wait(circuit)
    conduit.close()
    observer.subscriber.close()
    wait(circuit)

    assert observer.ended == []


@rule("ONCLOSE-NOFALLBACK-06", "RES-10", "RESOURCE-02", "COMMON-CLOSED-11")
@pytest.mark.parametrize("path", PATHS)
def test_when_the_circuit_ended_first_the_end_is_never_told(
    path: str, circuit: Circuit, wait: Settle
) -> None:
    watched = Watched(circuit)
    watched.conduit.get("a").emit(1)
    circuit.close(wait=True)

    watched.at(path).close()
    watched.at(path).close(wait=True)
    wait(circuit)

    assert watched.observer.values == [1]
    assert watched.ended == []


@rule("ONCLOSE-NOFALLBACK-06", "CIRCUIT-CLOSE-09")
@derived
def test_a_circuits_close_does_not_close_its_subscriptions(circuit: Circuit, wait: Settle) -> None:
    watched = Watched(circuit)

    circuit.close()
    wait(circuit)

    assert watched.ended == []


@rule("ONCLOSE-PERSUB-07")
def test_each_subscription_has_a_close_callback_of_its_own(circuit: Circuit, wait: Settle) -> None:
    told: list[tuple[int, Subscription]] = []
    conduits = [circuit.conduit(int), circuit.conduit(int)]
    subscriber: Subscriber[int] = circuit.subscriber("three", registering())

    def telling(number: int) -> Callable[[Subscription], None]:
        return lambda subscription: told.append((number, subscription))

    made = [(number, conduits[number % 2].subscribe(subscriber, telling(number))) for number in range(3)]
    subscriber.close()
    wait(circuit)

    assert sorted(told, key=lambda pair: pair[0]) == made


@rule("ONCLOSE-SCOPE-08", "SCOPE-CLOSE-02", "SCOPE-REG-02")
def test_subscriptions_in_a_scope_end_in_reverse_order_of_their_first_registration(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    told: list[int] = []
    conduit = circuit.conduit(int)
    scope = cortex.scope()

    def subscribe(number: int) -> Subscription:
        def ended(subscription: Subscription) -> None:
            told.append(number)

        return conduit.subscribe(circuit.subscriber("scoped", registering()), ended)

    first, second = subscribe(1), subscribe(2)
    for subscription in (first, second, first):
        assert scope.register(subscription) is subscription
    scope.close()
    wait(circuit)

    assert told == [2, 1]


@rule("ISOL-ONCLOSE-04", "ISO-06", "ISO-01")
@pytest.mark.parametrize("path", ["each subscription", "subscriber", "conduit", "bank"])
@pytest.mark.parametrize(
    "failure", [RuntimeError("raised by a close callback"), SystemExit(3)], ids=["Exception", "SystemExit"]
)
def test_a_close_callback_that_raises_stops_nobody(
    failure: BaseException, path: str, circuit: Circuit, wait: Settle
) -> None:
    bank = circuit.bank(int)
    conduit = bank.get("watched")
    observer = Observer(circuit)
    calls: list[Subscription] = []

    def fail(subscription: Subscription) -> None:
        calls.append(subscription)
        raise failure

    before = observer.watch(conduit)
    failing = conduit.subscribe(observer.subscriber, fail)
    after = observer.watch(conduit)
    closing: list[Resource] = {
        "each subscription": [before, failing, after],
        "subscriber": [observer.subscriber],
        "conduit": [conduit],
        "bank": [bank],
    }[path]  # type: ignore[assignment]  # lists of several kinds of resource
    for resource in closing:
        resource.close()
    conduit.get("a").emit(1)
    wait(circuit)

    assert calls == [failing]
    assert len(observer.ended) == 2
    assert set(observer.ended) == {before, after}
    assert observer.received == []
    sound = Observer(circuit)
    other = circuit.conduit(int)
    sound.watch(other)
    other.get("a").emit(2)
    wait(circuit)
    assert sound.values == [2]


@rule("ONCLOSE-CTX-03", "COMMON-TRANSIT-03")
@derived
def test_what_a_close_callback_does_takes_its_place_in_transit(circuit: Circuit, wait: Settle) -> None:
    conduit, other = circuit.conduit(int), circuit.conduit(int)
    observer = Observer(circuit)
    log: list[str] = []
    pipe = circuit.pipe(log.append)

    def ended(subscription: Subscription) -> None:
        pipe.emit("first")
        observer.watch(other)
        other.get("a").emit(1)
        log.append("ended")

    conduit.subscribe(circuit.subscriber("s", registering()), ended).close()
    pipe.emit("last")
    wait(circuit)

    assert log == ["ended", "first", "last"]
    assert observer.values == [1]


@rule("ONCLOSE-ONCE-02", "SUBSCRIPTION-CLOSE-07", "SOURCE-CLOSE-10", "SUBSCRIBER-CLOSE-12")
@derived
@pytest.mark.parametrize("path", PATHS)
def test_a_close_that_comes_before_the_beginning_it_ends_leaves_nothing_behind(
    path: str, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    made: list[Watched] = []

    def receive(value: int) -> None:
        gate.hold()
        made[0].at(path).close()  # in transit, so ahead of the subscription that waits in the ingress

    circuit.pipe(receive).emit(0)
    gate.await_entered()
    made.append(Watched(circuit))
    made[0].conduit.get("a").emit(1)
    gate.release()
    wait(circuit)
    made[0].conduit.get("a").emit(2)
    made[0].at(path).close(wait=True)

    assert made[0].observer.channels == []
    assert made[0].ended == [made[0].subscription]
