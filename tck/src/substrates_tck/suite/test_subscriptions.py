"""Subscriptions: what is accepted between their beginning and their end, and nothing else."""

from __future__ import annotations

import threading

import pytest

from substrates import Circuit, Pipe, Registrar, Resource, Subject, Subscription
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer, registering
from substrates_tck.outcomes import noted
from substrates_tck.waits import Background, Gate, Settle, Together


@rule("SUBSCRIPTION-WIN-01")
def test_what_is_emitted_after_subscribing_is_received(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)

    observer.watch(conduit)
    conduit.get("a").emit(10)
    conduit.get("a").emit(20)
    wait(circuit)

    assert observer.values == [10, 20]


@rule("SUBSCRIPTION-WIN-02")
def test_what_was_emitted_before_subscribing_is_not_received(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)

    conduit.get("a").emit(10)
    observer.watch(conduit)
    conduit.get("a").emit(20)
    wait(circuit)

    assert observer.values == [20]


@rule("SUBSCRIPTION-WIN-03")
def test_what_was_emitted_before_the_close_is_received_and_what_comes_after_is_not(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)

    subscription = observer.watch(conduit)
    conduit.get("a").emit(10)
    subscription.close()
    conduit.get("a").emit(20)
    wait(circuit)

    assert observer.values == [10]


@rule(
    "SUBSCRIPTION-WIN-01", "SUBSCRIPTION-WIN-02", "SUBSCRIPTION-WIN-03", "COMMON-FIFO-02", "CIRCUIT-ORDER-07"
)
def test_the_window_is_the_same_when_all_is_accepted_before_anything_is_done(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    conduit = circuit.conduit(int)
    first, second = Observer(circuit), Observer(circuit)
    pipe = conduit.get("a")
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    pipe.emit(0)
    one = first.watch(conduit)
    pipe.emit(1)
    two = second.watch(conduit)
    pipe.emit(2)
    one.close()
    pipe.emit(3)
    two.close()
    pipe.emit(4)
    gate.release()
    wait(circuit)

    assert first.values == [1, 2]
    assert second.values == [2, 3]
    assert first.ended == [one]
    assert second.ended == [two]


@rule("SUBSCRIPTION-WIN-01", "CIRCUIT-ORDER-04")
@derived
def test_the_window_spans_all_channels(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    pipes = [conduit.get(name) for name in "abc"]

    for value, pipe in enumerate(pipes):
        pipe.emit(value)
    subscription = observer.watch(conduit)
    for value, pipe in enumerate(reversed(pipes), 10):
        pipe.emit(value)
    subscription.close()
    for value, pipe in enumerate(pipes, 20):
        pipe.emit(value)
    wait(circuit)

    assert observer.received == [("c", 10), ("b", 11), ("a", 12)]


@rule("SUBSCRIPTION-WIN-01", "SUBSCRIPTION-WIN-03", "COMMON-TRANSIT-03", "CIRCUIT-TRANSIT-01")
@derived
def test_in_the_own_context_too_the_window_is_between_subscribe_and_close(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    pipe = conduit.get("a")

    def receive(value: int) -> None:
        pipe.emit(1)
        subscription = observer.watch(conduit)
        pipe.emit(2)
        pipe.emit(3)
        subscription.close()
        pipe.emit(4)

    circuit.pipe(receive).emit(0)
    pipe.emit(5)
    wait(circuit)

    assert observer.values == [2, 3]
    assert len(observer.ended) == 1


@rule("SUBSCRIPTION-WIN-04", "CIRCUIT-ORDER-08")
def test_one_subscription_that_comes_and_goes_takes_nothing_from_another(
    circuit: Circuit, wait: Settle, background: Background, interleaved: None
) -> None:
    count, rounds = 10_000, 100
    conduit = circuit.conduit(int)
    primary, churning = Observer(circuit), Observer(circuit)
    primary.watch(conduit)
    wait(circuit)
    pipe = conduit.get("a")
    done = threading.Event()

    def churn() -> int:
        times = 0
        while times < rounds or not done.is_set():
            churning.watch(conduit).close()
            times += 1
        return times

    churned = background(churn)
    for number in range(count):
        pipe.emit(number)
    done.set()
    times = churned.result()
    wait(circuit)

    assert len(primary.values) == count
    assert primary.values == list(range(count))
    assert primary.names == ["a"]
    assert len(churning.ended) == times
    assert len(set(churning.ended)) == times


@rule("SUBSCRIPTION-WIN-01", "SUBSCRIPTION-WIN-03", "CIRCUIT-ORDER-07")
@derived
def test_what_a_subscription_sees_among_racing_emissions_has_no_holes(
    circuit: Circuit, wait: Settle, background: Background, interleaved: None, bound_s: float
) -> None:
    conduit = circuit.conduit(int)
    windows: list[list[int]] = []
    pipe = conduit.get("a")
    started, stop = threading.Event(), threading.Event()

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        window: list[int] = []
        windows.append(window)
        registrar.register(window.append)

    def produce() -> int:
        number = 0
        while not stop.is_set() and number < 200_000:
            pipe.emit(number)
            number += 1
            started.set()
        return number

    producing = background(produce)
    assert started.wait(bound_s)
    subscriber = circuit.subscriber("window", callback)
    for _ in range(50):
        conduit.subscribe(subscriber).close()
    for _ in range(10):
        subscription = conduit.subscribe(subscriber)
        pipe.emit(-1)
        subscription.close()
    stop.set()
    producing.result()
    wait(circuit)

    assert len(windows) >= 10
    for window in windows:
        numbers = [value for value in window if value >= 0]
        first = numbers[0] if numbers else 0
        assert numbers == list(range(first, first + len(numbers)))
    assert sum(window.count(-1) for window in windows) == 10


@rule("SUBSCRIPTION-WIN-04", "SUBSCRIPTION-CLOSE-06", "CIRCUIT-ORDER-08", "ONCLOSE-ONCE-02")
@derived
def test_many_threads_that_subscribe_and_close_take_nothing_from_one_that_stays(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    producers, count, churners, rounds = 3, 1500, 3, 60
    conduit = circuit.conduit(int)
    primary = Observer(circuit)
    primary.watch(conduit)
    passing = [Observer(circuit) for _ in range(churners)]

    def act(number: int) -> None:
        if number < producers:
            for value in range(count):
                conduit.get("abcd"[value % 4]).emit(number * count + value)
        else:
            for _ in range(rounds):
                passing[number - producers].watch(conduit).close()

    together(producers + churners, act)
    wait(circuit)

    assert sorted(primary.values) == list(range(producers * count))
    for producer in range(producers):
        mine = [value for value in primary.values if value // count == producer]
        assert mine == sorted(mine), "a producer's values arrived out of order"
    assert sorted(primary.names) == ["a", "b", "c", "d"]
    for observer in passing:
        assert len(observer.ended) == len(set(observer.ended)) == rounds


@rule("SUBSCRIPTION-CLOSE-05")
def test_a_closed_subscription_receives_no_more_and_is_called_for_no_new_channel(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    subscription = observer.watch(conduit)
    conduit.get("undiscovered")

    for number in range(50):
        conduit.get("a").emit(number)
    wait(circuit)
    subscription.close()
    for number in range(50):
        conduit.get("a").emit(number)
        conduit.get("undiscovered").emit(number)
        conduit.get("new").emit(number)
    wait(circuit)

    assert observer.names == ["a"]
    assert observer.values == list(range(50))


@rule("SUBSCRIPTION-CLOSE-05")
@derived
def test_a_subscription_closed_before_any_emission_is_never_called(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer, other = Observer(circuit), Observer(circuit)

    observer.watch(conduit).close()
    other.watch(conduit)
    conduit.get("a").emit(1)
    wait(circuit)

    assert observer.channels == []
    assert other.values == [1]


@rule("SUBSCRIPTION-CLOSE-06")
def test_closing_one_subscription_leaves_the_other_subscribers(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    first, second = Observer(circuit), Observer(circuit)
    one, two = first.watch(conduit), second.watch(conduit)
    counts: list[tuple[int, int]] = []

    def emit() -> None:
        for number in range(50):
            conduit.get("a").emit(number)
        wait(circuit)
        counts.append((len(first.values), len(second.values)))

    emit()
    one.close()
    emit()
    two.close()
    emit()

    assert counts == [(50, 50), (50, 100), (50, 100)]


@rule("SUBSCRIPTION-CLOSE-06")
@derived
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closing_one_of_three_subscriptions_keeps_the_order_of_the_others(
    closed: int, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    log: list[int] = []

    def subscribe(number: int) -> Subscription:
        def receive(value: int) -> None:
            log.append(number)

        return conduit.subscribe(circuit.subscriber("three", registering(receive)))

    subscriptions = [subscribe(number) for number in range(3)]
    conduit.get("a").emit(1)
    wait(circuit)
    subscriptions[closed].close()
    conduit.get("a").emit(2)
    wait(circuit)

    assert log == [0, 1, 2, *(number for number in range(3) if number != closed)]


@rule("SUBSCRIPTION-CLOSE-07", "RESOURCE-02", "RES-02")
def test_a_subscription_may_be_closed_again_and_again(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer, other = Observer(circuit), Observer(circuit)
    subscription = observer.watch(conduit)
    other.watch(conduit)

    for _ in range(3):
        subscription.close()
    subscription.close(wait=True)
    conduit.get("a").emit(1)
    wait(circuit)
    subscription.close()
    wait(circuit)

    assert isinstance(subscription, Resource)
    assert observer.values == []
    assert observer.ended == [subscription]
    assert other.values == [1]


@rule("SUBSCRIPTION-CLOSE-07")
def test_closing_a_subscription_does_not_wait(circuit: Circuit, wait: Settle, gate: Gate) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    subscription = observer.watch(conduit)
    conduit.get("a").emit(1)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    conduit.get("a").emit(2)
    subscription.close()

    assert not gate.released
    assert observer.ended == []
    gate.release()
    wait(circuit)
    assert observer.values == [1, 2]
    assert observer.ended == [subscription]


@rule("SUBSCRIPTION-CLOSE-07")
def test_a_subscription_may_be_closed_in_its_receptor(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []
    sibling = Observer(circuit)
    errors: list[BaseException | None] = []

    def receive(value: int) -> None:
        received.append(value)
        errors.append(noted(subscription.close))

    subscription = conduit.subscribe(circuit.subscriber("self.closing", registering(receive)))
    sibling.watch(conduit)
    for number in (1, 2):
        conduit.get("a").emit(number)
        wait(circuit)

    assert errors == [None]
    assert received == [1]
    assert sibling.values == [1, 2]


@rule("SUBSCRIPTION-CLOSE-07")
def test_a_subscription_may_be_closed_in_its_subscribers_callback(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    calls: list[str] = []
    errors: list[BaseException | None] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        calls.append(str(subject.name))
        errors.append(noted(subscription.close))

    subscription = conduit.subscribe(circuit.subscriber("self.closing", callback))
    wait(circuit)
    for name in ("a", "b", "a"):
        conduit.get(name).emit(1)
        wait(circuit)

    assert errors == [None]
    assert calls == ["a"]


@rule("SUBSCRIPTION-CLOSE-07", "RESOURCE-02", "RES-10", "ONCLOSE-NOFALLBACK-06")
def test_closing_a_subscription_after_the_circuits_end_is_silent(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    subscription = observer.watch(conduit)
    conduit.get("a").emit(1)
    circuit.close(wait=True)

    subscription.close()
    subscription.close(wait=True)
    wait(circuit)

    assert observer.values == [1]
    assert observer.ended == []


@rule("SUBSCRIPTION-RESUB-08")
def test_a_subscriber_may_subscribe_again_after_the_close(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    pipe = conduit.get("a")

    first = observer.watch(conduit)
    pipe.emit(1)
    first.close()
    pipe.emit(2)
    second = observer.watch(conduit)
    pipe.emit(3)
    wait(circuit)

    assert second is not first
    assert second.subject is not first.subject
    assert second.subject.id is not first.subject.id
    assert observer.names == ["a", "a"]
    assert observer.values == [1, 3]
    assert observer.ended == [first]


@rule("SUBSCRIPTION-RESUB-08")
@derived
def test_a_channel_follows_when_its_only_subscription_is_replaced_before_it_emits(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    first, second = Observer(circuit), Observer(circuit)
    pipe = conduit.get("a")
    subscription = first.watch(conduit)
    pipe.emit(1)
    wait(circuit)

    subscription.close()
    second.watch(conduit)
    pipe.emit(2)
    wait(circuit)

    assert first.values == [1]
    assert second.values == [2]


@rule("RES-02")
@derived
def test_a_subscription_is_a_context_manager_that_waits_and_closes(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)

    with observer.watch(conduit):
        for number in range(100):
            conduit.get("a").emit(number)

    assert observer.values == list(range(100)), "what was accepted in the block was waited for"
    conduit.get("a").emit(100)
    wait(circuit)
    assert observer.values == list(range(100))
    assert len(observer.ended) == 1
