"""The end of a ticker: its own, its circuit's, and not before."""

from __future__ import annotations

import gc
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from substrates import (
    Circuit,
    ContextError,
    ManualClock,
)
from substrates_tck.fixtures import NewCircuit, Until
from substrates_tck.marks import derived, rule
from substrates_tck.outcomes import inside
from substrates_tck.waits import Background, Gate, Settle

STEP_S = 0.01
"""The interval of most tickers here."""


@rule("TICKER-03")
@pytest.mark.parametrize("interval", [timedelta(days=1), timedelta(days=36500), 1e9], ids=str)
def test_a_very_long_interval_does_not_delay_close(
    interval: Any, circuit: Circuit, background: Background
) -> None:
    ticker = circuit.ticker(interval, circuit.pipe())

    background(lambda: ticker.close(wait=True)).result()
    background(lambda: circuit.close(wait=True)).result()


@rule("TICKER-03")
def test_closing_the_circuit_of_a_ticker_that_sleeps_for_a_day_is_prompt(
    circuit: Circuit, background: Background
) -> None:
    circuit.ticker(timedelta(days=1), circuit.pipe())

    background(lambda: circuit.close(wait=True)).result()


@rule("TICKER-07", "CIRCUIT-CLOSE-05")
@derived
def test_ticks_accepted_before_the_circuits_close_arrive(
    timed: Circuit, clock: ManualClock, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []
    timed.ticker(STEP_S, timed.pipe(received.append))
    timed.pipe(gate.hold).emit(0)
    gate.await_entered()

    clock.advance(5 * STEP_S)
    timed.close()
    clock.advance(5 * STEP_S)
    gate.release()
    wait(timed)

    assert received == [0, 1, 2, 3, 4]


@rule("TICKER-11", "RES-02", "RES-03")
def test_a_closed_ticker_ticks_no_more(timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    received: list[int] = []
    other: list[int] = []
    ticker = timed.ticker(STEP_S, timed.pipe(received.append))
    timed.ticker(STEP_S, timed.pipe(other.append))
    clock.advance(4 * STEP_S)
    ticker.close()
    wait(timed)
    assert received == [0, 1, 2, 3]

    clock.advance(4 * STEP_S)
    ticker.close()
    wait(timed)

    assert received == [0, 1, 2, 3]
    assert other == list(range(8))


@rule("TICKER-11")
@derived
def test_no_tick_is_accepted_once_close_has_returned(
    timed: Circuit, clock: ManualClock, wait: Settle, background: Background, interleaved: None
) -> None:
    def run() -> None:
        for _ in range(200):
            clock.advance(STEP_S)

    for _ in range(10):
        received: list[int] = []
        ticker = timed.ticker(STEP_S, timed.pipe(received.append))
        running = background(run)
        while not received and not running.done:
            pass
        ticker.close()
        wait(timed)
        count = len(received)
        running.result()
        wait(timed)

        assert len(received) == count
        assert received == list(range(count))


@rule("TICKER-11")
@derived
def test_no_tick_is_accepted_once_close_has_returned_on_the_systems_clock(
    circuit: Circuit, wait: Settle, eventually: Until
) -> None:
    def ticked(values: list[int]) -> None:
        eventually(lambda: len(values) > 3, "the ticker ticked")

    for _ in range(5):
        received: list[int] = []
        ticker = circuit.ticker(0.0005, circuit.pipe(received.append))
        ticked(received)
        ticker.close()
        wait(circuit)
        count = len(received)
        # In the time in which another ticker ticks, the closed one would too.
        later: list[int] = []
        with circuit.ticker(0.002, circuit.pipe(later.append)):
            ticked(later)

        assert len(received) == count


@rule("TICKER-11", "TICKER-01")
@derived
def test_a_ticker_may_be_closed_by_its_own_target(timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        if value == 2:
            ticker.close()

    ticker = timed.ticker(STEP_S, timed.pipe(receive))
    for _ in range(6):
        clock.advance(STEP_S)
        wait(timed)

    assert received == [0, 1, 2]


@rule("TICKER-12", "CIRCUIT-AWAIT-08", "RES-10")
def test_the_end_of_the_circuit_is_the_end_of_its_tickers(
    timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    tickers = [timed.ticker(STEP_S, timed.pipe(received.append)) for _ in range(2)]
    clock.advance(3 * STEP_S)
    wait(timed)
    assert sorted(received) == [0, 0, 1, 1, 2, 2]

    timed.close()
    wait(timed)
    count = len(received)
    clock.advance(5 * STEP_S)
    wait(timed)
    for ticker in tickers:
        ticker.close()
        ticker.close(wait=True)

    assert len(received) == count


@rule("TICKER-12")
def test_the_end_of_the_circuit_stops_ticks_for_an_open_circuit(
    timed: Circuit, clock: ManualClock, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("ticker.other")
    received: list[int] = []
    timed.ticker(STEP_S, other.pipe(received.append))
    clock.advance(STEP_S)
    wait(timed, other)

    timed.close()
    wait(timed)
    clock.advance(5 * STEP_S)
    wait(other)

    assert received == [0]


class Counting(ManualClock):
    """Knows how many calls it has been asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def call_at(self, due_ns: int, callback: Callable[[], object], /) -> Callable[[], object]:
        self.asked += 1
        return super().call_at(due_ns, callback)


@rule("TICKER-15")
@derived
def test_a_ticker_ends_by_itself_with_its_circuit(new_circuit: NewCircuit, wait: Settle) -> None:
    clock = Counting()
    circuit = new_circuit("tck.timed", clock=clock)
    circuit.ticker(STEP_S, circuit.pipe())
    clock.advance(3 * STEP_S)
    wait(circuit)
    assert clock.asked >= 3

    circuit.close()
    wait(circuit)
    clock.advance(STEP_S)
    asked = clock.asked
    clock.advance(50 * STEP_S)

    assert clock.asked == asked


@rule("TICKER-15", "TICKER-11")
@derived
def test_a_closed_ticker_asks_its_clock_for_no_more_calls(new_circuit: NewCircuit, wait: Settle) -> None:
    clock = Counting()
    circuit = new_circuit("tck.timed", clock=clock)
    ticker = circuit.ticker(STEP_S, circuit.pipe())
    clock.advance(3 * STEP_S)
    ticker.close()
    wait(circuit)
    clock.advance(STEP_S)
    asked = clock.asked
    clock.advance(50 * STEP_S)

    assert clock.asked == asked


@rule("RES-09", "RES-05")
def test_close_and_wait_of_a_ticker_leaves_no_tick_behind(
    timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    ticker = timed.ticker(STEP_S, timed.pipe(received.append))
    clock.advance(STEP_S)
    ticker.close(wait=True)
    assert received == [0]

    clock.advance(6 * STEP_S)
    ticker.close(wait=True)
    wait(timed)

    assert received == [0]


@rule("RES-06")
def test_close_and_wait_of_a_ticker_in_the_own_context_raises_and_closes_nothing(
    timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    ticker = timed.ticker(STEP_S, timed.pipe(received.append))

    error = inside(timed, wait, lambda: ticker.close(wait=True))
    clock.advance(2 * STEP_S)
    wait(timed)

    assert type(error) is ContextError
    assert received == [0, 1]


@rule("RES-02")
@derived
def test_a_ticker_is_a_context_manager(timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    received: list[int] = []

    with timed.ticker(STEP_S, timed.pipe(received.append)):
        clock.advance(2 * STEP_S)
    assert received == [0, 1]

    clock.advance(2 * STEP_S)
    wait(timed)
    assert received == [0, 1]


@rule("SHAPE-TENURE-09")
@derived
def test_a_ticker_that_nobody_keeps_goes_on(timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    received: list[int] = []
    timed.ticker(STEP_S, timed.pipe(received.append))
    gc.collect()

    clock.advance(3 * STEP_S)
    wait(timed)

    assert received == [0, 1, 2]
