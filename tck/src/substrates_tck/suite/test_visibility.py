"""Visibility and admission: what was written before is seen after; emitting neither waits nor discards."""

from __future__ import annotations

from typing import Any

from substrates import Circuit, Pipe
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, members, rule
from substrates_tck.waits import Background, Gate, Settle

pytestmark = members


@rule("CIRCUIT-VIS-01", "CIRCUIT-VIS-03")
def test_what_the_caller_wrote_before_is_seen_while_the_value_is_received(
    circuit: Circuit, wait: Settle
) -> None:
    cell, copy = [0], [0]

    def receive(value: int) -> None:
        copy[0] = cell[0]

    pipe = circuit.pipe(receive)
    cell[0] = 73
    pipe.emit(1)
    wait(circuit)

    assert copy == [73]


@rule("CIRCUIT-VIS-02")
def test_what_a_circuits_work_wrote_its_later_work_sees(circuit: Circuit, wait: Settle) -> None:
    cell, copy = [0], [0]

    def receive(value: int) -> None:
        if value == 1:
            cell[0] = 41
        else:
            copy[0] = cell[0]

    pipe = circuit.pipe(receive)
    pipe.emit(1)
    pipe.emit(2)
    wait(circuit)

    assert copy == [41]


@rule("CIRCUIT-VIS-03")
def test_a_caller_that_waited_sees_what_was_written(circuit: Circuit, wait: Settle) -> None:
    cell = [0]
    pipe: Pipe[Any] = circuit.pipe(lambda value: cell.__setitem__(0, value))

    for number in range(1, 200):
        pipe.emit(number)
        wait(circuit)
        assert cell == [number]


@rule("CIRCUIT-VIS-04")
@derived
def test_visibility_composes_over_circuits(new_circuit: NewCircuit, wait: Settle) -> None:
    first, second = new_circuit("vis.first"), new_circuit("vis.second")
    cell = [0]
    seen: list[int] = []

    def write(value: int) -> None:
        cell[0] = value
        reader.emit(value)

    reader: Pipe[int] = second.pipe(lambda value: seen.append(cell[0]))
    writer = first.pipe(write)
    for number in range(1, 100):
        writer.emit(number)
        wait(first, second)

    assert seen == list(range(1, 100))


@rule("CIRCUIT-ADMIT-01", "CIRCUIT-ADMIT-03")
def test_emitting_returns_while_the_receptor_is_blocked(
    circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        gate.hold()
        received.append(value)

    pipe = circuit.pipe(receive)
    background(pipe.emit, 1).result()

    assert received == []
    gate.release()
    wait(circuit)
    assert received == [1]


@rule("CIRCUIT-ADMIT-02")
def test_emitting_never_discards_however_much_is_waiting(
    circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    count = 50_000
    received: list[int] = []

    def receive(value: int) -> None:
        if value < 0:
            gate.hold()
        else:
            received.append(value)

    def flood() -> None:
        for number in range(count):
            pipe.emit(number)

    pipe = circuit.pipe(receive)
    pipe.emit(-1)
    gate.await_entered()
    background(flood).result()

    assert received == []
    gate.release()
    wait(circuit)
    assert received == list(range(count))
