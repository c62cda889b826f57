"""The order of transit: what a circuit emits to itself is received before anything that waits outside."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import pytest

from substrates import Circuit, Conduit, Cortex, Current, Pipe, Subscriber
from substrates_tck.cascades import cascade
from substrates_tck.fixtures import NewCircuit, Until
from substrates_tck.marks import derived, each_lane, members, rule
from substrates_tck.waits import Background, Gate, Settle

pytestmark = members


@rule("CIRCUIT-TRANSIT-01")
@each_lane
def test_an_emission_in_the_own_context_waits_until_the_receptor_has_ended(
    lane: object, circuit: Circuit, wait: Settle
) -> None:
    log: list[Any] = []

    def receive(value: int) -> None:
        log.append(value)
        if value == 1:
            pipe.emit(2)
            log.append("end")

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    pipe.emit(1)
    wait(circuit)

    assert log == [1, "end", 2]


@rule("CIRCUIT-TRANSIT-02")
@each_lane
def test_transit_is_breadth_first(lane: object, circuit: Circuit, wait: Settle) -> None:
    log: list[int] = []
    follow = {1: [2, 3], 2: [4], 3: [5, 6], 4: [7]}

    def receive(value: int) -> None:
        log.append(value)
        for successor in follow.get(int(value), ()):
            pipe.emit(successor)

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    pipe.emit(1)
    wait(circuit)

    assert log == [1, 2, 3, 4, 5, 6, 7]


@rule("CIRCUIT-TRANSIT-02")
def test_transit_is_one_queue_over_all_pipes_of_the_circuit(circuit: Circuit, wait: Settle) -> None:
    log: list[str] = []

    def left(value: int) -> None:
        log.append(f"left {value}")
        if value < 2:
            right_pipe.emit(value + 1)
            left_pipe.emit(value + 1)

    def right(value: int) -> None:
        log.append(f"right {value}")
        if value < 2:
            left_pipe.emit(value + 1)

    left_pipe: Pipe[int] = circuit.pipe(left)
    right_pipe: Pipe[int] = circuit.pipe(right)
    left_pipe.emit(0)
    wait(circuit)

    assert log == ["left 0", "right 1", "left 1", "left 2", "right 2", "left 2"]


@rule("CIRCUIT-TRANSIT-03")
@each_lane
def test_transit_is_emptied_before_the_next_ingress_value(
    lane: object, circuit: Circuit, wait: Settle
) -> None:
    log: list[int] = []

    def receive(value: int) -> None:
        log.append(value)
        if value < 3:
            pipe.emit(value + 1)

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    for number in (1, 100, 1, 200, 1, 300):
        pipe.emit(number)
    wait(circuit)

    assert log == [1, 2, 3, 100, 1, 2, 3, 200, 1, 2, 3, 300]


@rule("CIRCUIT-TRANSIT-04")
@each_lane
def test_ingress_that_comes_in_mid_cascade_waits_for_its_end(
    lane: object, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[int] = []
    pipe = cascade(circuit, gate, log, held=1, last=3, lane=lane)
    pipe.emit(1)
    gate.await_entered()
    pipe.emit(100)
    gate.release()
    wait(circuit)

    assert log == [1, 2, 3, 100]


@rule("CIRCUIT-TRANSIT-04")
def test_ingress_on_another_pipe_that_comes_in_mid_cascade_waits_for_its_end(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[int] = []
    pipe = cascade(circuit, gate, log, held=2, last=5)
    other: Pipe[int] = circuit.pipe(log.append)
    pipe.emit(1)
    gate.await_entered()
    for number in (100, 200):
        other.emit(number)
    gate.release()
    wait(circuit)

    assert log == [1, 2, 3, 4, 5, 100, 200]


@rule("CIRCUIT-TRANSIT-05")
@each_lane
def test_a_pipe_that_feeds_itself_runs_to_its_end(lane: object, circuit: Circuit, wait: Settle) -> None:
    log: list[int] = []

    def receive(value: int) -> None:
        log.append(value)
        if value < 10:
            pipe.emit(value + 1)

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    pipe.emit(1)
    wait(circuit)

    assert log == list(range(1, 11))


@rule("CIRCUIT-TRANSIT-05")
def test_a_ring_of_pipes_runs_in_causal_order(circuit: Circuit, wait: Settle) -> None:
    log: list[str] = []
    pipes: dict[str, Pipe[int]] = {}
    onward = {"A": "B", "B": "C", "C": "A"}

    def member(label: str) -> Pipe[int]:
        def receive(left: int) -> None:
            log.append(label)
            if left > 1:
                pipes[onward[label]].emit(left - 1)

        return circuit.pipe(receive)

    pipes.update({label: member(label) for label in onward})
    pipes["A"].emit(15)
    wait(circuit)

    assert log == ["A", "B", "C"] * 5


@rule("CIRCUIT-TRANSIT-06")
@each_lane
def test_a_cascade_of_a_hundred_thousand_hops_needs_no_stack(
    lane: object, circuit: Circuit, wait: Settle
) -> None:
    last: list[int] = []

    def receive(left: int) -> None:
        if left:
            pipe.emit(left - 1)
        else:
            last.append(int(left))

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    pipe.emit(100_000)
    wait(circuit)

    assert last == [0]


@rule("CIRCUIT-TRANSIT-06", "PIPE-COMP-01")
def test_a_chain_of_five_thousand_receptors_needs_no_stack(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe: Pipe[int] = circuit.pipe(received.append)
    for _ in range(5000):
        pipe = circuit.pipe(partial(_add_one, pipe))

    pipe.emit(0)
    wait(circuit)

    assert received == [5000]


def _add_one(onward: Pipe[int], value: int) -> None:
    onward.emit(value + 1)


@rule("CIRCUIT-TRANSIT-07")
def test_a_barrier_does_not_get_between_the_parts_of_a_cascade(
    circuit: Circuit, background: Background, gate: Gate, bound_s: float
) -> None:
    log: list[int] = []
    pipe = cascade(circuit, gate, log, held=2, last=4)
    pipe.emit(1)
    gate.await_entered()
    with pytest.raises(TimeoutError):
        circuit.wait(timeout=0.05)

    def wait_and_read() -> list[int]:
        circuit.wait(timeout=bound_s)
        return list(log)

    waiting = background(wait_and_read)
    assert not waiting.done
    gate.release()

    assert waiting.result() == [1, 2, 3, 4]


@rule("CIRCUIT-TRANSIT-07", "CIRCUIT-TRANSIT-04")
def test_no_queued_operation_gets_between_the_parts_of_a_cascade(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[Any] = []
    late: list[int] = []
    conduit: Conduit[int] = circuit.conduit(int)
    before: Subscriber[int] = circuit.subscriber("n", lambda _, registrar: registrar.register(log.append))
    after: Subscriber[int] = circuit.subscriber("n", lambda _, registrar: registrar.register(late.append))
    port, basin, ended = circuit.port(0), circuit.basin(10), conduit.subscribe(before)
    target: Pipe[Any] = circuit.pipe(lambda value: log.append(("target", value)))

    def receive(value: int) -> None:
        conduit.get("a").emit(value)
        basin.pipe().emit(value)
        if value == 2:
            gate.hold()
        if value < 4:
            pipe.emit(value + 1)

    pipe: Pipe[int] = circuit.pipe(receive)
    pipe.emit(1)
    gate.await_entered()
    conduit.subscribe(after)
    ended.close()
    basin.drain(target)
    port.update(lambda value: value + 5)
    port.emit(target)
    conduit.get("a").emit(100)
    gate.release()
    wait(circuit)

    assert log == [1, 2, 3, 4, *(("target", value) for value in (1, 2, 3, 4, 5))]
    assert late == [100]


@rule("CIRCUIT-TRANSIT-08")
@derived
def test_an_emission_from_another_circuits_context_is_ingress(
    new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    sender, receiver = new_circuit("transit.sender"), new_circuit("transit.receiver")
    log: list[int] = []
    target = cascade(receiver, gate, log, held=1, last=3)
    forward: Pipe[int] = sender.pipe(target.emit)
    target.emit(1)
    gate.await_entered()
    forward.emit(50)
    wait(sender)
    gate.release()
    wait(receiver)

    assert log == [1, 2, 3, 50]


@rule("CIRCUIT-TRANSIT-08")
@derived
def test_an_emission_to_another_circuit_and_back_is_ingress(new_circuit: NewCircuit, wait: Settle) -> None:
    here, there = new_circuit("transit.here"), new_circuit("transit.there")
    log: list[int] = []

    def receive(value: int) -> None:
        log.append(value)
        if value == 0:
            away.emit(100)
            for number in range(1, 50):
                pipe.emit(number)

    pipe: Pipe[int] = here.pipe(receive)
    away: Pipe[int] = there.pipe(pipe.emit)
    pipe.emit(0)
    wait(here, there, here)

    assert log == [*range(50), 100]


@rule("CIRCUIT-TRANSIT-01", "PYTHON-SIGNAL-02")
@pytest.mark.skipif(sys.implementation.name != "cpython", reason="finalizes as CPython does")
def test_what_the_finalizer_of_the_last_value_emits_is_received_by_its_own_circuit(
    cortex: Cortex, circuit: Circuit, eventually: Until
) -> None:
    """The last value goes when nothing is left to be received: nothing else would look at the transit."""
    contexts: list[Current] = []

    class Emits:
        def __del__(self) -> None:
            pipe.emit(1)

    pipe: Pipe[int] = circuit.pipe(lambda _: contexts.append(cortex.current()))
    unheard: Pipe[Emits] = circuit.pipe(lambda _: None)
    for _ in range(20):
        received = len(contexts)
        unheard.emit(Emits())

        eventually(partial(_longer, contexts, received), "what the finalizer emitted is received")

    assert contexts == [circuit.current] * 20


def _longer(log: list[Any], length: int) -> bool:
    return len(log) > length
