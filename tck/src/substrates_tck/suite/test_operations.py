"""Queued operations of all kinds: one order, in and out of the circuit, for values of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    Circuit,
    Conduit,
    Cortex,
    Pipe,
    Registrar,
    Subject,
    Subscriber,
    Subscription,
)
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Background, Gate, Settle


@rule("COMMON-FIFO-02", "COMMON-VIS-04", "CIRCUIT-AWAIT-01")
def test_all_kinds_of_queued_operations_share_one_order(circuit: Circuit, wait: Settle, gate: Gate) -> None:
    log: list[Any] = []

    def logged(label: str) -> Pipe[Any]:
        return circuit.pipe(lambda value: log.append((label, value)))

    def registering(subject: Subject[Any], registrar: Registrar[Any]) -> None:
        registrar.register(lambda value: log.append(("seen", value)))

    conduit: Conduit[int] = circuit.conduit(int)
    subscriber: Subscriber[int] = circuit.subscriber("n", registering)
    port, basin = circuit.port(0), circuit.basin(10)
    sent, drained = logged("sent"), logged("drained")
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    conduit.get("a").emit(1)
    port.replace(1)
    basin.pipe().emit(1)
    port.emit(sent)
    subscription = conduit.subscribe(subscriber, lambda closed: log.append("closed"))
    conduit.get("a").emit(2)
    basin.drain(drained)
    port.update(lambda value: value + 1)
    basin.pipe().emit(2)
    subscription.close()
    conduit.get("a").emit(3)
    port.emit(sent)
    basin.drain(drained)
    assert log == []
    gate.release()
    wait(circuit)

    assert log == [("sent", 1), ("seen", 2), ("drained", 1), "closed", ("sent", 2), ("drained", 2)]


@rule("COMMON-TRANSIT-03", "CIRCUIT-TRANSIT-01", "CIRCUIT-TRANSIT-07")
def test_all_kinds_of_queued_operations_in_the_own_context_come_before_the_next_ingress(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[Any] = []

    def registering(subject: Subject[Any], registrar: Registrar[Any]) -> None:
        registrar.register(lambda value: log.append(("seen", value)))

    conduit: Conduit[int] = circuit.conduit(int)
    subscriber: Subscriber[int] = circuit.subscriber("n", registering)
    port, basin, cell = circuit.port(0), circuit.basin(10), circuit.cell(0)
    target: Pipe[Any] = circuit.pipe(lambda value: log.append(("target", value)))

    def receive(_value: int) -> None:
        gate.hold()
        subscription = conduit.subscribe(subscriber, lambda closed: log.append("closed"))
        conduit.get("a").emit(1)
        subscription.close()
        conduit.get("a").emit(2)
        port.update(lambda value: value + 5)
        port.emit(target)
        basin.pipe().emit(6)
        basin.drain(target)
        cell.pipe().emit(7)
        log.append(("end", cell.get()))

    outside: Pipe[str] = circuit.pipe(lambda value: log.append((value, cell.get())))
    circuit.pipe(receive).emit(0)
    gate.await_entered()
    outside.emit("outside")
    gate.release()
    wait(circuit)

    assert log[0] == ("end", 0)
    assert log[1:3] == [("seen", 1), "closed"]
    assert log[3:-1] == [("target", 5), ("target", 6)]
    assert log[-1] == ("outside", 7)


@rule("COMMON-FIFO-02")
def test_eight_producers_of_mixed_operations_keep_their_orders(
    circuit: Circuit, wait: Settle, background: Background, interleaved: None
) -> None:
    log: list[tuple[int, int]] = []
    conduit: Conduit[tuple[int, int]] = circuit.conduit()
    conduit.subscribe(circuit.subscriber("n", lambda subject, registrar: registrar.register(log.append)))
    pipe: Pipe[tuple[int, int]] = circuit.pipe(log.append)
    port = circuit.port(0)

    def note(value: int, entry: tuple[int, int]) -> int:
        log.append(entry)
        return value + 1

    def produce(producer: int) -> None:
        for number in range(0, 999, 3):
            pipe.emit((producer, number))
            port.update((producer, number + 1), note)
            conduit.get("a").emit((producer, number + 2))

    for task in [background(produce, producer) for producer in range(8)]:
        task.result()
    wait(circuit)

    assert len(log) == 8 * 999
    for producer in range(8):
        assert [number for by, number in log if by == producer] == list(range(999))


FALSE = pytest.mark.parametrize("value", [0, False, "", (), 0.0], ids=["0", "False", "str", "tuple", "0.0"])
PATHS: dict[str, Callable[[Any, Any, Any, Any], object]] = {
    "pipe": lambda cortex, circuit, pipe, value: pipe.emit(value),
    "fan-out": lambda cortex, circuit, pipe, value: circuit.pipe([pipe, circuit.pipe()]).emit(value),
    "fiber": lambda cortex, circuit, pipe, value: cortex.fiber().diff().pipe(pipe).emit(value),
    "replace": lambda cortex, circuit, pipe, value: (
        cortex.fiber().replace(lambda _: value).pipe(pipe).emit(1)
    ),
    "map": lambda cortex, circuit, pipe, value: cortex.flow().map(lambda _: value).pipe(pipe).emit(1),
    "seed": lambda cortex, circuit, pipe, value: (
        cortex.fiber().reduce(value, lambda state, _: state).pipe(pipe).emit(1)
    ),
    "scan": lambda cortex, circuit, pipe, value: (
        cortex.flow().scan(lambda: value, lambda state, _: state).pipe(pipe).emit(1)
    ),
    "port": lambda cortex, circuit, pipe, value: circuit.port(value).emit(pipe),
    "pool": lambda cortex, circuit, pipe, value: pipe.emit(cortex.pool(lambda name: value).get("a")),
}


@rule("COMMON-ABSENT-05")
@FALSE
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_values_that_are_false_are_values(
    path: Callable[[Any, Any, Any, Any], object],
    value: object,
    cortex: Cortex,
    circuit: Circuit,
    wait: Settle,
) -> None:
    received: list[object] = []
    path(cortex, circuit, circuit.pipe(received.append), value)
    wait(circuit)

    assert len(received) == 1
    assert received[0] is value


@rule("COMMON-ABSENT-05")
@FALSE
def test_values_that_are_false_reach_subscribers(value: object, circuit: Circuit, wait: Settle) -> None:
    received: list[object] = []
    conduit: Conduit[object] = circuit.conduit()
    conduit.subscribe(circuit.subscriber("n", lambda subject, registrar: registrar.register(received.append)))

    conduit.get("a").emit(value)
    wait(circuit)

    assert len(received) == 1
    assert received[0] is value


@rule("COMMON-VIS-04", "CIRCUIT-AWAIT-01")
def test_a_subscribe_has_taken_effect_after_a_wait(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    conduit: Conduit[int] = circuit.conduit()
    conduit.subscribe(circuit.subscriber("n", lambda subject, registrar: registrar.register(received.append)))
    wait(circuit)
    conduit.get("a").emit(1)
    wait(circuit)

    assert received == [1]


@rule("CIRCUIT-AWAIT-01", "CIRCUIT-AWAIT-08")
@derived
def test_waiting_on_a_closing_circuit_covers_all_kinds_of_operations(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[Any] = []
    closed: list[Subscription] = []
    conduit: Conduit[int] = circuit.conduit()
    target: Pipe[Any] = circuit.pipe(received.append)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    subscription = conduit.subscribe(
        circuit.subscriber("n", lambda subject, registrar: registrar.register(received.append)), closed.append
    )
    conduit.get("a").emit(1)
    circuit.port(2).emit(target)
    basin = circuit.basin(1)
    basin.pipe().emit(3)
    basin.drain(target)
    subscription.close()
    circuit.close()
    gate.release()
    wait(circuit)

    assert received == [1, 2, 3]
    assert closed == [subscription]
    assert circuit.pulse() is None
