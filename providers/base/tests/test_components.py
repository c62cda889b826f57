"""What the TCK does not see of a circuit's components: who holds whom, the system's clock, how pipes join."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic, sleep
from typing import Any

import pytest

import substrates
from substrates import Capture, Cortex, Fault, ManualClock, Ticker, kernel
from substrates_base import Circuit
from substrates_base.clocks import FEW, SystemClock

BOUND_S = 10.0

INT64 = kernel.int64


@pytest.fixture
def cortex(provider: str) -> Cortex:
    return substrates.cortex(provider)


@pytest.fixture
def circuit(cortex: Cortex) -> Iterator[Circuit]:
    circuit = cortex.circuit("components")
    assert isinstance(circuit, Circuit)
    yield circuit
    circuit.close()
    circuit.wait(BOUND_S)


@pytest.fixture
def clock() -> Iterator[SystemClock]:
    clock = SystemClock()
    yield clock
    clock.stop()


def until(condition: Callable[[], object], what: str) -> None:
    deadline = monotonic() + BOUND_S
    while not condition():
        assert monotonic() < deadline, f"not within {BOUND_S:g} s: {what}"
        sleep(0.001)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cyclic garbage collector out, so that only what is in no cycle goes away."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# -- who holds whom


@pytest.mark.parametrize(
    "make",
    [
        lambda circuit: circuit.cell(0),
        lambda circuit: circuit.basin(1),
        lambda circuit: circuit.port(0),
        lambda circuit: circuit.pin(0),
        lambda circuit: circuit.sink(circuit.pipe()),
    ],
    ids=["cell", "basin", "port", "pin", "sink"],
)
def test_component_that_nobody_holds_is_gone_at_once(
    make: Callable[[Circuit], Any], circuit: Circuit
) -> None:
    with uncollected():
        component = make(circuit)
        if isinstance(component, (substrates.Cell, substrates.Basin)):
            component.pipe().emit(1)
        elif isinstance(component, substrates.Sink):
            component.get("channel").emit(1)
        circuit.wait(BOUND_S)
        gone = weakref.ref(component)

        del component

        until(lambda: gone() is None, "the component is gone")


def test_ticker_that_nobody_holds_goes_on(cortex: Cortex) -> None:
    clock = ManualClock()
    circuit = cortex.circuit("components.ticking", clock=clock)
    ticks: list[int] = []
    circuit.ticker(1, circuit.pipe(ticks.append))

    gc.collect()
    clock.advance(2)
    circuit.wait(BOUND_S)

    assert ticks == [0, 1]
    circuit.close(wait=True)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("manual", [True, False], ids=["manual", "system"])
def test_ticker_does_not_keep_its_circuit(manual: bool, cortex: Cortex) -> None:
    clock = {"clock": ManualClock()} if manual else {}
    circuit = cortex.circuit("components.dropped", **clock)
    circuit.ticker(86_400, circuit.pipe())
    gone = weakref.ref(circuit)

    del circuit
    gc.collect()

    assert gone() is None


def test_stopped_tickers_are_let_go(cortex: Cortex) -> None:
    clock = ManualClock()
    circuit = cortex.circuit("components.stopped", clock=clock)
    tickers = [circuit.ticker(86_400, circuit.pipe()) for _ in range(3)]
    tickers[0].close(wait=True)
    assert isinstance(circuit, Circuit)
    assert circuit._timing().tickers == set(tickers[1:])

    circuit.close(wait=True)

    assert not circuit._timing().tickers


def test_circuits_close_stops_a_ticker_that_is_made_meanwhile(
    circuit: Circuit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Circuit, "_require_open", lambda *_: None)
    circuit.close()

    ticker = circuit.ticker(86_400, circuit.pipe())

    assert isinstance(ticker, Ticker)
    assert not circuit._timing().tickers


def test_ticker_that_a_signal_handler_closes_while_it_orders_its_next_tick_stops(cortex: Cortex) -> None:
    ordered: set[int] = set()
    handlers: list[Callable[[], None]] = []

    class Interrupted(ManualClock):
        """Runs a signal handler while a tick is ordered."""

        def call_at(self, due_ns: int, callback: Callable[[], object], /) -> Callable[[], object]:
            while handlers:
                handlers.pop()()
            super().call_at(due_ns, callback)
            ordered.add(due_ns)
            return lambda: ordered.discard(due_ns)

    clock = Interrupted()
    circuit = cortex.circuit("components.handled", clock=clock)
    ticker = circuit.ticker(1, circuit.pipe())
    assert len(ordered) == 1
    handlers.append(ticker.close)

    clock.advance(1)

    assert not handlers
    assert not ordered
    circuit.close(wait=True)


# -- interrupts


def made(circuit: Circuit) -> tuple[int, int]:
    facts = circuit._cortex.facts()
    return int(facts["circuits"]), int(facts["pipes"])


def nothing_more(circuit: Circuit, counted: tuple[int, int]) -> bool:
    # Fewer is fine: what was made before may still have been on its way out when it was counted.
    return all(now <= before for now, before in zip(made(circuit), counted, strict=True))


@pytest.mark.parametrize(
    "make",
    [
        lambda circuit: circuit._cortex.circuit("components.interrupted").close(),
        lambda circuit: circuit.pipe(print),
        lambda circuit: circuit.ticker(86_400, circuit.pipe()).close(),
    ],
    ids=["circuit", "pipe", "ticker"],
)
def test_interrupt_wherever_something_is_made_leaves_nothing_of_it(
    make: Callable[[Circuit], Any], circuit: Circuit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupt at each call of base in turn, where Python looks for signals."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    make(circuit)
    calls, at, interrupted = 0, 0, True

    def interrupt(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        code = frame.f_code
        finalizing = code.co_name in ("__del__", "_dropped")  # nobody would see it there
        if event == "call" and "substrates_base" in code.co_filename and not finalizing:
            calls += 1
            if calls == at:
                raise KeyboardInterrupt

    while interrupted:
        calls, at, before, interrupted = 0, at + 1, sys.gettrace(), False
        circuit.wait(BOUND_S)
        with uncollected():
            counted = made(circuit)
            sys.settrace(interrupt)
            try:
                make(circuit)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                sys.settrace(before)
            circuit._timing().stop()  # a ticker whose maker never heard of it goes on else
            circuit.wait(BOUND_S)
            until(
                partial(nothing_more, circuit, counted),
                f"what was made until call {at} is gone",
            )

    assert at > 2
    # A circuit that an interrupt kept from its close says that it is unclosed.
    assert [seen.exc_value for seen in unraisable if seen.exc_type is not ResourceWarning] == []


# -- the system's clock


def _threads() -> int:
    return sum(thread.name == "substrates.clock" for thread in threading.enumerate())


def test_system_clock_calls_in_the_order_of_time(clock: SystemClock) -> None:
    log: list[str] = []
    done = threading.Event()
    now = clock.now()

    clock.call_at(now + 3_000_000, lambda: log.append("last"))
    clock.call_at(now + 3_000_000, done.set)
    clock.call_at(now + 1_000_000, lambda: log.append("middle"))
    clock.call_at(now - 1_000_000, lambda: log.append("first"))

    assert done.wait(BOUND_S)
    assert log == ["first", "middle", "last"]


def test_system_clock_goes_on_after_a_timer_that_raises(
    clock: SystemClock, caplog: pytest.LogCaptureFixture
) -> None:
    done = threading.Event()

    def fail() -> None:
        raise SystemExit("of a timer")

    with caplog.at_level(logging.CRITICAL + 1, "substrates"):
        clock.call_at(clock.now(), fail)
        clock.call_at(clock.now() + 1_000_000, done.set)

        assert done.wait(BOUND_S)


def test_system_clock_does_not_call_what_was_cancelled(clock: SystemClock) -> None:
    log: list[int] = []
    done = threading.Event()
    due = clock.now() + 20_000_000

    cancel = [clock.call_at(due, lambda number=number: log.append(number)) for number in range(100)]  # type: ignore[misc]
    clock.call_at(due, done.set)
    for number in range(0, 100, 2):
        cancel[number]()

    assert done.wait(BOUND_S)
    assert log == list(range(1, 100, 2))


def test_system_clock_forgets_what_was_cancelled(clock: SystemClock) -> None:
    far = clock.now() + 10**15
    clock.call_at(far - 1, lambda: None)

    for _ in range(50 * FEW):
        clock.call_at(far, lambda: None)()

    until(lambda: clock._inbox.empty() and len(clock._heap) <= 2 * FEW + 2, "the heap is small")


def test_system_clocks_thread_retires_and_starts_anew(
    clock: SystemClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("substrates_base.clocks.RETIRE_S", 0.0)
    until(lambda: _threads() == 0, "clocks of other tests have no thread")

    # Each in the moment in which the thread may be about to retire: none may be lost.
    for _ in range(300):
        done = threading.Event()
        clock.call_at(clock.now(), done.set)
        assert done.wait(BOUND_S)
    cancel = clock.call_at(clock.now() + 10**15, lambda: None)
    assert _threads() == 1
    cancel()

    until(lambda: _threads() == 0, "the thread has retired")


def test_system_clock_survives_a_thread_that_does_not_start(
    clock: SystemClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            clock.call_at(clock.now(), lambda: called.append("refused"))
    done = threading.Event()
    clock.call_at(clock.now(), done.set)

    assert done.wait(BOUND_S)
    assert called == []


# -- captures


def test_capture_in_the_circuits_own_context_is_by_the_circuit(cortex: Cortex, circuit: Circuit) -> None:
    captures: list[Capture[int]] = []
    channel: Any = circuit.sink(circuit.pipe(captures.append)).get("channel")

    circuit._job(lambda: channel._direct(1))
    circuit.wait(BOUND_S)

    assert [capture.current for capture in captures] == [circuit.current.subject]
    assert captures[0].current is not cortex.current().subject


@pytest.mark.parametrize("recipes", [1, 2, 200])
def test_recipes_ahead_of_a_sink_keep_who_emitted(recipes: int, cortex: Cortex, circuit: Circuit) -> None:
    captures: list[Capture[int]] = []
    pipe: Any = circuit.sink(circuit.pipe(captures.append)).get("channel")
    for _ in range(recipes):
        pipe = cortex.fiber().diff().pipe(pipe)

    pipe.emit(1)
    pipe.emit(1)
    circuit.pipe(pipe.emit).emit(2)
    circuit.wait(BOUND_S)

    outside, inside = cortex.current().subject, circuit.current.subject
    assert [(capture.emission, capture.current) for capture in captures] == [(1, outside), (2, inside)]


# -- failures


def test_failures_in_ports_name_the_port(cortex: Cortex, circuit: Circuit) -> None:
    faults: list[tuple[Any, BaseException]] = []
    error = KeyError("of a function")

    def fail(_: object) -> None:
        raise error

    port = circuit.port("components.port", 1)
    cortex.on_fault(lambda subject, failure: faults.append((subject, failure)))
    try:
        port.update(lambda _: None)
        port.update(fail)
        circuit.wait(BOUND_S)
    finally:
        cortex.on_fault(None)

    (absent_subject, absent), raised = faults
    assert absent_subject is port.subject
    assert type(absent) is Fault
    assert (absent.subject, absent.operation) == (port.subject, "update")
    assert raised == (port.subject, error)


@pytest.mark.parametrize("way", ["port", "basin", "ticker"])
def test_what_a_targets_lane_refuses_is_reported(way: str, cortex: Cortex) -> None:
    faults: list[tuple[Any, BaseException]] = []
    clock = ManualClock()
    circuit = cortex.circuit("components.lanes", clock=clock)
    received: list[int] = []
    lane = circuit.pipe(received.append, lane=INT64)
    basin: Any = circuit.basin(2)
    port: Any = circuit.port("text")
    cortex.on_fault(lambda subject, failure: faults.append((subject, failure)))
    try:
        if way == "port":
            port.emit(lane)
            port.replace(1)
            port.emit(lane)
        elif way == "basin":
            basin.pipe().emit("text")
            basin.pipe().emit(1)
            basin.drain(lane)
        else:
            circuit.ticker(1, lane)
            clock.advance(2)
        circuit.wait(BOUND_S)
    finally:
        cortex.on_fault(None)
        circuit.close(wait=True)

    if way == "ticker":
        assert (received, faults) == ([0, 1], [])
    else:
        assert received == [1]
        assert [(subject, type(error)) for subject, error in faults] == [(lane.subject, TypeError)]


# -- pulses


def test_pulse_leaves_a_native_circuit_native(cortex: Cortex) -> None:
    if cortex.provider == "reference":
        pytest.skip("reference has no native circuits")
    circuit: Any = cortex.circuit("components.native")
    pipe: Any = circuit.pipe(lane=INT64)

    for value in range(100):
        pipe.emit(value)
        pulse = circuit.pulse()
        assert pulse is not None
        assert pulse.start <= pulse.enqueued <= pulse.stop
        assert pulse.start <= pulse.dequeued <= pulse.stop

    assert not (circuit._python if cortex.provider == "beta" else circuit._ingress)
    circuit.close(wait=True)
    assert circuit.pulse() is None
