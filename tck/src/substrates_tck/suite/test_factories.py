"""What holds for all that a circuit makes: its name, its place, its arguments, and after the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Bank,
    Basin,
    Cell,
    Circuit,
    ClosedFault,
    Conduit,
    ConfigurationError,
    Cortex,
    Name,
    Pin,
    Pipe,
    Pool,
    Port,
    ProviderMismatchFault,
    Registrar,
    Routing,
    Sink,
    Subject,
    Subscriber,
    SubstratesError,
    Ticker,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import ForeignName
from substrates_tck.marks import derived, rule
from substrates_tck.outcomes import inside, outcome
from substrates_tck.waits import Background, Gate, Settle


def ignore(subject: Subject[Any], registrar: Registrar[Any]) -> None:
    """Subscribe to nothing."""


@dataclass(frozen=True)
class Factory:
    """How a circuit makes one kind of component.

    Attributes:
        kind: the class.
        unnamed: makes it without a name; None if there is no such form.
        named: makes it with one; None if there is no such form.
    """

    kind: type[Any]
    unnamed: Callable[[Any], Any] | None
    named: Callable[[Any, Any], Any] | None


FACTORIES = {
    "conduit": Factory(Conduit, lambda c: c.conduit(), lambda c, n: c.conduit(n)),
    "typed conduit": Factory(Conduit, lambda c: c.conduit(int), lambda c, n: c.conduit(n, int)),
    "bank": Factory(Bank, lambda c: c.bank(), None),
    "sink": Factory(Sink, lambda c: c.sink(c.pipe()), lambda c, n: c.sink(n, c.pipe())),
    "basin": Factory(Basin, lambda c: c.basin(1), None),
    "cell": Factory(Cell, lambda c: c.cell(0), lambda c, n: c.cell(n, 0)),
    "port": Factory(Port, lambda c: c.port(0), lambda c, n: c.port(n, 0)),
    "pin": Factory(Pin, lambda c: c.pin(0), lambda c, n: c.pin(n, 0)),
    "ticker": Factory(Ticker, lambda c: c.ticker(1, c.pipe()), lambda c, n: c.ticker(n, 1, c.pipe())),
    "subscriber": Factory(Subscriber, None, lambda c, n: c.subscriber(n, ignore)),
    "pipe": Factory(Pipe, lambda c: c.pipe(print), lambda c, n: c.pipe(n, print)),
}
UNNAMED = {label: factory for label, factory in FACTORIES.items() if factory.unnamed}
NAMED = {label: factory for label, factory in FACTORIES.items() if factory.named}
each_unnamed = pytest.mark.parametrize("factory", UNNAMED.values(), ids=UNNAMED)
each_named = pytest.mark.parametrize("factory", NAMED.values(), ids=NAMED)


def make(factory: Factory, circuit: Circuit, name: Name | str | None = None) -> Any:
    """Make one, with a name if one is given or the kind needs it."""
    if name is None and factory.unnamed:
        return factory.unnamed(circuit)
    assert factory.named is not None
    return factory.named(circuit, "tck.made" if name is None else name)


@rule("COMMON-NAME-07", "CIRCUIT-FACT-02")
@each_unnamed
def test_without_a_name_a_component_has_the_circuits(factory: Factory, circuit: Circuit) -> None:
    assert make(factory, circuit).subject.name is circuit.subject.name


@rule("COMMON-NAME-07", "CIRCUIT-FACT-02")
@each_named
def test_a_name_that_is_given_is_the_components(factory: Factory, cortex: Cortex, circuit: Circuit) -> None:
    name = cortex.name("tck.given")
    first, second = make(factory, circuit, name), make(factory, circuit, name)

    assert first.subject.name is name
    assert second.subject.name is name


@rule("COMMON-NAME-07", "CIRCUIT-FACT-02")
@derived
@each_named
def test_a_name_may_be_given_as_text(factory: Factory, cortex: Cortex, circuit: Circuit) -> None:
    assert make(factory, circuit, "tck.given").subject.name is cortex.name("tck.given")


@rule("COMMON-SUBJ-08", "CIRCUIT-FACT-03", "SUBJECT-CHAIN-03", "SUBJECT-IDENT-02", "SUBJECT-DEPTH-04")
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_a_component_has_a_subject_of_its_own_below_the_circuits(
    factory: Factory, cortex: Cortex, circuit: Circuit
) -> None:
    component = make(factory, circuit)
    subject = component.subject

    assert isinstance(component, factory.kind)
    assert subject is component.subject
    assert subject.type is factory.kind
    assert subject.enclosure is circuit.subject
    assert subject.depth == 3
    assert subject.extremity is cortex.subject
    assert len(subject.state) == 0


@rule("COMMON-FRESH-09", "CIRCUIT-FACT-01")
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_every_call_makes_another_component(factory: Factory, cortex: Cortex, circuit: Circuit) -> None:
    name = cortex.name("tck.repeated") if factory.named else None
    made = [make(factory, circuit, name) for _ in range(3)]

    assert len({id(component) for component in made}) == 3
    assert len({id(component.subject) for component in made}) == 3
    assert len({component.subject.id for component in made}) == 3


@rule("CIRCUIT-FACT-03")
@derived
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_a_component_may_be_made_in_any_context(
    factory: Factory, circuit: Circuit, new_circuit: NewCircuit, wait: Settle, background: Background
) -> None:
    made = [
        inside(circuit, wait, lambda: make(factory, circuit)),
        inside(new_circuit("tck.other"), wait, lambda: make(factory, circuit)),
        background(make, factory, circuit).result(),
    ]

    for component in made:
        assert isinstance(component, factory.kind)
        assert component.subject.enclosure is circuit.subject


ABSENT: dict[str, Callable[[Any, Any], object]] = {
    "conduit(None)": lambda c, p: c.conduit(None),
    "conduit(None, type)": lambda c, p: c.conduit(None, int),
    "conduit(name, None)": lambda c, p: c.conduit("n", None),
    "conduit(type, routing=None)": lambda c, p: c.conduit(int, routing=None),
    "conduit(name, type, routing=None)": lambda c, p: c.conduit("n", int, routing=None),
    "conduit(routing=None)": lambda c, p: c.conduit(routing=None),
    "bank(None)": lambda c, p: c.bank(None),
    "bank(type, routing=None)": lambda c, p: c.bank(int, routing=None),
    "bank(routing=None)": lambda c, p: c.bank(routing=None),
    "basin(None)": lambda c, p: c.basin(None),
    "cell(None)": lambda c, p: c.cell(None),
    "cell(None, 0)": lambda c, p: c.cell(None, 0),
    "cell(name, None)": lambda c, p: c.cell("n", None),
    "port(None)": lambda c, p: c.port(None),
    "port(None, 0)": lambda c, p: c.port(None, 0),
    "port(name, None)": lambda c, p: c.port("n", None),
    "pin(None)": lambda c, p: c.pin(None),
    "pin(None, 0)": lambda c, p: c.pin(None, 0),
    "pin(name, None)": lambda c, p: c.pin("n", None),
    "sink(None)": lambda c, p: c.sink(None),
    "sink(None, pipe)": lambda c, p: c.sink(None, p),
    "sink(name, None)": lambda c, p: c.sink("n", None),
    "subscriber(None, callback)": lambda c, p: c.subscriber(None, ignore),
    "subscriber(name, None)": lambda c, p: c.subscriber("n", None),
    "subscriber(None, pool)": lambda c, p: c.subscriber(None, c.conduit()),
    "ticker(None, pipe)": lambda c, p: c.ticker(None, p),
    "ticker(interval, None)": lambda c, p: c.ticker(1, None),
    "ticker(None, interval, pipe)": lambda c, p: c.ticker(None, 1, p),
    "ticker(name, None, pipe)": lambda c, p: c.ticker("n", None, p),
    "ticker(name, interval, None)": lambda c, p: c.ticker("n", 1, None),
}


@rule("CIRCUIT-FACT-04", "COMMON-VALID-06", "ERR-ABSENT-01")
@pytest.mark.parametrize("call", ABSENT.values(), ids=ABSENT)
def test_an_absent_argument_is_refused(
    call: Callable[[Any, Any], object], circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)

    with pytest.raises(AbsentValueError):
        call(circuit, pipe)

    pipe.emit(1)
    wait(circuit)
    assert received == [1]


@rule("CIRCUIT-FACT-04", "COMMON-VALID-06", "ERR-PROV-01", "ERR-FAULT-02", "ERR-FAULT-03")
@each_named
def test_a_name_of_another_provider_is_refused(factory: Factory, circuit: Circuit) -> None:
    with pytest.raises(ProviderMismatchFault) as refused:
        make(factory, circuit, ForeignName("foreign"))

    assert refused.value.subject is circuit.subject
    assert refused.value.operation == factory.kind.__name__.lower()


@rule("CIRCUIT-FACT-04", "ERR-CAT-01")
@derived
@each_named
@pytest.mark.parametrize("name", ["", "a..b", ".a"], ids=["empty", "empty segment", "no root"])
def test_a_malformed_name_is_refused(name: str, factory: Factory, circuit: Circuit) -> None:
    with pytest.raises(ConfigurationError):
        make(factory, circuit, name)


@rule("CIRCUIT-FACT-04", "ERR-CAT-01")
@derived
@each_named
@pytest.mark.parametrize("name", [42, object()], ids=["int", "object"])
def test_a_name_of_an_unrelated_type_is_a_plain_type_error(
    name: Any, factory: Factory, circuit: Circuit
) -> None:
    with pytest.raises(TypeError) as refused:
        make(factory, circuit, name)

    assert not isinstance(refused.value, SubstratesError)


Call = Callable[[Any, Any, Any], object]
CLOSED: dict[str, Call] = {
    "conduit()": lambda c, p, q: c.conduit(),
    "conduit(type)": lambda c, p, q: c.conduit(int),
    "conduit(name)": lambda c, p, q: c.conduit("n"),
    "conduit(name, type)": lambda c, p, q: c.conduit("n", int),
    "conduit(routing)": lambda c, p, q: c.conduit(routing=Routing.STEM),
    "conduit(type, routing)": lambda c, p, q: c.conduit(int, routing=Routing.STEM),
    "conduit(name, type, routing)": lambda c, p, q: c.conduit("n", int, routing=Routing.PIPE),
    "bank()": lambda c, p, q: c.bank(),
    "bank(type)": lambda c, p, q: c.bank(int),
    "bank(routing)": lambda c, p, q: c.bank(routing=Routing.STEM),
    "bank(type, routing)": lambda c, p, q: c.bank(int, routing=Routing.STEM),
    "basin(capacity)": lambda c, p, q: c.basin(1),
    "basin(type, capacity)": lambda c, p, q: c.basin(int, 1),
    "cell(initial)": lambda c, p, q: c.cell(0),
    "cell(name, initial)": lambda c, p, q: c.cell("n", 0),
    "port(initial)": lambda c, p, q: c.port(0),
    "port(name, initial)": lambda c, p, q: c.port("n", 0),
    "pin(initial)": lambda c, p, q: c.pin(0),
    "pin(name, initial)": lambda c, p, q: c.pin("n", 0),
    "sink(endpoint)": lambda c, p, q: c.sink(p),
    "sink(name, endpoint)": lambda c, p, q: c.sink("n", p),
    "subscriber(name, callback)": lambda c, p, q: c.subscriber("n", ignore),
    "subscriber(name, pool)": lambda c, p, q: c.subscriber("n", q),
    "ticker(interval, target)": lambda c, p, q: c.ticker(1, p),
    "ticker(name, interval, target)": lambda c, p, q: c.ticker("n", 1, p),
}


@rule(
    *("CLOSED-01", "CLOSED-02", "CLOSED-04", "COMMON-CLOSED-10", "CIRCUIT-CLOSE-03", "PIN-CLOSED-11"),
    *("ERR-FAULT-02", "ERR-FAULT-03", "FAULT-01"),
)
@pytest.mark.parametrize("call", CLOSED.values(), ids=CLOSED)
def test_a_closing_and_a_closed_circuit_make_nothing(
    call: Call, request: pytest.FixtureRequest, tck_provider: str, circuit: Circuit, wait: Settle
) -> None:
    pipe: Pipe[Any] = circuit.pipe()
    pool: Pool[Pipe[Any]] = circuit.conduit()
    call(circuit, pipe, pool)
    operation = request.node.callspec.id.removeprefix(f"{tck_provider}-").partition("(")[0]

    circuit.close()
    closing = outcome(lambda: call(circuit, pipe, pool))
    wait(circuit)
    closed = outcome(lambda: call(circuit, pipe, pool))

    for refused in (closing, closed):
        assert type(refused) is ClosedFault
        assert refused.subject is circuit.subject
        assert refused.operation == operation
        assert str(refused)


@rule("CIRCUIT-CLOSE-03", "COMMON-CLOSED-10")
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_a_circuit_that_still_drains_makes_nothing(factory: Factory, circuit: Circuit, gate: Gate) -> None:
    target: Pipe[Any] = circuit.pipe(gate.hold)
    target.emit(1)
    gate.await_entered()

    circuit.close()

    assert type(outcome(lambda: make(factory, circuit))) is ClosedFault


@rule("CIRCUIT-CLOSE-04", "COMMON-CLOSED-11", "RESOURCE-02", "RES-10")
def test_every_queued_operation_after_close_is_silent(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    other = new_circuit("tck.other")
    received: list[Any] = []
    called: list[Any] = []
    target: Pipe[Any] = other.pipe(received.append)
    conduit: Conduit[int] = circuit.conduit(int)
    subscriber: Subscriber[int] = circuit.subscriber(
        "n", lambda subject, registrar: registrar.register(target)
    )
    subscription = conduit.subscribe(subscriber, called.append)
    sink: Sink[int] = circuit.sink(target)
    basin, cell, port = circuit.basin(1), circuit.cell(1), circuit.port(1)
    ticker = circuit.ticker(1000, target)
    bank: Bank[int] = circuit.bank()
    basin.pipe().emit(1)
    conduit.get("a").emit(1)
    wait(circuit, other)
    assert received == [1]

    def update(value: int, _argument: int = 0) -> int:
        called.append(value)
        return value

    circuit.close()
    for _ in range(2):
        conduit.get("a").emit(2)
        conduit.get("b").emit(2)
        sink.get("a").emit(2)
        basin.pipe().emit(2)
        basin.drain(target)
        cell.pipe().emit(2)
        port.replace(2)
        port.update(update)
        port.update(2, update)
        port.emit(target)
        for resource in (subscription, subscriber, conduit, bank, ticker):
            resource.close()
        wait(circuit)
    wait(other)

    assert received == [1]
    assert called == []
    assert cell.get() == 1


@rule("CIRCUIT-CLOSE-10", "CLOSED-09", "CIRCUIT-CLOSE-09")
@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_a_components_subject_can_be_read_after_close(
    factory: Factory, circuit: Circuit, wait: Settle
) -> None:
    read, unread = make(factory, circuit), make(factory, circuit)
    subject = read.subject
    circuit.close()
    wait(circuit)

    assert read.subject is subject
    assert unread.subject.enclosure is circuit.subject
    assert unread.subject is unread.subject
    assert subject.path()
