"""Batches: values that wait together are received as if each had come alone, whatever happens in between."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from substrates import Circuit, Pipe, kernel
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import kernels, rule
from substrates_tck.waits import Gate, Settle

COUNT = 3000
"""How many values wait together; more than an engine is likely to move at a time."""

Fill = Callable[[Circuit, Callable[[int], object]], Pipe[Any]]


@pytest.fixture(params=["object", pytest.param("kernel", marks=kernels)])
def fill(request: pytest.FixtureRequest, new_circuit: NewCircuit, wait: Settle, gate: Gate) -> Fill:
    """Return what has 0, 1, ... wait in a circuit for a receptor, until the gate is released."""

    def filled(circuit: Circuit, receive: Callable[[int], object]) -> Pipe[Any]:
        circuit.pipe(gate.hold).emit(0)
        gate.await_entered()
        if request.param == "kernel":
            import substrates_tck.kernels as library

            source = new_circuit()
            pipe: Pipe[Any] = circuit.pipe(receive, lane=kernel.int64)
            source.pipe(library.storm.bind(onward=pipe)).emit(COUNT)
            wait(source)
        else:
            pipe = circuit.pipe(receive)
            for number in range(COUNT):
                pipe.emit(number)
        return pipe

    return filled


@rule("ISO-10", "CIRCUIT-ORDER-01")
@pytest.mark.parametrize("kind", [ValueError, StopIteration, IndexError, KeyboardInterrupt, SystemExit])
def test_failures_in_the_middle_of_a_batch_lose_nothing(
    kind: type[BaseException], fill: Fill, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        if value % 7 == 3:
            raise kind(value)

    fill(circuit, receive)
    gate.release()
    wait(circuit)

    assert received == list(range(COUNT))


@rule("CIRCUIT-CLOSE-05")
def test_a_batch_that_a_close_comes_into_is_received_to_its_end(
    fill: Fill, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        if value == COUNT // 2:
            circuit.close()

    pipe = fill(circuit, receive)
    gate.release()
    wait(circuit)
    pipe.emit(COUNT)
    wait(circuit)

    assert received == list(range(COUNT))


@rule("CIRCUIT-TRANSIT-03")
def test_what_a_receptor_emits_in_the_middle_of_a_batch_comes_before_the_rest(
    fill: Fill, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []
    own = circuit.pipe(received.append)

    def receive(value: int) -> None:
        received.append(value)
        own.emit(-value)

    fill(circuit, receive)
    gate.release()
    wait(circuit)

    assert received == [value for number in range(COUNT) for value in (number, -number)]


@rule("CIRCUIT-TRANSIT-03")
@pytest.mark.skipif(sys.implementation.name != "cpython", reason="finalizes as CPython does")
def test_what_a_finalizer_emits_in_the_middle_of_a_batch_comes_before_the_rest(
    fill: Fill, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []
    own = circuit.pipe(received.append)

    class Emits:
        def __init__(self, value: int) -> None:
            self.value = value

        def __del__(self) -> None:
            own.emit(-self.value)

    def receive(value: int) -> None:
        emits = Emits(value)
        received.append(emits.value)

    fill(circuit, receive)
    gate.release()
    wait(circuit)

    assert received == [value for number in range(COUNT) for value in (number, -number)]


@kernels
@rule("KERNEL-ORDER-01", "CIRCUIT-ORDER-01", "CIRCUIT-TRANSIT-03")
def test_a_batch_for_kernels_and_receptors_of_both_lanes_keeps_one_order(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    """Integers, for a kernel that hands them to a receptor, and doubles for a receptor, in turn."""
    import substrates_tck.kernels as library

    received: list[Any] = []
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    integers = circuit.pipe(received.append, lane=kernel.int64)
    doubles = circuit.pipe(received.append, lane=kernel.float64)
    onward = circuit.pipe(library.forward.bind(plus=-5, onward=integers))
    source = new_circuit()
    pipe = source.pipe(library.convert.bind(whole=onward, real=doubles))
    for number in range(COUNT):
        pipe.emit(float(number))
    wait(source)
    gate.release()
    wait(circuit)

    assert received == [value for number in range(COUNT) for value in (number - 5, 7.0)]
    assert {type(value) for value in received[::2]} == {int}
    assert {type(value) for value in received[1::2]} == {float}
