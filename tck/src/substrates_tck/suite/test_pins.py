"""Pins: a value that callbacks of the own circuit read and write at once, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Capture,
    Circuit,
    Conduit,
    ContextError,
    Cortex,
    ManualClock,
    Pin,
    Pipe,
    ProviderMismatchFault,
    Receptor,
    Resource,
    Source,
    Subscriber,
    Substrate,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import ForeignName
from substrates_tck.marks import derived, rule
from substrates_tck.outcomes import inside, outcome
from substrates_tck.waits import Background, Settle

ABSENT: dict[str, Callable[[Any], object]] = {
    "pin(None)": lambda circuit: circuit.pin(None),
    "pin(None, 0)": lambda circuit: circuit.pin(None, 0),
    "pin(name, None)": lambda circuit: circuit.pin("n", None),
}
ACCESS: dict[str, Callable[[Pin[Any]], object]] = {
    "get": lambda pin: pin.get(),
    "set": lambda pin: pin.set(2),
}
EACH_ACCESS = pytest.mark.parametrize("access", ACCESS.values(), ids=ACCESS)


@rule("PIN-CREATE-01", "CIRCUIT-FACT-04")
@pytest.mark.parametrize("call", ABSENT.values(), ids=ABSENT)
def test_a_pin_needs_a_value_and_a_name_that_is_given(
    call: Callable[[Any], object], circuit: Circuit, wait: Settle
) -> None:
    with pytest.raises(AbsentValueError):
        call(circuit)

    assert inside(circuit, wait, circuit.pin(1).get) == 1


@rule("PIN-CREATE-01", "ERR-PROV-01")
def test_a_pins_name_is_of_the_same_provider(circuit: Circuit) -> None:
    with pytest.raises(ProviderMismatchFault) as refused:
        circuit.pin(ForeignName("foreign"), 0)

    assert refused.value.subject is circuit.subject
    assert refused.value.operation == "pin"


@rule("PIN-CREATE-01", "CIRCUIT-FACT-02", "CIRCUIT-FACT-03", "COMMON-NAME-07", "COMMON-SUBJ-08")
def test_a_pins_subject_tells_kind_name_and_circuit(cortex: Cortex, circuit: Circuit) -> None:
    name = cortex.name("tck.pin")
    unnamed, named = circuit.pin(0), circuit.pin(name, 0)

    assert unnamed.subject.name is circuit.subject.name
    assert named.subject.name is name
    for pin in (unnamed, named):
        assert isinstance(pin, Pin)
        assert pin.subject.type is Pin
        assert pin.subject.enclosure is circuit.subject
        assert pin.subject is pin.subject


@rule("PIN-CREATE-01", "RES-01")
def test_a_pin_is_a_substrate_and_nothing_that_is_emitted_to_or_closed(circuit: Circuit) -> None:
    pin = circuit.pin(0)

    assert isinstance(pin, Substrate)
    assert not isinstance(pin, (Pipe, Receptor, Resource, Source))
    for attribute in ("emit", "pipe", "receive", "close", "subscribe", "value"):
        assert not hasattr(pin, attribute), attribute
    assert not callable(pin)


@rule("PIN-CREATE-01")
def test_a_pin_may_be_made_in_any_context(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle, background: Background
) -> None:
    pins: list[Any] = [
        circuit.pin(1),
        background(circuit.pin, 1).result(),
        inside(circuit, wait, lambda: circuit.pin(1)),
        inside(new_circuit("pin.other"), wait, lambda: circuit.pin(1)),
    ]

    assert [inside(circuit, wait, pin.get) for pin in pins] == [1, 1, 1, 1]


@rule("COMMON-FRESH-09", "CIRCUIT-FACT-01")
def test_every_pin_has_a_value_of_its_own(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    name = cortex.name("tck.pin")
    first, second = circuit.pin(name, 0), circuit.pin(name, 0)

    inside(circuit, wait, lambda: first.set(7))

    assert first is not second
    assert first.subject.id is not second.subject.id
    assert inside(circuit, wait, lambda: (first.get(), second.get())) == (7, 0)


@rule("PIN-GET-02", "CIRCUIT-FACT-11")
def test_a_pin_holds_its_first_value(circuit: Circuit, wait: Settle) -> None:
    seed = [42]

    assert inside(circuit, wait, circuit.pin(seed).get) is seed


@rule("PIN-SET-03", "PIN-GET-02", "CIRCUIT-FACT-11")
def test_setting_a_pin_takes_effect_at_once_and_stays(circuit: Circuit, wait: Settle) -> None:
    log: list[int] = []
    pin = circuit.pin(1)

    def receive(value: int) -> None:
        log.append(pin.get())
        pin.set(pin.get() + value)
        log.append(pin.get())

    pipe: Pipe[int] = circuit.pipe(receive)
    pipe.emit(5)
    pipe.emit(93)
    wait(circuit)

    assert log == [1, 6, 6, 99]
    assert inside(circuit, wait, pin.get) == 99


@rule("COMMON-ABSENT-05")
@pytest.mark.parametrize("value", [0, False, "", (), 0.0], ids=["0", "False", "str", "tuple", "0.0"])
def test_a_pin_holds_values_that_are_false(value: object, circuit: Circuit, wait: Settle) -> None:
    seeded, changed = circuit.pin(value), circuit.pin(object())

    inside(circuit, wait, lambda: changed.set(value))

    assert inside(circuit, wait, seeded.get) is value
    assert inside(circuit, wait, changed.get) is value


@rule("PIN-GUARD-04", "CIRCUIT-FACT-11")
@EACH_ACCESS
@pytest.mark.parametrize("caller", ["main thread", "another thread"])
def test_a_pin_is_refused_to_outside_contexts(
    caller: str,
    access: Callable[[Pin[Any]], object],
    circuit: Circuit,
    wait: Settle,
    background: Background,
) -> None:
    pin = circuit.pin(1)

    if caller == "main thread":
        error = outcome(lambda: access(pin))
    else:
        error = background(outcome, lambda: access(pin)).result()

    assert type(error) is ContextError
    assert inside(circuit, wait, pin.get) == 1


@rule("PIN-GUARD-05", "CIRCUIT-FACT-11")
@EACH_ACCESS
def test_a_pin_is_refused_to_other_circuits(
    access: Callable[[Pin[Any]], object], circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    pin = circuit.pin(1)
    # A provider may run several circuits on one thread: the own circuit has run just before.
    assert inside(circuit, wait, pin.get) == 1

    error = inside(new_circuit("pin.other"), wait, lambda: access(pin))

    assert type(error) is ContextError
    assert inside(circuit, wait, pin.get) == 1


@rule("PIN-GUARD-04")
@derived
def test_a_pin_is_refused_to_the_thread_that_waits_for_its_circuit(circuit: Circuit, wait: Settle) -> None:
    pin = circuit.pin(1)
    for _ in range(20):
        assert inside(circuit, wait, pin.get) == 1
        assert type(outcome(pin.get)) is ContextError


def _in_subscriber(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    conduit: Conduit[int] = circuit.conduit(int)
    conduit.subscribe(circuit.subscriber("n", lambda subject, registrar: note()))
    conduit.get("a").emit(1)


def _in_registered(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    conduit: Conduit[int] = circuit.conduit(int)
    conduit.subscribe(
        circuit.subscriber("n", lambda subject, registrar: registrar.register(lambda _: note()))
    )
    conduit.get("a").emit(1)


def _in_on_close(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    conduit: Conduit[int] = circuit.conduit(int)
    subscriber: Subscriber[int] = circuit.subscriber("n", lambda subject, registrar: None)
    conduit.subscribe(subscriber, lambda subscription: note()).close()


def _in_fiber(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    cortex.fiber(int).guard(lambda value: note()).pipe(circuit.pipe()).emit(1)


def _in_flow(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    cortex.flow(int).map(lambda value: note()).pipe(circuit.pipe()).emit(1)


def _in_update(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    circuit.port(1).update(lambda value: note())


def _in_argued_update(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    circuit.port(1).update(2, lambda value, argument: note())


def _in_drain_target(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    basin = circuit.basin(1)
    basin.pipe().emit(1)
    basin.drain(circuit.pipe(lambda value: note()))


def _in_port_target(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    circuit.port(1).emit(circuit.pipe(lambda value: note()))


def _in_tick(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    circuit.ticker(1, circuit.pipe(lambda value: note()))
    clock.advance(1)


def _in_endpoint(circuit: Circuit, cortex: Cortex, clock: ManualClock, note: Callable[[], Any]) -> None:
    endpoint: Pipe[Capture[int]] = circuit.pipe(lambda capture: note())
    circuit.sink(endpoint).get("a").emit(1)


CALLBACKS = {
    "subscriber": _in_subscriber,
    "registered receptor": _in_registered,
    "on_close": _in_on_close,
    "fiber": _in_fiber,
    "flow": _in_flow,
    "update": _in_update,
    "update with an argument": _in_argued_update,
    "target of a drain": _in_drain_target,
    "target of a port": _in_port_target,
    "target of a ticker": _in_tick,
    "endpoint of a sink": _in_endpoint,
}


@rule("PIN-GUARD-06", "COMMON-CTX-01", "CIRCUIT-EXEC-01", "CURRENT-06")
@pytest.mark.parametrize("callback", CALLBACKS.values(), ids=CALLBACKS)
def test_every_kind_of_callback_runs_in_the_circuits_context_and_has_access(
    callback: Callable[[Circuit, Cortex, ManualClock, Callable[[], Any]], None],
    cortex: Cortex,
    timed: Circuit,
    clock: ManualClock,
    wait: Settle,
) -> None:
    pin = timed.pin(0)
    noted: list[Any] = []

    def access() -> tuple[int, object]:
        pin.set(pin.get() + 1)
        return pin.get(), cortex.current()

    def note() -> int:
        noted.append(outcome(access))
        return 1

    callback(timed, cortex, clock, note)
    wait(timed)

    assert noted == [(1, timed.current)]
    assert inside(timed, wait, pin.get) == 1


@rule("PIN-ABSENT-07")
def test_setting_an_absent_value_is_refused_and_changes_nothing(circuit: Circuit, wait: Settle) -> None:
    pin: Any = circuit.pin(1)

    error, value = inside(circuit, wait, lambda: (outcome(lambda: pin.set(None)), pin.get()))

    assert type(error) is AbsentValueError
    assert value == 1


@rule("PIN-ABSENT-07")
@derived
def test_setting_an_absent_value_outside_is_refused_one_way_or_the_other(
    circuit: Circuit, wait: Settle
) -> None:
    pin: Any = circuit.pin(1)

    with pytest.raises((ContextError, AbsentValueError)):
        pin.set(None)

    assert inside(circuit, wait, pin.get) == 1


@rule("PIN-EMIT-08", "CIRCUIT-FACT-11")
def test_the_handle_may_be_emitted(circuit: Circuit, wait: Settle) -> None:
    received: list[tuple[object, object]] = []
    pin = circuit.pin(10)
    pipe: Pipe[Pin[int]] = circuit.pipe(lambda handle: received.append((handle, handle.get())))

    pipe.emit(pin)
    wait(circuit)

    assert received[0][0] is pin
    assert received[0][1] == 10


@rule("PIN-EMIT-09")
def test_the_handle_works_again_when_it_comes_back(new_circuit: NewCircuit, wait: Settle) -> None:
    owner, foreign = new_circuit("pin.owner"), new_circuit("pin.foreign")
    outcomes: list[Any] = []
    pin = owner.pin(10)

    def receive(handle: Pin[int]) -> None:
        handle.set(handle.get() + 1)
        outcomes.append(handle.get())

    home: Pipe[Pin[int]] = owner.pipe(receive)

    def pass_on(handle: Pin[int]) -> None:
        outcomes.append(type(outcome(handle.get)))
        outcomes.append(type(outcome(lambda: handle.set(0))))
        home.emit(handle)

    away: Pipe[Pin[int]] = foreign.pipe(pass_on)
    start: Pipe[int] = owner.pipe(lambda _: away.emit(pin))
    start.emit(0)
    wait(owner, foreign, owner)

    assert outcomes == [ContextError, ContextError, 11]


@rule("PIN-MUT-10")
def test_what_a_pin_holds_may_be_mutated_in_the_own_context(circuit: Circuit, wait: Settle) -> None:
    pin: Pin[list[int]] = circuit.pin([])
    pipe: Pipe[int] = circuit.pipe(lambda value: pin.get().append(value))

    for value in (1, 2, 3):
        pipe.emit(value)
    wait(circuit)

    assert inside(circuit, wait, lambda: tuple(pin.get())) == (1, 2, 3)


@rule("PIN-CLOSED-11")
@EACH_ACCESS
@pytest.mark.parametrize("moment", ["closing", "closed"])
def test_a_pin_of_a_closed_circuit_is_still_refused_outside(
    moment: str,
    access: Callable[[Pin[Any]], object],
    circuit: Circuit,
    wait: Settle,
    background: Background,
) -> None:
    pin = circuit.pin(1)
    assert inside(circuit, wait, pin.get) == 1
    circuit.close()
    if moment == "closed":
        wait(circuit)

    assert type(outcome(lambda: access(pin))) is ContextError
    # A new thread may get the number of the thread that ended with the circuit.
    for _ in range(20):
        assert type(background(outcome, lambda: access(pin)).result()) is ContextError


@rule("PIN-CLOSED-11", "CIRCUIT-CLOSE-06")
@derived
def test_a_draining_circuits_callbacks_still_have_access(circuit: Circuit, wait: Settle) -> None:
    outcomes: list[Any] = []
    pin = circuit.pin(1)

    def receive(value: int) -> None:
        circuit.close()
        outcomes.append(outcome(pin.get))

    circuit.pipe(receive).emit(1)
    wait(circuit)

    assert outcomes == [1]
