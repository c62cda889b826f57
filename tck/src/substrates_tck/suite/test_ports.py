"""Ports: a value that queued operations change and send on, each in its turn."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    Cortex,
    Pipe,
    Port,
    ProviderMismatchFault,
    Receptor,
    Resource,
    Source,
    Substrate,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import ForeignName
from substrates_tck.marks import derived, rule
from substrates_tck.outcomes import inside, sent
from substrates_tck.waits import Background, Gate, Settle

ABSENT: dict[str, Callable[[Any], object]] = {
    "port(None)": lambda circuit: circuit.port(None),
    "port(None, 0)": lambda circuit: circuit.port(None, 0),
    "port(name, None)": lambda circuit: circuit.port("n", None),
}


@rule("PORT-CREATE-01", "CIRCUIT-FACT-04")
@pytest.mark.parametrize("call", ABSENT.values(), ids=ABSENT)
def test_a_port_needs_a_value_and_a_name_that_is_given(
    call: Callable[[Any], object], circuit: Circuit, wait: Settle
) -> None:
    with pytest.raises(AbsentValueError):
        call(circuit)

    assert sent(circuit.port(1), circuit, wait) == 1


@rule("PORT-CREATE-01", "ERR-PROV-01")
def test_a_ports_name_is_of_the_same_provider(circuit: Circuit) -> None:
    with pytest.raises(ProviderMismatchFault) as refused:
        circuit.port(ForeignName("foreign"), 0)

    assert refused.value.subject is circuit.subject
    assert refused.value.operation == "port"


@rule("PORT-CREATE-01", "CIRCUIT-FACT-02", "CIRCUIT-FACT-03", "COMMON-NAME-07", "COMMON-SUBJ-08")
def test_a_ports_subject_tells_kind_name_and_circuit(cortex: Cortex, circuit: Circuit) -> None:
    name = cortex.name("tck.port")
    unnamed, named = circuit.port(0), circuit.port(name, 0)

    assert unnamed.subject.name is circuit.subject.name
    assert named.subject.name is name
    for port in (unnamed, named):
        assert isinstance(port, Port)
        assert port.subject.type is Port
        assert port.subject.enclosure is circuit.subject
        assert port.subject is port.subject


@rule("PORT-CREATE-01", "CIRCUIT-FACT-12", "RES-01")
def test_a_port_is_a_substrate_and_cannot_be_read_or_closed(circuit: Circuit) -> None:
    port = circuit.port(0)

    assert isinstance(port, Substrate)
    assert not isinstance(port, (Pipe, Receptor, Resource, Source))
    for attribute in ("get", "pipe", "receive", "close", "subscribe", "value"):
        assert not hasattr(port, attribute), attribute
    assert not callable(port)


@rule("COMMON-FRESH-09", "CIRCUIT-FACT-01")
def test_every_port_has_a_value_of_its_own(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    name = cortex.name("tck.port")
    first, second = circuit.port(name, 0), circuit.port(name, 0)

    first.replace(7)

    assert first is not second
    assert first.subject.id is not second.subject.id
    assert sent(first, circuit, wait) == 7
    assert sent(second, circuit, wait) == 0


@rule("PORT-QUEUE-02", "CIRCUIT-FACT-12", "CIRCUIT-ADMIT-03")
def test_operations_return_at_once_and_take_effect_in_their_turn(
    circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    port = circuit.port(1)
    calls: list[str] = []
    received: list[int] = []
    target = circuit.pipe(received.append)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    def add_one(value: int) -> int:
        calls.append("one")
        return value + 1

    def add(value: int, argument: int) -> int:
        calls.append("two")
        return value + argument

    def operate() -> None:
        port.replace(2)
        port.update(add_one)
        port.update(10, add)
        port.emit(target)

    background(operate).result()
    assert not gate.released
    assert (calls, received) == ([], [])
    gate.release()
    wait(circuit)

    assert (calls, received) == (["one", "two"], [13])


@rule("PORT-QUEUE-02", "COMMON-CTX-01", "CIRCUIT-EXEC-01", "CURRENT-06")
@pytest.mark.parametrize("caller", ["outside", "another thread", "own context", "another circuit"])
def test_operations_may_be_called_from_any_context_and_run_in_the_circuits(
    caller: str,
    cortex: Cortex,
    circuit: Circuit,
    new_circuit: NewCircuit,
    wait: Settle,
    background: Background,
) -> None:
    contexts: list[object] = []
    received: list[int] = []
    port = circuit.port(1)
    target: Pipe[int] = circuit.pipe(received.append)

    def note(value: int) -> int:
        contexts.append(cortex.current())
        return value

    def operate() -> None:
        port.replace(2)
        port.update(note)
        port.update(3, lambda value, argument: note(value + argument))
        port.emit(target)

    if caller == "outside":
        operate()
    elif caller == "another thread":
        background(operate).result()
    else:
        inside(circuit if caller == "own context" else new_circuit("port.other"), wait, operate)
    wait(circuit)

    assert received == [5]
    assert contexts == [circuit.current, circuit.current]


@rule("PORT-ORDER-03")
def test_the_last_replacement_wins(circuit: Circuit, wait: Settle) -> None:
    port = circuit.port(0)

    for value in (1, 2, 3):
        port.replace(value)

    assert sent(port, circuit, wait) == 3


@rule("PORT-ORDER-03")
def test_updates_are_applied_in_order(circuit: Circuit, wait: Settle) -> None:
    port = circuit.port(0)

    port.update(lambda value: value + 1)
    port.update(lambda value: value * 10)
    port.update(lambda value: value + 5)

    assert sent(port, circuit, wait) == 15


@rule("PORT-ORDER-03")
def test_updates_with_an_argument_are_applied_in_order(circuit: Circuit, wait: Settle) -> None:
    port = circuit.port("")

    for letter in ("a", "b", "c"):
        port.update(letter, operator.add)

    assert sent(port, circuit, wait) == "abc"


@rule("PORT-ORDER-03", "PORT-ARG-11")
def test_an_update_gets_the_value_and_then_the_argument(circuit: Circuit, wait: Settle) -> None:
    port = circuit.port(0)
    seen: list[tuple[int, int]] = []

    def add(value: int, argument: int) -> int:
        seen.append((value, argument))
        return value + argument

    port.update(5, add)
    port.update(3, add)

    assert sent(port, circuit, wait) == 8
    assert seen == [(0, 5), (5, 3)]


@rule("PORT-ORDER-03", "COMMON-FIFO-02")
def test_all_operations_and_emissions_share_one_order(circuit: Circuit, wait: Settle) -> None:
    log: list[Any] = []
    port = circuit.port("seed")
    target: Pipe[str] = circuit.pipe(lambda value: log.append(("sent", value)))
    pipe: Pipe[int] = circuit.pipe(lambda value: log.append(("received", value)))

    def update(value: str) -> str:
        log.append(("updating", value))
        return value + "+"

    pipe.emit(1)
    port.update(update)
    pipe.emit(2)
    port.replace("new")
    port.update(update)
    pipe.emit(3)
    port.emit(target)
    wait(circuit)

    assert log == [
        ("received", 1),
        ("updating", "seed"),
        ("received", 2),
        ("updating", "new"),
        ("received", 3),
        ("sent", "new+"),
    ]


@rule("COMMON-FIFO-02", "PORT-ORDER-03")
def test_no_update_of_eight_producers_is_lost(
    circuit: Circuit, wait: Settle, background: Background, interleaved: None
) -> None:
    port: Port[tuple[int, ...]] = circuit.port((0,) * 8)
    out_of_order: list[tuple[int, int]] = []

    def count(counts: tuple[int, ...], argument: tuple[int, int]) -> tuple[int, ...]:
        producer, number = argument
        if counts[producer] != number:
            out_of_order.append(argument)
        return (*counts[:producer], counts[producer] + 1, *counts[producer + 1 :])

    def produce(producer: int) -> None:
        for number in range(500):
            port.update((producer, number), count)

    for task in [background(produce, producer) for producer in range(8)]:
        task.result()

    assert sent(port, circuit, wait) == (500,) * 8
    assert out_of_order == []


@rule("PORT-SEED-04")
def test_the_first_update_gets_the_first_value_and_each_gets_a_present_one(
    circuit: Circuit, wait: Settle
) -> None:
    seen: list[int] = []
    port = circuit.port(42)

    def update(value: int) -> int | None:
        seen.append(value)
        return None if value == 42 else value

    anything: Any = update
    port.update(anything)
    port.update(anything)
    port.replace(43)
    port.update(anything)
    wait(circuit)

    assert seen == [42, 42, 43]


@rule("PORT-EMIT-05")
def test_a_port_sends_its_value_once(circuit: Circuit, wait: Settle) -> None:
    assert sent(circuit.port(13), circuit, wait) == 13


@rule("PORT-EMIT-05")
def test_a_port_sends_the_object_itself(circuit: Circuit, wait: Settle) -> None:
    seed, value = [1], [2]
    port = circuit.port(seed)

    assert sent(port, circuit, wait) is seed
    port.replace(value)
    assert sent(port, circuit, wait) is value
    assert sent(port, circuit, wait) is value


@rule("PORT-EMIT-05")
def test_a_port_sends_what_it_holds_at_each_turn(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    sums: list[int] = []
    port = circuit.port(0)
    target = cortex.fiber(int).reduce(0, operator.add).pipe(circuit.pipe(sums.append))

    for value in (1, 2, 3):
        port.replace(value)
        port.emit(target)
    wait(circuit)

    assert sums == [1, 3, 6]


@rule("PORT-EMIT-05")
def test_a_port_may_send_into_a_flow(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    texts: list[str] = []
    target = cortex.flow(int).map(lambda value: f"value={value}").pipe(circuit.pipe(texts.append))

    circuit.port(5).emit(target)
    wait(circuit)

    assert texts == ["value=5"]


@rule("PORT-EMIT-05")
@derived
def test_a_port_may_send_to_any_kind_of_pipe(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    port = circuit.port(5)
    cell = circuit.cell(0)
    receiver: Pipe[int] = circuit.pipe(received.append)

    port.emit(cell.pipe())
    port.emit(circuit.pipe([receiver, receiver]))
    port.emit(circuit.pipe())
    wait(circuit)

    assert cell.get() == 5
    assert received == [5, 5]


@rule("PORT-EMIT-06")
def test_a_port_may_send_to_another_circuit(
    cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("port.other")
    received: list[tuple[int, object]] = []
    target: Pipe[int] = other.pipe(lambda value: received.append((value, cortex.current())))
    port = circuit.port(1)

    port.emit(target)
    port.replace(2)
    port.emit(target)
    wait(circuit, other)

    assert received == [(1, other.current), (2, other.current)]


@rule("COMMON-ABSENT-05")
@pytest.mark.parametrize("value", [0, False, "", (), 0.0], ids=["0", "False", "str", "tuple", "0.0"])
def test_a_port_holds_takes_and_makes_values_that_are_false(
    value: object, circuit: Circuit, wait: Settle
) -> None:
    seeded, replaced, updated, argued = (circuit.port(value), *(circuit.port(object()) for _ in range(3)))

    replaced.replace(value)
    updated.update(lambda _: value)
    argued.update(value, lambda _, argument: argument)

    for port in (seeded, replaced, updated, argued):
        assert sent(port, circuit, wait) is value


@rule("PORT-OWNER-08", "CIRCUIT-TRANSIT-01", "COMMON-TRANSIT-03")
def test_an_operation_in_the_own_context_is_not_done_inline(circuit: Circuit, wait: Settle) -> None:
    counts: list[int] = []
    seen: list[int] = []
    received: list[int] = []
    port = circuit.port(0)
    target = circuit.pipe(received.append)

    def count(value: int) -> int:
        counts.append(value)
        return value + 1

    def receive(value: int) -> None:
        port.update(count)
        seen.append(len(counts))
        port.replace(99)
        port.emit(target)
        seen.append(len(received))

    circuit.pipe(receive).emit(1)
    wait(circuit)

    assert seen == [0, 0]
    assert counts == [0]
    assert received == [99]


@rule("PORT-OWNER-08", "CIRCUIT-TRANSIT-02", "COMMON-TRANSIT-03")
@derived
def test_operations_in_the_own_context_take_their_place_in_transit(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[Any] = []
    port = circuit.port(0)
    pipe: Pipe[str] = circuit.pipe(log.append)
    target: Pipe[int] = circuit.pipe(lambda value: log.append(("sent", value)))

    def update(value: int) -> int:
        log.append("update")
        pipe.emit("from the update")
        return value + 1

    def receive(_value: int) -> None:
        gate.hold()
        pipe.emit("first")
        port.update(update)
        pipe.emit("second")
        port.emit(target)

    circuit.pipe(receive).emit(1)
    gate.await_entered()
    pipe.emit("outside")
    gate.release()
    wait(circuit)

    # The sending job comes before what the update emitted, and the target's turn after it.
    assert log == ["first", "update", "second", "from the update", ("sent", 1), "outside"]


@rule("PORT-OWNER-08")
@derived
def test_a_port_that_updates_itself_needs_no_stack(circuit: Circuit, wait: Settle) -> None:
    port = circuit.port(0)

    def update(value: int) -> int:
        if value < 20_000:
            port.update(update)
        return value + 1

    port.update(update)

    wait(circuit)
    assert sent(port, circuit, wait) == 20_001


@rule("PORT-ARG-11")
def test_the_argument_is_the_one_at_the_call(circuit: Circuit, wait: Settle, gate: Gate) -> None:
    port = circuit.port("")
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    argument = "then"
    port.update(argument, operator.add)
    argument = "later"
    port.update(argument, operator.add)
    gate.release()

    assert sent(port, circuit, wait) == "thenlater"


@rule("CIRCUIT-AWAIT-01", "COMMON-VIS-04")
def test_waiting_covers_a_ports_operations_and_what_they_cause(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []
    port = circuit.port(1)
    second: Pipe[int] = circuit.pipe(received.append)
    target: Pipe[int] = circuit.pipe(lambda value: second.emit(value + 1))
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    port.update(lambda value: value * 10)
    port.emit(target)
    gate.release()
    wait(circuit)

    assert received == [11]
