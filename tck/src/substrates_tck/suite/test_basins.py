"""Basins: the newest values, kept until they are drained."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Basin,
    Capture,
    Circuit,
    Conduit,
    ConfigurationError,
    Cortex,
    Pipe,
    ProviderMismatchFault,
    Receptor,
    Resource,
    Source,
    Substrate,
    kernel,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_PIPES
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Background, Gate, Settle


def drained(basin: Basin[Any], circuit: Circuit, wait: Settle) -> list[Any]:
    """Return what a drain gives now."""
    received: list[Any] = []
    basin.drain(circuit.pipe(received.append))
    wait(circuit)
    return received


@rule("BASIN-CREATE-01", "ERR-ARG-01", "CIRCUIT-FACT-04")
@pytest.mark.parametrize("capacity", [0, -1, -(2**70)])
@pytest.mark.parametrize("form", [(), (int,)], ids=["plain", "with a class"])
def test_a_capacity_below_one_is_refused(
    form: tuple[Any, ...], capacity: int, circuit: Circuit, wait: Settle
) -> None:
    anything: Any = circuit.basin

    with pytest.raises(ConfigurationError):
        anything(*form, capacity)

    basin = circuit.basin(1)
    basin.pipe().emit(1)
    assert drained(basin, circuit, wait) == [1]


ABSENT: dict[str, Callable[[Any], object]] = {
    "basin(None)": lambda circuit: circuit.basin(None),
    "basin(None, 1)": lambda circuit: circuit.basin(None, 1),
    "basin(type, None)": lambda circuit: circuit.basin(int, None),
}


@rule("BASIN-CREATE-01", "CIRCUIT-FACT-04")
@pytest.mark.parametrize("call", ABSENT.values(), ids=ABSENT)
def test_an_absent_class_or_capacity_is_refused(call: Callable[[Any], object], circuit: Circuit) -> None:
    with pytest.raises(AbsentValueError):
        call(circuit)


@rule("BASIN-CREATE-01", "ERR-CAT-01")
@derived
@pytest.mark.parametrize(
    "arguments",
    [(), ("1",), (1.0,), (True,), (int, "1"), (1, 1), (int, 1, 1)],
    ids=["none", "text", "float", "bool", "class and text", "two numbers", "three"],
)
def test_a_capacity_of_another_kind_is_a_type_error(arguments: tuple[Any, ...], circuit: Any) -> None:
    with pytest.raises(TypeError) as refused:
        circuit.basin(*arguments)

    assert not isinstance(refused.value, AbsentValueError)


@rule("BASIN-CREATE-01")
def test_a_class_makes_no_difference(circuit: Circuit, wait: Settle) -> None:
    basin: Basin[Any] = circuit.basin(int, 2)

    for value in (1, "two", 3.0):
        basin.pipe().emit(value)

    assert drained(basin, circuit, wait) == ["two", 3.0]


@rule("BASIN-CREATE-02", "CIRCUIT-FACT-02", "CIRCUIT-FACT-03", "COMMON-NAME-07", "COMMON-SUBJ-08")
def test_a_basins_subject_tells_kind_name_and_circuit(circuit: Circuit) -> None:
    for basin in (circuit.basin(1), circuit.basin(int, 1)):
        assert isinstance(basin, Basin)
        assert basin.subject.type is Basin
        assert basin.subject.name is circuit.subject.name
        assert basin.subject.enclosure is circuit.subject
        assert basin.subject is basin.subject


@rule("BASIN-CREATE-02", "CIRCUIT-FACT-09", "RES-01")
def test_a_basin_is_a_substrate_and_cannot_be_read_or_closed(circuit: Circuit) -> None:
    basin = circuit.basin(1)

    assert isinstance(basin, Substrate)
    assert not isinstance(basin, (Pipe, Receptor, Resource, Source))
    for attribute in ("get", "emit", "receive", "close", "subscribe", "__iter__", "__len__", "__getitem__"):
        assert not hasattr(basin, attribute), attribute


@rule("COMMON-FRESH-09", "CIRCUIT-FACT-01")
def test_every_basin_keeps_values_of_its_own(circuit: Circuit, wait: Settle) -> None:
    first, second = circuit.basin(3), circuit.basin(3)

    first.pipe().emit(7)

    assert first is not second
    assert first.subject.id is not second.subject.id
    assert drained(second, circuit, wait) == []
    assert drained(first, circuit, wait) == [7]


@rule("BASIN-PIPE-03")
def test_a_basins_pipe_is_one(circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(1)
    pipe = basin.pipe()

    assert isinstance(pipe, Pipe)
    assert basin.pipe() is pipe
    assert pipe.subject.type is Pipe
    pipe.emit(1)
    wait(circuit)
    assert basin.pipe() is pipe


@rule("BASIN-PIPE-03", "SUBJECT-CHAIN-03")
@derived
def test_a_basins_pipe_is_enclosed_by_its_circuit(circuit: Circuit) -> None:
    assert circuit.basin(1).pipe().subject.within(circuit.subject)


@rule("BASIN-PIPE-03")
@derived
def test_an_absent_emission_is_refused_and_changes_nothing(circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(2)
    anything: Any = None
    basin.pipe().emit(1)

    with pytest.raises(AbsentValueError):
        basin.pipe().emit(anything)

    assert drained(basin, circuit, wait) == [1]


@rule("BASIN-RETAIN-04", "CIRCUIT-FACT-09")
@pytest.mark.parametrize(
    ("capacity", "kept"),
    [(1, [5]), (3, [3, 4, 5]), (5, [1, 2, 3, 4, 5]), (1000, [1, 2, 3, 4, 5])],
    ids=["1", "3", "5", "1000"],
)
def test_a_basin_keeps_the_newest_values(
    capacity: int, kept: list[int], circuit: Circuit, wait: Settle
) -> None:
    basin = circuit.basin(capacity)

    for value in range(1, 6):
        basin.pipe().emit(value)

    assert drained(basin, circuit, wait) == kept


@rule("BASIN-RETAIN-04")
@derived
@pytest.mark.parametrize("capacity", [2**31, 2**63 - 1], ids=["2**31", "2**63-1"])
def test_a_large_capacity_takes_no_room(capacity: int, circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(capacity)

    basin.pipe().emit(1)

    assert drained(basin, circuit, wait) == [1]


@rule("BASIN-RETAIN-04", "COMMON-ABSENT-05")
def test_a_basin_keeps_values_that_are_false(circuit: Circuit, wait: Settle) -> None:
    values: list[Any] = [0, False, "", (), 0.0]
    basin = circuit.basin(10)

    for value in values:
        basin.pipe().emit(value)
    kept = drained(basin, circuit, wait)

    assert len(kept) == len(values)
    assert all(map(operator.is_, kept, values))


@rule("BASIN-DRAIN-05", "CIRCUIT-FACT-09")
def test_a_drain_gives_the_values_oldest_first_and_they_are_gone(circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(10)

    basin.pipe().emit(7)
    basin.pipe().emit(8)

    assert drained(basin, circuit, wait) == [7, 8]
    assert drained(basin, circuit, wait) == []


@rule("BASIN-DRAIN-05")
def test_draining_an_empty_basin_does_nothing(circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(1)

    assert drained(basin, circuit, wait) == []
    basin.pipe().emit(1)
    assert drained(basin, circuit, wait) == [1]


@rule("BASIN-DRAIN-05", "CIRCUIT-ADMIT-03")
def test_a_drain_returns_at_once_and_takes_effect_in_its_turn(
    circuit: Circuit, wait: Settle, background: Background, gate: Gate
) -> None:
    basin = circuit.basin(10)
    received: list[int] = []
    target: Pipe[int] = circuit.pipe(received.append)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    basin.pipe().emit(1)
    background(basin.drain, target).result()
    assert received == []
    gate.release()
    wait(circuit)

    assert received == [1]


@rule("BASIN-DRAIN-05", "COMMON-TRANSIT-03", "CIRCUIT-TRANSIT-01")
def test_a_drain_in_the_own_context_is_not_done_inline(circuit: Circuit, wait: Settle, gate: Gate) -> None:
    log: list[Any] = []
    basin = circuit.basin(10)
    target: Pipe[Any] = circuit.pipe(lambda value: log.append(("drained", value)))
    pipe: Pipe[str] = circuit.pipe(log.append)
    basin.pipe().emit(1)

    def receive(_value: int) -> None:
        gate.hold()
        basin.pipe().emit(2)
        basin.drain(target)
        basin.pipe().emit(3)
        log.append("end")

    circuit.pipe(receive).emit(0)
    gate.await_entered()
    pipe.emit("outside")
    gate.release()
    wait(circuit)

    assert log == ["end", ("drained", 1), ("drained", 2), "outside"]
    assert drained(basin, circuit, wait) == [3]


@rule("BASIN-DRAIN-06")
def test_a_later_drain_gives_what_came_since(circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(10)

    basin.pipe().emit("first")
    assert drained(basin, circuit, wait) == ["first"]
    basin.pipe().emit("second")
    assert drained(basin, circuit, wait) == ["second"]


@rule("BASIN-DRAIN-07", "COMMON-FIFO-02")
def test_a_drain_holds_what_was_emitted_before_it_and_not_what_came_after(
    circuit: Circuit, wait: Settle
) -> None:
    basin = circuit.basin(10)
    first: list[int] = []
    second: list[int] = []

    basin.pipe().emit(1)
    basin.drain(circuit.pipe(first.append))
    basin.pipe().emit(2)
    basin.drain(circuit.pipe(second.append))
    basin.pipe().emit(3)
    wait(circuit)

    assert (first, second) == ([1], [2])
    assert drained(basin, circuit, wait) == [3]


@rule("BASIN-DRAIN-07", "COMMON-FIFO-02")
@derived
def test_drains_among_producers_lose_and_repeat_nothing(
    circuit: Circuit, wait: Settle, background: Background, interleaved: None
) -> None:
    basin: Basin[tuple[int, int]] = circuit.basin(100_000)
    received: list[tuple[int, int]] = []
    target = circuit.pipe(received.append)

    def produce(producer: int) -> None:
        for number in range(1000):
            basin.pipe().emit((producer, number))

    producing = [background(produce, producer) for producer in range(4)]
    while not all(task.done for task in producing):
        basin.drain(target)
        wait(circuit)
    basin.drain(target)
    wait(circuit)

    for producer in range(4):
        assert [number for by, number in received if by == producer] == list(range(1000))


@rule("BASIN-TARGET-08")
def test_a_drain_needs_a_target(circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(10)
    anything: Any = None
    basin.pipe().emit(1)

    with pytest.raises(AbsentValueError):
        basin.drain(anything)

    assert drained(basin, circuit, wait) == [1]


@rule("BASIN-TARGET-08", "ERR-PROV-01", "SPI-MIX-13", "ERR-FAULT-02", "ERR-FAULT-03")
@pytest.mark.parametrize("kind", FOREIGN_PIPES, ids=lambda kind: kind.__name__)
def test_a_basin_drains_into_no_pipe_of_another_provider(
    kind: Callable[[Any], Any], circuit: Circuit, wait: Settle
) -> None:
    basin = circuit.basin(10)
    foreign = kind(circuit.pipe().subject)
    basin.pipe().emit(1)

    with pytest.raises(ProviderMismatchFault) as refused:
        basin.drain(foreign)
    wait(circuit)

    assert refused.value.subject is basin.subject
    assert refused.value.operation == "drain"
    assert foreign.received == []
    assert drained(basin, circuit, wait) == [1]


@rule("BASIN-TARGET-08")
def test_a_basin_may_drain_into_another_circuit(
    cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("basin.other")
    received: list[tuple[int, object]] = []
    basin = circuit.basin(10)
    target: Pipe[int] = other.pipe(lambda value: received.append((value, cortex.current())))

    basin.pipe().emit(1)
    basin.pipe().emit(2)
    basin.drain(target)
    wait(circuit, other)

    assert received == [(1, other.current), (2, other.current)]
    assert drained(basin, circuit, wait) == []


@rule("BASIN-TARGET-08")
@derived
def test_a_basin_may_drain_into_any_kind_of_pipe(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(10)
    received: list[int] = []
    cell = circuit.cell(0)
    receiver = circuit.pipe(received.append)
    targets = [
        cell.pipe(),
        circuit.pipe([receiver, receiver]),
        cortex.fiber(int).limit(1).pipe(receiver),
        circuit.pipe(),
    ]

    for target in targets:
        basin.pipe().emit(1)
        basin.pipe().emit(2)
        basin.drain(target)
    wait(circuit)

    assert cell.get() == 2
    assert received == [1, 1, 2, 2, 1]
    assert drained(basin, circuit, wait) == []


@rule("BASIN-CLOSED-09", "CIRCUIT-CLOSE-04", "COMMON-CLOSED-11")
@pytest.mark.parametrize("moment", ["closing", "closed"])
def test_draining_after_close_is_silent_and_does_nothing(
    moment: str, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("basin.other")
    received: list[int] = []
    basin = circuit.basin(10)
    basin.pipe().emit(1)
    wait(circuit)

    circuit.close()
    if moment == "closed":
        wait(circuit)
    basin.pipe().emit(2)
    basin.drain(other.pipe(received.append))
    wait(circuit, other)

    assert received == []


@rule("BASIN-CLOSED-09", "CIRCUIT-CLOSE-05")
@derived
def test_a_drain_accepted_before_close_is_done(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    other = new_circuit("basin.other")
    received: list[int] = []
    basin = circuit.basin(10)
    target = other.pipe(received.append)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    basin.pipe().emit(1)
    basin.drain(target)
    circuit.close()
    gate.release()
    wait(circuit, other)

    assert received == [1]


@rule("BASIN-CAPTURES-10")
def test_a_basin_behind_a_sink_keeps_captures_over_all_channels(circuit: Circuit, wait: Settle) -> None:
    basin: Basin[Capture[int]] = circuit.basin(10)
    sink = circuit.sink(basin.pipe())
    conduit: Conduit[int] = circuit.conduit(int)
    conduit.subscribe(circuit.subscriber("tck.bridge", sink))

    for channel, value in (("a", 10), ("b", 20), ("a", 30)):
        conduit.get(channel).emit(value)
    captures = drained(basin, circuit, wait)

    assert all(isinstance(capture, Capture) for capture in captures)
    assert [(str(capture.subject.name), capture.emission) for capture in captures] == [
        ("a", 10),
        ("b", 20),
        ("a", 30),
    ]


@rule("BASIN-CAPTURES-10")
def test_a_basin_makes_no_captures_itself(circuit: Circuit, wait: Settle) -> None:
    value = object()
    basin = circuit.basin(10)

    basin.pipe().emit(value)

    assert drained(basin, circuit, wait)[0] is value


@rule("BASIN-SELF-11")
@derived
def test_draining_into_its_own_pipe_leaves_the_values(circuit: Circuit, wait: Settle) -> None:
    basin = circuit.basin(3)
    basin.pipe().emit(1)
    basin.pipe().emit(2)

    basin.drain(basin.pipe())
    wait(circuit)

    assert drained(basin, circuit, wait) == [1, 2]


@rule("BASIN-FAIL-12", "ISO-01")
@derived
def test_a_target_that_fails_gets_the_other_values_all_the_same(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    basin = circuit.basin(10)

    def receive(value: int) -> None:
        if value == 2:
            raise ValueError("tck: the target of a drain fails")
        received.append(value)

    for value in (1, 2, 3):
        basin.pipe().emit(value)
    basin.drain(circuit.pipe(receive))
    wait(circuit)

    assert received == [1, 3]
    assert drained(basin, circuit, wait) == []


@rule("BASIN-FAIL-12", "ISO-01")
@derived
def test_a_value_that_the_targets_lane_refuses_does_not_hold_up_the_others(
    circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    basin: Basin[Any] = circuit.basin(10)
    numbers: Pipe[Any] = circuit.pipe(received.append, lane=kernel.int64)

    for value in (1, "text", 3):
        basin.pipe().emit(value)
    basin.drain(numbers)
    wait(circuit)

    assert received == [1, 3]
    assert drained(basin, circuit, wait) == []
