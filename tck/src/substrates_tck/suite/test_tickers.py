"""Tickers: numbers at a fixed rate, each in its turn; mostly on a clock that the test moves."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from time import perf_counter
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Capture,
    Circuit,
    Clock,
    ConfigurationError,
    Cortex,
    ManualClock,
    Pipe,
    ProviderMismatchFault,
    Resource,
    Source,
    Ticker,
    kernel,
)
from substrates_tck.cascades import cascade
from substrates_tck.fixtures import NewCircuit, NewEvent
from substrates_tck.foreigners import FOREIGN_PIPES, ForeignName
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Background, Gate, Settle

STEP_S = 0.01
"""The interval of most tickers here."""


@rule("TICKER-01", "RES-01", "CIRCUIT-FACT-02", "CIRCUIT-FACT-03", "COMMON-NAME-07", "COMMON-SUBJ-08")
def test_a_ticker_is_a_resource_of_its_circuit(cortex: Cortex, timed: Circuit) -> None:
    name = cortex.name("tck.ticker")
    unnamed = timed.ticker(STEP_S, timed.pipe())
    named = timed.ticker(name, STEP_S, timed.pipe())

    assert unnamed.subject.name is timed.subject.name
    assert named.subject.name is name
    assert unnamed.subject.id is not named.subject.id
    for ticker in (unnamed, named):
        assert isinstance(ticker, Ticker)
        assert isinstance(ticker, Resource)
        assert not isinstance(ticker, (Pipe, Source))
        assert ticker.subject.type is Ticker
        assert ticker.subject.enclosure is timed.subject
        assert ticker.subject is ticker.subject


@rule("TICKER-01")
def test_making_a_ticker_waits_for_nothing(
    timed: Circuit, clock: ManualClock, gate: Gate, background: Background, wait: Settle
) -> None:
    received: list[int] = []
    target: Pipe[int] = timed.pipe(received.append)
    timed.pipe(gate.hold).emit(0)
    gate.await_entered()

    background(timed.ticker, STEP_S, target).result()
    assert not gate.released
    clock.advance(STEP_S)
    gate.release()
    wait(timed)

    assert received == [0]


@rule("COMMON-FRESH-09", "CIRCUIT-FACT-01")
def test_every_ticker_counts_for_itself(timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    fast: list[int] = []
    slow: list[int] = []
    first = timed.ticker("tck.ticker", STEP_S, timed.pipe(fast.append))
    clock.advance(STEP_S)
    second = timed.ticker("tck.ticker", 2 * STEP_S, timed.pipe(slow.append))
    clock.advance(4 * STEP_S)
    wait(timed)

    assert first is not second
    assert fast == [0, 1, 2, 3, 4]
    assert slow == [0, 1]


@rule("TICKER-02")
@pytest.mark.parametrize("interval", [0.01, 1, timedelta(milliseconds=10), timedelta(days=1)], ids=str)
def test_ticks_count_up_from_zero(interval: Any, timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    received: list[int] = []
    timed.ticker(interval, timed.pipe(received.append))

    clock.advance(6 * interval)
    wait(timed)

    assert received == [0, 1, 2, 3, 4, 5]
    assert all(type(value) is int for value in received)


@rule("TICKER-03")
def test_the_first_tick_comes_after_one_interval(timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    received: list[int] = []
    timed.ticker(STEP_S, timed.pipe(received.append))
    wait(timed)
    assert received == []

    clock.advance(0.009)
    wait(timed)
    assert received == []

    clock.advance(0.001)
    wait(timed)
    assert received == [0]


@rule("TICKER-02", "TICKER-03", "CIRCUIT-EXEC-05")
def test_ticks_come_by_themselves_on_the_systems_clock(circuit: Circuit, new_event: NewEvent) -> None:
    received: list[int] = []
    enough = new_event("the ticker ticked 5 times")

    def receive(value: int) -> None:
        received.append(value)
        if value == 4:
            enough.set()

    ticker = circuit.ticker(0.01, circuit.pipe(receive))
    enough.wait()
    ticker.close(wait=True)

    assert received == list(range(len(received)))


@rule("TICKER-03", "TICKER-04")
@derived
def test_ticks_on_the_systems_clock_come_at_about_the_rate(circuit: Circuit, new_event: NewEvent) -> None:
    arrivals: list[float] = []
    enough = new_event("the ticker ticked 40 times")

    def receive(value: int) -> None:
        arrivals.append(perf_counter())
        if value == 39:
            enough.set()

    started = perf_counter()
    ticker = circuit.ticker(0.005, circuit.pipe(receive))
    enough.wait()
    ticker.close(wait=True)

    # Never ahead of the grid. How far behind is a matter of the machine: the bound alone limits it.
    for number, arrival in enumerate(arrivals, 1):
        assert arrival - started > 0.005 * number - 0.001, f"tick {number - 1} came early"


@rule("TICKER-04")
@derived
def test_a_late_wake_shortens_the_next_wait(timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    received: list[int] = []
    timed.ticker(STEP_S, timed.pipe(received.append))

    counts = []
    for jump, rest in ((0.013, 0.007), (0.019, 0.001), (0.015, 0.005)):
        clock.jump(jump)
        wait(timed)
        counts.append(len(received))
        clock.advance(rest)
        wait(timed)
        counts.append(len(received))

    assert counts == [1, 2, 3, 4, 5, 6]
    assert received == [0, 1, 2, 3, 4, 5]


@rule("TICKER-04")
@derived
def test_a_small_error_at_every_wake_does_not_accumulate(
    timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    timed.ticker(STEP_S, timed.pipe(received.append))

    for _ in range(700):
        clock.jump(0.003)
    wait(timed)

    # 2.1 s of 10 ms each: were each wake's lateness of up to 2 ms kept, 35 of these would be missing.
    assert received == list(range(210))


@rule("TICKER-05")
@derived
@pytest.mark.parametrize("stall", [0.1, 0.105, 3600.0])
def test_a_stall_gives_no_burst_and_leaves_no_gap(
    stall: float, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    timed.ticker(STEP_S, timed.pipe(received.append))
    clock.advance(STEP_S)
    wait(timed)
    assert received == [0]

    clock.jump(stall)
    wait(timed)
    assert received == [0, 1]

    clock.advance(0.009)
    wait(timed)
    assert received == [0, 1]

    clock.advance(0.001)
    wait(timed)
    assert received == [0, 1, 2]

    clock.advance(5 * STEP_S)
    wait(timed)
    assert received == list(range(8))


@rule("TICKER-06")
def test_a_tick_takes_its_place_in_the_ingress_of_its_circuit(
    timed: Circuit, clock: ManualClock, wait: Settle, gate: Gate
) -> None:
    log: list[Any] = []
    pipe: Pipe[int] = timed.pipe(log.append)
    timed.ticker(STEP_S, timed.pipe(lambda value: log.append(("tick", value))))
    timed.pipe(gate.hold).emit(0)
    gate.await_entered()

    pipe.emit(1)
    clock.advance(STEP_S)
    pipe.emit(2)
    clock.advance(STEP_S)
    pipe.emit(3)
    gate.release()
    wait(timed)

    assert log == [1, ("tick", 0), 2, ("tick", 1), 3]


@rule("TICKER-06", "CIRCUIT-TRANSIT-07")
def test_a_tick_does_not_get_between_the_parts_of_a_cascade(
    timed: Circuit, clock: ManualClock, wait: Settle, gate: Gate
) -> None:
    log: list[Any] = []
    pipe = cascade(timed, gate, log, held=2, last=4)
    timed.ticker(STEP_S, timed.pipe(lambda value: log.append(("tick", value))))
    pipe.emit(1)
    gate.await_entered()
    clock.advance(STEP_S)
    gate.release()
    wait(timed)

    assert log == [1, 2, 3, 4, ("tick", 0)]


@rule("TICKER-06")
def test_a_tick_for_another_circuit_passes_its_own_circuit_first(
    timed: Circuit, clock: ManualClock, new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    other = new_circuit("ticker.other")
    received: list[int] = []
    timed.ticker(STEP_S, other.pipe(received.append))
    timed.pipe(gate.hold).emit(0)
    gate.await_entered()

    clock.advance(3 * STEP_S)
    wait(other)
    assert received == []
    gate.release()
    wait(timed, other)

    assert received == [0, 1, 2]


@rule("TICKER-07")
def test_a_blocked_circuit_accumulates_ticks(
    timed: Circuit, clock: ManualClock, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        if value == 0:
            gate.hold()
        received.append(value)

    ticker = timed.ticker(STEP_S, timed.pipe(receive))
    clock.advance(STEP_S)
    gate.await_entered()
    clock.advance(100 * STEP_S)
    ticker.close()
    assert received == []
    gate.release()
    wait(timed)

    assert received == list(range(101))


@rule("TICKER-08", "CIRCUIT-EXEC-01", "COMMON-CTX-01", "CURRENT-06")
def test_a_target_runs_in_its_own_circuits_context(
    cortex: Cortex, timed: Circuit, clock: ManualClock, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("ticker.other")
    contexts: list[object] = []
    timed.ticker(STEP_S, timed.pipe(lambda value: contexts.append(cortex.current())))
    clock.advance(STEP_S)
    wait(timed)
    timed.ticker(2 * STEP_S, other.pipe(lambda value: contexts.append(cortex.current())))
    clock.advance(STEP_S)
    wait(timed)
    clock.advance(STEP_S)
    wait(timed, other)

    assert contexts.count(timed.current) == 3
    assert contexts.count(other.current) == 1
    assert len(contexts) == 4


@rule("TICKER-09", "CAPTURE-CTX-07", "CURRENT-08")
@pytest.mark.parametrize("place", ["own circuit", "another circuit"])
def test_the_context_that_emits_a_tick_is_the_circuits(
    place: str, timed: Circuit, clock: ManualClock, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("ticker.other") if place == "another circuit" else timed
    captures: list[Capture[int]] = []
    endpoint: Pipe[Capture[int]] = other.pipe(captures.append)
    timed.ticker(STEP_S, other.sink(endpoint).get("ticks"))

    clock.advance(2 * STEP_S)
    wait(timed, other)

    assert [capture.emission for capture in captures] == [0, 1]
    assert all(capture.current is timed.current.subject for capture in captures)


@rule("TICKER-10", "ISO-01")
def test_a_target_that_fails_does_not_stop_the_ticker(
    timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    calls: list[int] = []

    def fail(value: int) -> None:
        calls.append(value)
        raise ValueError("tck: the target of a ticker fails")

    timed.ticker(STEP_S, timed.pipe(fail))
    for _ in range(2):
        clock.advance(4 * STEP_S)
        wait(timed)

    assert calls == list(range(8))


INTERVALS: dict[str, Any] = {
    "0": 0,
    "0.0": 0.0,
    "-1": -1,
    "-1ms": timedelta(milliseconds=-1),
    "0s": timedelta(0),
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "too long": 1e30,
}
FORMS = pytest.mark.parametrize("form", [(), ("n",)], ids=["unnamed", "named"])


@rule("TICKER-13", "ERR-ARG-01")
@FORMS
@pytest.mark.parametrize("interval", INTERVALS.values(), ids=INTERVALS)
def test_an_interval_out_of_range_is_refused(
    interval: Any, form: tuple[Any, ...], timed: Any, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    target = timed.pipe(received.append)

    with pytest.raises(ConfigurationError):
        timed.ticker(*form, interval, target)

    clock.advance(1)
    target.emit(7)
    wait(timed)
    assert received == [7]


@rule("TICKER-13", "ERR-CAT-01")
@derived
@FORMS
@pytest.mark.parametrize("interval", ["1", True, object(), [1]], ids=["text", "bool", "object", "list"])
def test_an_interval_of_another_kind_is_a_type_error(
    interval: Any, form: tuple[Any, ...], timed: Any
) -> None:
    with pytest.raises(TypeError) as refused:
        timed.ticker(*form, interval, timed.pipe())

    assert not isinstance(refused.value, AbsentValueError)


ABSENT: dict[str, Callable[[Any, Any], object]] = {
    "ticker(None, target)": lambda circuit, target: circuit.ticker(None, target),
    "ticker(interval, None)": lambda circuit, target: circuit.ticker(1, None),
    "ticker(None, interval, target)": lambda circuit, target: circuit.ticker(None, 1, target),
    "ticker(name, None, target)": lambda circuit, target: circuit.ticker("n", None, target),
    "ticker(name, interval, None)": lambda circuit, target: circuit.ticker("n", 1, None),
}


@rule("TICKER-13", "CIRCUIT-FACT-04", "ERR-ABSENT-01")
@pytest.mark.parametrize("call", ABSENT.values(), ids=ABSENT)
def test_an_absent_argument_is_refused(
    call: Callable[[Any, Any], object], timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    target = timed.pipe(received.append)

    with pytest.raises(AbsentValueError):
        call(timed, target)

    clock.advance(10)
    target.emit(7)
    wait(timed)
    assert received == [7]


@rule("TICKER-13", "ERR-PROV-01", "SPI-MIX-13", "ERR-FAULT-02", "ERR-FAULT-03")
@FORMS
@pytest.mark.parametrize("kind", FOREIGN_PIPES, ids=lambda kind: kind.__name__)
def test_a_target_of_another_provider_is_refused(
    kind: Callable[[Any], Any], form: tuple[Any, ...], timed: Any, clock: ManualClock, wait: Settle
) -> None:
    foreign = kind(timed.pipe().subject)

    with pytest.raises(ProviderMismatchFault) as refused:
        timed.ticker(*form, STEP_S, foreign)

    assert refused.value.subject is timed.subject
    assert refused.value.operation == "ticker"
    clock.advance(STEP_S)
    wait(timed)
    assert foreign.received == []


@rule("TICKER-13", "ERR-PROV-01")
def test_a_name_of_another_provider_is_refused(timed: Circuit) -> None:
    with pytest.raises(ProviderMismatchFault) as refused:
        timed.ticker(ForeignName("foreign"), STEP_S, timed.pipe())

    assert refused.value.subject is timed.subject
    assert refused.value.operation == "ticker"


@rule("TICKER-14")
def test_a_ticker_may_feed_a_cell(timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    cell = timed.cell(0)
    timed.ticker(STEP_S, cell.pipe())

    clock.advance(3 * STEP_S)
    wait(timed)

    assert cell.get() == 2


TARGETS: dict[str, Callable[[Cortex, Circuit, Pipe[int]], Any]] = {
    "fan-out": lambda cortex, circuit, pipe: circuit.pipe([pipe, circuit.pipe()]),
    "int64": lambda cortex, circuit, pipe: circuit.pipe(pipe.emit, lane=kernel.int64),
    "float64": lambda cortex, circuit, pipe: circuit.pipe(pipe.emit, lane=kernel.float64),
    "fiber": lambda cortex, circuit, pipe: cortex.fiber(int).above(-1).pipe(pipe),
    "flow": lambda cortex, circuit, pipe: cortex.flow(int).map(lambda value: value).pipe(pipe),
    "pool": lambda cortex, circuit, pipe: cortex.pool(lambda name: pipe).get("a"),
}


@rule("TICKER-14")
@derived
@pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
def test_a_ticker_may_feed_any_pipe(
    make: Callable[[Cortex, Circuit, Pipe[int]], Any],
    cortex: Cortex,
    timed: Circuit,
    clock: ManualClock,
    wait: Settle,
) -> None:
    received: list[int] = []
    timed.ticker(STEP_S, make(cortex, timed, timed.pipe(received.append)))

    clock.advance(3 * STEP_S)
    wait(timed)

    assert received == [0, 1, 2]


@rule("TICKER-02")
@derived
def test_circuits_may_share_a_clock(clock: ManualClock, new_circuit: NewCircuit, wait: Settle) -> None:
    circuits = [new_circuit("tck.timed", clock=clock) for _ in range(3)]
    received: list[list[int]] = [[], [], []]
    for circuit, values in zip(circuits, received, strict=True):
        circuit.ticker(STEP_S, circuit.pipe(values.append))

    clock.advance(STEP_S)
    circuits[0].close()
    clock.advance(STEP_S)
    wait(*circuits)

    assert received == [[0], [0, 1], [0, 1]]


@rule("TICKER-03")
@derived
def test_a_ticker_made_later_starts_then(timed: Circuit, clock: Clock, wait: Settle) -> None:
    assert isinstance(clock, ManualClock)
    received: list[int] = []
    clock.advance(0.995)
    timed.ticker(STEP_S, timed.pipe(received.append))

    clock.advance(0.009)
    wait(timed)
    assert received == []
    clock.advance(0.001)
    wait(timed)
    assert received == [0]


@rule("TICKER-06", "CIRCUIT-TRANSIT-02")
@derived
def test_what_a_tick_causes_is_done_before_the_next_tick(
    timed: Circuit, clock: ManualClock, wait: Settle, gate: Gate
) -> None:
    log: list[Any] = []
    follow: Pipe[str] = timed.pipe(log.append)

    def receive(value: int) -> None:
        log.append(value)
        follow.emit(f"after {value}")

    timed.ticker(STEP_S, timed.pipe(receive))
    timed.pipe(gate.hold).emit(0)
    gate.await_entered()
    clock.advance(2 * STEP_S)
    gate.release()
    wait(timed)

    assert log == [0, "after 0", 1, "after 1"]
