"""Sources: who may subscribe, from when on, and what a refused subscription leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    AffinityFault,
    Circuit,
    ClosedFault,
    Conduit,
    Cortex,
    Pipe,
    ProviderMismatchFault,
    Registrar,
    Source,
    Subject,
    Subscription,
    SubstratesError,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_SUBSCRIBERS
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer, registering
from substrates_tck.outcomes import refused
from substrates_tck.waits import Background, Gate, Settle, Together


@rule("SOURCE-TYPE-01", "CIRCUIT-ID-05")
def test_a_conduit_is_the_only_source(cortex: Cortex, circuit: Circuit) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    others: list[object] = [
        cortex,
        circuit,
        circuit.bank(int),
        circuit.sink(circuit.pipe()),
        circuit.cell(0),
        circuit.port(0),
        circuit.pin(0),
        circuit.basin(1),
        circuit.pipe(),
        conduit.get("a"),
        conduit.pool(lambda pipe: pipe),
        cortex.pool(circuit.conduit),
        observer.subscriber,
        observer.watch(conduit),
    ]

    assert isinstance(conduit, Source)
    for other in others:
        assert not isinstance(other, Source), other
        assert not hasattr(other, "subscribe"), other


@rule("SOURCE-SUB-02")
def test_subscribing_returns_while_the_circuit_is_held_and_takes_effect_later(
    circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    subscription = background(observer.watch, conduit).result()
    conduit.get("a").emit(1)

    assert isinstance(subscription, Subscription)
    assert not gate.released
    assert observer.channels == []
    gate.release()
    wait(circuit)
    assert observer.received == [("a", 1)]


@rule("SOURCE-SUB-02", "SOURCE-SUB-07")
def test_many_threads_may_subscribe_at_once(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    subscriptions: list[Subscription] = []

    together(8, lambda number: subscriptions.append(observer.watch(conduit)))
    conduit.get("a").emit(1)
    wait(circuit)

    assert len({subscription.subject.id for subscription in subscriptions}) == 8
    assert observer.names == ["a"] * 8
    assert observer.values == [1] * 8


@rule("SOURCE-SUB-02", "COMMON-VIS-04", "CIRCUIT-AWAIT-01")
def test_after_a_wait_a_subscription_is_there(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)

    observer.watch(conduit)
    wait(circuit)
    conduit.get("a").emit(1)
    wait(circuit)

    assert observer.received == [("a", 1)]


@rule("SOURCE-SUB-03", "COMMON-VALID-06", "ERR-ABSENT-01", "ONCLOSE-REJECT-05")
@pytest.mark.parametrize("form", ["subscriber", "subscriber with on_close", "on_close"])
def test_an_absent_argument_of_subscribe_is_refused(form: str, circuit: Circuit, wait: Settle) -> None:
    conduit: Any = circuit.conduit(int)
    observer = Observer(circuit)
    arguments: tuple[Any, ...] = {
        "subscriber": (None,),
        "subscriber with on_close": (None, observer.ended.append),
        "on_close": (observer.subscriber, None),
    }[form]

    refused(AbsentValueError, conduit.subscribe, *arguments)
    conduit.get("a").emit(1)
    conduit.close()
    wait(circuit)

    assert observer.channels == []
    assert observer.ended == []


@rule("SOURCE-SUB-03", "COMMON-VALID-06", "ERR-PROV-01", "ERR-FAULT-02", "ERR-FAULT-03", "ONCLOSE-REJECT-05")
@pytest.mark.parametrize("kind", FOREIGN_SUBSCRIBERS, ids=lambda kind: kind.__name__)
def test_a_subscriber_that_the_provider_did_not_make_is_refused(
    kind: Any, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    ended: list[Subscription] = []
    foreign = kind(Observer(circuit).subscriber.subject)

    fault = refused(ProviderMismatchFault, conduit.subscribe, foreign, ended.append)
    conduit.get("a").emit(1)
    conduit.close()
    wait(circuit)

    assert fault.subject is conduit.subject
    assert fault.operation == "subscribe"
    assert foreign.closed == 0
    assert ended == []


@rule("SOURCE-SUB-03", "ERR-CAT-01")
@derived
@pytest.mark.parametrize("unrelated", [42, "text", object()], ids=["int", "str", "object"])
def test_what_is_neither_subscriber_nor_callback_is_a_plain_type_error(
    unrelated: Any, circuit: Circuit
) -> None:
    conduit = circuit.conduit(int)

    with pytest.raises(TypeError) as error:
        conduit.subscribe(unrelated)

    assert not isinstance(error.value, SubstratesError)


@rule("SOURCE-SUB-03")
def test_a_subscription_needs_no_close_callback(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []

    subscription = conduit.subscribe(circuit.subscriber("plain", registering(received.append)))
    conduit.get("a").emit(1)
    subscription.close()
    conduit.get("a").emit(2)
    wait(circuit)

    assert received == [1]


@rule("SOURCE-SUB-02")
@derived
def test_a_callback_may_be_subscribed_by_decoration(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    received: list[tuple[str, int]] = []

    @conduit.subscribe
    def taken(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        registrar.register(lambda value: received.append((str(subject.name), value)))

    conduit.get("a").emit(1)
    taken.close()
    conduit.get("a").emit(2)
    wait(circuit)

    assert isinstance(taken, Subscription)
    assert received == [("a", 1)]


@rule("SOURCE-SUB-04", "CLOSED-06", "FAULT-01", "ERR-FAULT-05", "ONCLOSE-REJECT-05", "RESOURCE-03")
@pytest.mark.parametrize("with_on_close", [False, True], ids=["plain", "on_close"])
def test_subscribing_to_a_closed_source_is_refused_at_once_and_does_nothing(
    with_on_close: bool, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    pipe = conduit.get("a")
    observer = Observer(circuit)
    arguments: list[Any] = [observer.subscriber, observer.ended.append]

    conduit.close()
    fault = refused(ClosedFault, conduit.subscribe, *arguments[: 1 + with_on_close])
    pipe.emit(42)
    wait(circuit)
    again = refused(ClosedFault, conduit.subscribe, *arguments[: 1 + with_on_close])
    observer.subscriber.close()
    wait(circuit)

    for each in (fault, again):
        assert each.subject is conduit.subject
        assert each.operation == "subscribe"
        assert str(each)
    assert observer.channels == []
    assert observer.received == []
    assert observer.ended == []


@rule("SOURCE-SUB-04", "RESOURCE-03")
def test_a_source_that_the_circuit_has_not_ended_yet_refuses_already(circuit: Circuit, gate: Gate) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    conduit.close()

    refused(ClosedFault, observer.watch, conduit)
    assert not gate.released


@rule("SOURCE-SUB-05", "CLOSED-07", "FAULT-01", "ERR-FAULT-02", "ERR-FAULT-05", "ONCLOSE-REJECT-05")
def test_subscribing_a_closed_subscriber_is_refused_by_the_source_and_names_it(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer, other = Observer(circuit, name="closed.subscriber"), Observer(circuit)

    observer.subscriber.close()
    fault = refused(ClosedFault, observer.watch, conduit)
    other.watch(conduit)
    conduit.get("a").emit(1)
    conduit.close()
    wait(circuit)

    assert fault.subject is conduit.subject
    assert fault.operation == "subscribe"
    assert str(observer.subscriber.subject) in str(fault)
    assert observer.channels == []
    assert observer.ended == []
    assert other.values == [1]


@rule(
    *("SOURCE-SUB-06", "CIRCUIT-FACT-14", "FAULT-01", "ERR-FAULT-02", "ERR-FAULT-03", "ERR-FAULT-05"),
    "ONCLOSE-REJECT-05",
)
def test_a_subscriber_of_another_circuit_is_refused_and_nothing_happens_on_either(
    new_circuit: NewCircuit, wait: Settle
) -> None:
    mine, theirs = new_circuit("source.mine"), new_circuit("source.theirs")
    conduit, own = mine.conduit(int), theirs.conduit(int)
    observer = Observer(theirs, name="subscriber.of.theirs")

    fault = refused(AffinityFault, observer.watch, conduit)
    conduit.get("a").emit(1)
    own.get("a").emit(2)
    wait(mine, theirs)

    assert fault.subject is conduit.subject
    assert fault.operation == "subscribe"
    assert str(observer.subscriber.subject) in str(fault)
    assert observer.channels == []
    conduit.close(wait=True)
    assert observer.ended == []

    observer.watch(own)
    own.get("a").emit(3)
    wait(theirs)
    assert observer.received == [("a", 3)], "the refused subscriber is still good for its own circuit"


@rule("SOURCE-SUB-07")
def test_one_subscriber_may_be_subscribed_twice_to_one_source(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)

    first, second = observer.watch(conduit), observer.watch(conduit)
    conduit.get("a").emit(1)
    wait(circuit)

    assert first is not second
    assert first.subject is not second.subject
    assert first.subject.id is not second.subject.id
    assert observer.names == ["a", "a"]
    assert observer.values == [1, 1]


@rule("SOURCE-SUB-07")
def test_the_subscriptions_of_one_subscriber_end_one_by_one(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    first, second = observer.watch(conduit), observer.watch(conduit)
    pipe = conduit.get("a")

    pipe.emit(1)
    first.close()
    pipe.emit(2)
    second.close()
    pipe.emit(3)
    wait(circuit)

    assert observer.values == [1, 1, 2]
    assert observer.ended == [first, second]


@rule("SOURCE-SUB-08")
def test_callbacks_run_in_the_order_of_subscription(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    called: list[int] = []

    def calling(number: int) -> Any:
        return lambda subject, registrar: called.append(number)

    for number in range(5):
        conduit.subscribe(circuit.subscriber("ordered", calling(number)))
    conduit.get("a").emit(1)
    wait(circuit)

    assert called == [0, 1, 2, 3, 4]


@rule("SOURCE-SUB-08")
def test_callbacks_run_in_the_order_of_subscription_whatever_was_closed_between(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    called: list[int] = []
    pipe = conduit.get("a")

    def subscribe(number: int) -> Subscription:
        def callback(subject: object, registrar: object) -> None:
            called.append(number)

        return conduit.subscribe(circuit.subscriber("ordered", callback))

    first = [subscribe(number) for number in range(3)]
    pipe.emit(1)
    first[1].close()
    last = [subscribe(number) for number in range(3, 6)]
    last[0].close()
    pipe.emit(2)
    wait(circuit)

    assert called == [0, 1, 2, 4, 5]


@rule("SOURCE-SUB-08")
@derived
def test_delivery_follows_the_order_of_subscription(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    log: list[tuple[int, int]] = []

    def logging(number: int) -> Any:
        return lambda value: log.append((number, value))

    for number in range(4):
        conduit.subscribe(circuit.subscriber("ordered", registering(logging(number))))
    for value in range(3):
        conduit.get("a").emit(value)
    wait(circuit)

    assert log == [(number, value) for value in range(3) for number in range(4)]


@rule("SOURCE-EMIT-09")
def test_emitting_to_a_channel_that_nobody_observes_does_nothing(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []
    pipe, after = conduit.get("a"), circuit.pipe(received.append)

    for number in range(1000):
        pipe.emit(number)
    after.emit(1)
    wait(circuit)

    assert received == [1]


@rule("SOURCE-EMIT-09", "SUBSCRIPTION-CLOSE-05")
def test_emitting_when_all_who_observed_are_gone_does_nothing(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    subscription = observer.watch(conduit)
    pipe = conduit.get("a")
    pipe.emit(0)
    subscription.close(wait=True)

    for number in range(1, 1000):
        pipe.emit(number)
    wait(circuit)

    assert observer.values == [0]


@rule("SOURCE-CLOSE-10", "CONDUIT-CLOSE-14")
def test_closing_a_source_ends_exactly_its_own_subscriptions(circuit: Circuit, wait: Settle) -> None:
    closed: Conduit[int] = circuit.conduit("closed", int)
    open_: Conduit[int] = circuit.conduit("open", int)
    observer, other = Observer(circuit), Observer(circuit)
    mine = [observer.watch(closed), observer.watch(closed), other.watch(closed)]
    theirs = observer.watch(open_)
    closed.get("a").emit(1)
    open_.get("b").emit(2)

    closed.close()
    closed.get("a").emit(3)
    open_.get("b").emit(4)
    wait(circuit)

    assert observer.received == [("a", 1), ("a", 1), ("b", 2), ("b", 4)]
    assert other.received == [("a", 1)]
    assert set(observer.ended + other.ended) == set(mine)
    assert len(observer.ended + other.ended) == 3
    theirs.close(wait=True)
    assert observer.ended[-1] is theirs


@rule("SOURCE-CLOSE-10")
def test_the_pipes_that_were_registered_outlive_the_source(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []
    target = circuit.pipe(received.append)
    conduit.subscribe(circuit.subscriber("bridge", registering(target)))
    conduit.get("a").emit(1)

    conduit.close()
    conduit.get("a").emit(2)
    target.emit(3)
    wait(circuit)

    assert received == [1, 3]


@rule("SOURCE-SUBJ-11", "SUBJECT-CHAIN-03", "SUBJECT-DEPTH-04")
def test_a_subscriptions_subject_is_enclosed_by_the_sources(cortex: Cortex, circuit: Circuit) -> None:
    conduit = circuit.conduit("source.of.subjects", int)
    observer = Observer(circuit)

    first, second = observer.watch(conduit), observer.watch(conduit)

    for subscription in (first, second):
        subject = subscription.subject
        assert subject is subscription.subject
        assert subject.type is Subscription
        assert subject.enclosure is conduit.subject
        assert subject.depth == 4
        assert list(subject) == [subject, conduit.subject, circuit.subject, cortex.subject]
    assert first.subject is not second.subject
    assert first.subject.id is not second.subject.id


@rule("SOURCE-SUB-02", "COMMON-TRANSIT-03", "SUBSCRIPTION-WIN-02")
@derived
def test_a_subscription_made_in_a_receptor_takes_its_place_in_transit(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    late = Observer(circuit)
    received: list[int] = []
    pipe = conduit.get("a")

    def receive(value: int) -> None:
        received.append(value)
        if value == 1:
            pipe.emit(2)
            late.watch(conduit)
            pipe.emit(3)

    conduit.subscribe(circuit.subscriber("early", registering(receive)))
    pipe.emit(1)
    pipe.emit(4)
    wait(circuit)

    assert received == [1, 2, 3, 4]
    assert late.values == [3, 4]


@rule("SOURCE-SUB-02", "COMMON-TRANSIT-03")
@derived
def test_a_subscription_made_in_a_subscribers_callback_does_not_change_the_dispatch(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    late = Observer(circuit)
    received: list[int] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        late.watch(conduit)
        registrar.register(received.append)

    conduit.subscribe(circuit.subscriber("early", callback))
    conduit.get("a").emit(1)
    conduit.get("a").emit(2)
    wait(circuit)

    assert received == [1, 2]
    assert late.values == [2]


@rule("COMMON-CLOSED-11", "CIRCUIT-CLOSE-04", "ONCLOSE-NOFALLBACK-06")
@derived
def test_subscribing_to_an_open_source_of_a_closed_circuit_is_silent(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    circuit.close()

    subscription = observer.watch(conduit)
    conduit.get("a").emit(1)
    subscription.close()
    wait(circuit)

    assert isinstance(subscription, Subscription)
    assert subscription.subject.enclosure is conduit.subject
    assert observer.channels == []
    assert observer.ended == []
