"""The end of a circuit: asked for at once, done in order, and final."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    Circuit,
    ClosedFault,
    Conduit,
    ContextError,
    Cortex,
    Pipe,
    Resource,
    Routing,
    Subscription,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, each_lane, members, rule
from substrates_tck.observers import Observer, registering
from substrates_tck.outcomes import noted, refused
from substrates_tck.waits import Background, Gate, Settle, Together

pytestmark = members


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

    for fault in (closing.value, closed.value):
        assert fault.subject is circuit.subject
        assert fault.operation == "pipe"


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


CLOSED_FACTORIES: dict[str, Callable[[Any, Any, Any], object]] = {
    "conduit()": lambda circuit, pool, pipe: circuit.conduit(),
    "conduit(type)": lambda circuit, pool, pipe: circuit.conduit(int),
    "conduit(name)": lambda circuit, pool, pipe: circuit.conduit("n"),
    "conduit(name, type)": lambda circuit, pool, pipe: circuit.conduit("n", int),
    "conduit(type, routing)": lambda circuit, pool, pipe: circuit.conduit(int, routing=Routing.STEM),
    "conduit(name, type, routing)": lambda circuit, pool, pipe: circuit.conduit(
        "n", int, routing=Routing.PIPE
    ),
    "bank()": lambda circuit, pool, pipe: circuit.bank(),
    "bank(type)": lambda circuit, pool, pipe: circuit.bank(int),
    "bank(type, routing)": lambda circuit, pool, pipe: circuit.bank(int, routing=Routing.STEM),
    "basin(capacity)": lambda circuit, pool, pipe: circuit.basin(1),
    "basin(type, capacity)": lambda circuit, pool, pipe: circuit.basin(int, 1),
    "cell(initial)": lambda circuit, pool, pipe: circuit.cell(0),
    "cell(name, initial)": lambda circuit, pool, pipe: circuit.cell("n", 0),
    "port(initial)": lambda circuit, pool, pipe: circuit.port(0),
    "port(name, initial)": lambda circuit, pool, pipe: circuit.port("n", 0),
    "pin(initial)": lambda circuit, pool, pipe: circuit.pin(0),
    "pin(name, initial)": lambda circuit, pool, pipe: circuit.pin("n", 0),
    "sink(endpoint)": lambda circuit, pool, pipe: circuit.sink(pipe),
    "sink(name, endpoint)": lambda circuit, pool, pipe: circuit.sink("n", pipe),
    "subscriber(name, callback)": lambda circuit, pool, pipe: circuit.subscriber("n", registering()),
    "subscriber(name, pool)": lambda circuit, pool, pipe: circuit.subscriber("n", pool),
    "ticker(interval, target)": lambda circuit, pool, pipe: circuit.ticker(1, pipe),
    "ticker(name, interval, target)": lambda circuit, pool, pipe: circuit.ticker("n", 1, pipe),
}


@rule(
    *("CLOSED-01", "CLOSED-02", "CLOSED-04", "COMMON-CLOSED-10", "CIRCUIT-CLOSE-03"),
    *("ERR-FAULT-02", "ERR-FAULT-03", "FAULT-01"),
)
@pytest.mark.parametrize("call", CLOSED_FACTORIES)
def test_a_closing_circuit_makes_nothing(call: str, circuit: Circuit, wait: Settle) -> None:
    pool, pipe = circuit.conduit(int), circuit.pipe()

    circuit.close()
    closing = refused(ClosedFault, CLOSED_FACTORIES[call], circuit, pool, pipe)
    wait(circuit)
    closed = refused(ClosedFault, CLOSED_FACTORIES[call], circuit, pool, pipe)

    for fault in (closing, closed):
        assert fault.subject is circuit.subject
        assert fault.operation == call.partition("(")[0]


@rule("CIRCUIT-CLOSE-09")
def test_a_circuit_with_open_components_may_be_closed_and_they_after_it(
    new_circuit: NewCircuit, wait: Settle
) -> None:
    closed, open_ = new_circuit("close.closed"), new_circuit("close.open")
    conduit, other = closed.conduit(int), open_.conduit(int)
    observer, outside = Observer(closed), Observer(open_)
    bank = closed.bank(int)
    parts: list[Resource] = [observer.watch(conduit), observer.watch(bank.get("x")), conduit, bank]
    outside.watch(other)
    conduit.get("a").emit(1)

    closed.close(wait=True)
    other.get("a").emit(2)
    for part in [*parts, observer.subscriber]:
        part.close()
        part.close(wait=True)
    conduit.get("a").emit(3)
    other.get("a").emit(4)
    wait(closed, open_)

    assert observer.values == [1]
    assert outside.values == [2, 4]


@rule("CIRCUIT-CLOSE-04", "COMMON-CLOSED-11", "PIPE-LIFE-01")
def test_queued_operations_on_components_of_a_closed_circuit_do_nothing(
    new_circuit: NewCircuit, wait: Settle
) -> None:
    circuit, other = new_circuit("close.closed"), new_circuit("close.open")
    conduit, port, basin = circuit.conduit(int), circuit.port(1), circuit.basin(4)
    observer = Observer(circuit)
    observer.watch(conduit)
    away: list[int] = []
    target = other.pipe(away.append)
    channel = conduit.get("a")
    channel.emit(1)
    basin.pipe().emit(1)
    wait(circuit)

    circuit.close()
    for number in (2, 3, 4):
        channel.emit(number)
    port.replace(2)
    port.update(lambda value: value + 1)
    port.emit(target)
    basin.pipe().emit(2)
    basin.drain(target)
    wait(circuit, other)

    assert observer.values == [1]
    assert away == []


RESOURCES = ["bank", "conduit", "subscriber", "subscription"]


class Parts:
    """One resource of each kind, of one circuit, and what an observer sees of them."""

    def __init__(self, circuit: Circuit) -> None:
        self.observer = Observer(circuit)
        self.subscriber = self.observer.subscriber
        self.bank = circuit.bank(int)
        self.conduit: Conduit[int] = self.bank.get("banked")
        self.subscription: Subscription = self.observer.watch(self.conduit)

    def at(self, kind: str) -> Resource:
        resource: Resource = getattr(self, kind)
        return resource


@rule("RES-01", "RESOURCE-01")
def test_what_is_closed_is_a_resource_and_nothing_else_is(cortex: Cortex, circuit: Circuit) -> None:
    parts = Parts(circuit)
    resources: list[object] = [circuit, *(parts.at(kind) for kind in RESOURCES)]
    resources.append(circuit.ticker(3600, circuit.pipe()))
    others: list[object] = [
        circuit.pipe(),
        parts.conduit.get("a"),
        circuit.sink(circuit.pipe()),
        circuit.basin(1),
        circuit.cell(0),
        circuit.port(0),
        circuit.pin(0),
        circuit.current,
        cortex.pool(circuit.conduit),
    ]

    for resource in resources:
        assert isinstance(resource, Resource), resource
    for other in others:
        assert not isinstance(other, Resource), other
        assert not hasattr(other, "close"), other


@rule("RES-02", "RESOURCE-02")
@pytest.mark.parametrize("kind", RESOURCES)
def test_every_resource_may_be_closed_again_and_by_many_threads(
    kind: str, circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    parts = Parts(circuit)
    parts.conduit.get("a").emit(1)

    for _ in range(3):
        parts.at(kind).close()
    together(10, lambda number: parts.at(kind).close(wait=number % 2 == 0))
    parts.conduit.get("a").emit(2)
    wait(circuit)

    assert parts.observer.values == [1]
    assert parts.observer.ended == [parts.subscription]


@rule("RES-02", "RESOURCE-02", "SUBSCRIBER-CLOSE-14", "SUBSCRIPTION-CLOSE-07")
@pytest.mark.parametrize("kind", RESOURCES)
@pytest.mark.parametrize("context", ["own", "other"])
def test_every_resource_may_be_closed_in_a_circuits_context(
    context: str, kind: str, new_circuit: NewCircuit, wait: Settle
) -> None:
    circuit, other = new_circuit("close.own"), new_circuit("close.other")
    parts = Parts(circuit)
    parts.conduit.get("a").emit(1)
    errors: list[BaseException | None] = []
    closing: Pipe[int] = (circuit if context == "own" else other).pipe(
        lambda value: errors.append(noted(parts.at(kind).close))
    )

    closing.emit(0)
    closing.emit(0)
    wait(other, circuit)
    parts.conduit.get("a").emit(2)
    wait(circuit)

    assert errors == [None, None]
    assert parts.observer.values == [1]
    assert parts.observer.ended == [parts.subscription]


@rule("RES-03", "RESOURCE-03", "COMMON-FIFO-02")
@pytest.mark.parametrize("kind", RESOURCES)
def test_every_resource_refuses_at_once_and_still_does_what_was_accepted(
    kind: str, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    parts = Parts(circuit)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    parts.conduit.get("a").emit(1)
    parts.at(kind).close()
    parts.conduit.get("a").emit(2)
    refusals = {
        "bank": lambda: parts.bank.get("banked"),
        "conduit": lambda: parts.observer.watch(parts.conduit),
        "subscriber": lambda: parts.observer.watch(circuit.conduit(int)),
    }
    if kind in refusals:
        refused(ClosedFault, refusals[kind])

    assert not gate.released
    assert parts.observer.ended == []
    gate.release()
    wait(circuit)
    assert parts.observer.values == [1]
    assert parts.observer.ended == [parts.subscription]


@rule("RES-04", "RES-05", "RES-07", "RES-08", "RESOURCE-04")
@pytest.mark.parametrize("kind", RESOURCES)
def test_when_a_close_that_waits_returns_the_end_has_come(
    kind: str, circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    parts = Parts(circuit)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    parts.conduit.get("a").emit(1)

    def close() -> list[Subscription]:
        parts.at(kind).close(wait=True)
        return list(parts.observer.ended)

    closing = background(close)
    assert not closing.done
    gate.release()
    ended = closing.result()
    parts.at(kind).close(wait=True)
    parts.at(kind).close()
    parts.conduit.get("a").emit(2)
    wait(circuit)

    assert ended == [parts.subscription]
    assert parts.observer.ended == ended
    assert parts.observer.values == [1]
    if kind in {"conduit", "bank"}:
        refused(ClosedFault, parts.observer.watch, parts.conduit)


@rule("RES-05")
@pytest.mark.parametrize("first", RESOURCES)
def test_a_subscription_that_ended_otherwise_may_be_closed_and_waited_for(
    first: str, circuit: Circuit, wait: Settle
) -> None:
    parts = Parts(circuit)

    parts.at(first).close()
    parts.subscription.close(wait=True)

    assert parts.observer.ended == [parts.subscription]


@rule("RES-06", "RESOURCE-04", "COMMON-VIS-04")
@pytest.mark.parametrize("kind", RESOURCES)
def test_a_close_that_waits_is_refused_in_the_own_context_and_closes_nothing(
    kind: str, circuit: Circuit, wait: Settle
) -> None:
    parts = Parts(circuit)
    errors: list[BaseException | None] = []
    pipe: Pipe[int] = circuit.pipe(lambda value: errors.append(noted(closing, value)))

    def closing(value: int) -> None:
        parts.at(kind).close(wait=True)

    pipe.emit(0)
    parts.conduit.get("a").emit(1)
    wait(circuit)

    assert [type(error) for error in errors] == [ContextError]
    assert parts.observer.values == [1]
    assert parts.observer.ended == []
    parts.observer.watch(parts.bank.get("banked"))
    parts.at(kind).close(wait=True)
    assert parts.subscription in parts.observer.ended


@rule("RES-02")
@derived
@pytest.mark.parametrize("kind", RESOURCES)
def test_a_resource_that_is_left_by_an_exception_is_closed_without_waiting(
    kind: str, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    parts = Parts(circuit)
    error = ValueError("raised in the block")

    def leave() -> None:
        with parts.at(kind):
            circuit.pipe(gate.hold).emit(0)
            gate.await_entered()
            raise error

    assert refused(ValueError, leave) is error
    assert not gate.released
    parts.conduit.get("a").emit(1)
    gate.release()
    wait(circuit)

    assert parts.observer.values == []
    assert parts.observer.ended == [parts.subscription]
