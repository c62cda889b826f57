"""The order of ingress: what one caller emits arrives in that order, once, whatever the pipe."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from substrates import Circuit, Conduit, Subscription
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, members, rule
from substrates_tck.observers import registering
from substrates_tck.waits import Background, Gate, Settle, Together

pytestmark = members


@rule("CIRCUIT-ORDER-01", "PIPE-EMIT-01")
@pytest.mark.parametrize("count", [1, 5, 100, 10_000])
def test_one_callers_emissions_arrive_in_order(count: int, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)

    for number in range(count):
        pipe.emit(number)
    wait(circuit)

    assert sorted(received) == list(range(count))
    assert received == sorted(received), "the values arrived out of order"


@rule("CIRCUIT-ORDER-02")
def test_each_producer_keeps_its_order_among_concurrent_producers(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    producers, count = 8, 200
    received: list[int] = []
    pipe = circuit.pipe(received.append)

    def produce(producer: int) -> None:
        for number in range(count):
            pipe.emit(producer * count + number)

    together(producers, produce)
    wait(circuit)

    for producer in range(producers):
        mine = [value for value in received if value // count == producer]
        assert mine == [producer * count + number for number in range(count)]


@rule("CIRCUIT-ORDER-03", "PIPE-EMIT-03")
def test_nothing_is_lost_or_doubled_under_ten_producers_on_one_pipe(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    producers, count = 10, 10_000
    received: list[int] = []
    pipe = circuit.pipe(received.append)

    def produce(producer: int) -> None:
        for number in range(producer * count, (producer + 1) * count):
            pipe.emit(number)

    together(producers, produce)
    wait(circuit)

    missing = set(range(producers * count)).difference(received)
    doubled = [value for value, times in Counter(received).items() if times > 1]
    assert not missing, f"{len(missing)} of {producers * count} were lost"
    assert not doubled, f"{len(doubled)} of {producers * count} came twice"
    assert len(received) == producers * count


@rule("CIRCUIT-ORDER-03")
def test_nothing_is_lost_or_doubled_over_many_pipes_with_producers_of_their_own(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    producers, count = 10, 5000
    received: list[list[int]] = [[] for _ in range(producers)]
    pipes = [circuit.pipe(each.append) for each in received]

    def produce(producer: int) -> None:
        for number in range(count):
            pipes[producer].emit(number)

    together(producers, produce)
    wait(circuit)

    assert [len(each) for each in received] == [count] * producers
    assert all(each == list(range(count)) for each in received)


@rule("CIRCUIT-ORDER-04")
@derived
def test_one_order_spans_all_pipes_of_a_circuit(circuit: Circuit, wait: Settle) -> None:
    log: list[tuple[str, int]] = []

    def logged(label: str) -> Callable[[int], None]:
        return lambda value: log.append((label, value))

    direct, named = circuit.pipe(logged("direct")), circuit.pipe("order.named", logged("named"))
    spread = circuit.pipe("order.spread", [circuit.pipe(logged("spread"))])
    expected = []
    for number in range(300):
        pipe, label = [(direct, "direct"), (named, "named")][number % 2]
        pipe.emit(number)
        expected.append((label, number))
    spread.emit(1000)
    wait(circuit)

    assert log == [*expected, ("spread", 1000)]


@rule("CIRCUIT-ORDER-05")
def test_two_observers_see_the_same_order(circuit: Circuit, wait: Settle) -> None:
    first: list[int] = []
    second: list[int] = []
    both = circuit.pipe([circuit.pipe(first.append), circuit.pipe(second.append)])

    for number in range(100):
        both.emit(number)
    wait(circuit)

    assert first == list(range(100))
    assert second == first


@rule("CIRCUIT-ORDER-05", "CIRCUIT-ORDER-06")
def test_observers_agree_on_the_order_of_concurrent_emissions(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    first: list[int] = []
    second: list[int] = []
    both = circuit.pipe([circuit.pipe(first.append), circuit.pipe(second.append)])

    def produce(producer: int) -> None:
        for number in range(500):
            both.emit(1000 * producer + number)

    together(4, produce)
    wait(circuit)

    assert len(first) == 2000
    assert second == first


@rule("CIRCUIT-ORDER-06")
@derived
def test_an_emission_that_returned_precedes_one_that_began_after_it_in_another_thread(
    circuit: Circuit, wait: Settle, background: Background, bound_s: float
) -> None:
    rounds = 200
    received: list[int] = []
    pipe = circuit.pipe(received.append)
    turns = [threading.Semaphore(1), threading.Semaphore(0)]

    def play(player: int) -> None:
        for number in range(rounds):
            assert turns[player].acquire(timeout=bound_s)
            pipe.emit(2 * number + player)
            turns[1 - player].release()

    for task in [background(play, 0), background(play, 1)]:
        task.result()
    wait(circuit)

    assert received == list(range(2 * rounds))


@rule("CIRCUIT-ORDER-07", "RES-03")
def test_a_close_has_its_place_in_the_order_of_emissions(circuit: Circuit, wait: Settle) -> None:
    received: list[str] = []
    pipe = circuit.pipe(received.append)

    pipe.emit("before")
    circuit.close()
    pipe.emit("after")
    wait(circuit)

    assert received == ["before"]


@rule("CIRCUIT-ORDER-09")
@derived
def test_what_one_circuit_emits_into_another_arrives_in_its_order(
    new_circuit: NewCircuit, wait: Settle
) -> None:
    sender, receiver = new_circuit("order.sender"), new_circuit("order.receiver")
    received: list[int] = []
    target = receiver.pipe(received.append)
    pipe = sender.pipe(target.emit)

    for number in range(1000):
        pipe.emit(number)
    wait(sender, receiver)

    assert received == list(range(1000))


@rule("CIRCUIT-ORDER-04", "COMMON-FIFO-02")
@derived
def test_one_order_spans_pipes_and_the_channels_of_all_conduits(circuit: Circuit, wait: Settle) -> None:
    log: list[tuple[str, int]] = []

    def logged(label: str) -> Callable[[int], None]:
        return lambda value: log.append((label, value))

    conduits: list[Conduit[int]] = [circuit.conduit(int) for _ in range(2)]
    pipes = {"pipe": circuit.pipe(logged("pipe")), "other": circuit.pipe(logged("other"))}
    for number, conduit in enumerate(conduits):
        label = f"conduit {number}"
        conduit.subscribe(circuit.subscriber("order", registering(logged(label))))
        pipes[label + " a"], pipes[label + " b"] = conduit.get("a"), conduit.get("b")
    expected = []
    for number in range(300):
        label = sorted(pipes)[number % len(pipes)]
        pipes[label].emit(number)
        expected.append((label.removesuffix(" a").removesuffix(" b"), number))
    wait(circuit)

    assert log == expected


@rule("CIRCUIT-ORDER-07", "COMMON-FIFO-02", "RES-03", "CIRCUIT-AWAIT-01")
def test_every_kind_of_queued_operation_has_its_place_in_one_order(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[str] = []
    conduit = circuit.conduit(str)
    pipe, channel = circuit.pipe(log.append), conduit.get("a")
    port = circuit.port("seed")
    basin = circuit.basin(str, 10)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    pipe.emit("pipe 1")
    channel.emit("not seen")
    basin.pipe().emit("basin 1")
    subscription = conduit.subscribe(
        circuit.subscriber("order", registering(log.append)), lambda ended: log.append("ended")
    )
    channel.emit("channel 1")
    port.replace("port 1")
    port.emit(channel)
    basin.drain(channel)
    basin.pipe().emit("basin 2")
    port.update(lambda value: value + "!")
    pipe.emit("pipe 2")
    port.emit(channel)
    subscription.close()
    channel.emit("not seen either")
    basin.drain(pipe)
    conduit.close()
    pipe.emit("pipe 3")

    assert log == []
    gate.release()
    wait(circuit)
    assert log == [
        *("pipe 1", "channel 1", "port 1", "basin 1"),
        *("pipe 2", "port 1!", "ended", "basin 2", "pipe 3"),
    ]


@rule("COMMON-FIFO-02", "CIRCUIT-ORDER-02", "CIRCUIT-ORDER-03")
def test_eight_producers_on_the_channels_of_a_conduit_keep_their_order_and_lose_nothing(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    producers, count = 8, 1000
    conduit = circuit.conduit(int)
    received: list[int] = []
    conduit.subscribe(circuit.subscriber("order", registering(received.append)))

    def produce(producer: int) -> None:
        for number in range(count):
            conduit.get("abc"[number % 3]).emit(producer * count + number)

    together(producers, produce)
    wait(circuit)

    assert sorted(received) == list(range(producers * count))
    for producer in range(producers):
        mine = [value for value in received if value // count == producer]
        assert mine == sorted(mine), f"what producer {producer} emitted arrived out of order"


@rule("CIRCUIT-ORDER-07", "COMMON-FIFO-02")
@derived
def test_what_a_thread_subscribes_emits_and_closes_keeps_its_order_among_other_threads(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    threads, rounds = 4, 50
    conduit = circuit.conduit(tuple)
    seen: list[list[tuple[int, int]]] = []

    def act(thread: int) -> None:
        channel = conduit.get(f"channel.{thread}")
        for number in range(rounds):
            mine: list[tuple[int, int]] = []
            seen.append(mine)
            channel.emit((thread, -1))
            subscription: Subscription = conduit.subscribe(
                circuit.subscriber(
                    "order", registering(lambda value, mine=mine: value[0] == thread and mine.append(value))
                )
            )
            channel.emit((thread, number))
            subscription.close()
            channel.emit((thread, -2))

    together(threads, act)
    wait(circuit)

    assert len(seen) == threads * rounds
    assert sorted(value for mine in seen for value in mine) == [
        (thread, number) for thread in range(threads) for number in range(rounds)
    ]
    assert all(len(mine) == 1 for mine in seen)
