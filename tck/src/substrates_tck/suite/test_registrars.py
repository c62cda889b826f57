"""Registrars: what receives a channel's emissions, in which order, and only until the callback ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    Conduit,
    ConfigurationError,
    Cortex,
    Pipe,
    ProviderMismatchFault,
    Receptor,
    Registrar,
    Subject,
    SubstratesError,
    TemporalError,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_PIPES
from substrates_tck.marks import derived, rule
from substrates_tck.observers import registering
from substrates_tck.outcomes import noted
from substrates_tck.waits import Gate, Settle


class Tries:
    """A subscriber's callback that tries to register something and notes what that raises."""

    def __init__(self, circuit: Circuit, conduit: Conduit[Any], receiver: Any) -> None:
        self.errors: list[BaseException | None] = []
        self.received: list[int] = []
        self._receiver = receiver
        conduit.subscribe(circuit.subscriber("tries", self._called))

    def _called(self, subject: Subject[Pipe[Any]], registrar: Registrar[Any]) -> None:
        self.errors.append(noted(registrar.register, self._receiver))
        registrar.register(self.received.append)


@rule("REGISTRAR-REG-01", "CIRCUIT-ORDER-05", "CONDUIT-EMIT-06")
def test_all_that_is_registered_receives_every_emission_in_the_same_order(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    first: list[int] = []
    second: list[int] = []
    conduit.subscribe(circuit.subscriber("both", registering(first.append, second.append)))

    for number in range(100):
        conduit.get("a").emit(number)
    wait(circuit)

    assert first == list(range(100))
    assert second == first


@rule("REGISTRAR-REG-01")
def test_what_is_registered_receives_from_its_channel_alone(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    received: dict[str, list[int]] = {"a": [], "b": []}

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        registrar.register(received[str(subject.name)].append)

    conduit.subscribe(circuit.subscriber("apart", callback))
    for number in range(10):
        conduit.get("ab"[number % 2]).emit(number)
    wait(circuit)

    assert received == {"a": [0, 2, 4, 6, 8], "b": [1, 3, 5, 7, 9]}


@rule("REGISTRAR-ORDER-02", "REGISTRAR-ORDER-03")
def test_pipes_are_emitted_to_in_the_order_and_as_often_as_they_were_registered(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    trace: list[str] = []
    received: list[int] = []
    first: Pipe[int] = circuit.pipe(lambda value: trace.append("P1"))
    third: Pipe[int] = circuit.pipe(lambda value: trace.append("P3"))
    receptor: Callable[[int], None] = received.append

    conduit.subscribe(circuit.subscriber("mixed", registering(first, receptor, first, receptor, third)))
    conduit.get("a").emit(1)
    wait(circuit)

    assert trace == ["P1", "P1", "P3"]
    assert received == [1, 1]


@rule("REGISTRAR-ORDER-02")
@derived
def test_receptors_are_called_in_the_order_in_which_they_were_registered(
    circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    log: list[tuple[int, int]] = []

    def logging(number: int) -> Callable[[int], None]:
        return lambda value: log.append((number, value))

    conduit.subscribe(circuit.subscriber("ordered", registering(*map(logging, range(5)))))
    conduit.get("a").emit(1)
    conduit.get("a").emit(2)
    wait(circuit)

    assert log == [(number, value) for value in (1, 2) for number in range(5)]


@rule("REGISTRAR-REG-01", "RECEPTOR-01")
@derived
def test_every_form_of_receptor_may_be_registered(circuit: Circuit, wait: Settle) -> None:
    class Received(Receptor[int]):
        def __init__(self) -> None:
            self.values: list[int] = []

        def receive(self, value: int, /) -> None:
            self.values.append(value)

    class Duck:
        def __init__(self) -> None:
            self.values: list[int] = []

        def receive(self, value: int) -> str:
            self.values.append(value)
            return "ignored"

    conduit = circuit.conduit(int)
    receptor, duck = Received(), Duck()
    called: list[int] = []
    conduit.subscribe(circuit.subscriber("forms", registering(receptor, duck, called.append, Receptor.NOOP)))
    conduit.get("a").emit(1)
    wait(circuit)

    assert receptor.values == duck.values == called == [1]


@rule("REGISTRAR-ABSENT-04", "COMMON-VALID-06", "ERR-ABSENT-01")
def test_registering_nothing_is_refused_in_the_callback(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    tries = Tries(circuit, conduit, None)

    conduit.get("a").emit(1)
    wait(circuit)

    assert [type(error) for error in tries.errors] == [AbsentValueError]
    assert tries.received == [1], "the callback may go on"


@rule("REGISTRAR-ABSENT-04", "COMMON-VALID-06", "ERR-PROV-01", "ERR-FAULT-03", "FAULT-01")
@pytest.mark.parametrize("kind", FOREIGN_PIPES, ids=lambda kind: kind.__name__)
def test_registering_a_pipe_that_the_provider_did_not_make_is_refused(
    kind: Callable[[Subject[Any]], Any], circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    foreign = kind(circuit.pipe().subject)
    tries = Tries(circuit, conduit, foreign)

    conduit.get("a").emit(1)
    wait(circuit)

    (fault,) = tries.errors
    assert type(fault) is ProviderMismatchFault
    assert isinstance(fault.subject, Subject)
    assert fault.operation == "register"
    assert foreign.received == []
    assert tries.received == [1]


@rule("REGISTRAR-ABSENT-04", "ERR-CAT-01")
@derived
def test_registering_what_receives_nothing_is_a_plain_type_error(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    tries = Tries(circuit, conduit, 42)

    conduit.get("a").emit(1)
    wait(circuit)

    (error,) = tries.errors
    assert isinstance(error, TypeError)
    assert not isinstance(error, SubstratesError)


@rule("REGISTRAR-ABSENT-04", "RECEPTOR-01")
@derived
def test_registering_a_coroutine_function_is_refused(circuit: Circuit, wait: Settle) -> None:
    async def receive(value: int) -> None: ...

    conduit = circuit.conduit(int)
    tries = Tries(circuit, conduit, receive)

    conduit.get("a").emit(1)
    wait(circuit)

    assert [type(error) for error in tries.errors] == [ConfigurationError]
    assert tries.received == [1]


@rule("REGISTRAR-CROSS-05", "POOL-CELL-10")
def test_two_channels_may_feed_a_cell_of_another_circuit(new_circuit: NewCircuit, wait: Settle) -> None:
    mine, theirs = new_circuit("registrar.mine"), new_circuit("registrar.theirs")
    conduit = mine.conduit(int)
    cell = theirs.cell(0)

    conduit.subscribe(mine.subscriber("aggregate", registering(cell.pipe())))
    seen = []
    for name, value in (("left", 1), ("right", 2), ("left", 3)):
        conduit.get(name).emit(value)
        wait(mine, theirs)
        seen.append(cell.get())

    assert seen == [1, 2, 3]


@rule("REGISTRAR-CROSS-05", "COMMON-CTX-01", "CIRCUIT-ORDER-09")
def test_a_pipe_of_another_circuit_receives_there_and_in_order(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    mine, theirs = new_circuit("registrar.mine"), new_circuit("registrar.theirs")
    conduit = mine.conduit(int)
    received: list[tuple[int, bool]] = []
    target: Pipe[int] = theirs.pipe(
        lambda value: received.append((value, cortex.current() is theirs.current))
    )

    conduit.subscribe(mine.subscriber("across", registering(target)))
    for number in range(100):
        conduit.get("ab"[number % 2]).emit(number)
    wait(mine, theirs)

    assert received == [(number, True) for number in range(100)]


@rule("REGISTRAR-CROSS-05")
@derived
def test_a_pipe_of_a_closed_circuit_may_be_registered_and_hurts_nobody(
    new_circuit: NewCircuit, wait: Settle
) -> None:
    mine, theirs = new_circuit("registrar.mine"), new_circuit("registrar.theirs")
    conduit = mine.conduit(int)
    dead: list[int] = []
    received: list[int] = []
    target = theirs.pipe(dead.append)
    theirs.close(wait=True)

    conduit.subscribe(mine.subscriber("across", registering(target, received.append)))
    conduit.get("a").emit(1)
    conduit.get("a").emit(2)
    wait(mine)

    assert dead == []
    assert received == [1, 2]


class Leak:
    """A subscriber's callback that keeps its registrars, and raises if it shall."""

    def __init__(self, circuit: Circuit, conduit: Conduit[Any], failure: BaseException | None = None) -> None:
        self.registrars: list[Registrar[Any]] = []
        self._failure = failure
        conduit.subscribe(circuit.subscriber("leak", self._called))

    def _called(self, subject: Subject[Pipe[Any]], registrar: Registrar[Any]) -> None:
        self.registrars.append(registrar)
        if self._failure is not None:
            raise self._failure


@rule("REGISTRAR-TEMP-06", "REGISTRAR-TEMP-07")
@pytest.mark.parametrize("form", ["pipe", "receptor"])
@pytest.mark.parametrize("failure", [None, RuntimeError("in the callback")], ids=["returned", "raised"])
@pytest.mark.parametrize("context", ["caller", "own circuit", "other circuit"])
def test_a_registrar_cannot_be_used_after_its_callback(
    context: str, failure: BaseException | None, form: str, new_circuit: NewCircuit, wait: Settle
) -> None:
    circuit, other = new_circuit("registrar.own"), new_circuit("registrar.other")
    conduit = circuit.conduit(int)
    received: list[int] = []
    receiver: Any = circuit.pipe(received.append) if form == "pipe" else received.append
    leak = Leak(circuit, conduit, failure)
    conduit.get("a").emit(1)
    wait(circuit)
    errors: list[BaseException | None] = []

    def use(value: int) -> None:
        errors.append(noted(leak.registrars[0].register, receiver))

    if context == "caller":
        use(0)
    else:
        (circuit if context == "own circuit" else other).pipe(use).emit(0)
    wait(circuit, other)
    conduit.get("a").emit(2)
    wait(circuit)

    assert [type(error) for error in errors] == [TemporalError]
    assert received == []


@rule("REGISTRAR-TEMP-07")
@derived
def test_a_registrar_stays_dead_while_a_later_callback_runs(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    registrars: list[Registrar[int]] = []
    errors: list[BaseException | None] = []
    stolen: list[int] = []
    received: list[int] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        registrars.append(registrar)
        if len(registrars) > 1:
            errors.append(noted(registrars[0].register, stolen.append))
        registrar.register(received.append)

    conduit.subscribe(circuit.subscriber("later", callback))
    for name in ("a", "b", "a", "b"):
        conduit.get(name).emit(1)
    wait(circuit)

    assert registrars[0] is not registrars[1]
    assert [type(error) for error in errors] == [TemporalError]
    assert stolen == []
    assert received == [1, 1, 1, 1]


@rule("REGISTRAR-TEMP-06")
@derived
def test_a_registrar_is_dead_in_the_receptor_that_it_registered(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    errors: list[BaseException | None] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        registrar.register(lambda value: errors.append(noted(registrar.register, print)))

    conduit.subscribe(circuit.subscriber("self", callback))
    conduit.get("a").emit(1)
    wait(circuit)

    assert [type(error) for error in errors] == [TemporalError]


@rule("REGISTRAR-TEMP-06")
@derived
def test_the_callbacks_end_and_not_its_calls_decides_how_long_a_registrar_lives(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        registrar.register(received.append)
        gate.hold()
        registrar.register(received.append)

    conduit.subscribe(circuit.subscriber("held", callback))
    conduit.get("a").emit(1)
    gate.await_entered()
    gate.release()
    wait(circuit)

    assert received == [1, 1]
