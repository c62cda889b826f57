"""Confinement: client code runs in its circuit's one context, one call at a time, and by itself."""

from __future__ import annotations

import threading
from time import sleep
from typing import Any

from substrates import Circuit, Cortex, Current, Pipe, Registrar, Subject, Subscription
from substrates_tck.fixtures import NewCircuit, NewEvent
from substrates_tck.marks import derived, each_lane, members, rule
from substrates_tck.waits import Background, Gate, Settle, Together

pytestmark = members


@rule("CIRCUIT-EXEC-01", "CURRENT-06")
@each_lane
def test_a_receptor_runs_in_its_circuits_context_and_not_the_callers(
    lane: object, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[Current] = []
    pipe: Pipe[Any] = circuit.pipe(lambda value: seen.append(cortex.current()), lane=lane)

    for number in range(10):
        pipe.emit(number)
    wait(circuit)

    assert len(seen) == 10
    assert all(current is circuit.current for current in seen)
    assert cortex.current() is not circuit.current


@rule("CIRCUIT-EXEC-01")
def test_a_calling_thread_never_runs_a_receptor(circuit: Circuit, wait: Settle) -> None:
    callers: list[int] = []
    own = threading.get_ident()
    pipe: Pipe[Any] = circuit.pipe(lambda value: callers.append(threading.get_ident()))

    for number in range(200):
        pipe.emit(number)
        wait(circuit)
    circuit.close()
    wait(circuit)

    assert len(callers) == 200
    assert own not in callers, f"{callers.count(own)} of 200 values were received on the caller's thread"


@rule("CIRCUIT-EXEC-01")
def test_closing_and_waiting_do_not_run_receptors_on_the_caller(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    callers: list[int] = []
    held = circuit.pipe(gate.hold)
    pipe: Pipe[Any] = circuit.pipe(lambda value: callers.append(threading.get_ident()))

    held.emit(0)
    gate.await_entered()
    for number in range(20):
        pipe.emit(number)
    gate.release()
    circuit.close(wait=True)

    assert len(callers) == 20
    assert threading.get_ident() not in callers


@rule("CIRCUIT-EXEC-02")
def test_at_most_one_receptor_of_a_circuit_runs_at_a_time(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    running = most = 0

    def receive(value: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        sleep(0.001)
        running -= 1

    pipes = [circuit.pipe(receive) for _ in range(4)]

    def produce(producer: int) -> None:
        for number in range(50):
            pipes[producer].emit(number)

    together(4, produce)
    wait(circuit)

    assert most == 1
    assert running == 0


@rule("CIRCUIT-EXEC-02", "RECEPTOR-02")
def test_state_of_a_circuit_needs_no_lock(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    count = 0

    def receive(value: int) -> None:
        nonlocal count
        count += 1

    pipes = [circuit.pipe(receive), circuit.pipe("exec.named", receive)]

    def produce(producer: int) -> None:
        for number in range(1000):
            pipes[producer % 2].emit(number)

    together(8, produce)
    wait(circuit)

    assert count == 8000


@rule("CIRCUIT-EXEC-03", "PIPE-CTX-01")
def test_a_circuit_has_one_context_for_life_and_no_other_has_it(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    first, second = new_circuit("exec.first"), new_circuit("exec.second")
    seen_first: set[Current] = set()
    seen_second: set[Current] = set()
    pipes: list[Pipe[int]] = [
        first.pipe(lambda value: seen_first.add(cortex.current())),
        second.pipe(lambda value: seen_second.add(cortex.current())),
    ]

    for number in range(10):
        for pipe in pipes:
            pipe.emit(number)
        wait(first, second)

    assert seen_first == {first.current}
    assert seen_second == {second.current}
    assert not seen_first & seen_second
    assert cortex.current() not in seen_first | seen_second


@rule("CIRCUIT-EXEC-04", "RECEPTOR-04")
@derived
def test_a_blocked_circuit_does_not_block_another(new_circuit: NewCircuit, wait: Settle, gate: Gate) -> None:
    blocked, free = new_circuit("exec.blocked"), new_circuit("exec.free")
    received: list[int] = []
    blocked.pipe(gate.hold).emit(0)
    gate.await_entered()

    pipe = free.pipe(received.append)
    pipe.emit(1)
    wait(free)

    assert received == [1]
    assert not gate.released


@rule("CIRCUIT-EXEC-04")
@derived
def test_eight_blocked_circuits_do_not_block_a_ninth(
    new_circuit: NewCircuit, wait: Settle, gate: Gate, bound_s: float
) -> None:
    received: list[int] = []
    entered = threading.Semaphore(0)

    def block(value: int) -> None:
        entered.release()
        gate.hold()

    for _ in range(8):
        new_circuit().pipe(block).emit(0)
    assert all(entered.acquire(timeout=bound_s) for _ in range(8))
    free = new_circuit()
    free.pipe(received.append).emit(1)
    wait(free)

    assert received == [1]


@rule("CIRCUIT-EXEC-02", "CIRCUIT-EXEC-03", "CIRCUIT-TRANSIT-01")
@each_lane
def test_the_transit_of_a_blocked_circuit_is_not_taken_up_by_another(
    lane: object, cortex: Cortex, new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    blocked, others = new_circuit(), [new_circuit() for _ in range(3)]
    log: list[tuple[int, Current]] = []

    def receive(value: int) -> None:
        log.append((int(value), cortex.current()))
        if value == 1:
            for number in range(2, 6):
                pipe.emit(number)
            gate.hold()

    pipe: Pipe[int] = blocked.pipe(receive, lane=lane)
    free: list[Pipe[int]] = [other.pipe(lane=lane) for other in others]
    for turn in range(3):  # each circuit has run before, wherever that was
        for each in (*free, pipe):
            each.emit(10 + turn)
        wait(*others, blocked)
    log.clear()

    pipe.emit(1)
    gate.await_entered()
    for each in free:
        each.emit(1)
    wait(*others)
    before_release = list(log)
    gate.release()
    wait(blocked)

    assert before_release == [(1, blocked.current)]
    assert log == [(number, blocked.current) for number in range(1, 6)]


@rule("CIRCUIT-EXEC-05")
def test_work_is_done_without_anybody_waiting(circuit: Circuit, new_event: NewEvent) -> None:
    received = new_event("the value was received")
    pipe = circuit.pipe(received.set)

    pipe.emit(1)

    received.wait()


@rule("CIRCUIT-EXEC-05")
def test_a_circuit_that_has_been_idle_wakes_up_again(circuit: Circuit, new_event: NewEvent) -> None:
    for round_ in range(100):
        received = new_event(f"the value of round {round_} was received")
        circuit.pipe(received.set).emit(round_)
        received.wait()


@rule("CIRCUIT-EXEC-05")
def test_no_wake_up_is_lost_between_two_circuits_that_hand_a_value_back_and_forth(
    new_circuit: NewCircuit, new_event: NewEvent, interleaved: None
) -> None:
    first, second = new_circuit("exec.ping"), new_circuit("exec.pong")
    over = new_event("the value went back and forth 5000 times")

    def receive_first(left: int) -> None:
        if left:
            pong.emit(left - 1)
        else:
            over.set()

    ping: Pipe[int] = first.pipe(receive_first)
    pong: Pipe[int] = second.pipe(ping.emit)
    ping.emit(5000)

    over.wait()


@rule("CIRCUIT-EXEC-05")
def test_no_wake_up_is_lost_when_emissions_meet_the_moment_of_falling_asleep(
    circuit: Circuit, background: Background, interleaved: None, bound_s: float
) -> None:
    rounds = 3000
    turn = threading.Semaphore(0)
    pipe: Pipe[Any] = circuit.pipe(lambda value: turn.release())

    def play() -> int:
        for number in range(rounds):
            pipe.emit(number)
            if not turn.acquire(timeout=bound_s / 2):
                return number
        return rounds

    assert background(play).result() == rounds, "an emission was never received"


@rule("CIRCUIT-EXEC-01", "CURRENT-06", "COMMON-CTX-01")
def test_every_kind_of_callback_runs_in_its_circuits_context_and_on_no_callers_thread(
    cortex: Cortex, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    seen: list[tuple[str, Current, int]] = []

    def note(kind: str) -> None:
        seen.append((kind, cortex.current(), threading.get_ident()))

    def noting(kind: str, result: Any = True) -> Any:
        def call(*arguments: object) -> Any:
            note(kind)
            return result

        return call

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        note("subscriber callback")
        registrar.register(noting("receptor"))
        registrar.register(circuit.pipe(noting("registered pipe")))

    conduit = circuit.conduit(int)
    basin, port = circuit.basin(int, 2), circuit.port(0)
    subscription = conduit.subscribe(circuit.subscriber("context", callback), noting("close callback"))
    fiber = cortex.fiber(int).guard(noting("fiber operator")).pipe(circuit.pipe())
    flow = cortex.flow(int).map(noting("flow operator", 1)).pipe(circuit.pipe())
    held = circuit.pipe(gate.hold)
    held.emit(0)
    gate.await_entered()

    conduit.get("a").emit(1)
    fiber.emit(1)
    flow.emit(1)
    port.update(noting("port transform", 1))
    basin.pipe().emit(1)
    basin.drain(circuit.pipe(noting("drained")))
    subscription.close()
    gate.release()
    circuit.pulse()
    wait(circuit)
    circuit.close(wait=True)

    kinds = {
        *("subscriber callback", "receptor", "registered pipe", "close callback"),
        *("fiber operator", "flow operator", "port transform", "drained"),
    }
    assert sorted(kind for kind, _, _ in seen) == sorted(kinds)
    for kind, current, thread in seen:
        assert current is circuit.current, kind
        assert thread != threading.get_ident(), kind


@rule("CIRCUIT-EXEC-02", "COMMON-CTX-01")
def test_callbacks_of_every_kind_run_one_at_a_time(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    running: list[str] = []
    overlaps: list[tuple[str, ...]] = []

    def busy(kind: str) -> None:
        running.append(kind)
        sum(range(200))
        if len(running) > 1:
            overlaps.append(tuple(running))
        running.remove(kind)

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        busy("callback")
        registrar.register(lambda value: busy("receptor"))

    conduit = circuit.conduit(int)
    pipe: Pipe[int] = circuit.pipe(lambda value: busy("pipe"))

    def ended(subscription: Subscription) -> None:
        busy("close callback")

    def act(thread: int) -> None:
        for number in range(20):
            subscription = conduit.subscribe(circuit.subscriber("busy", callback), ended)
            conduit.get(f"channel.{thread}").emit(number)
            pipe.emit(number)
            subscription.close()

    together(4, act)
    wait(circuit)

    assert overlaps == []


@rule("CURRENT-06", "COMMON-CTX-01", "SUBSCRIBER-LAZY-03")
def test_a_subscribers_callback_runs_in_the_context_whoever_emits(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle, background: Background
) -> None:
    circuit, other = new_circuit("context.own"), new_circuit("context.other")
    contexts: list[Current] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        contexts.append(cortex.current())

    conduit = circuit.conduit(int)
    conduit.subscribe(circuit.subscriber("context", callback))
    forward = other.pipe(conduit.get("from.circuit").emit)
    conduit.get("from.caller").emit(1)
    background(conduit.get("from.thread").emit, 1).result()
    forward.emit(1)
    wait(other, circuit)

    assert contexts == [circuit.current] * 3
    assert circuit.current not in (other.current, cortex.current())
