"""Waiting: a barrier over everything that was accepted before."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from substrates import Circuit, ConfigurationError, ContextError, Cortex, Pipe
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, each_lane, members, rule
from substrates_tck.waits import Background, Gate, Settle

pytestmark = members


@rule("CIRCUIT-AWAIT-01")
@pytest.mark.parametrize("count", [1, 3, 1000])
@each_lane
def test_wait_returns_after_all_that_was_accepted_before(
    count: int, lane: object, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    pipe: Pipe[int] = circuit.pipe(received.append, lane=lane)

    for number in range(count):
        pipe.emit(number)
    wait(circuit)

    assert len(received) == count


@rule("CIRCUIT-AWAIT-01")
def test_wait_covers_the_cascades_of_what_was_accepted_before(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        if value < 1000:
            pipe.emit(value + 1)

    pipe: Pipe[int] = circuit.pipe(receive)
    pipe.emit(1)
    wait(circuit)

    assert len(received) == 1000


@rule("CIRCUIT-AWAIT-01")
def test_wait_does_not_return_while_work_accepted_before_is_held(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        gate.hold()
        received.append(value)

    pipe = circuit.pipe(receive)
    pipe.emit(1)
    gate.await_entered()

    with pytest.raises(TimeoutError):
        circuit.wait(timeout=0.05)
    assert received == []
    gate.release()
    wait(circuit)
    assert received == [1]


@rule("CIRCUIT-AWAIT-01")
def test_wait_covers_what_a_finished_thread_emitted(
    circuit: Circuit, wait: Settle, background: Background
) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)

    def produce() -> None:
        for number in range(1000):
            pipe.emit(number)

    background(produce).result()
    wait(circuit)

    assert len(received) == 1000


@rule("CIRCUIT-AWAIT-02")
@derived
def test_wait_is_a_barrier_and_does_not_wait_for_later_emissions(
    circuit: Circuit, wait: Settle, background: Background
) -> None:
    stop = threading.Event()
    received = 0

    def receive(value: int) -> None:
        nonlocal received
        received += 1

    def flood() -> None:
        emitted = 0
        while not stop.is_set():
            # Always ahead, but not without bound, lest a provider that never gets there takes all memory.
            if emitted - received < 100_000:
                pipe.emit(0)
                emitted += 1

    pipe = circuit.pipe(receive)

    flooding = background(flood)
    try:
        for _ in range(3):
            wait(circuit)
        assert not flooding.done
    finally:
        stop.set()
    flooding.result()


@rule("CIRCUIT-AWAIT-03")
def test_wait_is_prompt_on_a_new_and_on_an_idle_circuit(circuit: Circuit, wait: Settle) -> None:
    wait(circuit)
    wait(circuit)

    circuit.pipe().emit(1)
    wait(circuit)
    wait(circuit)


@rule("CIRCUIT-AWAIT-03")
def test_wait_may_be_called_from_an_executors_task(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)

    def work(number: int) -> int:
        pipe.emit(number)
        wait(circuit)
        return len(received)

    with ThreadPoolExecutor(4) as executor:
        lengths = list(executor.map(work, range(20)))

    assert min(lengths) >= 1
    assert sorted(received) == list(range(20))


@rule("CIRCUIT-AWAIT-04")
def test_several_callers_wait_at_once(
    circuit: Circuit, background: Background, gate: Gate, wait: Settle
) -> None:
    received: list[int] = []
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    pipe = circuit.pipe(received.append)
    pipe.emit(1)

    def wait_and_read() -> list[int]:
        wait(circuit)
        return list(received)

    waiting = [background(wait_and_read) for _ in range(4)]
    assert not any(task.done for task in waiting)
    gate.release()

    assert [task.result() for task in waiting] == [[1]] * 4


@rule("CIRCUIT-AWAIT-05")
def test_wait_in_own_context_raises_and_the_circuit_lives_on(circuit: Circuit, wait: Settle) -> None:
    errors: list[BaseException] = []
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        try:
            circuit.wait(timeout=1)
        except BaseException as error:
            errors.append(error)

    pipe = circuit.pipe(receive)
    pipe.emit(1)
    wait(circuit)
    pipe.emit(2)
    wait(circuit)

    assert received == [1, 2]
    assert [type(error) for error in errors] == [ContextError, ContextError]
    assert "wait" in str(errors[0])


@rule("CIRCUIT-AWAIT-06")
def test_the_current_tells_whether_waiting_is_allowed(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    allowed: list[bool] = []
    pipe: Pipe[Any] = circuit.pipe(lambda value: allowed.append(cortex.current() is not circuit.current))
    pipe.emit(1)
    wait(circuit)

    assert allowed == [False]
    assert cortex.current() is not circuit.current


@rule("CIRCUIT-AWAIT-07")
def test_wait_on_a_closed_circuit_returns_at_once_from_any_thread(
    circuit: Circuit, wait: Settle, background: Background
) -> None:
    circuit.pipe().emit(1)
    circuit.close()
    wait(circuit)

    def wait_often() -> None:
        for _ in range(5):
            circuit.wait(timeout=1)

    background(wait_often).result()
    wait_often()


@rule("CIRCUIT-AWAIT-07")
def test_wait_on_a_closed_circuit_that_was_never_used_returns_at_once(circuit: Circuit) -> None:
    circuit.close()

    for _ in range(3):
        circuit.wait(timeout=1)


@rule("CIRCUIT-AWAIT-08", "CIRCUIT-CLOSE-07")
def test_wait_on_a_closing_circuit_waits_for_its_end(
    circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        if value == 0:
            gate.hold()
        received.append(value)

    pipe = circuit.pipe(receive)
    for number in range(5):
        pipe.emit(number)
    gate.await_entered()
    circuit.close()

    def wait_and_count() -> int:
        wait(circuit)
        return len(received)

    waiting = background(wait_and_count)
    assert not waiting.done
    gate.release()
    count = waiting.result()

    pipe.emit(100)
    wait(circuit)
    assert len(received) == count
    assert 100 not in received


@rule("CIRCUIT-AWAIT-09")
def test_a_chain_of_circuits_is_awaited_one_by_one(new_circuit: NewCircuit, wait: Settle) -> None:
    first, second, third = (new_circuit(f"wait.{label}") for label in ("first", "second", "third"))
    received: list[int] = []
    target = third.pipe(received.append)
    middle: Pipe[Any] = second.pipe(lambda value: target.emit(value + 1))
    pipe: Pipe[Any] = first.pipe(lambda value: middle.emit(value + 1))

    for number in range(100):
        pipe.emit(number)
    wait(first, second, third)

    assert received == [number + 2 for number in range(100)]


@rule("CIRCUIT-AWAIT-09")
def test_wait_covers_its_own_circuit_only(new_circuit: NewCircuit, wait: Settle, gate: Gate) -> None:
    first, second = new_circuit("wait.own"), new_circuit("wait.other")
    target = second.pipe(gate.hold)
    pipe = first.pipe(target.emit)

    pipe.emit(1)
    wait(first)

    gate.await_entered()
    assert not gate.released


@rule("CIRCUIT-AWAIT-10")
@derived
def test_wait_in_another_circuits_context_is_allowed(
    new_circuit: NewCircuit, wait: Settle, bound_s: float
) -> None:
    awaited, waiting = new_circuit("wait.awaited"), new_circuit("wait.waiting")
    received: list[int] = []
    seen: list[int] = []
    target = awaited.pipe(received.append)

    def receive(value: int) -> None:
        for number in range(10):
            target.emit(number)
        awaited.wait(timeout=bound_s)
        seen.append(len(received))

    waiting.pipe(receive).emit(0)
    wait(waiting)

    assert seen == [10]


@rule("CIRCUIT-AWAIT-03")
@derived
def test_wait_takes_a_bound_and_refuses_a_senseless_one(circuit: Circuit) -> None:
    circuit.wait(timeout=5)
    circuit.wait(timeout=0.5)
    circuit.wait(timeout=timedelta(milliseconds=500))
    circuit.wait(timeout=float("inf"))
    circuit.wait(timeout=10**400)

    for senseless in (-1, -(10**400), float("nan"), timedelta(seconds=-1)):
        with pytest.raises(ConfigurationError):
            circuit.wait(timeout=senseless)
    other: Any
    for other in ("soon", "1", b"1", True, [1]):
        with pytest.raises(TypeError):
            circuit.wait(timeout=other)


@rule("CIRCUIT-AWAIT-01")
@derived
def test_a_wait_that_timed_out_leaves_the_circuit_as_it_was(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        gate.hold()
        received.append(value)

    pipe = circuit.pipe(receive)
    for number in range(3):
        pipe.emit(number)
    for _ in range(3):
        with pytest.raises(TimeoutError, match="wait"):
            circuit.wait(timeout=0.01)
    gate.release()
    wait(circuit)

    assert received == [0, 1, 2]
