"""What the object lane does that the TCK cannot ask of every provider."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import pytest

import substrates
from substrates import Pipe
from substrates_base import LaneCircuit

BOUND_S = 30
COUNT = 3000


@pytest.fixture(params=["reference", "alpha"])
def circuit(request: pytest.FixtureRequest) -> Iterator[LaneCircuit]:
    circuit = substrates.cortex(request.param).circuit("lane")
    assert isinstance(circuit, LaneCircuit)
    yield circuit
    circuit.close()
    circuit.wait(BOUND_S)


@pytest.fixture
def held(circuit: LaneCircuit) -> Iterator[threading.Event]:
    """A circuit that is running a receptor until the event is set."""
    entered, released = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        entered.set()
        released.wait(BOUND_S)

    circuit.pipe(hold).emit(0)
    assert entered.wait(BOUND_S)
    yield released
    released.set()


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="finalizes as CPython does")
def test_each_value_of_a_batch_goes_once_the_next_is_received(
    circuit: LaneCircuit, held: threading.Event
) -> None:
    alive: set[int] = set()
    kept: list[int] = []

    class Counted:
        def __init__(self, number: int) -> None:
            self.number = number
            alive.add(number)

        def __del__(self) -> None:
            alive.discard(self.number)

    pipe: Pipe[Counted] = circuit.pipe(lambda value: kept.append(len(alive) - (COUNT - value.number)))
    for number in range(COUNT):
        pipe.emit(Counted(number))
    held.set()
    circuit.wait(BOUND_S)

    assert kept == [0] * COUNT
    assert not alive


def test_entries_too_many_on_the_ready_queue_do_no_harm(circuit: LaneCircuit, held: threading.Event) -> None:
    received: list[Any] = []
    pipe = circuit.pipe(received.append)

    for number in range(COUNT):
        pipe.emit(number)
        if number % 100 == 0:
            circuit._workers.schedule(circuit)
    deadline = monotonic() + BOUND_S
    while not circuit._workers._ready.empty():  # until a worker that is added has found them in vain
        assert monotonic() < deadline, "the ready queue is not emptied beside a blocked receptor"
        sleep(0.001)
    assert received == []
    held.set()
    circuit.wait(BOUND_S)
    for number in range(COUNT, COUNT + 100):
        circuit._workers.schedule(circuit)
        pipe.emit(number)
        circuit.wait(BOUND_S)

    assert received == list(range(COUNT + 100))
    assert len(circuit._permit) <= 1
    assert len(circuit._running) <= 1


def test_interrupted_claim_loses_no_value(circuit: LaneCircuit) -> None:
    """Interrupt at each call that a claim makes, where Python looks for signals."""
    received: list[int] = []
    pipe = circuit.pipe(received.append)
    seen: set[str] = set()

    def interrupt(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_name == "_claim":
            if event == "line" and frame.f_lineno not in lines:
                lines.add(frame.f_lineno)
                if circuit._permit is frame.f_locals.get("permit"):
                    seen.add("interrupted")
                    raise KeyboardInterrupt
            return interrupt
        return None

    lines: set[int] = set()
    emitted = 0
    for _ in range(20):
        circuit.wait(BOUND_S)
        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            pipe.emit(emitted)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        emitted += 1
        circuit.wait(BOUND_S)

    assert seen
    assert received == list(range(emitted))
