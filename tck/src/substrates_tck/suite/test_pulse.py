"""Pulses: a probe goes through a circuit like a value, and tells when it was where."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from substrates import Circuit, ClosedFault, Conduit, ContextError, Pipe, Pulse
from substrates_tck.cascades import cascade
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, members, rule
from substrates_tck.outcomes import inside, outcome
from substrates_tck.waits import Background, Gate, Settle, Together

pytestmark = members


def sent(circuit: Circuit) -> Pulse:
    """Return what a probe of an open circuit tells."""
    pulse = circuit.pulse()
    assert pulse is not None, "an open circuit gave no pulse"
    return pulse


@rule("PULSE-01")
def test_a_healthy_circuit_gives_a_pulse(circuit: Circuit) -> None:
    first, second = sent(circuit), sent(circuit)

    assert isinstance(first, Pulse)
    assert first is not second


@rule("PULSE-01")
def test_each_of_several_callers_gets_a_pulse_of_its_own(circuit: Circuit, together: Together) -> None:
    pulses: list[Pulse | None] = []

    together(4, lambda number: pulses.append(circuit.pulse()))

    assert len(pulses) == 4
    assert all(isinstance(pulse, Pulse) for pulse in pulses)
    assert len({id(pulse) for pulse in pulses}) == 4


@rule("PULSE-01", "PULSE-04")
def test_a_pulse_waits_for_what_was_accepted_before(
    circuit: Circuit, background: Background, gate: Gate
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        gate.hold()
        received.append(value)

    pipe: Pipe[int] = circuit.pipe(receive)
    for number in range(100):
        pipe.emit(number)
    gate.await_entered()

    def probe() -> tuple[Pulse, int]:
        pulse = sent(circuit)
        return pulse, len(received)

    probing = background(probe)
    with pytest.raises(TimeoutError):
        circuit.wait(timeout=0.05)
    assert not probing.done
    gate.release()

    assert probing.result()[1] == 100


@rule("PULSE-02")
def test_the_stamps_are_ordered_as_far_as_they_must_be(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe: Pipe[int] = circuit.pipe(received.append)
    for _ in range(50):
        pipe.emit(1)
        pulse = sent(circuit)

        assert pulse.start <= pulse.enqueued <= pulse.stop
        assert pulse.dequeued <= pulse.stop
    wait(circuit)


@rule("PULSE-02")
@derived
def test_a_probe_is_not_dequeued_before_it_was_sent(circuit: Circuit) -> None:
    for _ in range(50):
        pulse = sent(circuit)
        assert pulse.start <= pulse.dequeued


@rule("PULSE-02")
@derived
def test_a_held_circuit_dequeues_a_probe_late(circuit: Circuit, background: Background, gate: Gate) -> None:
    circuit.pipe(gate.hold).emit(1)
    gate.await_entered()
    probing = background(circuit.pulse)
    with pytest.raises(TimeoutError):
        circuit.wait(timeout=0.1)
    gate.release()
    pulse = probing.result()

    assert pulse is not None
    # A busy machine may start the prober late: only that it waited at all can be asserted.
    assert pulse.start <= pulse.enqueued <= pulse.stop
    assert pulse.dequeued <= pulse.stop


@rule("PULSE-03")
def test_the_stamps_are_nanoseconds_of_one_clock_that_never_goes_back(circuit: Circuit) -> None:
    pulses = [sent(circuit) for _ in range(20)]

    for pulse in pulses:
        for stamp in (pulse.start, pulse.enqueued, pulse.dequeued, pulse.stop):
            assert type(stamp) is int
    assert all(before.stop <= after.start for before, after in pairwise(pulses))


@rule("PULSE-03")
@derived
def test_the_stamps_go_on_while_a_circuit_is_held(
    circuit: Circuit, background: Background, gate: Gate
) -> None:
    before = sent(circuit)
    circuit.pipe(gate.hold).emit(1)
    gate.await_entered()
    with pytest.raises(TimeoutError):
        circuit.wait(timeout=0.05)
    gate.release()
    after = sent(circuit)

    assert after.start - before.stop >= 45_000_000


@rule("PULSE-03")
@derived
def test_a_pulse_cannot_be_changed(circuit: Circuit) -> None:
    pulse: Any = sent(circuit)

    with pytest.raises(AttributeError):
        pulse.start = 0

    assert pulse == (pulse.start, pulse.enqueued, pulse.dequeued, pulse.stop)


@rule("PULSE-04", "CIRCUIT-TRANSIT-07")
def test_a_pulse_waits_for_the_end_of_a_cascade(circuit: Circuit, background: Background, gate: Gate) -> None:
    log: list[int] = []
    pipe = cascade(circuit, gate, log, held=2, last=4)
    pipe.emit(1)
    gate.await_entered()

    def probe() -> tuple[bool, list[int]]:
        pulse = circuit.pulse()
        return pulse is not None, list(log)

    probing = background(probe)
    with pytest.raises(TimeoutError):
        circuit.wait(timeout=0.05)
    assert not probing.done
    gate.release()

    assert probing.result() == (True, [1, 2, 3, 4])


@rule("PULSE-05")
def test_a_pulse_calls_nobody_and_changes_nothing(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe: Pipe[int] = circuit.pipe(received.append)
    conduit: Conduit[int] = circuit.conduit(int)
    callbacks: list[object] = []
    conduit.subscribe(circuit.subscriber("n", lambda subject, registrar: callbacks.append(subject)))
    subject, state = pipe.subject, pipe.subject.state
    pipe.emit(1)
    pipe.emit(2)
    wait(circuit)

    for _ in range(10):
        sent(circuit)

    assert received == [1, 2]
    assert callbacks == []
    assert pipe.subject is subject
    assert pipe.subject.state is state
    assert len(state) == 0
    pipe.emit(3)
    wait(circuit)
    assert received == [1, 2, 3]


@rule("PULSE-06", "CIRCUIT-AWAIT-08", "RES-07", "CLOSED-09")
@pytest.mark.parametrize("end", ["close and wait", "close(wait=True)"])
def test_a_closed_circuit_gives_no_pulse(
    end: str, circuit: Circuit, wait: Settle, background: Background
) -> None:
    if end == "close and wait":
        circuit.close()
        wait(circuit)
    else:
        circuit.close(wait=True)

    assert [circuit.pulse() for _ in range(6)] == [None] * 6
    assert background(circuit.pulse).result() is None


@rule("PULSE-06")
@derived
def test_a_closed_circuit_that_was_never_used_gives_no_pulse(circuit: Circuit) -> None:
    circuit.close(wait=True)

    assert circuit.pulse() is None


@rule("PULSE-07")
def test_a_pulse_in_the_own_context_is_refused_and_the_circuit_lives_on(
    circuit: Circuit, wait: Settle
) -> None:
    assert type(inside(circuit, wait, circuit.pulse)) is ContextError
    assert type(inside(circuit, wait, circuit.pulse)) is ContextError
    assert isinstance(circuit.pulse(), Pulse)


@rule("PULSE-07")
@derived
def test_a_pulse_in_the_context_of_a_closing_circuit_is_refused(circuit: Circuit, wait: Settle) -> None:
    outcomes: list[Any] = []

    def receive(_value: int) -> None:
        circuit.close()
        outcomes.append(outcome(circuit.pulse))

    circuit.pipe(receive).emit(1)
    wait(circuit)

    assert [type(each) for each in outcomes] == [ContextError]


@rule("PULSE-07")
@derived
def test_a_pulse_in_another_circuits_context_is_allowed(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    assert isinstance(inside(new_circuit("pulse.other"), wait, circuit.pulse), Pulse)


@rule("PULSE-08", "CLOSED-09")
@derived
def test_a_pulse_of_a_closing_circuit_returns_either_way(
    circuit: Circuit, background: Background, gate: Gate, wait: Settle
) -> None:
    circuit.pipe(gate.hold).emit(1)
    gate.await_entered()
    circuit.close()
    with pytest.raises(ClosedFault):
        circuit.pipe()

    probing = background(circuit.pulse)
    gate.release()
    pulse = probing.result()
    wait(circuit)

    assert pulse is None or isinstance(pulse, Pulse)
    assert circuit.pulse() is None


@rule("PULSE-01", "PULSE-08")
@derived
def test_pulses_that_race_with_close_all_return(
    new_circuit: NewCircuit, background: Background, interleaved: None
) -> None:
    for _ in range(30):
        circuit = new_circuit()
        probing = [background(circuit.pulse) for _ in range(3)]
        circuit.close()
        for probe in probing:
            pulse = probe.result()
            assert pulse is None or isinstance(pulse, Pulse)


@rule("ISO-08")
@derived
def test_a_pulse_does_not_show_what_failed(circuit: Circuit) -> None:
    def fail(value: int) -> None:
        raise ValueError("tck: a receptor fails")

    circuit.pipe(fail).emit(1)

    assert isinstance(circuit.pulse(), Pulse)


@rule("CIRCUIT-EXEC-01")
@derived
def test_a_pulse_never_runs_callbacks_on_the_callers_thread(circuit: Circuit, cortex: Any) -> None:
    contexts: list[object] = []
    pipe: Pipe[int] = circuit.pipe(lambda value: contexts.append(cortex.current()))
    for number in range(50):
        pipe.emit(number)
        sent(circuit)

    assert contexts == [circuit.current] * 50
