"""Processing time: one reading of the circuit's clock for each value from outside and all that it causes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from substrates import Circuit, Cortex, ManualClock, Pipe
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import copied, ms
from substrates_tck.waits import Gate, Settle

Head = Callable[[timedelta], Pipe[Any]]


@pytest.fixture
def received() -> list[list[Any]]:
    """Return what the windows of `head` had."""
    return []


@pytest.fixture
def head(cortex: Cortex, timed: Circuit, received: list[list[Any]]) -> Head:
    """Return a function that makes a pipe into windows of a duration, on `timed`."""

    def make(duration: timedelta) -> Pipe[Any]:
        return copied(cortex.flow().window(duration, 10)).pipe(timed.pipe(received.append))

    return make


@rule("CIRCUIT-TIME-01")
def test_what_a_value_causes_has_its_time_however_long_that_takes(
    head: Head, timed: Circuit, clock: ManualClock, wait: Settle, received: list[list[Any]]
) -> None:
    window = head(ms(5))

    def follow(value: int) -> None:
        clock.advance(ms(25))
        window.emit(value)

    later: Pipe[int] = timed.pipe(follow)

    def begin(_: object) -> None:
        window.emit(1)
        later.emit(2)

    timed.pipe(begin).emit("begin")
    wait(timed)

    assert received == [[1], [1, 2]]


@rule("CIRCUIT-TIME-01")
@derived
def test_the_time_stays_over_any_number_of_hops(
    head: Head, timed: Circuit, clock: ManualClock, wait: Settle, received: list[list[Any]]
) -> None:
    window = head(ms(5))

    def hop(value: int) -> None:
        window.emit(value)
        clock.advance(ms(25))
        if value < 8:
            hops.emit(value + 1)

    hops: Pipe[int] = timed.pipe(hop)
    hops.emit(1)
    wait(timed)

    assert received == [list(range(1, last + 1)) for last in range(1, 9)]


@rule("CIRCUIT-TIME-01")
@derived
def test_all_operators_that_a_value_reaches_share_its_time(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    lists: list[list[list[int]]] = [[], []]
    flow = copied(cortex.flow(int).window(ms(10), 10))
    one, two = (flow.pipe(timed.pipe(received.append)) for received in lists)

    def hop(value: int) -> None:
        clock.advance(ms(5))
        two.emit(value)

    hops: Pipe[int] = timed.pipe(hop)

    def begin(value: int) -> None:
        one.emit(value)
        hops.emit(value)

    start: Pipe[int] = timed.pipe(begin)
    start.emit(1)
    wait(timed)
    clock.advance(ms(5))
    start.emit(2)
    wait(timed)

    assert lists == [[[1], [1, 2]]] * 2


@rule("CIRCUIT-TIME-01")
@derived
def test_operators_of_every_kind_share_the_time_of_a_value(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    sampled: list[int] = []
    beaten: list[int] = []
    every = cortex.fiber(int).every(ms(10)).pipe(timed.pipe(sampled.append))
    heartbeat = cortex.fiber(int).heartbeat(ms(10)).pipe(timed.pipe(beaten.append))

    def hop(left: int) -> None:
        for pipe in (every, heartbeat):
            pipe.emit(7)
        clock.advance(ms(25))
        if left:
            hops.emit(left - 1)

    hops: Pipe[int] = timed.pipe(hop)
    hops.emit(3)
    wait(timed)
    assert (sampled, beaten) == ([], [7])

    hops.emit(0)
    wait(timed)
    assert (sampled, beaten) == ([7], [7, 7])


@rule("CIRCUIT-TIME-02")
@derived
def test_each_value_of_a_caller_has_a_time_of_its_own(
    head: Head, timed: Circuit, clock: ManualClock, wait: Settle, received: list[list[Any]]
) -> None:
    window = head(ms(5))

    window.emit(1)
    wait(timed)
    clock.advance(ms(25))
    window.emit(2)
    wait(timed)

    assert received == [[1], [2]]


@rule("CIRCUIT-TIME-02")
@derived
def test_each_value_that_waits_outside_has_a_time_of_its_own(
    head: Head, timed: Circuit, clock: ManualClock, wait: Settle, gate: Gate, received: list[list[Any]]
) -> None:
    window = head(ms(5))

    def pass_on(value: int) -> None:
        window.emit(value)
        clock.advance(ms(25))

    start: Pipe[int] = timed.pipe(pass_on)
    timed.pipe(gate.hold).emit("hold")
    gate.await_entered()
    for value in (1, 2, 3):
        start.emit(value)
    gate.release()
    wait(timed)

    assert received == [[1], [2], [3]]


@rule("CIRCUIT-TIME-02")
@derived
def test_each_tick_has_a_time_of_its_own(
    head: Head, timed: Circuit, clock: ManualClock, wait: Settle, received: list[list[Any]]
) -> None:
    timed.ticker(ms(25), head(ms(5)))

    for _ in range(3):
        clock.advance(ms(25))
        wait(timed)

    assert received == [[0], [1], [2]]


@rule("CIRCUIT-TIME-02")
@derived
def test_each_value_of_another_circuit_has_a_time_of_its_own(
    head: Head,
    timed: Circuit,
    new_circuit: NewCircuit,
    clock: ManualClock,
    wait: Settle,
    received: list[list[Any]],
) -> None:
    other = new_circuit("time.other")
    window = head(ms(5))
    failures: list[BaseException] = []

    def send(value: int) -> None:
        try:
            window.emit(value)
            wait(timed)
            clock.advance(ms(25))
            window.emit(value + 1)
        except BaseException as error:
            failures.append(error)

    other.pipe(send).emit(1)
    wait(other, timed)

    assert failures == []
    assert received == [[1], [2]]


@rule("CIRCUIT-TIME-02")
@derived
def test_a_value_that_goes_by_another_circuit_comes_back_with_a_time_of_its_own(
    head: Head,
    timed: Circuit,
    new_circuit: NewCircuit,
    clock: ManualClock,
    wait: Settle,
    received: list[list[Any]],
) -> None:
    other = new_circuit("time.other")
    window = head(ms(5))
    failures: list[BaseException] = []

    def send_back(value: int) -> None:
        try:
            wait(timed)
            clock.advance(ms(25))
            window.emit(value + 1)
        except BaseException as error:
            failures.append(error)

    away: Pipe[int] = other.pipe(send_back)

    def begin(value: int) -> None:
        window.emit(value)
        away.emit(value)

    timed.pipe(begin).emit(1)
    wait(timed, other, timed)

    assert failures == []
    assert received == [[1], [2]]


@rule("CIRCUIT-TIME-03")
@derived
def test_the_time_of_a_value_is_when_it_is_processed_not_when_it_was_emitted(
    head: Head, timed: Circuit, clock: ManualClock, wait: Settle, gate: Gate, received: list[list[Any]]
) -> None:
    window = head(ms(200))
    timed.pipe(gate.hold).emit("hold")
    gate.await_entered()

    window.emit(1)
    clock.advance(ms(400))
    window.emit(2)
    gate.release()
    wait(timed)

    assert received == [[1], [1, 2]]


@rule("CIRCUIT-TIME-03")
@derived
def test_a_value_that_waited_long_comes_later_than_one_that_was_processed_before(
    head: Head, timed: Circuit, clock: ManualClock, wait: Settle, gate: Gate, received: list[list[Any]]
) -> None:
    window = head(ms(200))
    window.emit(1)
    wait(timed)
    timed.pipe(gate.hold).emit("hold")
    gate.await_entered()

    window.emit(2)
    clock.advance(ms(400))
    gate.release()
    wait(timed)

    assert received == [[1], [2]]


@rule("CIRCUIT-TIME-01")
@derived
def test_a_circuit_without_a_clock_has_the_systems(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[list[int]] = []
    flow = cortex.flow(int)
    longest = copied(flow.window(timedelta(days=1), 10)).pipe(circuit.pipe(received.append))

    longest.emit(1)
    wait(circuit)
    longest.emit(2)
    wait(circuit)

    assert received == [[1], [1, 2]]


@rule("CIRCUIT-TIME-02")
@derived
def test_the_systems_clock_goes_on_between_values(
    cortex: Cortex, circuit: Circuit, wait: Settle, bound_s: float
) -> None:
    sizes: list[int] = []
    flow = cortex.flow(int).window(timedelta(microseconds=1), 10).map(lambda window: window.size())
    head = flow.pipe(circuit.pipe(sizes.append))

    # Settling takes longer than a microsecond, on whatever machine.
    for value in range(20):
        head.emit(value)
        wait(circuit)

    assert 1 in sizes[1:]
