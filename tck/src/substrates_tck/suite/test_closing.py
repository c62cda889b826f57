"""The end of a circuit: asked for at once, done in order, and final."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from substrates import Circuit, ClosedFault, ContextError, Cortex, Pipe
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, each_lane, rule
from substrates_tck.waits import Background, Gate, Settle, Together


@rule("CIRCUIT-CLOSE-01")
def test_close_does_not_wait_for_pending_work(
    circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        gate.hold()
        received.append(value)

    circuit.pipe(receive).emit(1)
    gate.await_entered()
    background(circuit.close).result()

    assert received == []
    assert not gate.released
    gate.release()
    wait(circuit)


@rule("CIRCUIT-CLOSE-02", "RES-02", "CORTEX-CIRCUIT-04")
def test_close_may_be_called_again_and_again(circuit: Circuit, wait: Settle) -> None:
    for _ in range(3):
        circuit.close()
    wait(circuit)
    wait(circuit)
    circuit.close()
    circuit.close(wait=True)
    wait(circuit)


@rule("CIRCUIT-CLOSE-02", "RES-02")
def test_close_is_safe_from_many_threads(circuit: Circuit, wait: Settle, together: Together) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)
    for number in range(100):
        pipe.emit(number)

    together(10, lambda number: circuit.close(wait=number % 2 == 0))
    wait(circuit)

    assert received == list(range(100))
    with pytest.raises(ClosedFault):
        circuit.pipe()


@rule("CIRCUIT-CLOSE-04")
@each_lane
def test_emissions_after_close_do_nothing_and_raise_nothing(
    lane: object, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    pipe: Pipe[int] = circuit.pipe(received.append, lane=lane)
    pipe.emit(1)
    wait(circuit)

    circuit.close()
    for number in range(10):
        pipe.emit(number)
    wait(circuit)
    for number in range(10):
        pipe.emit(number)
    wait(circuit)

    assert received == [1]


@rule("CIRCUIT-CLOSE-04")
def test_emissions_after_close_do_not_reach_an_open_circuit_behind(
    new_circuit: NewCircuit, wait: Settle
) -> None:
    closed, open_ = new_circuit("close.closed"), new_circuit("close.open")
    received: list[int] = []
    target = open_.pipe(received.append)
    forwards: list[Pipe[int]] = [
        closed.pipe(target),
        closed.pipe([target, target]),
        closed.pipe("n", [target]),
    ]

    closed.close()
    for pipe in forwards:
        pipe.emit(1)
    wait(closed, open_)

    assert received == []


@rule("CIRCUIT-CLOSE-05")
@pytest.mark.parametrize("count", [5, 1000])
def test_close_drains_what_was_accepted_before(
    count: int, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        if value == 0:
            gate.hold()
        received.append(value)

    pipe = circuit.pipe(receive)
    for number in range(count):
        pipe.emit(number)
    gate.await_entered()
    circuit.close()
    gate.release()
    wait(circuit)

    assert received == list(range(count))


@rule("CIRCUIT-CLOSE-06")
@derived
@each_lane
def test_cascades_of_drained_work_still_run(lane: object, circuit: Circuit, wait: Settle, gate: Gate) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        if value == 1:
            gate.hold()
        received.append(value)
        if value < 5:
            pipe.emit(value + 1)

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    pipe.emit(1)
    gate.await_entered()
    circuit.close()
    gate.release()
    wait(circuit)

    assert received == [1, 2, 3, 4, 5]


@rule("CIRCUIT-CLOSE-07")
@derived
def test_nothing_runs_once_the_circuit_has_ended(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)
    pipe.emit(1)
    circuit.close(wait=True)

    for number in range(1000):
        pipe.emit(number)
        circuit.wait(timeout=5)

    assert received == [1]


@rule("CIRCUIT-CLOSE-08")
@derived
def test_close_may_be_called_in_own_context(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        if value == 1:
            pipe.emit(2)
            circuit.close()
            pipe.emit(3)

    pipe: Pipe[int] = circuit.pipe(receive)
    pipe.emit(1)
    wait(circuit)
    pipe.emit(4)
    wait(circuit)

    assert received[:2] == [1, 2]
    assert 4 not in received
    with pytest.raises(ClosedFault):
        circuit.pipe()


@rule("CIRCUIT-CLOSE-09")
def test_other_circuits_are_not_affected(new_circuit: NewCircuit, wait: Settle) -> None:
    closed, open_ = new_circuit("close.closed"), new_circuit("close.open")
    received: list[int] = []
    pipe = open_.pipe(received.append)
    closed.pipe().emit(1)

    closed.close()
    wait(closed)
    pipe.emit(1)
    open_.pipe(received.append).emit(2)
    wait(open_)

    assert received == [1, 2]


@rule("CIRCUIT-CLOSE-10", "CLOSED-09")
def test_reading_stays_legal_after_close(circuit: Circuit, wait: Settle) -> None:
    subject, current = circuit.subject, circuit.current
    pipe = circuit.pipe()
    pipe_subject = pipe.subject

    circuit.close()
    assert circuit.subject is subject
    assert circuit.current is current
    wait(circuit)

    assert circuit.subject is subject
    assert circuit.current is current
    assert pipe.subject is pipe_subject
    assert str(subject) == subject.path()
    circuit.close()


@rule("CIRCUIT-CLOSE-10")
@derived
def test_what_was_never_read_before_close_can_be_read_after(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    pipe = circuit.pipe()
    circuit.close()
    wait(circuit)

    assert circuit.subject.enclosure is cortex.subject
    assert pipe.subject.enclosure is circuit.subject
    assert circuit.current.subject.type.__name__ == "Current"


CLOSED_CALLS: dict[str, Callable[[Circuit, Pipe[int], Pipe[int]], object]] = {
    "pipe()": lambda circuit, own, other: circuit.pipe(),
    "pipe(same-circuit target)": lambda circuit, own, other: circuit.pipe(own),
    "pipe(other-circuit target)": lambda circuit, own, other: circuit.pipe(other),
    "pipe(receptor)": lambda circuit, own, other: circuit.pipe(print),
    "pipe(name, receptor)": lambda circuit, own, other: circuit.pipe("n", print),
    "pipe([])": lambda circuit, own, other: circuit.pipe([]),
    "pipe([target])": lambda circuit, own, other: circuit.pipe([own]),
    "pipe([target, target])": lambda circuit, own, other: circuit.pipe([own, other]),
    "pipe(name, [])": lambda circuit, own, other: circuit.pipe("n", []),
    "pipe(name, [target])": lambda circuit, own, other: circuit.pipe("n", [own]),
}


@rule("CLOSED-02", "CLOSED-03", "CIRCUIT-CLOSE-03", "ERR-FAULT-02", "ERR-FAULT-03")
@pytest.mark.parametrize("call", CLOSED_CALLS.values(), ids=CLOSED_CALLS)
def test_making_a_pipe_of_a_closing_circuit_is_refused(
    call: Callable[[Circuit, Pipe[int], Pipe[int]], object], new_circuit: NewCircuit, wait: Settle
) -> None:
    circuit, other = new_circuit("closed.own"), new_circuit("closed.other")
    own_pipe: Pipe[int] = circuit.pipe()
    other_pipe: Pipe[int] = other.pipe()

    circuit.close()
    with pytest.raises(ClosedFault) as closing:
        call(circuit, own_pipe, other_pipe)
    wait(circuit)
    with pytest.raises(ClosedFault) as closed:
        call(circuit, own_pipe, other_pipe)

    for refused in (closing.value, closed.value):
        assert refused.subject is circuit.subject
        assert refused.operation == "pipe"


@rule("CIRCUIT-CLOSE-03")
def test_factories_are_refused_while_the_circuit_still_drains(circuit: Circuit, gate: Gate) -> None:
    circuit.pipe(gate.hold).emit(1)
    gate.await_entered()

    circuit.close()

    with pytest.raises(ClosedFault):
        circuit.pipe()


@rule("CIRCUIT-CLOSE-05", "CIRCUIT-ORDER-03")
@derived
def test_what_was_accepted_before_a_racing_close_is_received_once_and_in_order(
    new_circuit: NewCircuit, background: Background, wait: Settle, interleaved: None, bound_s: float
) -> None:
    for _ in range(20):
        circuit = new_circuit()
        received: list[int] = []
        pipe = circuit.pipe(received.append)
        started = threading.Event()

        def produce(pipe: Pipe[int] = pipe, started: threading.Event = started) -> None:
            for number in range(2000):
                pipe.emit(number)
                if number == 10:
                    started.set()

        producing = background(produce)
        assert started.wait(bound_s)
        circuit.close()
        producing.result()
        wait(circuit)

        assert received == list(range(len(received)))
        assert len(received) > 10


@rule("RES-04", "RES-07")
def test_close_and_wait_returns_when_the_end_has_come(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)
    for number in range(100):
        pipe.emit(number)

    circuit.close(wait=True)

    assert len(received) == 100
    with pytest.raises(ClosedFault):
        circuit.pipe()
    wait(circuit)


@rule("RES-04")
def test_close_and_wait_blocks_while_accepted_work_is_held(
    circuit: Circuit, background: Background, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        gate.hold()
        received.append(value)

    circuit.pipe(receive).emit(1)
    gate.await_entered()

    def close_and_count() -> int:
        circuit.close(wait=True)
        return len(received)

    closing = background(close_and_count)
    assert not closing.done
    gate.release()

    assert closing.result() == 1


@rule("RES-05")
def test_close_and_wait_may_follow_close_and_itself(circuit: Circuit) -> None:
    circuit.pipe().emit(1)
    circuit.close()
    circuit.close(wait=True)
    circuit.close(wait=True)


@rule("RES-06")
def test_close_and_wait_in_own_context_raises_and_closes_nothing(circuit: Circuit, wait: Settle) -> None:
    errors: list[BaseException] = []
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        try:
            circuit.close(wait=True)
        except BaseException as error:
            errors.append(error)

    pipe = circuit.pipe(receive)
    pipe.emit(1)
    wait(circuit)
    pipe.emit(2)
    wait(circuit)
    circuit.pipe()

    assert received == [1, 2]
    assert [type(error) for error in errors] == [ContextError, ContextError]


@rule("RES-10", "PIPE-LIFE-01")
def test_a_late_close_is_silent(circuit: Circuit, wait: Settle) -> None:
    pipe = circuit.pipe()
    circuit.close(wait=True)

    circuit.close()
    circuit.close(wait=True)
    pipe.emit(1)
    wait(circuit)


@rule("RES-02", "CIRCUIT-CLOSE-05")
@derived
def test_a_circuit_is_a_context_manager_that_waits_and_closes(cortex: Cortex) -> None:
    received: list[int] = []

    with cortex.circuit("close.with") as circuit:
        pipe = circuit.pipe(received.append)
        for number in range(100):
            pipe.emit(number)

    assert received == list(range(100))
    with pytest.raises(ClosedFault):
        circuit.pipe()


@rule("RES-02")
@derived
def test_a_circuit_that_is_left_by_an_exception_is_closed_without_waiting(
    cortex: Cortex, gate: Gate, wait: Settle
) -> None:
    error = ValueError("raised in the block")

    def leave(circuit: Circuit) -> None:
        with circuit:
            circuit.pipe(gate.hold).emit(1)
            gate.await_entered()
            raise error

    circuit = cortex.circuit()
    with pytest.raises(ValueError, match="raised in the block") as raised:
        leave(circuit)

    assert raised.value is error
    assert not gate.released
    with pytest.raises(ClosedFault):
        circuit.pipe()
    gate.release()
    wait(circuit)


@rule("PIPE-LIFE-01")
def test_a_pipe_outlives_its_circuit(new_circuit: NewCircuit, cortex: Cortex) -> None:
    received: list[Any] = []
    circuit = cortex.circuit("close.gone")
    pipes: list[Pipe[Any]] = [circuit.pipe(received.append), circuit.pipe(), circuit.pipe("n", [])]
    circuit.close(wait=True)
    del circuit

    for pipe in pipes:
        pipe.emit("late")

    assert received == []
    assert all(pipe.subject.path() for pipe in pipes)
