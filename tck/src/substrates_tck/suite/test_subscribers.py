"""Subscribers: their callback runs once for each subscription and channel, when the channel first emits."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Capture,
    Circuit,
    ConfigurationError,
    Cortex,
    Pipe,
    Pool,
    ProviderMismatchFault,
    Registrar,
    Resource,
    Subject,
    Subscriber,
    SubstratesError,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_NAMES, FOREIGN_POOLS
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer, registering
from substrates_tck.outcomes import noted, refused
from substrates_tck.waits import Gate, Settle

# -- making one


@rule("SUBSCRIBER-CREATE-01", "CIRCUIT-FACT-14", "COMMON-NAME-07", "COMMON-SUBJ-08")
def test_a_subscriber_has_the_name_that_is_given_and_is_enclosed_by_its_circuit(
    cortex: Cortex, circuit: Circuit
) -> None:
    name = cortex.name("subscriber.named")

    first = circuit.subscriber(name, registering())
    second = circuit.subscriber("subscriber.named", circuit.conduit(int))

    assert first is not second
    assert first.subject.id is not second.subject.id
    for subscriber in (first, second):
        assert isinstance(subscriber, Subscriber)
        assert isinstance(subscriber, Resource)
        assert subscriber.subject is subscriber.subject
        assert subscriber.subject.name is name
        assert subscriber.subject.type is Subscriber
        assert subscriber.subject.enclosure is circuit.subject


@rule("SUBSCRIBER-CREATE-01", "SUBSCRIBER-CREATE-02", "CIRCUIT-FACT-04", "ERR-ABSENT-01", "COMMON-VALID-06")
@pytest.mark.parametrize("form", ["(None, callback)", "(None, pool)", "(name, None)"])
def test_an_absent_argument_of_subscriber_is_refused(form: str, circuit: Circuit) -> None:
    arguments: tuple[Any, ...] = {
        "(None, callback)": (None, registering()),
        "(None, pool)": (None, circuit.conduit(int)),
        "(name, None)": ("n", None),
    }[form]

    refused(AbsentValueError, circuit.subscriber, *arguments)


@rule("SUBSCRIBER-CREATE-01", "CIRCUIT-FACT-04", "ERR-PROV-01", "ERR-FAULT-03", "COMMON-VALID-06")
@pytest.mark.parametrize("kind", FOREIGN_NAMES, ids=lambda kind: kind.__name__)
def test_a_name_of_a_subscriber_that_the_provider_did_not_make_is_refused(
    kind: Any, circuit: Circuit
) -> None:
    fault = refused(ProviderMismatchFault, circuit.subscriber, kind("foreign"), registering())

    assert fault.subject is circuit.subject
    assert fault.operation == "subscriber"


@rule("SUBSCRIBER-CREATE-02", "ERR-PROV-01", "ERR-FAULT-03", "COMMON-VALID-06")
@pytest.mark.parametrize("kind", FOREIGN_POOLS, ids=lambda kind: kind.__name__)
def test_a_pool_that_the_provider_did_not_make_is_refused(kind: Any, circuit: Circuit) -> None:
    foreign = kind(circuit.pipe())

    fault = refused(ProviderMismatchFault, circuit.subscriber, "n", foreign)

    assert fault.subject is circuit.subject
    assert fault.operation == "subscriber"
    assert foreign.asked == []


@rule("SUBSCRIBER-CREATE-01", "ERR-CAT-01")
@derived
@pytest.mark.parametrize("form", ["name", "callback", "bank"])
def test_an_argument_of_an_unrelated_type_is_a_plain_type_error(form: str, circuit: Circuit) -> None:
    make: Any = circuit.subscriber
    arguments = {
        "name": (42, registering()),
        "callback": ("n", 42),
        "bank": ("n", object()),
    }[form]

    with pytest.raises(TypeError) as error:
        make(*arguments)

    assert not isinstance(error.value, SubstratesError)


@rule("SUBSCRIBER-CREATE-01")
@derived
def test_a_coroutine_function_is_no_callback(circuit: Circuit) -> None:
    async def callback(subject: object, registrar: object) -> None: ...

    refused(ConfigurationError, circuit.subscriber, "n", callback)


# -- pools


@rule("SUBSCRIBER-CREATE-02", "CIRCUIT-FACT-15")
def test_a_conduit_may_be_the_pool(circuit: Circuit, wait: Settle) -> None:
    source, target = circuit.conduit("source", int), circuit.conduit("target", int)
    observer = Observer(circuit)
    observer.watch(target)

    source.subscribe(circuit.subscriber("bridge", target))
    for number in range(25):
        source.get("abc"[number % 3]).emit(number)
    wait(circuit)

    assert observer.received == [("abc"[number % 3], number) for number in range(25)]
    assert observer.channels == [target.get(name).subject for name in "abc"]


@rule("SUBSCRIBER-CREATE-02", "CIRCUIT-FACT-15")
def test_a_pool_derived_by_a_function_may_be_the_pool(circuit: Circuit, wait: Settle) -> None:
    source, target = circuit.conduit("source", int), circuit.conduit("target", int)
    observer = Observer(circuit)
    observer.watch(target)

    def derive(pipe: Pipe[int]) -> Pipe[int]:
        return pipe

    source.subscribe(circuit.subscriber("bridge", target.pool(derive)))
    for number in range(3):
        source.get("a").emit(number)
    wait(circuit)

    assert observer.received == [("a", 0), ("a", 1), ("a", 2)]


@rule("SUBSCRIBER-CREATE-02", "CIRCUIT-FACT-15", "CONDUIT-POOLFLOW-08")
def test_a_pool_derived_by_a_recipe_may_be_the_pool(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    source, target = circuit.conduit("source", int), circuit.conduit("target", str)
    observer = Observer(circuit)
    observer.watch(target)

    source.subscribe(circuit.subscriber("bridge", target.pool(cortex.flow(int).map(str))))
    for number in range(3):
        source.get("a").emit(number)
    wait(circuit)

    assert observer.received == [("a", "0"), ("a", "1"), ("a", "2")]


@rule("SUBSCRIBER-CREATE-02", "CIRCUIT-FACT-15")
def test_a_root_pool_of_pipes_may_be_the_pool(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    source = circuit.conduit(int)
    received: list[tuple[str, int]] = []

    def make(name: Any) -> Pipe[int]:
        return circuit.pipe(name, lambda value: received.append((str(name), value)))

    pipes: Pool[Pipe[int]] = cortex.pool(make)
    source.subscribe(circuit.subscriber("bridge", pipes))
    source.get("a").emit(1)
    source.get("b").emit(2)
    source.get("a").emit(3)
    wait(circuit)

    assert received == [("a", 1), ("b", 2), ("a", 3)]


@rule("SUBSCRIBER-CREATE-02", "CIRCUIT-FACT-15", "SINK-SUBSCR-06")
def test_a_sink_may_be_the_pool(circuit: Circuit, wait: Settle) -> None:
    source = circuit.conduit(int)
    captures: list[Capture[int]] = []
    sink = circuit.sink(circuit.pipe(captures.append))

    source.subscribe(circuit.subscriber("bridge", sink))
    source.get("alpha").emit(1)
    source.get("beta").emit(2)
    wait(circuit)

    assert [capture.emission for capture in captures] == [1, 2]
    assert [capture.subject for capture in captures] == [
        sink.get("alpha").subject,
        sink.get("beta").subject,
    ]


@rule("SUBSCRIBER-CREATE-02", "CIRCUIT-FACT-15")
def test_a_pool_of_a_wider_type_may_be_the_pool(circuit: Circuit, wait: Settle) -> None:
    source, target = circuit.conduit("source", int), circuit.conduit("target", object)
    observer = Observer(circuit)
    observer.watch(target)

    source.subscribe(circuit.subscriber("bridge", target))
    source.get("a").emit(7)
    source.get("a").emit(8)
    wait(circuit)

    assert observer.values == [7, 8]


@rule("SUBSCRIBER-CREATE-02")
@derived
def test_a_pool_is_asked_once_for_each_channel(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    source = circuit.conduit(int)
    asked: list[str] = []

    def make(name: Any) -> Pipe[int]:
        asked.append(str(name))
        return circuit.pipe()

    source.subscribe(circuit.subscriber("bridge", cortex.pool(make)))
    source.get("unused")
    wait(circuit)
    assert asked == []
    for number in range(4):
        source.get("ab"[number % 2]).emit(number)
    wait(circuit)

    assert asked == ["a", "b"]


@rule("REGISTRAR-CROSS-05", "SUBSCRIBER-CREATE-02")
def test_a_pool_may_hold_pipes_of_another_circuit(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    mine, theirs = new_circuit("pool.mine"), new_circuit("pool.theirs")
    source, target = mine.conduit("source", int), theirs.conduit("target", int)
    contexts: list[object] = []
    observer = Observer(theirs)
    observer.watch(target)
    target.subscribe(
        theirs.subscriber("context", registering(lambda value: contexts.append(cortex.current())))
    )
    wait(theirs)

    source.subscribe(mine.subscriber("bridge", target))
    for number in range(10):
        source.get("ab"[number % 2]).emit(number)
    wait(mine, theirs)

    assert observer.received == [("ab"[number % 2], number) for number in range(10)]
    assert contexts == [theirs.current] * 10


# -- when the callback runs


@rule("SUBSCRIBER-LAZY-03", "CONDUIT-GET-03")
def test_only_a_channels_first_emission_calls_the_callback(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    calls: list[int] = []

    pipe = conduit.get("a")
    observer.watch(conduit)
    conduit.get("b")
    wait(circuit)
    calls.append(len(observer.channels))
    for number in range(3):
        pipe.emit(number)
        wait(circuit)
        calls.append(len(observer.channels))

    assert calls == [0, 1, 1, 1]
    assert observer.names == ["a"]


@rule("SUBSCRIBER-LAZY-04")
def test_another_subscription_coming_and_going_does_not_call_the_callback_again(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    kept, passing = Observer(circuit), Observer(circuit)
    pipe = conduit.get("a")
    kept.watch(conduit)

    pipe.emit(0)
    for number in range(1, 9, 2):
        subscription = passing.watch(conduit)
        pipe.emit(number)
        subscription.close()
        pipe.emit(number + 1)
    wait(circuit)

    assert kept.names == ["a"]
    assert kept.values == list(range(9))
    assert passing.names == ["a"] * 4
    assert passing.values == [1, 3, 5, 7]


@rule("SUBSCRIBER-LAZY-04")
@derived
@pytest.mark.parametrize("position", ["before", "after"])
def test_what_was_registered_keeps_its_state_when_other_subscriptions_come_and_go(
    position: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []
    calls: list[str] = []
    running = cortex.fiber(int).reduce(0, lambda total, value: total + value)
    passing = Observer(circuit)

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        calls.append(str(subject.name))
        registrar.register(running.pipe(circuit.pipe(received.append)))

    before = passing.watch(conduit)
    conduit.subscribe(circuit.subscriber("stateful", callback))
    after = passing.watch(conduit)
    pipe = conduit.get("a")
    pipe.emit(1)
    (before if position == "before" else after).close()
    pipe.emit(2)
    passing.watch(conduit)
    pipe.emit(3)
    passing.subscriber.close()
    pipe.emit(4)
    wait(circuit)

    assert calls == ["a"]
    assert received == [1, 3, 6, 10]


@rule("SUBSCRIBER-LAZY-05")
def test_the_emission_that_calls_the_callback_is_received_by_what_it_registers(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(str)
    observer = Observer(circuit)
    observer.watch(conduit)

    conduit.get("a").emit("only")
    wait(circuit)

    assert observer.received == [("a", "only")]


@rule("SUBSCRIBER-LAZY-06")
def test_a_channel_that_emitted_before_is_discovered_later_and_replays_nothing(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    pipe = conduit.get("a")

    for number in range(50):
        pipe.emit(number)
    observer.watch(conduit)
    for number in range(50, 100):
        pipe.emit(number)
    wait(circuit)

    assert observer.names == ["a"]
    assert observer.values == list(range(50, 100))


@rule("SUBSCRIBER-LAZY-07")
@derived
def test_a_callback_that_registers_nothing_is_not_called_again(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer, other = Observer(circuit, "wanted"), Observer(circuit)
    observer.watch(conduit)
    other.watch(conduit)

    for number in range(3):
        conduit.get("unwanted").emit(number)
    conduit.get("wanted").emit(3)
    wait(circuit)

    assert observer.names == ["unwanted", "wanted"]
    assert observer.received == [("wanted", 3)]
    assert other.values == [0, 1, 2, 3]


@rule("SUBSCRIBER-ARG-08")
def test_each_channel_has_a_call_of_its_own_with_its_subject_and_a_registrar(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    subjects: list[Subject[Any]] = []
    registrars: list[Registrar[int]] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        subjects.append(subject)
        registrars.append(registrar)

    conduit.subscribe(circuit.subscriber("s", callback))
    pipes = [conduit.get(name) for name in ("one", "two", "three")]
    for pipe in pipes * 2:
        pipe.emit(1)
    wait(circuit)

    assert [str(subject.name) for subject in subjects] == ["one", "two", "three"]
    assert all(subject is pipe.subject for subject, pipe in zip(subjects, pipes, strict=True))
    assert all(subject.type is Pipe for subject in subjects)
    assert all(isinstance(registrar, Registrar) for registrar in registrars)
    assert len(set(map(id, registrars))) == 3


# -- failures


@rule("SUBSCRIBER-FAIL-09", "ISO-03")
@pytest.mark.parametrize(
    "failure",
    [RuntimeError("raised by a callback"), SystemExit(3), KeyboardInterrupt()],
    ids=["Exception", "SystemExit", "KeyboardInterrupt"],
)
def test_a_callback_that_raises_is_called_once_for_each_channel_and_hurts_nobody_else(
    failure: BaseException, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    calls: list[str] = []
    observer = Observer(circuit)

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        calls.append(str(subject.name))
        raise failure

    conduit.subscribe(circuit.subscriber("failing", callback))
    observer.watch(conduit)
    for number in (1, 2, 3):
        conduit.get("a").emit(number)
    conduit.get("b").emit(4)
    conduit.get("b").emit(5)
    wait(circuit)

    assert calls == ["a", "b"]
    assert observer.names == ["a", "b"]
    assert observer.values == [1, 2, 3, 4, 5]


@rule("SUBSCRIBER-FAIL-09")
@derived
def test_a_callback_that_raised_is_not_called_again_when_other_subscriptions_come_and_go(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    calls: list[str] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        calls.append(str(subject.name))
        raise RuntimeError("raised by a callback")

    conduit.subscribe(circuit.subscriber("failing", callback))
    pipe = conduit.get("a")
    pipe.emit(1)
    passing = Observer(circuit).watch(conduit)
    pipe.emit(2)
    passing.close()
    pipe.emit(3)
    wait(circuit)

    assert calls == ["a"]


@rule("SUBSCRIBER-FAIL-10", "ISO-04")
def test_what_a_callback_registered_before_it_raised_stays(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    calls: list[str] = []
    received: list[int] = []
    never: list[int] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        calls.append(str(subject.name))
        registrar.register(received.append)
        raise RuntimeError("after the first")
        registrar.register(never.append)

    conduit.subscribe(circuit.subscriber("failing", callback))
    conduit.get("a").emit(1)
    conduit.get("a").emit(2)
    wait(circuit)

    assert calls == ["a"]
    assert received == [1, 2]
    assert never == []


@rule("SUBSCRIBER-FANOUT-11")
def test_every_subscriber_receives_every_emission(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observers = [Observer(circuit) for _ in range(3)]
    for observer in observers:
        observer.watch(conduit)

    for number in range(100):
        conduit.get("a").emit(number)
    wait(circuit)

    assert [observer.values for observer in observers] == [list(range(100))] * 3


# -- the end


@rule("SUBSCRIBER-CLOSE-12")
@pytest.mark.parametrize(("conduits", "count"), [(2, 50), (10, 10)])
def test_closing_a_subscriber_ends_its_subscriptions_on_all_sources(
    conduits: int, count: int, circuit: Circuit, wait: Settle
) -> None:
    sources = [circuit.conduit(int) for _ in range(conduits)]
    observer, other = Observer(circuit), Observer(circuit)
    subscriptions = [observer.watch(source) for source in sources]
    for source in sources:
        other.watch(source)

    def emit() -> None:
        for source in sources:
            for number in range(count):
                source.get("a").emit(number)

    emit()
    observer.subscriber.close()
    emit()
    wait(circuit)

    assert len(observer.received) == 100
    assert len(other.received) == 200
    assert len(observer.ended) == conduits
    assert set(observer.ended) == set(subscriptions)
    assert other.ended == []


@rule("SUBSCRIBER-CLOSE-13", "RESOURCE-02")
def test_closing_an_unused_subscriber_again_and_again_is_safe(circuit: Circuit, wait: Settle) -> None:
    observer, other = Observer(circuit), Observer(circuit)
    conduit = circuit.conduit(int)
    other.watch(conduit)

    for _ in range(3):
        observer.subscriber.close()
    observer.subscriber.close(wait=True)
    conduit.get("a").emit(1)
    wait(circuit)

    assert other.values == [1]


@rule("SUBSCRIBER-CLOSE-13", "ONCLOSE-ONCE-02")
def test_a_subscriber_may_be_closed_when_some_of_its_subscriptions_were(
    circuit: Circuit, wait: Settle
) -> None:
    first, second = circuit.conduit("first", int), circuit.conduit("second", int)
    observer = Observer(circuit)
    one, two = observer.watch(first), observer.watch(second)
    counts: list[int] = []

    def emit() -> None:
        for number in range(50):
            first.get("a").emit(number)
            second.get("a").emit(number)
        wait(circuit)
        counts.append(len(observer.received))

    emit()
    one.close()
    emit()
    observer.subscriber.close()
    emit()
    observer.subscriber.close()
    one.close()
    two.close()
    emit()

    assert counts == [100, 150, 150, 150]
    assert observer.ended == [one, two]


@rule("SUBSCRIBER-CLOSE-14")
def test_a_subscriber_closed_in_its_receptor_receives_no_more(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []
    sibling = Observer(circuit)

    def receive(value: int) -> None:
        received.append(value)
        subscriber.close()

    subscriber: Subscriber[int] = circuit.subscriber("self.closing", registering(receive))
    conduit.subscribe(subscriber)
    sibling.watch(conduit)
    conduit.get("a").emit(1)
    wait(circuit)
    conduit.get("a").emit(2)
    wait(circuit)

    assert received == [1]
    assert sibling.values == [1, 2]


@rule("SUBSCRIBER-CLOSE-14", "COMMON-TRANSIT-03")
@derived
def test_a_close_in_a_receptor_comes_before_the_next_ingress_but_not_into_the_dispatch(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    conduit = circuit.conduit(int)
    first: list[int] = []
    second: list[int] = []

    def receive(value: int) -> None:
        first.append(value)
        subscriber.close()

    subscriber: Subscriber[int] = circuit.subscriber("self.closing", registering(receive, second.append))
    conduit.subscribe(subscriber)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    conduit.get("a").emit(1)
    conduit.get("a").emit(2)
    gate.release()
    wait(circuit)

    assert first == [1]
    assert second == [1], "the dispatch in progress completes"


@rule("SUBSCRIBER-CLOSE-14")
def test_a_subscriber_may_be_closed_in_its_own_callback(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    calls: list[str] = []
    received: list[int] = []
    sibling = Observer(circuit)
    errors: list[BaseException | None] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        calls.append(str(subject.name))
        registrar.register(received.append)
        errors.append(noted(subscriber.close))

    subscriber: Subscriber[int] = circuit.subscriber("self.closing", callback)
    conduit.subscribe(subscriber)
    sibling.watch(conduit)
    for number in (1, 2):
        conduit.get("a").emit(number)
        wait(circuit)
    conduit.get("b").emit(3)
    wait(circuit)

    assert errors == [None]
    assert calls == ["a"]
    assert received == [1]
    assert sibling.values == [1, 2, 3]
