"""Liveness: neither a blocked receptor nor one that feeds itself for ever may stop another circuit.

The bounds are generous; how fast a provider is, perfkit measures.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, sleep
from typing import Any

import pytest

from substrates import Circuit, Cortex, Current, Pipe, kernel
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, kernels, rule
from substrates_tck.waits import Settle

BLOCKED_S = 0.6
"""How long a receptor blocks, or a cascade lasts."""
DELAY_S = 0.4
"""What that may cost another circuit."""


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    """Return an event that is set at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


class Attempt:
    """How long a circuit took to do a little work, while another was busy all the time or not."""

    def __init__(self, circuit: Circuit, pipe: Pipe[int], wait: Settle) -> None:
        self.delay_s = 0.0
        for number in range(5):
            start = perf_counter()
            pipe.emit(number)
            wait(circuit)
            self.delay_s = max(self.delay_s, perf_counter() - start)


def _within_bound(attempt: Callable[[int], Attempt | None]) -> None:
    """Try three times, since the machine may be busy with something else for once.

    Args:
        attempt: returns None if the other circuit was not busy long enough to tell.
    """
    delays: list[float] = []
    for number in range(3):
        made = attempt(number)
        if made is not None:
            delays.append(made.delay_s)
            if made.delay_s < DELAY_S:
                return
    assert delays, "the other circuits were never busy for long enough to tell"
    pytest.fail(f"delayed by {min(delays):.3f} s, {DELAY_S} s at most")


def _busy(circuit: Circuit) -> bool:
    try:
        circuit.wait(timeout=0)
    except TimeoutError:
        return True
    return False


@rule("CIRCUIT-EXEC-04")
@derived
@pytest.mark.parametrize("blocked", [1, 4])
def test_a_receptor_that_sleeps_does_not_delay_another_circuit(
    blocked: int, new_circuit: NewCircuit, wait: Settle
) -> None:
    free = new_circuit()
    pipe: Pipe[int] = free.pipe()

    def attempt(number: int) -> Attempt:
        for _ in range(blocked):
            blocking: Pipe[Any] = new_circuit().pipe(lambda value: sleep(BLOCKED_S))
            blocking.emit(number)
        return Attempt(free, pipe, wait)

    _within_bound(attempt)


@rule("CIRCUIT-EXEC-04")
@derived
def test_a_receptor_that_feeds_itself_does_not_delay_another_circuit(
    new_circuit: NewCircuit, wait: Settle, stop: threading.Event
) -> None:
    endless, free = new_circuit(), new_circuit()

    def receive(value: int) -> None:
        if not stop.is_set():
            feeding.emit(value + 1)

    feeding: Pipe[int] = endless.pipe(receive)
    pipe: Pipe[int] = free.pipe()
    feeding.emit(0)

    _within_bound(lambda number: Attempt(free, pipe, wait))

    assert _busy(endless)
    stop.set()
    wait(endless)


@rule("CIRCUIT-AWAIT-02", "CIRCUIT-CLOSE-06")
@derived
def test_an_endless_cascade_is_never_cut_off(circuit: Circuit, wait: Settle, stop: threading.Event) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        if not stop.is_set():
            pipe.emit(value + 1)

    pipe: Pipe[int] = circuit.pipe(receive)
    pipe.emit(0)
    circuit.close()
    with pytest.raises(TimeoutError):
        circuit.wait(timeout=0.05)
    stop.set()
    wait(circuit)

    assert len(received) > 1
    assert received == list(range(len(received)))


@rule("CIRCUIT-EXEC-04", "CIRCUIT-TRANSIT-03", "CIRCUIT-EXEC-03")
@derived
def test_circuits_that_feed_themselves_all_go_on_in_their_order_and_context(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle, stop: threading.Event, bound_s: float
) -> None:
    count = 8  # more than a provider has threads to spare, so that they must take turns
    logs: list[list[int]] = [[] for _ in range(count)]
    contexts: list[set[Current]] = [set() for _ in range(count)]
    circuits = [new_circuit() for _ in range(count)]
    advanced = [threading.Event() for _ in range(count)]

    def endless(place: int) -> Pipe[int]:
        def receive(value: int) -> None:
            logs[place].append(value)
            contexts[place].add(cortex.current())
            if value == 1000:
                advanced[place].set()
            if not stop.is_set():
                pipe.emit(value + 1)

        pipe: Pipe[int] = circuits[place].pipe(receive)
        return pipe

    for place in range(count):
        endless(place).emit(0)
    assert all(event.wait(bound_s) for event in advanced), "a circuit does not go on"
    sleep(BLOCKED_S)  # time for many turns
    stop.set()
    wait(*circuits)

    assert all(log == list(range(len(log))) for log in logs)
    assert contexts == [{circuit.current} for circuit in circuits]


def _hops(library: Any, circuit: Circuit, wait: Settle) -> int:
    """Return how many times a kernel feeds itself in twice the time that a cascade is to last."""
    pipe = circuit.pipe(library.relay.bind())
    hops, elapsed_s = 10_000, 0.0
    while elapsed_s < 0.02:
        hops *= 4
        start = perf_counter()
        pipe.emit(hops)
        wait(circuit)
        elapsed_s = perf_counter() - start
    return int(hops / elapsed_s * 2 * BLOCKED_S)


@rule("KERNEL-LIVE-01", "CIRCUIT-EXEC-04")
@kernels
@pytest.mark.parametrize("other", ["receptor", "kernel"])
@pytest.mark.parametrize("endless", [1, 4])
def test_a_kernel_that_feeds_itself_does_not_delay_another_circuit(
    endless: int, other: str, new_circuit: NewCircuit, wait: Settle
) -> None:
    import substrates_tck.kernels as library

    free = new_circuit()
    hops = _hops(library, new_circuit(), wait)
    pipe: Pipe[int] = free.pipe(library.tally.bind()) if other == "kernel" else free.pipe()

    def attempt(number: int) -> Attempt | None:
        feeding = [new_circuit() for _ in range(endless)]
        for each in feeding:
            each.pipe(library.relay.bind()).emit((number + 1) * hops // endless)
        made = Attempt(free, pipe, wait)
        busy = [_busy(each) for each in feeding]
        return made if any(busy) else None

    _within_bound(attempt)


@rule("KERNEL-LIVE-01", "CIRCUIT-EXEC-04")
@kernels
def test_a_blocked_receptor_does_not_delay_a_kernel_of_another_circuit(
    new_circuit: NewCircuit, wait: Settle
) -> None:
    import substrates_tck.kernels as library

    free = new_circuit()
    pipe = free.pipe(library.tally.bind())

    def attempt(number: int) -> Attempt:
        blocking: Pipe[Any] = new_circuit().pipe(lambda value: sleep(BLOCKED_S), lane=kernel.int64)
        blocking.emit(number)
        return Attempt(free, pipe, wait)

    _within_bound(attempt)


@rule("KERNEL-LIVE-01", "CIRCUIT-TRANSIT-02", "CIRCUIT-TRANSIT-03")
@kernels
@pytest.mark.parametrize("begun_by", ["kernel", "receptor"])
def test_kernels_that_take_turns_keep_their_transit_and_its_order(
    begun_by: str, new_circuit: NewCircuit, wait: Settle
) -> None:
    import substrates_tck.kernels as library

    count = 8  # more than a provider has workers, so that they must take turns
    # Kernels on their own last long enough for many turns; with Python in between no speed is assumed.
    rounds = _hops(library, new_circuit(), wait) // (10 * count) if begun_by == "kernel" else 100
    circuits = [new_circuit() for _ in range(count)]
    pipes = [circuit.pipe(library.turns.bind()) for circuit in circuits]

    def begin(pipe: Pipe[int], value: int) -> None:
        for token in range(10):
            pipe.emit(16 * value + token)

    for circuit, pipe in zip(circuits, pipes, strict=True):
        starting: Pipe[int] = circuit.pipe(
            library.begin.bind(onward=pipe) if begun_by == "kernel" else partial(begin, pipe)
        )
        starting.emit(rounds)
    wait(*circuits)

    states: list[Any] = [pipe.state for pipe in pipes]
    assert [(state.count, state.errors) for state in states] == [(10 * (rounds + 1), 0)] * count
