"""What a port refuses, what fails in its updates, and what is left of it after the end."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    Cortex,
    Fault,
    Pipe,
    Port,
    ProviderMismatchFault,
    kernel,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_PIPES
from substrates_tck.marks import derived, rule
from substrates_tck.outcomes import outcome, sent
from substrates_tck.waits import Gate, Settle


@rule("PORT-EMIT-05", "ISO-01")
@derived
def test_a_value_that_the_targets_lane_refuses_is_an_isolated_failure(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    numbers: Pipe[Any] = circuit.pipe(received.append, lane=kernel.int64)
    port: Port[Any] = circuit.port("text")

    assert outcome(lambda: port.emit(numbers)) is None
    port.replace(7)
    port.emit(numbers)
    wait(circuit)

    assert received == [7]


@rule("PORT-EMIT-06")
def test_sending_needs_a_target(circuit: Circuit, wait: Settle) -> None:
    port = circuit.port(1)
    anything: Any = None

    with pytest.raises(AbsentValueError):
        port.emit(anything)

    assert sent(port, circuit, wait) == 1


@rule("PORT-EMIT-06", "ERR-PROV-01", "SPI-MIX-13", "ERR-FAULT-02", "ERR-FAULT-03")
@pytest.mark.parametrize("kind", FOREIGN_PIPES, ids=lambda kind: kind.__name__)
def test_a_port_sends_to_no_pipe_of_another_provider(
    kind: Callable[[Any], Any], circuit: Circuit, wait: Settle
) -> None:
    port = circuit.port(1)
    foreign = kind(circuit.pipe().subject)

    with pytest.raises(ProviderMismatchFault) as refused:
        port.emit(foreign)
    wait(circuit)

    assert refused.value.subject is port.subject
    assert refused.value.operation == "emit"
    assert foreign.received == []
    assert sent(port, circuit, wait) == 1


ABSENT_OPERATIONS: dict[str, Callable[[Any], object]] = {
    "replace(None)": lambda port: port.replace(None),
    "update(None)": lambda port: port.update(None),
    "update(None, function)": lambda port: port.update(None, lambda value, argument: value),
    "update(argument, None)": lambda port: port.update(1, None),
}


@rule("PORT-ABSENT-07")
@pytest.mark.parametrize("call", ABSENT_OPERATIONS.values(), ids=ABSENT_OPERATIONS)
def test_an_absent_argument_is_refused_and_changes_nothing(
    call: Callable[[Any], object], circuit: Circuit, wait: Settle
) -> None:
    port = circuit.port(1)

    with pytest.raises(AbsentValueError):
        call(port)

    assert sent(port, circuit, wait) == 1


@rule("PORT-ABSENT-07", "ERR-CAT-01")
@derived
@pytest.mark.parametrize(
    "arguments", [(), (42,), (1, 42), (1, 2, max)], ids=["none", "no function", "argument", "three"]
)
def test_an_update_that_is_no_update_is_a_type_error(
    arguments: tuple[Any, ...], circuit: Circuit, wait: Settle
) -> None:
    port: Any = circuit.port(1)

    with pytest.raises(TypeError) as refused:
        port.update(*arguments)

    assert not isinstance(refused.value, AbsentValueError)
    assert sent(port, circuit, wait) == 1


@rule("PORT-FAIL-09", "ISO-01")
def test_an_update_that_fails_keeps_the_value(circuit: Circuit, wait: Settle) -> None:
    port = circuit.port(1)
    anything: Any = lambda value: None  # noqa: E731

    def fail(value: int) -> int:
        raise ValueError("tck: an update fails")

    port.update(lambda value: value + 1)
    port.update(anything)
    port.update(fail)
    port.update(lambda value: value * 10)

    assert sent(port, circuit, wait) == 20


@rule("PORT-FAIL-09", "PORT-FAIL-10")
@derived
def test_an_update_with_an_argument_that_fails_keeps_the_value(circuit: Circuit, wait: Settle) -> None:
    port = circuit.port(1)
    anything: Any = lambda value, argument: None  # noqa: E731

    def fail(value: int, argument: int) -> int:
        raise ValueError("tck: an update fails")

    port.update(5, anything)
    port.update(5, fail)
    port.update(5, operator.add)

    assert sent(port, circuit, wait) == 6


@rule("PORT-FAIL-10", "ISO-09")
@derived
def test_failing_updates_are_reported_and_never_seen_by_the_caller(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    reports: list[tuple[Any, BaseException]] = []
    port = circuit.port(1)
    error = ValueError("tck: an update fails")
    anything: Any = lambda value: None  # noqa: E731

    def fail(value: int) -> int:
        raise error

    cortex.on_fault(lambda subject, failure: reports.append((subject, failure)))
    try:
        assert outcome(lambda: port.update(anything)) is None
        assert outcome(lambda: port.update(fail)) is None
        wait(circuit)
    finally:
        cortex.on_fault(None)

    told = {id(failure): (subject, failure) for subject, failure in reports}
    assert told.pop(id(error))[0] is port.subject
    # An absent result need not be told; if it is, as a fault of the port.
    for _, fault in told.values():
        assert isinstance(fault, Fault)
        assert fault.subject is port.subject
        assert fault.operation == "update"


@rule("PORT-CLOSED-12", "CIRCUIT-CLOSE-04", "COMMON-CLOSED-11")
@pytest.mark.parametrize("moment", ["closing", "closed"])
def test_operations_after_close_are_silent_and_do_nothing(
    moment: str, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("port.other")
    calls: list[int] = []
    received: list[int] = []
    port = circuit.port(1)
    target = other.pipe(received.append)

    def update(value: int) -> int:
        calls.append(value)
        return value

    circuit.close()
    if moment == "closed":
        wait(circuit)
    port.replace(2)
    port.update(update)
    port.update(3, lambda value, argument: update(value))
    port.emit(target)
    wait(circuit, other)

    assert (calls, received) == ([], [])


@rule("PORT-CLOSED-12", "CIRCUIT-CLOSE-05")
@derived
def test_what_was_accepted_before_close_is_done(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    other = new_circuit("port.other")
    received: list[int] = []
    port = circuit.port(1)
    target = other.pipe(received.append)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    port.update(lambda value: value + 1)
    port.emit(target)
    circuit.close()
    gate.release()
    wait(circuit, other)

    assert received == [2]
