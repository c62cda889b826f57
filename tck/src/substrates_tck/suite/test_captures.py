"""Captures: what was emitted, into which channel, and from which context."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from substrates import (
    Capture,
    Circuit,
    Conduit,
    Cortex,
    Current,
    Pipe,
    Resource,
    Sink,
    Slot,
    State,
    Subject,
    Substrate,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Background, Settle

Captures = list[Capture[Any]]


def made(circuit: Circuit, captures: Captures) -> Sink[Any]:
    """Return a sink whose captures are kept."""
    endpoint: Pipe[Capture[Any]] = circuit.pipe(captures.append)
    return circuit.sink("tck.sink", endpoint)


@rule("CAPTURE-REC-01")
def test_a_capture_may_be_kept_after_the_end_of_its_circuits(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    circuit, other = new_circuit("capture.own"), new_circuit("capture.other")
    captures: Captures = []
    endpoint: Pipe[Capture[Any]] = other.pipe(captures.append)
    sink = circuit.sink("tck.sink", endpoint)
    value = ["kept"]
    subject = sink.get("a").subject
    sink.get("a").emit(value)
    wait(circuit, other)

    circuit.close(wait=True)
    other.close(wait=True)
    gc.collect()
    capture = captures[0]

    assert capture.emission is value
    assert capture.subject is subject
    assert capture.subject.path()
    assert capture.current is cortex.current().subject
    assert list(capture.state) == list(capture.state)


@rule("CAPTURE-REC-01")
@pytest.mark.parametrize("field", ["emission", "subject", "current", "state"])
def test_a_capture_cannot_be_changed(field: str, circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    made(circuit, captures).get("a").emit(1)
    wait(circuit)
    capture = captures[0]
    before = getattr(capture, field)

    with pytest.raises(AttributeError):
        setattr(capture, field, None)
    with pytest.raises(AttributeError):
        delattr(capture, field)

    assert getattr(capture, field) is before


@rule("CAPTURE-REC-01")
def test_a_capture_holds_subjects_and_is_no_component_itself(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    made(circuit, captures).get("a").emit(1)
    wait(circuit)
    capture = captures[0]

    assert isinstance(capture, Capture)
    assert not isinstance(capture, (Substrate, Resource))
    assert not hasattr(capture, "close")
    for subject in (capture.subject, capture.current):
        assert isinstance(subject, Subject)
        assert not isinstance(subject, Substrate)


@rule("CAPTURE-REC-01")
def test_a_capture_may_be_sent_to_other_circuits(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("capture.other")
    captures: Captures = []
    received: Captures = []
    onward: Pipe[Capture[Any]] = other.pipe(received.append)

    def receive(capture: Capture[Any]) -> None:
        captures.append(capture)
        onward.emit(capture)

    endpoint: Pipe[Capture[Any]] = circuit.pipe(receive)
    circuit.sink(endpoint).get("a").emit(1)
    wait(circuit, other)

    assert len(received) == 1
    assert received[0] is captures[0]


@rule("CAPTURE-SUBJ-02")
def test_a_captures_subject_is_the_channels(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    sink = made(circuit, captures)
    channel = sink.get("a")

    channel.emit(1)
    wait(circuit)

    assert captures[0].subject is channel.subject
    assert captures[0].subject.type is Pipe
    assert captures[0].subject.name is channel.subject.name


@rule("CAPTURE-SUBJ-02")
def test_a_captures_subject_is_not_the_sources_channels(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    sink = made(circuit, captures)
    source: Conduit[int] = circuit.conduit(int)
    source.subscribe(circuit.subscriber("tck.bridge", sink))

    source.get("a").emit(1)
    wait(circuit)

    assert captures[0].subject is sink.get("a").subject
    assert captures[0].subject is not source.get("a").subject
    assert captures[0].subject.name is source.get("a").subject.name
    assert captures[0].subject.id is not source.get("a").subject.id


@rule("CAPTURE-CTX-03", "CURRENT-08")
def test_an_emission_from_outside_names_the_caller(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    made(circuit, captures).get("a").emit(1)
    wait(circuit)

    assert captures[0].current is cortex.current().subject
    assert captures[0].current is not circuit.current.subject
    assert captures[0].current.type is Current


@rule("CAPTURE-CTX-03", "CURRENT-08")
def test_each_thread_that_emits_is_named(
    cortex: Cortex, circuit: Circuit, wait: Settle, background: Background
) -> None:
    captures: Captures = []
    sink = made(circuit, captures)

    def emit(value: int) -> Subject[Current]:
        sink.get("a").emit(value)
        return cortex.current().subject

    subjects = [background(emit, 0).result(), emit(1), background(emit, 2).result()]
    wait(circuit)

    assert [capture.emission for capture in captures] == [0, 1, 2]
    assert [capture.current for capture in captures] == subjects
    assert len({subject.id for subject in subjects}) == 3


@rule("CAPTURE-CTX-04", "CURRENT-08")
def test_an_emission_in_the_own_context_names_the_circuit(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    channel = made(circuit, captures).get("a")
    pipe: Pipe[int] = circuit.pipe(lambda value: channel.emit(value + 1))

    pipe.emit(10)
    wait(circuit)

    assert captures[0].emission == 11
    assert captures[0].current is circuit.current.subject


@rule("CAPTURE-CTX-04", "CAPTURE-CTX-03")
@derived
def test_each_emission_is_attributed_to_its_own_emitter(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: Captures = []
    channel = made(circuit, captures).get("a")
    pipe: Pipe[int] = circuit.pipe(channel.emit)

    for value in range(0, 20, 2):
        channel.emit(value)
        pipe.emit(value + 1)
    wait(circuit)

    own, caller = circuit.current.subject, cortex.current().subject
    assert [capture.emission for capture in captures] == list(range(20))
    assert [capture.current for capture in captures] == [caller, own] * 10


@rule("CAPTURE-CTX-04")
@derived
@pytest.mark.parametrize("way", ["port", "basin", "fiber"])
def test_what_the_circuit_emits_for_a_component_names_the_circuit(
    way: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: Captures = []
    channel = made(circuit, captures).get("a")

    if way == "port":
        circuit.port(1).emit(channel)
    elif way == "basin":
        basin = circuit.basin(1)
        basin.pipe().emit(1)
        basin.drain(channel)
    else:
        cortex.fiber(int).tee(channel).pipe(circuit.pipe()).emit(1)
    wait(circuit)

    assert [capture.emission for capture in captures] == [1]
    assert captures[0].current is circuit.current.subject


@rule("CAPTURE-CTX-05")
def test_a_sink_that_a_source_feeds_names_the_circuit(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    sink = made(circuit, captures)
    source: Conduit[int] = circuit.conduit(int)
    source.subscribe(circuit.subscriber("tck.bridge", sink))

    source.get("a").emit(1)
    wait(circuit)

    assert captures[0].current is circuit.current.subject
    assert captures[0].current is not cortex.current().subject


@rule("CAPTURE-CTX-06", "CURRENT-08")
def test_forwarding_to_another_circuits_endpoint_does_not_change_the_emitter(
    cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("capture.other")
    captures: Captures = []
    endpoint: Pipe[Capture[Any]] = other.pipe(captures.append)
    sink = circuit.sink(endpoint)

    sink.get("a").emit(99)
    wait(circuit, other)

    assert captures[0].emission == 99
    assert captures[0].current is cortex.current().subject


@rule("CAPTURE-CTX-07", "CURRENT-08")
def test_an_emission_from_another_circuit_names_that_circuit(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("capture.other")
    captures: Captures = []
    channel = made(circuit, captures).get("a")
    forward: Pipe[int] = other.pipe(channel)
    receiver: Pipe[int] = other.pipe(channel.emit)

    forward.emit(1)
    receiver.emit(2)
    wait(other, circuit)

    assert sorted(capture.emission for capture in captures) == [1, 2]
    assert all(capture.current is other.current.subject for capture in captures)


@rule("CAPTURE-CTX-07")
def test_the_immediate_emitter_counts_not_the_first_cause(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    first = new_circuit("capture.first")
    captures: Captures = []
    channel = made(circuit, captures).get("a")
    inner: Pipe[int] = circuit.pipe(channel.emit)
    outer: Pipe[int] = first.pipe(inner.emit)

    outer.emit(1)
    wait(first, circuit)

    assert captures[0].current is circuit.current.subject


@rule("CAPTURE-STATE-08")
def test_a_captures_state_is_there_and_may_be_empty(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    made(circuit, captures).get("a").emit(1)
    wait(circuit)
    state = captures[0].state

    assert isinstance(state, State)
    assert captures[0].state is state
    assert all(isinstance(slot, Slot) for slot in state)
    assert state.value(cortex.slot("tck.no.such.slot", 7)) == 7


@rule("CAPTURE-REC-01", "SINK-EMIT-04", "CAPTURE-CTX-06")
@derived
@pytest.mark.parametrize("ahead", ["nothing", "a recipe"])
def test_a_sink_may_end_in_the_channel_of_another(
    ahead: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: Captures = []
    outer = made(circuit, captures)
    inner: Sink[int] = circuit.sink("tck.inner", outer.get("outer"))
    pool = inner if ahead == "nothing" else inner.pool(cortex.fiber(int).above(0))

    for value in (1, 2):
        pool.get("inner").emit(value)
    wait(circuit)

    assert [capture.subject for capture in captures] == [outer.get("outer").subject] * 2
    within: Captures = [capture.emission for capture in captures]
    assert [capture.emission for capture in within] == [1, 2]
    assert [capture.subject for capture in within] == [inner.get("inner").subject] * 2
