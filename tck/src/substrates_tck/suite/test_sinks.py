"""Sinks: pools of pipes whose values arrive at the endpoint as captures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Capture,
    Circuit,
    Conduit,
    Cortex,
    Fiber,
    Lookup,
    Pipe,
    Pool,
    ProviderMismatchFault,
    Receptor,
    Resource,
    Sink,
    Source,
    Substrate,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_PIPES, ForeignName
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Background, Gate, Settle, Together

Captures = list[Capture[Any]]


def endpoint(circuit: Circuit, captures: Captures) -> Pipe[Capture[Any]]:
    """Return a pipe that keeps captures."""
    return circuit.pipe(captures.append)


def shown(captures: Captures) -> list[tuple[str, Any]]:
    """Return the channel and the value of each."""
    return [(str(capture.subject.name), capture.emission) for capture in captures]


ABSENT: dict[str, Callable[[Any, Any], object]] = {
    "sink(None)": lambda circuit, pipe: circuit.sink(None),
    "sink(None, pipe)": lambda circuit, pipe: circuit.sink(None, pipe),
    "sink(name, None)": lambda circuit, pipe: circuit.sink("n", None),
}


@rule("SINK-CREATE-01", "CIRCUIT-FACT-04")
@pytest.mark.parametrize("call", ABSENT.values(), ids=ABSENT)
def test_a_sink_needs_an_endpoint_and_a_name_that_is_given(
    call: Callable[[Any, Any], object], circuit: Circuit, wait: Settle
) -> None:
    captures: Captures = []
    target = endpoint(circuit, captures)

    with pytest.raises(AbsentValueError):
        call(circuit, target)

    circuit.sink(target).get("a").emit(1)
    wait(circuit)
    assert shown(captures) == [("a", 1)]


FORMS = pytest.mark.parametrize("form", [(), ("n",)], ids=["unnamed", "named"])


@rule("SINK-CREATE-01", "ERR-PROV-01", "SPI-MIX-13", "ERR-FAULT-02", "ERR-FAULT-03", "CIRCUIT-FACT-04")
@FORMS
@pytest.mark.parametrize("kind", FOREIGN_PIPES, ids=lambda kind: kind.__name__)
def test_an_endpoint_of_another_provider_is_refused(
    kind: Callable[[Any], Any], form: tuple[Any, ...], circuit: Any
) -> None:
    foreign = kind(circuit.pipe().subject)

    with pytest.raises(ProviderMismatchFault) as refused:
        circuit.sink(*form, foreign)

    assert refused.value.subject is circuit.subject
    assert refused.value.operation == "sink"
    assert foreign.received == []


@rule("SINK-CREATE-01", "ERR-PROV-01")
def test_a_sinks_name_is_of_the_same_provider(circuit: Circuit) -> None:
    with pytest.raises(ProviderMismatchFault) as refused:
        circuit.sink(ForeignName("foreign"), circuit.pipe())

    assert refused.value.subject is circuit.subject
    assert refused.value.operation == "sink"


@rule("SINK-CREATE-01", "ERR-CAT-01")
@derived
@pytest.mark.parametrize("endpoint", [42, "text", print, []], ids=["int", "text", "callable", "list"])
def test_an_endpoint_of_another_kind_is_a_type_error(endpoint: object, circuit: Any) -> None:
    with pytest.raises(TypeError) as refused:
        circuit.sink(endpoint)

    assert not isinstance(refused.value, AbsentValueError)


@rule("SINK-CREATE-01", "CIRCUIT-FACT-02", "CIRCUIT-FACT-03", "COMMON-NAME-07", "COMMON-SUBJ-08")
def test_a_sinks_subject_tells_kind_name_and_circuit(cortex: Cortex, circuit: Circuit) -> None:
    name = cortex.name("tck.sink")
    unnamed: Sink[int] = circuit.sink(circuit.pipe())
    named: Sink[int] = circuit.sink(name, circuit.pipe())

    assert unnamed.subject.name is circuit.subject.name
    assert named.subject.name is name
    for sink in (unnamed, named):
        assert isinstance(sink, Sink)
        assert sink.subject.type is Sink
        assert sink.subject.enclosure is circuit.subject
        assert sink.subject is sink.subject


@rule("SINK-CREATE-01", "CIRCUIT-FACT-13", "CURRENT-08")
def test_an_endpoint_may_be_another_circuits(
    cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("sink.other")
    received: list[tuple[Any, object]] = []
    target: Pipe[Capture[int]] = other.pipe(
        lambda capture: received.append((capture.emission, cortex.current()))
    )
    sink = circuit.sink(target)

    for value in (1, 2, 3):
        sink.get("a").emit(value)
    wait(circuit, other)

    assert received == [(1, other.current), (2, other.current), (3, other.current)]


@rule("SINK-CAP-02", "RES-01", "SHAPE-SOURCE-06", "SHAPE-RESOURCE-04")
def test_a_sink_is_a_substrate_and_a_pool_and_nothing_else(circuit: Circuit) -> None:
    sink: Sink[int] = circuit.sink(circuit.pipe())

    assert isinstance(sink, (Substrate, Pool, Lookup))
    assert isinstance(sink, Pool)
    assert isinstance(sink, Substrate)
    assert not isinstance(sink, (Pipe, Receptor, Resource, Source))
    for attribute in ("subscribe", "close", "emit", "receive", "pipe"):
        assert not hasattr(sink, attribute), attribute


@rule("SINK-CAP-02", "CIRCUIT-FACT-13")
def test_an_endpoint_stays_usable_by_others(circuit: Circuit, wait: Settle) -> None:
    received: list[Any] = []
    target: Pipe[Any] = circuit.pipe(received.append)
    sink: Sink[int] = circuit.sink(target)

    target.emit("before")
    sink.get("a").emit(1)
    target.emit("after")
    wait(circuit)

    assert [received[0], received[1].emission, received[2]] == ["before", 1, "after"]


@rule("COMMON-FRESH-09", "CIRCUIT-FACT-01")
def test_every_sink_has_channels_of_its_own(circuit: Circuit) -> None:
    target: Pipe[Capture[int]] = circuit.pipe()
    first, second = circuit.sink("n", target), circuit.sink("n", target)

    assert first is not second
    assert first.subject.id is not second.subject.id
    assert first.get("a") is not second.get("a")
    assert first.get("a").subject.id is not second.get("a").subject.id


@rule("SINK-GET-03")
def test_a_sinks_channel_is_one_pipe_per_name(cortex: Cortex, circuit: Circuit) -> None:
    sink: Sink[int] = circuit.sink(circuit.pipe())
    name = cortex.name("a.b")
    channel = sink.get(name)

    assert isinstance(channel, Pipe)
    assert sink.get(name) is channel
    assert sink.get("a.b") is channel
    assert sink.get(channel.subject) is channel
    assert sink.get(channel) is channel
    assert sink.get("a") is not channel
    assert channel.subject.type is Pipe
    assert channel.subject.name is name


@rule("SINK-GET-03", "SUBJECT-CHAIN-03", "SUBJECT-DEPTH-04")
@derived
def test_a_sinks_channel_is_enclosed_by_the_sink(cortex: Cortex, circuit: Circuit) -> None:
    sink: Sink[int] = circuit.sink("tck.sink", circuit.pipe())
    subject = sink.get("a").subject

    assert list(subject) == [subject, sink.subject, circuit.subject, cortex.subject]


@rule("SINK-GET-03")
@derived
def test_threads_that_race_for_a_channel_get_one(
    circuit: Circuit, together: Together, interleaved: None
) -> None:
    sink: Sink[int] = circuit.sink(circuit.pipe())
    channels: list[list[Pipe[int]]] = []

    together(4, lambda _: channels.append([sink.get(f"n{number}") for number in range(300)]))

    for racing in zip(*channels, strict=True):
        assert len({id(channel) for channel in racing}) == 1


@rule("SINK-GET-03")
@pytest.mark.parametrize("kind", ["None", "foreign name"])
def test_a_channel_needs_a_name_of_the_same_provider(kind: str, circuit: Circuit) -> None:
    sink: Any = circuit.sink(circuit.pipe())

    with pytest.raises(AbsentValueError if kind == "None" else ProviderMismatchFault):
        sink.get(None if kind == "None" else ForeignName("foreign"))


@rule("SINK-EMIT-04", "CIRCUIT-FACT-13")
def test_an_emission_gives_one_capture(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    value = object()
    sink = circuit.sink(endpoint(circuit, captures))

    sink.get("a").emit(value)
    wait(circuit)

    assert len(captures) == 1
    assert isinstance(captures[0], Capture)
    assert captures[0].emission is value


@rule("SINK-EMIT-04")
def test_captures_come_in_one_order_over_all_channels_and_sinks(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    target = endpoint(circuit, captures)
    first, second = circuit.sink("first", target), circuit.sink("second", target)

    first.get("a").emit(1)
    second.get("b").emit(2)
    first.get("b").emit(3)
    second.get("a").emit(4)
    first.get("a").emit(5)
    wait(circuit)

    assert shown(captures) == [("a", 1), ("b", 2), ("b", 3), ("a", 4), ("a", 5)]
    assert [capture.subject for capture in captures] == [
        first.get("a").subject,
        second.get("b").subject,
        first.get("b").subject,
        second.get("a").subject,
        first.get("a").subject,
    ]


@rule("SINK-EMIT-04", "COMMON-FIFO-02")
def test_no_capture_of_eight_producers_is_lost(
    circuit: Circuit, wait: Settle, background: Background, interleaved: None
) -> None:
    captures: Captures = []
    sink = circuit.sink(endpoint(circuit, captures))

    def produce(producer: int) -> None:
        for number in range(500):
            sink.get(f"n{producer}").emit(number)

    for task in [background(produce, producer) for producer in range(8)]:
        task.result()
    wait(circuit)

    for producer in range(8):
        values = [value for name, value in shown(captures) if name == f"n{producer}"]
        assert values == list(range(500))


@rule("SINK-EMIT-04", "COMMON-ABSENT-05")
def test_values_that_are_false_are_captured(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    values: list[Any] = [0, False, "", (), 0.0]
    sink = circuit.sink(endpoint(circuit, captures))

    for value in values:
        sink.get("a").emit(value)
    wait(circuit)

    assert len(captures) == len(values)
    assert all(capture.emission is value for capture, value in zip(captures, values, strict=True))


@rule("SINK-EMIT-04", "PIPE-EMIT-02")
@derived
def test_an_absent_value_is_refused_and_gives_no_capture(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    anything: Any = circuit.sink(endpoint(circuit, captures)).get("a")

    with pytest.raises(AbsentValueError):
        anything.emit(None)
    wait(circuit)

    assert captures == []


@rule("SINK-EMIT-04", "CIRCUIT-ADMIT-01")
@derived
def test_an_emission_to_a_sink_does_not_wait_for_the_endpoint(
    circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    captures: Captures = []
    sink = circuit.sink(endpoint(circuit, captures))
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    background(sink.get("a").emit, 1).result()
    assert captures == []
    gate.release()
    wait(circuit)

    assert shown(captures) == [("a", 1)]


@rule("SINK-EMIT-04", "ISO-01")
@derived
def test_an_endpoint_that_fails_gets_the_next_capture(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []

    def receive(capture: Capture[int]) -> None:
        captures.append(capture)
        raise ValueError("tck: an endpoint fails")

    target: Pipe[Capture[int]] = circuit.pipe(receive)
    sink = circuit.sink(target)
    for value in (1, 2, 3):
        sink.get("a").emit(value)
    wait(circuit)

    assert shown(captures) == [("a", 1), ("a", 2), ("a", 3)]


@rule("SINK-FILTER-05")
def test_a_derived_pool_acts_before_the_capture_is_made(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: Captures = []
    sink = circuit.sink(endpoint(circuit, captures))
    pool = sink.pool(cortex.fiber(int).diff())

    for value in (1, 1, 2):
        pool.get("a").emit(value)
    wait(circuit)

    assert shown(captures) == [("a", 1), ("a", 2)]
    assert all(capture.subject is sink.get("a").subject for capture in captures)


@rule("SINK-FILTER-05")
def test_a_derived_pool_may_change_the_values(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    sink = circuit.sink(endpoint(circuit, captures))
    pool = sink.pool(cortex.flow(int).map(lambda value: f"n={value}"))

    pool.get("a").emit(1)
    pool.get("b").emit(2)
    wait(circuit)

    assert shown(captures) == [("a", "n=1"), ("b", "n=2")]
    assert [capture.subject for capture in captures] == [sink.get("a").subject, sink.get("b").subject]


@rule("SINK-FILTER-05")
@derived
def test_a_derived_pool_has_a_state_per_channel(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    pool = circuit.sink(endpoint(circuit, captures)).pool(cortex.fiber(int).limit(1))

    for channel in ("a", "b", "a", "b"):
        pool.get(channel).emit(1)
    wait(circuit)

    assert pool.get("a") is pool.get("a")
    assert shown(captures) == [("a", 1), ("b", 1)]


@rule("SINK-FILTER-05")
@derived
def test_a_sink_has_pools_of_functions_too(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    sink = circuit.sink(endpoint(circuit, captures))
    pool = sink.pool(lambda channel: [channel])

    assert pool.get("a") is pool.get("a")
    assert pool.get("a")[0] is sink.get("a")
    pool.get("a")[0].emit(1)
    wait(circuit)

    assert shown(captures) == [("a", 1)]


@rule("SINK-FILTER-05")
@pytest.mark.parametrize("recipe", [None, 42], ids=["None", "int"])
def test_a_derived_pool_needs_a_recipe_or_a_function(recipe: object, circuit: Circuit) -> None:
    sink: Any = circuit.sink(circuit.pipe())

    with pytest.raises(TypeError) as refused:
        sink.pool(recipe)

    assert isinstance(refused.value, AbsentValueError) == (recipe is None)


@rule("SINK-FILTER-05")
def test_captures_are_filtered_by_wrapping_the_endpoint(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: Captures = []
    fiber: Fiber[Capture[Any]] = cortex.fiber()
    sink: Sink[int] = circuit.sink(fiber.limit(1).pipe(endpoint(circuit, captures)))

    for channel, value in (("a", 1), ("b", 2), ("a", 3)):
        sink.get(channel).emit(value)
    wait(circuit)

    assert shown(captures) == [("a", 1)]


@rule("SINK-SUBSCR-06", "CIRCUIT-FACT-15", "CAPTURE-SUBJ-02")
def test_a_sink_may_be_the_pool_of_a_subscriber(circuit: Circuit, wait: Settle) -> None:
    captures: Captures = []
    source: Conduit[int] = circuit.conduit(int)
    sink = circuit.sink(endpoint(circuit, captures))
    source.subscribe(circuit.subscriber("tck.bridge", sink))

    source.get("alpha").emit(1)
    source.get("beta").emit(2)
    wait(circuit)

    assert shown(captures) == [("alpha", 1), ("beta", 2)]
    for capture, name in zip(captures, ("alpha", "beta"), strict=True):
        assert capture.subject is sink.get(name).subject
        assert capture.subject.name is source.get(name).subject.name
        assert capture.subject is not source.get(name).subject
        assert capture.subject.id is not source.get(name).subject.id


@rule("SINK-SUBSCR-06", "SINK-FILTER-05", "CIRCUIT-FACT-15")
def test_a_derived_pool_of_a_sink_may_be_the_pool_of_a_subscriber(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: Captures = []
    source: Conduit[int] = circuit.conduit(int)
    sink = circuit.sink(endpoint(circuit, captures))
    source.subscribe(circuit.subscriber("tck.bridge", sink.pool(cortex.fiber(int).diff())))

    for value in (1, 1, 2):
        source.get("alpha").emit(value)
    wait(circuit)

    assert shown(captures) == [("alpha", 1), ("alpha", 2)]
    assert all(capture.subject is sink.get("alpha").subject for capture in captures)


@rule("SINK-CLOSED-07", "CIRCUIT-CLOSE-04", "COMMON-CLOSED-11")
@pytest.mark.parametrize("moment", ["closing", "closed"])
def test_emissions_to_a_sink_of_a_closed_circuit_do_nothing(
    moment: str, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("sink.other")
    captures: Captures = []
    sink = circuit.sink(endpoint(other, captures))
    channel = sink.get("a")
    channel.emit(1)
    wait(circuit, other)

    circuit.close()
    if moment == "closed":
        wait(circuit)
    channel.emit(2)
    sink.get("a").emit(3)
    sink.get("b").emit(4)
    wait(circuit, other)

    assert shown(captures) == [("a", 1)]
    assert channel.subject.enclosure is sink.subject
    assert sink.get("a") is channel


@rule("SINK-CAP-02", "CIRCUIT-CLOSE-09")
@derived
def test_closing_the_endpoints_circuit_does_not_touch_the_sinks(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("sink.other")
    received: list[int] = []
    captures: Captures = []
    sink = circuit.sink(endpoint(other, captures))
    other.close(wait=True)

    sink.get("a").emit(1)
    circuit.pipe(received.append).emit(2)
    wait(circuit)

    assert (captures, received) == ([], [2])
